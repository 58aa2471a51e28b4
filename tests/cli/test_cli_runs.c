/* Runs of the command line that are disturbed: closed pipes, lost terminals, limits, other programs in the folder, and
 * inputs that are no files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_fixture.h"

#include <sys/resource.h>

#define ON_CPU "--backend", "cpu", "--threads", "1"
#define QUICK "--tensorboard", "False", ON_CPU

static int shell(const char *format, ...)
{
    char command[8192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    int status = system(command);
    read_text("stdout.txt", standard_output, sizeof standard_output);
    read_text("stderr.txt", standard_error, sizeof standard_error);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void wait_for(const char *pattern)
{
    for (int i = 0; i < LIMIT_S * 50 && !exists_like(pattern); i++) usleep(20000);
}

static int set_up(void **state)
{
    (void)state;
    if (!enter_work_folder()) return 1;
    return run("sample", "tiny", "--width", "64", "--height", "48", "--cameras", "10", "--points", "200",
               "--truth_points", "20", "--supersample", "1", (char *)NULL);
}

/* ---------------------------------------------------------------- exposures */

/* Without the option the photos decide, and a run that resumes stays as it began. */
static void photos_decide_on_exposures(void **state)
{
    (void)state;
    static const char text[] = "the photos were exposed differently (deviation";
    RUN_OUT(0, "", "sample", "spread", "--width", "96", "--height", "72", "--cameras", "20", "--points", "1500",
            "--truth_points", "20", "--supersample", "2", "--exposure_spread", "0.5");
#define SHORT "train", "-s", "spread", "-n", "20", "--test_iterations", "-1", "--dense_start", "False", QUICK
    RUN_ERR(0, text, SHORT, "-m", "by_rule", "--checkpoint_iterations", "10");
    assert_true(exists("by_rule/exposure.json"));
    RUN_OUT(0, "", SHORT, "-m", "by_rule", "--start_checkpoint", "by_rule/chkpnt10.splatsmith");
    RUN_OUT(0, "", SHORT, "-m", "as_told", "--exposure", "False");
    assert_null(strstr(standard_error, text));
    assert_false(exists("as_told/exposure.json"));
    RUN_OUT(0, "", SHORT, "-m", "as_others", "--strategy", "classic");
    assert_false(exists("as_others/exposure.json"));
#undef SHORT
}

/* ---------------------------------------------------------------- signals, pipes, limits */

/* An endless run, as soon as it trains. */
static pid_t begin_endless(const char *folder)
{
    char saved[256];
    pid_t child = begin("train", "-s", "tiny", "-m", folder, "-n", "1000000", "--save_iterations", "1",
                        "--test_iterations", "-1", QUICK, (char *)NULL);
    snprintf(saved, sizeof saved, "%s/point_cloud/iteration_1/point_cloud_fused.ply", folder);
    wait_for(saved);
    return child;
}

/* The kernel and the shell both send SIGHUP when a connection is lost. */
static void a_lost_terminal_ends_the_run_with_a_save(void **state)
{
    (void)state;
    pid_t child = begin_endless("lost");
    kill(child, SIGHUP);
    kill(child, SIGHUP);
    usleep(1000);
    kill(child, SIGHUP);
    expect(__LINE__, finish(child), 128 + SIGHUP, standard_error, "stopped at step ");
    assert_true(exists_like("lost/chkpnt*.splatsmith"));
}

static void nohup_goes_on(void **state)
{
    (void)state;
    const char *binary = getenv("SPLATSMITH_BINARY");
    assert_int_equal(shell("(trap '' HUP; exec '%s' train -s tiny -m nohup -n 200 --test_iterations -1 --backend cpu) "
                           "> stdout.txt 2> stderr.txt & P=$!; while [ ! -e nohup/split.json ]; do sleep 0.02; done; "
                           "while kill -HUP $P 2> /dev/null; do sleep 0.02; done; wait $P", binary), 0);
    assert_true(exists("nohup/point_cloud/iteration_200/point_cloud.ply"));
}

