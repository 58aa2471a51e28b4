/* Photos alone on the command line: cameras, train and pipeline, with a stand-in for colmap. */
#include "capture_fixture.h"
#include "cli_fixture.h"

#include <jansson.h>

static int begin_again(void **state)
{
    (void)state;
    if (!has_binary() || !enter_work_folder()) return -1;
    make_photos("photos", 8);
    make_model("models/0", 1, 8);
    return 0;
}

static int end(void **state)
{
    (void)state;
    return chdir("..");
}

static void cameras_make_a_scene_that_trains(void **state)
{
    (void)state;
    RUN_OUT(0, "cameras: 8 of 8 photos have them, and 40 points (SIMPLE_RADIAL)", "cameras", "photos", "-o", "scene",
            "--colmap", fake_colmap());
    assert_non_null(strstr(standard_output, "Try: splatsmith train -s scene --eval"));
    RUN_OUT(0, "cameras: found before for 8 of 8 photos: scene", "cameras", "photos", "-o", "scene");
    RUN_OUT(0, "Scene: colmap, 7 train and 1 test view up to", "train", "-s", "scene", "-m", "model", "--eval",
            "--iterations", "2");
}

static void masks_of_photos_are_those_of_the_scene(void **state)
{
    (void)state;
    char path[100];
    make_photos("source/images", 8);
    for (int i = 1; i <= 8; i++) {
        snprintf(path, sizeof path, "source/masks/p%03d.png.png", i);
        make_photo(path, 32, 24, i);
    }
    RUN_ERR(0, "masks: 8 of 8 photos", "train", "-s", "source", "-m", "model", "--iterations", "2", "--colmap",
            fake_colmap());
    assert_true(exists("model/cameras/masks/p003.png.png"));
    assert_int_equal(system("rm -r source/masks"), 0);
    RUN_OUT(0, "cameras: found before", "train", "-s", "source", "-m", "model", "--iterations", "2");
    assert_null(strstr(standard_error, "masks:"));
}

static void usage_is_told(void **state)
{
    (void)state;
    RUN_ERR(2, "name the photos and the scene to write", "cameras", "photos");
    RUN_ERR(2, "name the photos and the scene to write", "cameras", "-o", "scene");
    RUN_ERR(2, "--camera_model must be auto or", "cameras", "photos", "-o", "scene", "--camera_model", "FISH");
    RUN_ERR(2, "--matcher", "cameras", "photos", "-o", "scene", "--matcher", "some");
    RUN_ERR(1, "install it (apt-get install colmap), or name it with --colmap", "cameras", "photos", "-o", "scene",
            "--colmap", "colmap-of-nobody");
    RUN_ERR(1, "splatsmith cameras PHOTOS -o SCENE", "plan", "-s", "photos");
}

static void train_finds_cameras_in_its_folder(void **state)
{
    (void)state;
    RUN_OUT(0, "cameras: 8 of 8 photos", "train", "-s", "photos", "-m", "model", "--iterations", "2", "--eval",
            "--colmap", fake_colmap(), "--camera_model", "opencv");
    assert_true(exists("model/cameras/sparse/0/images.bin"));
    assert_true(file_contains("model/cfg_args", "model/cameras'"));
    assert_false(exists("photos/sparse"));
    RUN_OUT(0, "cameras: found before", "train", "-s", "photos", "-m", "model", "--iterations", "3", "--colmap", "none",
            "--camera_model", "OPENCV");
    RUN_OUT(0, "PSNR", "eval", "-m", "model");
    RUN_ERR(2, "--delete_first would delete the cameras", "train", "-s", "photos", "-m", "model", "--delete_first");
}

