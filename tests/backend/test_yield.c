/* Blocks that are only for speed: they go back when memory is refused to another, and not before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "backend/backend.h"
#include "base/context.h"
#include "trainer_fixture.h"

#include <string.h>

#define MIB ((size_t)1 << 20)

typedef struct speedy {
    splat_backend *backend;
    splat_block block;
    int n_asked;
} speedy;

static void go_back(void *user)
{
    speedy *s = user;
    s->n_asked++;
    splat_block_free(s->backend, &s->block);
}

/* A function that frees nothing. */
static void stay(void *user)
{
    ((speedy *)user)->n_asked++;
}

static void hold(speedy *s, splat_backend *backend, size_t bytes, void (*yield)(void *))
{
    splat_error error;
    memset(s, 0, sizeof *s);
    s->backend = backend;
    must(splat_block_resize(backend, &s->block, "speed", SPLAT_OWNER_OTHER, bytes, &error), &error);
    s->block.yield = yield;
    s->block.yield_user = s;
}

static void what_is_only_for_speed_goes_back(void **state)
{
    (void)state;
    splat_context *context = open_cpu(1);
    splat_backend *b = context->backend;
    splat_block wanted = {0};
    splat_error error;
    speedy first, second;
    must(splat_context_set_memory_limit(context, 10 * MIB, &error), &error);
    hold(&first, b, 3 * MIB, go_back);
    hold(&second, b, 3 * MIB, go_back);
    must(splat_block_resize(b, &wanted, "wanted", SPLAT_OWNER_OTHER, 4 * MIB, &error), &error); /* and them */
    assert_int_equal(first.n_asked + second.n_asked, 0);
    must(splat_block_resize(b, &wanted, "wanted", SPLAT_OWNER_OTHER, 7 * MIB, &error), &error); /* one is enough */
    assert_int_equal(first.n_asked + second.n_asked, 1);
    must(splat_block_resize(b, &wanted, "wanted", SPLAT_OWNER_OTHER, 10 * MIB, &error), &error);
    assert_int_equal(first.n_asked + second.n_asked, 2);
    assert_true(first.block.bytes == 0 && second.block.bytes == 0);
    assert_int_equal(b->memory.device.reserved, 10 * MIB);
    splat_block_free(b, &wanted);
    splat_context_destroy(context);
}

static void what_does_not_help_is_asked_once(void **state)
{
    (void)state;
    splat_context *context = open_cpu(1);
    splat_backend *b = context->backend;
    splat_block wanted = {0};
    splat_error error;
    speedy stubborn, own;
    must(splat_context_set_memory_limit(context, 10 * MIB, &error), &error);
    hold(&stubborn, b, 3 * MIB, stay);
    assert_int_equal(splat_block_resize(b, &wanted, "wanted", SPLAT_OWNER_OTHER, 8 * MIB, &error),
                     SPLAT_ERROR_MEMORY);
    assert_int_equal(stubborn.n_asked, 1);
    assert_true(wanted.bytes == 0 && stubborn.block.bytes == 3 * MIB);
    hold(&own, b, 1 * MIB, go_back); /* its own growth is not refused for its own sake */
    assert_int_equal(splat_block_resize(b, &own.block, "speed", SPLAT_OWNER_OTHER, 8 * MIB, &error),
                     SPLAT_ERROR_MEMORY);
    assert_int_equal(own.n_asked, 0);
    assert_int_equal(own.block.bytes, 1 * MIB);
    splat_block_free(b, &own.block);
    splat_block_free(b, &stubborn.block);
    splat_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_only_for_speed_goes_back),
        cmocka_unit_test(what_does_not_help_is_asked_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