/* train | head -1 */
static void a_closed_pipe_costs_nothing(void **state)
{
    (void)state;
    const char *binary = getenv("SPLATSMITH_BINARY");
    assert_int_equal(shell("{ '%s' train -s tiny -m piped -n 30 --backend cpu 2> stderr.txt; echo $? > code.txt; } | "
                           "head -1 > stdout.txt", binary), 0);
    assert_true(exists("piped/point_cloud/iteration_30/point_cloud.ply"));
    assert_true(file_contains("code.txt", "1\n"));
    assert_non_null(strstr(standard_error, "the standard output could not be written: its reader ended"));
    /* what only prints has nothing more to do */
    assert_int_equal(shell("{ '%s' completion bash 2> stderr.txt; echo $? > code.txt; } | head -1 > stdout.txt",
                           binary), 0);
    assert_true(file_contains("code.txt", "141\n"));
    assert_string_equal(standard_error, "");
}

/* ulimit -f */
static void a_limit_on_files_is_an_error(void **state)
{
    (void)state;
    const char *binary = getenv("SPLATSMITH_BINARY");
    assert_int_equal(shell("ulimit -f 30; '%s' train -s tiny -m limited -n 30 --tensorboard False --report False "
                           "--backend cpu > stdout.txt 2> stderr.txt", binary), 1);
    assert_non_null(strstr(standard_error, "File too large"));
}

/* ---------------------------------------------------------------- inputs that are no files */

static void a_fifo_is_no_input(void **state)
{
    (void)state;
    static const char wanted[] = "not a regular file";
    RUN_OUT(0, NULL, "train", "-s", "tiny", "-m", "model", "-n", "1", QUICK);
    assert_int_equal(mkfifo("f.ply", 0600), 0);
    assert_int_equal(mkfifo("f.obj", 0600), 0);
    assert_int_equal(mkfifo("f.json", 0600), 0);
    assert_int_equal(mkfifo("f.csv", 0600), 0);
    assert_int_equal(mkfifo("f.safetensors", 0600), 0);
    RUN_ERR(1, wanted, "export", "--ply", "f.ply", "-o", "x.ply");
    RUN_ERR(1, wanted, "eval", "--ply", "f.ply", "-s", "tiny", ON_CPU);
    RUN_ERR(1, wanted, "mesh-report", "f.ply");
    RUN_ERR(1, wanted, "mesh-report", "f.obj");
    RUN_ERR(1, wanted, "render", "-m", "model", "--mesh", "f.ply", "-o", "pictures");
    RUN_ERR(2, wanted, "bench", "compare", "f.json", "f.json");
    RUN_ERR(1, wanted, "profile", "f.json");
    RUN_ERR(1, wanted, "train", "-s", "tiny", "-m", "x", "-n", "1", "--monitor_csv", "f.csv", QUICK);
    RUN_ERR(1, wanted, "train", "-s", "tiny", "-m", "x", "-n", "1", "--start_checkpoint", "f.ply", QUICK);
    RUN_ERR(1, wanted, "train", "-s", "tiny", "-m", "x", "-n", "1", "--lpips_weights", "f.safetensors", QUICK);
    RUN_ERR(1, wanted, "pipeline", "-s", "tiny", "-o", "p", "--coarse_checkpoint", "f.ply", ON_CPU);
    RUN_ERR(1, wanted, "coarse", "--ply", "f.ply", "-s", "tiny", "-o", "c", ON_CPU);
    assert_false(exists("x.ply") || exists("x/point_cloud") || exists("pictures"));
    /* in a scene */
    static const char *const places[] = {"images/image_003.png", "sparse/0/cameras.bin", "sparse/0/images.bin",
                                         "sparse/0/points3D.bin"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        assert_int_equal(shell("rm -rf scene && cp -r tiny scene && rm scene/%s && mkfifo scene/%s", places[i],
                               places[i]), 0);
        RUN_ERR(1, wanted, "train", "-s", "scene", "-m", "x", "-n", "1", "--strict", QUICK);
        assert_non_null(strstr(standard_error, i ? places[i] : "image_003.png"));
    }
    assert_int_equal(shell("rm -rf scene x model/cfg_args && mkfifo model/cfg_args"), 0);
    RUN_ERR(1, wanted, "eval", "-m", "model", ON_CPU);
}

