/* Panoramas and wide fisheyes from photos to a textured mesh: what commands write of the crops and of their photos. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_fixture.h"

#define TRAIN "train", "-s", "scene", "--eval", "--backend", "cpu", "--strategy", "classic", "--iterations", "60", \
              "--exposure"

static int count(const char *path, const char *words)
{
    char command[512];
    snprintf(command, sizeof command, "grep -o '%s' %s | wc -l > count.txt", words, path);
    assert_int_equal(system(command), 0);
    FILE *file = fopen("count.txt", "r");
    int n = -1;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &n), 1);
    fclose(file);
    return n;
}

static void panoramas_train(void **state)
{
    (void)state;
    RUN_OUT(0, "12 pictures of 160x80", "sample", "scene", "--width", "160", "--cameras", "12", "--points", "400",
            "--distortion", "equirectangular", "--exposure_spread", "1", "--backend", "cpu");
    RUN_OUT(0, "60 train and 12 test views up to 55x55", TRAIN, "-m", "model", "--checkpoint_iterations", "30");
    assert_non_null(strstr(standard_error, "12 wide photos of 1 camera (EQUIRECTANGULAR, 160 x 80) into 72 views"));
    /* photos in the split and the exposures, crops in the cameras and the results */
    assert_int_equal(count("model/split.json", "image_0[01][0-9].png\""), 12);
    assert_int_equal(count("model/cameras.json", "\"img_name\": \"image_0[01][0-9]#[0-5]\""), 72);
    assert_int_equal(count("model/exposure.json", "\"ev\""), 10);
    assert_int_equal(count("model/exposure.json", "image_0[01][0-9].png\":"), 10);
    assert_int_equal(count("model/exposure.json", "\"camera\": \"0\""), 10);
    assert_true(file_contains("model/exposure.json", "\"5\": [") && !file_contains("model/exposure.json", "\"6\": ["));
    RUN_OUT(0, "test            12 ", "eval", "-m", "model", "--backend", "cpu");
    assert_true(file_contains("model/per_view.json", "\"00011.png\"")); /* a number a crop */
    /* with the exposures of their photos */
    RUN_OUT(0, NULL, "render", "-m", "model", "--backend", "cpu", "--exposure", "own", "--skip_test");
    assert_true(exists("model/train/ours_60/test_preds_-1/00059.png"));
    /* a splat of a run, and a checkpoint, that has seen the photos of these crops */
    RUN_ERR(2, "was trained on", "eval", "-s", "scene", "--eval", "--llffhold", "5", "--ply",
            "model/point_cloud/iteration_60/point_cloud.ply", "--backend", "cpu");
    RUN_ERR(2, "was trained on", "eval", "-s", "scene", "--eval", "--llffhold", "5", "--ply",
            "model/chkpnt30.splatsmith", "--backend", "cpu");
    RUN_OUT(0, "Trained 30 steps", TRAIN, "-m", "resumed", "--start_checkpoint", "model/chkpnt30.splatsmith");
    assert_int_equal(system("cmp model/point_cloud/iteration_60/point_cloud.ply "
                            "resumed/point_cloud/iteration_60/point_cloud.ply"), 0);
}

static void fisheyes_train_and_are_remembered(void **state)
{
    (void)state;
    RUN_OUT(0, NULL, "sample", "round", "--width", "120", "--height", "120", "--cameras", "6", "--points", "400",
            "--distortion", "wide_fisheye", "--backend", "cpu");
    RUN_ERR(0, "6 wide photos of 1 camera (OPENCV_FISHEYE, 120 x 120) into 6 views", "train", "-s", "round", "-m",
            "narrow", "--eval", "--fisheye_degrees", "120", "--iterations", "10", "--backend", "cpu");
    assert_true(file_contains("narrow/cfg_args", "fisheye_degrees=1.2e+02)"));
    RUN_ERR(0, "into 6 views", "eval", "-m", "narrow", "--backend", "cpu");
    RUN_OUT(0, "25 train and 5 test views", "train", "-s", "round", "-m", "wide", "--eval", "--iterations", "10",
            "--checkpoint_iterations", "10", "--backend", "cpu");
    assert_false(file_contains("wide/cfg_args", "fisheye_degrees"));
    RUN_ERR(0, "into 30 views", "eval", "-m", "wide", "--backend", "cpu");
    /* crops of these photos are known as theirs where photos are not cut, too */
    RUN_ERR(2, "was trained on", "eval", "-s", "round", "--eval", "--llffhold", "5", "--undistort", "off", "--ply",
            "wide/chkpnt10.splatsmith", "--backend", "cpu");
    RUN_OUT(0, "6 train and 0 test views up to 120x120", "train", "-s", "round", "-m", "as_is", "--undistort", "off",
            "--iterations", "10", "--backend", "cpu");
    assert_true(file_contains("as_is/cfg_args", "undistort='off'"));
    RUN_OUT(0, "train sample", "eval", "-m", "as_is", "--backend", "cpu");
    assert_null(strstr(standard_error, "cutting"));
    RUN_ERR(2, "is a panorama", "train", "-s", "scene", "-m", "never", "--undistort", "off", "--backend", "cpu");
    RUN_ERR(2, "fisheye_degrees", "train", "-s", "round", "-m", "never", "--fisheye_degrees", "0.5");
}

static void crops_become_a_textured_mesh(void **state)
{
    (void)state;
    RUN_OUT(0, NULL, "train", "-s", "scene", "-m", "model2", "--backend", "cpu", "--strategy", "classic",
            "--iterations", "200", "--tensorboard", "False");
    RUN_OUT(0, NULL, "mesh", "-m", "model2", "-o", "mesh.ply", "--poisson_depth", "7", "--planes", "False",
            "--backend", "cpu");
    RUN_OUT(0, NULL, "texture", "-s", "scene", "-m", "mesh.ply", "-o", "textured.glb", "--texture_size", "512",
            "--backend", "cpu");
    assert_true(exists("textured.glb"));
}

int main(void)
{
    if (system("rm -rf scene round model model2 resumed narrow wide as_is mesh.ply textured.glb") != 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panoramas_train),
        cmocka_unit_test(fisheyes_train_and_are_remembered),
        cmocka_unit_test(crops_become_a_textured_mesh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
