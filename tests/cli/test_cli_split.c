/* Kinds of test views from outside: a training holds a sector out, and commands on its model hold out the same one; the
 * light before the cameras of test views. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_fixture.h"

#include <unistd.h>

static void a_model_keeps_its_sector(void **state)
{
    (void)state;
    RUN_OUT(0, "", "sample", "ring", "--width", "24", "--height", "18", "--cameras", "9", "--points", "100",
            "--truth_points", "10", "--supersample", "1");
    RUN_OUT(0, "7 train and 2 test views", "train", "-s", "ring", "-m", "model", "--eval", "--split", "sector",
            "--sector", "1", "--iterations", "2", "--backend", "cpu");
    assert_true(file_contains("model/cfg_args", "split='sector'") && file_contains("model/cfg_args", "sector=1"));
    assert_int_equal(unlink("model/split.json"), 0); /* the copy next to the splat stays: it says what was trained on */
    RUN_OUT(0, "PSNR", "eval", "-m", "model", "--backend", "cpu");
    RUN_ERR(2, "was trained on", "eval", "-m", "model", "--split", "every", "--backend", "cpu");
    RUN_ERR(2, "was trained on", "eval", "-m", "model", "--sector", "2", "--backend", "cpu");
}

static void a_sector_without_effect_is_reported(void **state)
{
    (void)state;
    RUN_ERR(0, "--sector has no effect with --split every", "train", "-s", "ring", "-m", "plain", "--eval", "--sector",
            "1", "--iterations", "1", "--backend", "cpu");
    RUN_ERR(0, "without --eval no test views are held out", "train", "-s", "ring", "-m", "all", "--split", "spread",
            "--iterations", "1", "--backend", "cpu");
    RUN_ERR(2, "every|sector|spread", "train", "-s", "ring", "--split", "half");
}

static void make_and_train(const char *scene, const char *model, const char *points)
{
    RUN_OUT(0, "", "sample", scene, "--width", "32", "--height", "24", "--cameras", "9", "--points", points,
            "--truth_points", "10", "--supersample", "1");
    RUN_OUT(0, "7 train and 2 test views", "train", "-s", scene, "-m", model, "--eval", "--iterations", "2",
            "--backend", "cpu");
}

/* With points in the test photos eval reports the light before the cameras; without, nothing. */
static void near_light_needs_points(void **state)
{
    (void)state;
    make_and_train("dense", "near", "1000");
    RUN_OUT(0, "% in 2 views: before half of the depth", "eval", "-m", "near", "--backend", "cpu");
    assert_true(file_contains("near/results.json", "\"near_light\": 0."));
    make_and_train("sparse", "far", "10");
    RUN_OUT(0, "PSNR", "eval", "-m", "far", "--backend", "cpu");
    assert_null(strstr(standard_output, "near light"));
    assert_false(file_contains("far/results.json", "near_light"));
}

int main(void)
{
    if (!has_binary()) return 0;
    if (!enter_work_folder()) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_keeps_its_sector),
        cmocka_unit_test(a_sector_without_effect_is_reported),
        cmocka_unit_test(near_light_needs_points),
    };
    return cmocka_run_group_tests_name("cli_split", tests, NULL, NULL);
}