/* ---------------------------------------------------------------- a folder belongs to one run */

static int n_like(const char *pattern)
{
    glob_t found;
    int n = glob(pattern, 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;
    globfree(&found);
    return n;
}

/* The splat of a longer run that saw the test photos is not what a shorter run with --eval is measured by. */
static void an_earlier_run_is_set_aside(void **state)
{
    (void)state;
    RUN_OUT(0, NULL, "train", "-s", "tiny", "-m", "reused", "-n", "30", "--checkpoint_iterations", "25", QUICK);
    write_text("reused/notes.txt", "mine");
    RUN_ERR(0, "reused held an earlier run, which is now in reused/earlier_", "train", "-s", "tiny", "-m", "reused",
            "-n", "20", "--eval", QUICK);
    RUN_OUT(0, "reused/point_cloud/iteration_20/point_cloud.ply", "eval", "-m", "reused", ON_CPU);
    assert_true(file_contains("reused/results.json", "ours_20"));
    RUN_OUT(0, "reused/point_cloud/iteration_20/", "export", "-m", "reused", ON_CPU);
    assert_false(exists("reused/point_cloud/iteration_30") || exists("reused/chkpnt25.splatsmith"));
    static const char *const kept[] = {"cfg_args", "split.json", "cameras.json", "report.html", "history.jsonl",
                                       "chkpnt25.splatsmith", "point_cloud/iteration_30/point_cloud.ply"};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        char path[256];
        snprintf(path, sizeof path, "reused/earlier_*/%s", kept[i]);
        if (!exists_like(path)) fail_msg("%s is lost", path);
    }
    assert_true(exists("reused/notes.txt"));
    /* the results of the second run go with it */
    RUN_OUT(0, NULL, "train", "-s", "tiny", "-m", "reused", "-n", "10", "--eval", QUICK);
    assert_false(exists("reused/results.json"));
    assert_int_equal(n_like("reused/earlier_*"), 2);
    /* and it can be gone on with where it is */
    glob_t found;
    assert_int_equal(glob("reused/earlier_*/chkpnt25.splatsmith", 0, NULL, &found), 0);
    RUN_OUT(0, "Trained 5 steps", "train", "-s", "tiny", "-m", "resumed", "-n", "30", "--start_checkpoint",
            found.gl_pathv[0], QUICK);
    globfree(&found);
}

/* A splat keeps the split that it was trained with. */
static void a_splat_is_not_measured_on_what_it_saw(void **state)
{
    (void)state;
    static const char wanted[] = "this splat was trained on 2 of the 2 test photos (image_000.png among them)";
    RUN_OUT(0, NULL, "train", "-s", "tiny", "-m", "seen", "-n", "3", "--checkpoint_iterations", "2", QUICK);
    RUN_OUT(0, NULL, "train", "-s", "tiny", "-m", "held", "-n", "2", "--eval", QUICK);
    static const char splat[] = "seen/point_cloud/iteration_3/point_cloud.ply";
    RUN_ERR(2, wanted, "eval", "-m", "held", "--ply", splat, ON_CPU);
    RUN_ERR(2, wanted, "eval", "-s", "tiny", "--eval", "--ply", splat, ON_CPU);
    RUN_ERR(2, wanted, "eval", "-s", "tiny", "--ply", "seen/chkpnt2.splatsmith", ON_CPU);
    RUN_ERR(2, wanted, "render", "-m", "held", "--ply", splat, "-o", "pictures", ON_CPU);
    RUN_ERR(2, wanted, "contact-sheet", "-m", "held", "--ply", splat, "-o", "sheet.png", ON_CPU);
    RUN_ERR(2, wanted, "mesh", "-m", "held", "--ply", splat, "-o", "mesh.ply", ON_CPU);
    RUN_ERR(2, wanted, "coarse", "-s", "tiny", "--eval", "--ply", splat, "-o", "coarse", ON_CPU);
    RUN_ERR(2, wanted, "bench", "-s", "tiny", "--eval", "--ply", splat, ON_CPU);
    assert_int_equal(shell("cp -r seen/point_cloud/iteration_3 held/point_cloud/"), 0); /* moved by hand */
    RUN_ERR(2, wanted, "eval", "-m", "held", ON_CPU);
    assert_false(exists("held/results.json"));
    RUN_OUT(0, "held/point_cloud/iteration_2/point_cloud.ply", "eval", "-m", "held", "--iteration", "2", ON_CPU);
    assert_int_equal(shell("rm seen/point_cloud/iteration_3/split.json"), 0); /* the model folder has one, too */
    RUN_ERR(2, wanted, "eval", "-m", "held", "--ply", splat, ON_CPU);
    RUN_OUT(0, "results.json", "eval", "-m", "held", "--ply", "held/point_cloud/iteration_2/point_cloud.ply", ON_CPU);
}