/* Without -m every run has a folder of its own, but the cameras are one for all. */
static void runs_by_default_share_their_cameras(void **state)
{
    (void)state;
    RUN_OUT(0, "cameras: 8 of 8 photos", "train", "-s", "photos/", "--iterations", "2", "--experiment_name", "a",
            "--colmap", fake_colmap());
    RUN_OUT(0, "cameras: found before", "train", "-s", "photos", "--iterations", "2", "--experiment_name", "b");
    assert_true(exists("photos_output/cameras/cameras.json"));
    assert_true(exists("photos_output/a/cfg_args"));
    assert_true(exists("photos_output/b/cfg_args"));
}

/* The first row of pipeline.json is that of the cameras; the number is the row's own or one of its results. */
static void check_cameras_row(const char *state, const char *key, int wanted)
{
    json_t *overview = json_load_file("out/pipeline.json", JSON_REJECT_DUPLICATES, NULL);
    const json_t *row = json_array_get(json_object_get(overview, "stages"), 0);
    const json_t *number = json_object_get(row, key), *results = json_object_get(row, "results");
    assert_string_equal(json_string_value(json_object_get(row, "stage")), "cameras");
    assert_string_equal(json_string_value(json_object_get(row, "state")), state);
    assert_int_equal(json_integer_value(number ? number : json_object_get(results, key)), wanted);
    if (results) assert_true(json_number_value(json_object_get(row, "seconds")) > 0);
    json_decref(overview);
}

static void a_pipeline_begins_with_photos(void **state)
{
    (void)state;
    (void)fake_colmap();
    setenv("FAKE_FAULT", "feature_extractor:exit", 1);
    RUN_ERR(1, "feature_extractor failed with exit code 3", "pipeline", "-s", "photos", "-o", "out", "--colmap",
            getenv("FAKE_COLMAP"), "--iterations", "5");
    assert_true(exists("out/pipeline.json"));
    assert_non_null(strstr(standard_output, "\ncameras  failed\n"));
    check_cameras_row("failed", "exit_code", 1);
    unsetenv("FAKE_FAULT");
    RUN_ERR(2, "new ones would not fit", "pipeline", "-s", "photos", "-o", "out", "-c", "model");
    run("pipeline", "-s", "photos", "-o", "out", "--colmap", getenv("FAKE_COLMAP"), "--iterations", "5",
        "--skip_coarse", "--skip_refine", "--skip_texture", NULL); /* eight grey photos need not make a mesh */
    assert_non_null(strstr(standard_output, "cameras: 8 of 8 photos"));
    assert_non_null(strstr(standard_output, "\ncameras  complete  "));
    assert_non_null(strstr(standard_output, " 8 of 8 photos\ntrain    complete"));
    check_cameras_row("complete", "n_registered", 8);
    assert_true(file_contains("out/train/cfg_args", "out/cameras'"));
    assert_true(file_contains("out/train/stage.json", "\"complete\": true"));
    run("pipeline", "-s", "photos", "-o", "out", "--iterations", "5", "--skip_coarse", "--skip_refine",
        "--skip_texture", NULL); /* another --colmap is no reason to train again */
    assert_non_null(strstr(standard_output, "cameras: found before"));
    assert_non_null(strstr(standard_output, "[1/5] train: done before"));
    assert_non_null(strstr(standard_output, "\ncameras  done before "));
    check_cameras_row("done before", "n_photos", 8);
    make_photo("photos/p002.png", 32, 24, 99);
    run("pipeline", "-s", "photos", "-o", "out", "--iterations", "5", "--skip_coarse", "--skip_refine",
        "--skip_texture", "--colmap", getenv("FAKE_COLMAP"), NULL);
    assert_non_null(strstr(standard_error, "the photos have changed"));
    assert_non_null(strstr(standard_error, "train runs again: cameras/cameras.json has changed"));
}

static int process_in_file(const char *path, int index)
{
    char text[100];
    int pids[2] = {0, 0};
    read_text(path, text, sizeof text);
    assert_int_equal(sscanf(text, "%d %d", &pids[0], &pids[1]), 2);
    return pids[index];
}

