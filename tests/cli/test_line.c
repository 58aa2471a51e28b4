/* A line of each command has the parts that its options fill, with their defaults; its other parts are the defaults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "line/command_bits.h"
#include "line/line.h"

static bool is_default(const splat_line_option *option, const void *field)
{
    return field == (const char *)splat_line_default_parts() + option->offset;
}

static void a_command_has_its_own_parts(void **state)
{
    (void)state;
    size_t n_own = 0;
    for (int i = 0; i < N_COMMANDS; i++) {
        const splat_line_command command = {.bit = 1u << i};
        splat_line line;
        assert_int_equal(splat_line_init(&line, &command, NULL), SPLAT_OK);
        for (size_t k = 0; k < splat_line_n_options; k++) {
            const splat_line_option *option = &splat_line_options[k];
            const void *field = splat_line_field(&line, option);
            if (!(option->commands & command.bit)) continue;
            n_own++;
            assert_false(is_default(option, field));
            assert_memory_equal(field, (const char *)splat_line_default_parts() + option->offset,
                                splat_line_kind_size(option->kind));
        }
        splat_line_free(&line);
    }
    assert_true(n_own > 1000);
}

/* `sample` has no mesh, `texture` has one: a change of its options leaves the defaults as they are. */
static void other_parts_are_the_defaults(void **state)
{
    (void)state;
    const splat_line_command sample = {.bit = BIT_SAMPLE}, texture = {.bit = BIT_TEXTURE};
    splat_line first, second;
    assert_int_equal(splat_line_init(&first, &sample, NULL), SPLAT_OK);
    assert_int_equal(splat_line_init(&second, &texture, NULL), SPLAT_OK);
    assert_ptr_equal(first.texture, &splat_line_default_parts()->texture);
    assert_ptr_not_equal(second.texture, &splat_line_default_parts()->texture);
    const int usual = first.texture->texture_size;
    second.texture->texture_size++;
    assert_int_equal(first.texture->texture_size, usual);
    splat_line_free(&first);
    splat_line_free(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_command_has_its_own_parts),
                                       cmocka_unit_test(other_parts_are_the_defaults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