/* Train and test pictures of NeRF-synthetic scenes share their names. */
static void names_of_blender_scenes_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(shell("rm -rf blender && mkdir -p blender/train blender/test && for i in 0 1 2 3; do "
                           "cp tiny/images/image_00$i.png blender/train/r_$i.png; "
                           "cp tiny/images/image_00$((i + 4)).png blender/test/r_$i.png; done"), 0);
    for (int test = 0; test < 2; test++) {
        char text[4096] = "{\"camera_angle_x\": 0.7, \"frames\": [";
        for (int i = 0; i < 4; i++) {
            size_t used = strlen(text);
            snprintf(text + used, sizeof text - used,
                     "%s{\"file_path\": \"./%s/r_%d\", \"transform_matrix\": [[1,0,0,%d.5],[0,1,0,%d],[0,0,1,4],"
                     "[0,0,0,1]]}", i ? "," : "", test ? "test" : "train", i, i, test);
        }
        strcat(text, "]}");
        write_text(test ? "blender/transforms_test.json" : "blender/transforms_train.json", text);
    }
    RUN_OUT(0, NULL, "train", "-s", "blender", "-m", "b_seen", "-n", "1", QUICK);
    RUN_OUT(0, NULL, "train", "-s", "blender", "-m", "b_held", "-n", "1", "--eval", QUICK);
    RUN_OUT(0, "test", "eval", "-m", "b_held", ON_CPU);
    RUN_ERR(2, "trained on 4 of the 4 test photos", "eval", "-m", "b_held", "--ply",
            "b_seen/point_cloud/iteration_1/point_cloud.ply", ON_CPU);
}

/* Going back to an earlier checkpoint: what came later is another run's. Going on with the last one: nothing moves. */
static void a_run_that_goes_back_replaces_what_came_later(void **state)
{
    (void)state;
    RUN_OUT(0, NULL, "train", "-s", "tiny", "-m", "back", "-n", "30", "--eval", "--save_iterations", "10",
            "--checkpoint_iterations", "10", "20", QUICK);
    RUN_OUT(0, NULL, "eval", "-m", "back", ON_CPU);
    RUN_OUT(0, "Trained 10 steps", "train", "-s", "tiny", "-m", "back", "-n", "30", "--eval", "--start_checkpoint",
            "latest", QUICK);
    RUN_ERR(0, "nothing to train", "train", "-s", "tiny", "-m", "back", "-n", "20", "--eval", "--start_checkpoint",
            "latest", QUICK);
    assert_int_equal(n_like("back/earlier_*"), 0);
    RUN_ERR(0, "what came after iteration 10 in back is now in back/earlier_", "train", "-s", "tiny", "-m", "back",
            "-n", "15", "--eval", "--start_checkpoint", "back/chkpnt10.splatsmith", QUICK);
    assert_true(exists("back/point_cloud/iteration_10") && exists("back/chkpnt10.splatsmith"));
    assert_true(exists_like("back/earlier_*/point_cloud/iteration_30"));
    assert_true(exists_like("back/earlier_*/chkpnt20.splatsmith"));
    assert_true(exists_like("back/earlier_*/results.json"));
    RUN_OUT(0, "back/point_cloud/iteration_15/point_cloud.ply", "eval", "-m", "back", ON_CPU);
}