/* Ctrl-C reaches what colmap started, too, and the same command goes on. */
static void interrupted_cameras_go_on(void **state)
{
    (void)state;
    (void)fake_colmap();
    setenv("FAKE_FAULT", "exhaustive_matcher:hang", 1);
    pid_t child = begin("cameras", "photos", "-o", "scene", "--colmap", getenv("FAKE_COLMAP"), NULL);
    for (int i = 0; i < 3000 && !exists("calls.txt.pids"); i++) usleep(10000);
    usleep(200000);
    assert_int_equal(kill(child, SIGINT), 0);
    expect(__LINE__, finish(child), 130, standard_error, "the same command goes on from here");
    for (int i = 0; i < 2; i++) {
        int process = process_in_file("calls.txt.pids", i);
        for (int k = 0; k < 500 && kill(process, 0) == 0; k++) usleep(10000);
        assert_int_not_equal(kill(process, 0), 0);
    }
    unsetenv("FAKE_FAULT");
    unlink("calls.txt");
    RUN_OUT(0, "cameras: 8 of 8 photos", "cameras", "photos", "-o", "scene", "--colmap", getenv("FAKE_COLMAP"));
    assert_false(file_contains("calls.txt", "feature_extractor --database"));
    assert_true(file_contains("calls.txt", "exhaustive_matcher --database"));
}

/* Ctrl-C while ffmpeg works: the exit code is that of the signal, also when ffmpeg ends with an error of its own. */
static void an_interrupted_video_returns_130(void **state)
{
    (void)state;
    char path[9000], before[4096];
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    snprintf(path, sizeof path, "%s/tests/capture/fake_ffmpeg:%s", getenv("SPLATSMITH_SOURCE"), before);
    setenv("PATH", path, 1);
    write_text("clip.mp4", "not looked into");
    write_text("probe.json", "{\"streams\": [{\"width\": 32, \"avg_frame_rate\": \"30/1\", \"duration\": \"4\"}]}");
    setenv("FAKE_PROBE", "probe.json", 1);
    setenv("FAKE_CALLS", "calls.txt", 1);
    setenv("FAKE_VIDEO_FAULT", "interrupt", 1);
    RUN_ERR(130, NULL, "cameras", "clip.mp4", "-o", "scene", "--colmap", fake_colmap());
    setenv("PATH", before, 1);
    unsetenv("FAKE_VIDEO_FAULT");
}

/* People cull photos after COLMAP; a run goes on with the photos that it began with, or not at all. */
static void culled_photos_do_not_end_a_training(void **state)
{
    (void)state;
    make_photos("culled/images", 20);
    make_model("culled/sparse/0", 1, 20);
    assert_int_equal(unlink("culled/images/p004.png"), 0);
    RUN_ERR(0, "warning: 1 of 20 photos is absent or damaged and left out: p004.png", "train", "-s", "culled", "-m",
            "kept", "--iterations", "2", "--checkpoint_iterations", "2");
    assert_non_null(strstr(standard_error, "--strict makes this an error"));
    RUN_ERR(1, "\"p004.png\" is not in the folder", "train", "-s", "culled", "-m", "strict", "--iterations", "2",
            "--strict");
    assert_int_equal(unlink("culled/images/p005.png"), 0);
    RUN_ERR(2, "the checkpoint was made with other training views", "train", "-s", "culled", "-m", "kept",
            "--iterations", "3", "--start_checkpoint", "latest");
    RUN_OUT(0, NULL, "render", "-m", "kept"); /* its split names the photo */
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin_again, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cameras_make_a_scene_that_trains),
        TEST(masks_of_photos_are_those_of_the_scene),
        TEST(usage_is_told),
        TEST(train_finds_cameras_in_its_folder),
        TEST(runs_by_default_share_their_cameras),
        TEST(a_pipeline_begins_with_photos),
        TEST(interrupted_cameras_go_on),
        TEST(an_interrupted_video_returns_130),
        TEST(culled_photos_do_not_end_a_training),
    };
    setenv("FAKE_COLMAP", fake_colmap(), 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
