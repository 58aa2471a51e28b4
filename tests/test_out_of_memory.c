/* Host memory that runs out: every malloc, calloc and realloc of the library fails once, through opening a scene, five
 * steps, density control, evaluation and saving. The program is linked with --wrap for these three. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/context.h"
#include "train/trainer.h"
#include "trainer_fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static atomic_long countdown; /* the allocation that brings it to 0 fails; negative: none does any more */
static atomic_bool armed;

static bool fails(void)
{
    return atomic_load(&armed) && atomic_fetch_sub(&countdown, 1) == 1;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

static splat_status make_and_train(splat_context *context, splat_scene **scene, splat_trainer **trainer,
                                   splat_error *error)
{
    splat_scene_options scene_options;
    splat_train_options options = busy_options(12);
    splat_metrics metrics;
    splat_scene_options_init(&scene_options);
    scene_options.source_path = SCENE;
    scene_options.eval = true;
    splat_status status = splat_scene_open(context, &scene_options, scene, error);
    if (status == SPLAT_OK) status = splat_trainer_create(context, *scene, &options, trainer, error);
    for (int i = 0; i < 12 && status == SPLAT_OK; i++) status = splat_trainer_step(*trainer, NULL, error);
    if (status == SPLAT_OK)
        status = splat_evaluate(context, *scene, splat_trainer_model(*trainer), SPLAT_VIEWS_TEST, false, false, NULL,
                                NULL, &metrics, error);
    if (status == SPLAT_OK)
        status = splat_model_save(splat_trainer_model(*trainer), "out_of_memory.ply", true, error);
    if (status == SPLAT_OK) status = splat_trainer_save_checkpoint(*trainer, "out_of_memory.splatsmith", error);
    return status;
}

/* True: the k-th allocation was reached, and failed. *status: what came of it. */
static bool run_with_failure(long k, splat_status *status)
{
    splat_context *context = open_cpu(1); /* one thread: the decoder's allocations come in one order */
    splat_scene *scene = NULL;
    splat_trainer *trainer = NULL;
    splat_error error = {0};
    atomic_store(&countdown, k);
    atomic_store(&armed, true);
    *status = make_and_train(context, &scene, &trainer, &error);
    atomic_store(&armed, false);
    bool reached = atomic_load(&countdown) <= 0;
    if (*status != SPLAT_OK) {
        if (!reached) fail_msg("without a failure: %s", error.message);
        if (!error.message[0]) fail_msg("allocation %ld: an error without a message", k);
    }
    splat_trainer_destroy(trainer);
    splat_scene_close(scene);
    splat_memory_info memory;
    splat_context_memory(context, &memory);
    assert_int_equal(memory.bytes, 0);
    splat_context_destroy(context);
    return reached;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    splat_context *context = open_cpu(0);
    splat_scene_close(open_scene(context)); /* makes the scene's files */
    splat_context_destroy(context);

    long k = 1, n_errors = 0, n_survived = 0;
    splat_status status;
    /* Each of the first thousand, then one in a growing number: photos repeat themselves. */
    for (; run_with_failure(k, &status); k += k < 1000 ? 1 : 1 + k / 200) {
        n_errors += status != SPLAT_OK;
        n_survived += status == SPLAT_OK; /* something that can be done without: a picture ahead of its time */
    }
    assert_int_equal(status, SPLAT_OK);
    print_message("%ld allocations; of those that failed, %ld ended in an error and %ld did not\n", k, n_errors,
                  n_survived);
    assert_true(n_errors > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests_name("out of memory", tests, NULL, NULL);
}