/* ---------------------------------------------------------------- --delete_first */

static void nothing_is_deleted_before_the_run_has_begun(void **state)
{
    (void)state;
    RUN_OUT(0, NULL, "train", "-s", "tiny", "-m", "old", "-n", "2", QUICK);
    write_text("old/marker", "");
    assert_int_equal(shell("cp -a old before"), 0);
    static const char *const mistakes[][2] = {{"--start_checkpoint", "nope"},
                                              {"--monitor_csv", "/nonexistent/x.csv"},
                                              {"--lpips_weights", "nope.safetensors"},
                                              {"-s", "nowhere"},
                                              {"--vram_limit", "1K"}};
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        int code = run("train", "-s", "tiny", "-m", "old", "-n", "2", "--delete_first", mistakes[i][0], mistakes[i][1],
                       QUICK, (char *)NULL);
        assert_true(code == 1 || code == 2);
        if (shell("diff -r before old") != 0) fail_msg("%s costs files of the old run", mistakes[i][0]);
    }
    RUN_OUT(0, "Trained 1 step in", "train", "-s", "tiny", "-m", "old/.", "-n", "1", "--delete_first", QUICK);
    assert_false(exists("old/marker") || exists("old/point_cloud/iteration_2") || exists_like("old/earlier_*"));
    assert_true(exists("old/point_cloud/iteration_1/point_cloud.ply"));
}

/* A test photo that is lost after an evaluation. */
static void results_of_more_views_stay(void **state)
{
    char before[4096];
    (void)state;
    assert_int_equal(shell("rm -rf lossy && cp -a tiny lossy"), 0);
    RUN_OUT(0, NULL, "train", "-s", "lossy", "-m", "judged", "-n", "1", "--eval", QUICK);
    RUN_OUT(0, NULL, "eval", "-m", "judged", ON_CPU);
    assert_true(file_contains("judged/results.json", "\"n_views\": 2,\n"));
    read_text("judged/results.json", before, sizeof before);
    assert_int_equal(shell("rm lossy/images/$(ls lossy/images | head -n 1)"), 0);
    RUN_ERR(0, "judged/results.json has ours_1 of 2 views, which stays; the results of 1 view are ours_1_1_of_2_views",
            "eval", "-m", "judged", ON_CPU);
    assert_true(file_contains("judged/results.json", strndupa(before, strcspn(before, "}"))));
    assert_true(file_contains("judged/results.json", "\"ours_1_1_of_2_views\": {\n") &&
                file_contains("judged/results.json", "\"n_views\": 1,\n"));
    assert_true(file_contains("judged/per_view.json", "\"ours_1_1_of_2_views\""));
}

