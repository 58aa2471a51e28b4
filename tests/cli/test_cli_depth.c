/* Known depth on the command line: a sample that has it, training and coarse training on it, and what they write of
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_fixture.h"

#define TRAIN "train", "-s", "scene", "--backend", "cpu", "--dense_start", "False", "--iterations", "100"

static void runs_tell_of_depth(void **state)
{
    (void)state;
    RUN_OUT(0, "6 pictures of 48x32", "sample", "scene", "--width", "48", "--height", "32", "--cameras", "6",
            "--points", "200", "--truth_points", "10", "--supersample", "1", "--tracks", "--depths", "--backend",
            "cpu");
    assert_true(exists("scene/depths/image_005.png") && exists("scene/sparse/0/depth_params.json"));
    RUN_OUT(0, "Trained 100 steps", TRAIN, "-m", "model", "-d", "depths", "--sfm_depth");
    assert_non_null(strstr(standard_error, "depth maps: 6 of 6 training photos"));
    assert_non_null(strstr(standard_error, "depths of points: "));
    assert_true(file_contains("model/history.jsonl", "\"depth\":{\"depth\":") &&
                file_contains("model/history.jsonl", "\"sfm_depth\":"));
    assert_true(file_contains("model/cfg_args", "depths='depths'"));
    assert_true(file_contains("model/report.html", "Losses of known depth"));
    RUN_OUT(0, "Trained 100 steps", TRAIN, "-m", "plain");
    assert_false(file_contains("plain/history.jsonl", "depth"));
    assert_false(file_contains("plain/cfg_args", "depths"));
    RUN_OUT(0, NULL, "coarse", "-c", "model", "-r", "dn_consistency", "-d", "depths", "--coarse_iterations", "7060",
            "--regularize_after", "7010", "-o", "coarse", "--backend", "cpu");
    assert_true(file_contains("coarse/history.jsonl", "\"coarse\":{\"depth\":"));
    RUN_OUT(0, NULL, "sample", "bare", "--width", "48", "--height", "32", "--cameras", "4", "--points", "50",
            "--truth_points", "10", "--supersample", "1", "--backend", "cpu");
    RUN_ERR(1, "needs to know which photos see a point", "train", "-s", "bare", "-m", "other", "--sfm_depth");
    RUN_ERR(1, "the folder of the depth maps does not exist", "train", "-s", "bare", "-m", "other", "-d", "depths");
}

int main(void)
{
    if (system("rm -rf scene bare model plain coarse other") != 0) return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(runs_tell_of_depth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
