/* The names of cases on the command line of a test program: these cases run and no other, and an unknown one fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void sample_one(void **state)
{
    (void)state;
}

static void sample_two(void **state)
{
    (void)state;
}

/* Runs this program with up to two words; its exit code. *text, to be freed: what it prints. */
static int run_with(const char *first, const char *second, char **text)
{
    char program[4096];
    const char *const words[] = {program, first, second, NULL}, *const environment[] = {"SPLAT_INNER_TEST=1", NULL};
    splat_process_end end;
    splat_error error;
    if (getenv("SPLAT_INNER_TEST")) exit(3); /* without names at work, programs would start programs for ever */
    assert_non_null(realpath("/proc/self/exe", program));
    assert_int_equal(splat_process_ask(words, environment, 300, NULL, NULL, text, &end, &error), SPLAT_OK);
    return end.exit_code;
}

static void expect_cases(const char *first, const char *second, bool one, bool two)
{
    char *text;
    assert_int_equal(run_with(first, second, &text), 0);
    assert_int_equal(strstr(text, "OK ] sample_one\n") != NULL, one);
    assert_int_equal(strstr(text, "OK ] sample_two\n") != NULL, two);
    assert_non_null(strstr(text, one && two ? " 2 test(s) run" : " 1 test(s) run"));
    free(text);
}

static void only_the_named_cases_run(void **state)
{
    (void)state;
    expect_cases("sample_one", NULL, true, false);
    expect_cases("sample_two", NULL, false, true);
    expect_cases("sample_one", "*_two", true, true);
    expect_cases("sample_*", NULL, true, true);
    expect_cases("cpu", "sample_two", false, true); /* a device is no name of a case */
}

static void expect_refusal(const char *first, const char *second, const char *unknown)
{
    char *text;
    assert_int_equal(run_with(first, second, &text), 2);
    assert_non_null(strstr(text, unknown));
    assert_non_null(strstr(text, "    sample_two\n"));
    assert_null(strstr(text, "test(s) run"));
    free(text);
}

static void an_unknown_case_is_an_error_that_lists_the_cases(void **state)
{
    (void)state;
    expect_refusal("sample", NULL, "no case 'sample'");
    expect_refusal("sample_one", "sample_three*", "no case 'sample_three*'");
    expect_refusal("cuda", "cuda", "no case 'cuda'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sample_one),
        cmocka_unit_test(sample_two),
        cmocka_unit_test(only_the_named_cases_run),
        cmocka_unit_test(an_unknown_case_is_an_error_that_lists_the_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