/* A model folder that is one of the scene's, by mistake, or in one. */
static void files_of_the_scene_stay_apart(void **state)
{
    (void)state;
    static const char *const folders[] = {"mine/images",        "mine/sparse",     "mine/sparse/0",
                                          "mine/images/model",  "mine/sparse/a", "mine/./sparse/../images/"};
    assert_int_equal(shell("rm -rf mine && cp -a tiny mine"), 0);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        RUN_ERR(2, "a model cannot be written here, because files of the scene lie in mine/", "train", "-s", "mine",
                "-m", folders[i], "-n", "1", QUICK);
    assert_int_equal(shell("diff -r tiny mine && touch mine/images/cfg_args"), 0);
    RUN_ERR(2, "because files of the scene lie in mine/", "train", "-s", "mine", "-m", "mine/images", "-n", "1",
            "--delete_first", QUICK);
    assert_int_equal(shell("rm mine/images/cfg_args && diff -r tiny mine"), 0);
    assert_int_equal(shell("mkdir -p deep/m && cp -a tiny/sparse deep && cp -a tiny/images deep/m/images"), 0);
    RUN_ERR(2, "lie in deep/m/images", "train", "-s", "deep", "-i", "m/images", "-m", "deep/m/images/x", "-n", "1",
            QUICK);
    RUN_OUT(0, "Trained 1 step in", "train", "-s", "deep", "-i", "m/images", "-m", "deep/m", "-n", "1", QUICK);
    RUN_OUT(0, "Trained 1 step in", "train", "-s", "mine", "-m", "mine/model", "-n", "1", QUICK);
    RUN_OUT(0, "Trained 1 step in", "train", "-s", "mine", "-m", "mine/model", "-n", "1", "--delete_first", QUICK);
}

/* Photos that lie in the folder of the scene itself, which has room for a model next to them. */
static void a_scene_of_bare_photos_has_room(void **state)
{
    (void)state;
    assert_int_equal(shell("rm -rf bare && mkdir bare && cp tiny/images/* bare && cp -a tiny/sparse bare"), 0);
    RUN_ERR(2, "a model cannot be written here, because files of the scene lie in bare", "train", "-s", "bare", "-i",
            ".", "-m", "bare", "-n", "1", QUICK);
    RUN_OUT(0, "Trained 1 step in", "train", "-s", "bare", "-i", ".", "-m", "bare/model", "-n", "1", QUICK);
}

/* The folder has photos below it, and COLMAP's model. */
static void a_scene_is_not_deleted(void **state)
{
    (void)state;
    assert_int_equal(shell("rm -rf whole && cp -a tiny whole && mkdir whole/p && mv whole/images whole/p && "
                           "touch whole/p/cfg_args"), 0);
    RUN_ERR(2, "because files of the scene lie in it, such as whole/p/images/", "train", "-s", "whole", "-i",
            "p/images", "-m", "whole/p", "-n", "1", "--delete_first", QUICK);
    assert_int_equal(shell("diff -r tiny/images whole/p/images"), 0);
}

/* A run that fails in its folder before its first step leaves the earlier one as it was, and no new folder. */
static void a_run_that_cannot_begin_puts_all_back(void **state)
{
    (void)state;
    static const char command[] = "ulimit -f 0; '%s' train -s tiny -m %s -n 1 --backend cpu --delete_first %s > "
                                  "stdout.txt 2> stderr.txt"; /* no file can be written */
    const char *binary = getenv("SPLATSMITH_BINARY");
    RUN_OUT(0, NULL, "train", "-s", "tiny", "-m", "first", "-n", "2", "--profile_tensors", QUICK);
    assert_int_equal(shell("rm -rf before && cp -a first before"), 0);
    for (int delete_first = 0; delete_first < 2; delete_first++) {
        assert_int_equal(shell(command, binary, "first", delete_first ? "True" : "False"), 1);
        assert_int_equal(shell("diff -r before first"), 0);
    }
    assert_int_equal(shell(command, binary, "fresh/model", "False"), 1);
    assert_false(exists("fresh/model"));
}

/* ---------------------------------------------------------------- one at a time */

