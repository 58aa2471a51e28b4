/* LPIPS in the tables of trainings and benchmarks: with weights that the environment names, and without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_fixture.h"
#include "lpips_fixture.h"

#define VARIABLE "SPLATSMITH_LPIPS_WEIGHTS"
#define SMALL "-s", "scene", "--iterations", "1", "--test_iterations", "1", "--backend", "cpu"

static void a_report_says_that_nothing_was_measured(void **state)
{
    (void)state;
    unsetenv(VARIABLE);
    RUN_OUT(0, "[ITER 1] Evaluating test", "train", SMALL, "--eval", "-m", "without", "--report", "True");
    assert_non_null(strstr(standard_error, "notice: LPIPS is not measured: it has no weights (docs/files.md)\n"));
    assert_true(file_contains("without/report.html", "not measured"));
    RUN_ERR(0, "splatsmith-lpips-convert", "train", SMALL, "--eval", "-m", "asked", "--enable_lpips");
    RUN_OUT(0, "LPIPS not measured", "bench", "run", "-s", "scene", "--eval", "--num_iterations", "1", "--warmup", "0",
            "--backend", "cpu", "-o", "bench.json");
    assert_true(file_contains("bench.json", "\"LPIPS\": null"));
    RUN_OUT(0, "SSIM", "bench", "compare", "bench.json", "bench.json");
    RUN_OUT(0, "-: not measured", "bench", "report", "bench.json");
    RUN_OUT(0, "", "train", SMALL, "-m", "no_views");
    assert_null(strstr(standard_error, "LPIPS")); /* nothing is measured at all */
}

static void weights_of_the_environment_are_found(void **state)
{
    (void)state;
    splat_error error;
    ASSERT_OK(fixture_write("vgg", "lpips_vgg.safetensors", &error));
    setenv(VARIABLE, ".", 1);
    RUN_OUT(0, "(vgg)", "train", SMALL, "--eval", "-m", "with", "--report", "True");
    assert_false(file_contains("with/report.html", "not measured"));
    RUN_OUT(0, ", LPIPS 0.", "bench", "run", "-s", "scene", "--eval", "--num_iterations", "1", "--warmup", "0",
            "--backend", "cpu", "-o", "with.json");
    RUN_OUT(0, " vgg", "bench", "report", "with.json");
    RUN_OUT(0, "[ITER 1] Evaluating test", "train", SMALL, "--eval", "-m", "limited", "--vram_limit", "4G");
    assert_null(strstr(standard_output, "(vgg)"));
    assert_non_null(strstr(standard_error, "--enable_lpips measures it all the same"));
    RUN_OUT(0, "(vgg)", "train", SMALL, "--eval", "-m", "limited_asked", "--vram_limit", "4G", "--enable_lpips");
    RUN_OUT(0, "[ITER 1] Evaluating test", "train", SMALL, "--eval", "-m", "refused", "--enable_lpips", "False");
    assert_null(strstr(standard_output, "(vgg)"));
    unsetenv(VARIABLE);
}

int main(void)
{
    if (!has_binary()) return 0;
    if (!enter_work_folder()) return 1;
    RUN_OUT(0, "", "sample", "scene", "--width", "48", "--height", "36", "--cameras", "4", "--points", "100",
            "--truth_points", "10", "--supersample", "1");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_says_that_nothing_was_measured),
        cmocka_unit_test(weights_of_the_environment_are_found),
    };
    return cmocka_run_group_tests_name("cli_lpips", tests, NULL, NULL);
}