static void a_folder_in_use_is_refused(void **state)
{
    (void)state;
    static const char wanted[] = "another run is at work in this folder";
    pid_t child = begin_endless("living");
    RUN_ERR(1, wanted, "train", "-s", "tiny", "-m", "living", "-n", "1", QUICK);
    RUN_ERR(1, wanted, "train", "-s", "tiny", "-m", "living/", "-n", "1", "--delete_first", QUICK);
    RUN_OUT(0, NULL, "train", "-s", "tiny", "-m", "splat", "-n", "300", "--densify_until_iter", "0", QUICK);
    RUN_ERR(1, wanted, "coarse", "-c", "splat", "-o", "living", "--prune_opacity", "0.01", "--coarse_iterations",
            "7001", QUICK);
    assert_true(exists("living/point_cloud/iteration_1/point_cloud.ply") && !exists_like("living/earlier_*"));
    kill(child, SIGKILL);
    assert_int_equal(finish(child), 128 + SIGKILL);
    RUN_OUT(0, "Trained 1 step in", "train", "-s", "tiny", "-m", "living", "-n", "1", QUICK); /* no lock is left */
    RUN_ERR(2, "the splat to begin with lies in splat; name another folder", "coarse", "-c", "splat", "-o", "splat",
            QUICK);
    RUN_ERR(2, "the splat to begin with lies in splat/.", "coarse", "-s", "tiny", "--ply",
            "splat/point_cloud/iteration_300/point_cloud.ply", "-o", "splat/.", QUICK);
    assert_false(exists_like("splat/point_cloud/iteration_7*"));
}

/* ---------------------------------------------------------------- names, folders, threads */

/* Photos and folders that are named in Latin-1. */
static void names_that_are_no_utf8(void **state)
{
    (void)state;
#define E "\xe9"
    assert_int_equal(shell("rm -rf l" E " && cp -r tiny l" E " && cd l" E " && mv images/image_003.png images/photo_" E
                           ".png && LC_ALL=C sed -i 's/image_003.png/photo_" E ".png/' sparse/0/images.bin"), 0);
    RUN_OUT(0, NULL, "train", "-s", "l" E, "-m", "out_" E, "-n", "20", "--eval", "--llffhold", "3",
            "--checkpoint_iterations", "10", QUICK);
    RUN_OUT(0, "Trained 10 steps", "train", "-s", "l" E, "-m", "out_" E, "-n", "20", "--eval", "--llffhold", "3",
            "--start_checkpoint", "latest", QUICK);
    RUN_OUT(0, "results.json", "eval", "-m", "out_" E, ON_CPU); /* the split finds the photo again */
    RUN_OUT(0, NULL, "render", "-m", "out_" E, "--what", "depth", ON_CPU);
    assert_true(file_contains("out_" E "/split.json", "\"photo_\xc3\xa9.png\""));
    assert_true(file_contains("out_" E "/cameras.json", "\"photo_\xc3\xa9\""));
    assert_int_equal(shell("for f in report.html split.json cameras.json per_view.json; do iconv -f UTF-8 -t UTF-8 "
                           "out_" E "/$f > /dev/null || exit 1; done"), 0);
    RUN_OUT(0, NULL, "train", "-s", "l" E, "-m", "out_all", "-n", "1", QUICK);
    RUN_ERR(2, "was trained on 4 of the 4 test photos", "eval", "-m", "out_" E, "--ply",
            "out_all/point_cloud/iteration_1/point_cloud.ply", ON_CPU);
}

static void a_sample_that_was_stopped_can_be_made_again(void **state)
{
    (void)state;
    assert_int_equal(mkdir("stopped", 0755), 0);
    for (int i = 0; i < 2; i++) { /* into a folder that is there, and into one that is not */
        const char *folder = i ? "stopped2" : "stopped";
        pid_t child = begin("sample", folder, "--width", "400", "--height", "300", (char *)NULL);
        char pictures[64];
        snprintf(pictures, sizeof pictures, "%s/images/image_00[1-9].png", folder);
        wait_for(pictures);
        kill(child, SIGKILL);
        assert_int_equal(finish(child), 128 + SIGKILL);
        RUN_OUT(0, "2 pictures of 64x48", "sample", folder, "--width", "64", "--height", "48", "--cameras", "2",
                "--points", "100", "--truth_points", "10", "--supersample", "1");
        assert_int_equal(shell("test \"$(ls %s | tr '\\n' ' ')\" = 'ground_truth.ply images sparse ' && "
                               "test \"$(ls %s/images | wc -l)\" = 2", folder, folder), 0);
        assert_int_equal(run("sample", folder, (char *)NULL), 2); /* finished: it is in use */
    }
}

/* An output that cannot be written is found before the work. */
static void outputs_are_tried_first(void **state)
{
    (void)state;
    write_text("a_file", "");
    RUN_OUT(0, NULL, "train", "-s", "tiny", "-m", "tried", "-n", "2", "--eval", QUICK);
    RUN_ERR(1, "a file is where the folder should be", "mesh", "-m", "tried", "-o", "a_file/mesh.ply", ON_CPU);
    assert_null(strstr(standard_error, "mesh:"));
    assert_int_equal(shell("rm -rf tried/results.json && mkdir tried/x && '%s' mesh -m tried -o "
                           "/proc/mesh.ply --backend cpu > stdout.txt 2> stderr.txt", getenv("SPLATSMITH_BINARY")), 1);
    assert_non_null(strstr(standard_error, "cannot create the file"));
    assert_null(strstr(standard_error, "mesh:"));
}

/* libgomp would end the process. A user with no other process has the limit for itself; that takes root to be. */
static void fewer_threads_than_asked_for(void **state)
{
    (void)state;
    static const char wanted[] = "of 8 threads are used: the system lets the process start no more";
    if (geteuid() != 0) {
        print_message("SKIPPED: only root can become a user without processes\n");
        skip();
    }
    assert_int_equal(shell("rm -rf open && mkdir -m 0777 open && chmod -R a+rX tiny"), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit limit = {5, 5};
        char *words[] = {getenv("SPLATSMITH_BINARY"), "train", "-s", "tiny", "-m", "open/model", "-n", "3",
                         "--threads", "8", "--backend", "cpu", NULL};
        int err = open("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC, 0644);
        int out = open("stdout.txt", O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (dup2(out, 1) < 0 || dup2(err, 2) < 0 || setrlimit(RLIMIT_NPROC, &limit) != 0 || setgid(54321) != 0 ||
            setuid(54321) != 0)
            _exit(126);
        alarm(LIMIT_S);
        execv(words[0], words);
        _exit(127);
    }
    int code = finish(child);
    if (code == 127 || strstr(standard_error, "Permission denied")) {
        print_message("SKIPPED: other users may not use this folder\n");
        skip();
    }
    expect(__LINE__, code, 0, standard_error, wanted);
    assert_true(exists("open/model/point_cloud/iteration_3/point_cloud.ply"));
}

int main(void)
{
    if (!has_binary()) return 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(photos_decide_on_exposures),
        cmocka_unit_test(a_lost_terminal_ends_the_run_with_a_save),
        cmocka_unit_test(nohup_goes_on),
        cmocka_unit_test(a_closed_pipe_costs_nothing),
        cmocka_unit_test(a_limit_on_files_is_an_error),
        cmocka_unit_test(a_fifo_is_no_input),
        cmocka_unit_test(an_earlier_run_is_set_aside),
        cmocka_unit_test(a_splat_is_not_measured_on_what_it_saw),
        cmocka_unit_test(names_of_blender_scenes_are_told_apart),
        cmocka_unit_test(a_run_that_goes_back_replaces_what_came_later),
        cmocka_unit_test(nothing_is_deleted_before_the_run_has_begun),
        cmocka_unit_test(results_of_more_views_stay),
        cmocka_unit_test(files_of_the_scene_stay_apart),
        cmocka_unit_test(a_scene_of_bare_photos_has_room),
        cmocka_unit_test(a_scene_is_not_deleted),
        cmocka_unit_test(a_run_that_cannot_begin_puts_all_back),
        cmocka_unit_test(a_folder_in_use_is_refused),
        cmocka_unit_test(names_that_are_no_utf8),
        cmocka_unit_test(a_sample_that_was_stopped_can_be_made_again),
        cmocka_unit_test(outputs_are_tried_first),
        cmocka_unit_test(fewer_threads_than_asked_for),
    };
    return cmocka_run_group_tests_name("cli_runs", tests, set_up, NULL);
}
