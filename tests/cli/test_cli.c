/* The program from outside: it is run from a scene to pictures, and its exit code, words and files are checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_fixture.h"
#include "data_fixture.h"
#include "io/splat/formats.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <sys/ioctl.h>

/* A FIFO waits for its writer when it is opened. */
static void fifos_are_no_files(void **state)
{
    (void)state;
    assert_int_equal(mkfifo("fifo.ply", 0644), 0);
    RUN_ERR(1, "this is not a regular file (fifo.ply)", "view", "fifo.ply", "--port", "0");
    assert_int_equal(mkdir("made", 0755), 0);
    assert_int_equal(mkdir("bare", 0755), 0);
    assert_int_equal(mkfifo("made/pipeline.json", 0644), 0);
    RUN_ERR(1, "the folder is empty", "pipeline", "-s", "bare", "-o", "made", "--backend", "cpu");
}

/* The list of all formats helps nobody whose photos lie elsewhere. */
static void folders_without_a_scene(void **state)
{
    (void)state;
    assert_int_equal(system("mkdir -p blank camera/DCIM/100CANON camera/.trash texts && touch texts/a.txt "
                            "camera/.trash/a.jpg camera/DCIM/100CANON/IMG_1.JPG"), 0);
    RUN_ERR(1, "the folder is empty; name the folder of a scene or of photos (blank)", "train", "-s", "blank", "-m",
            "made", "--backend", "cpu");
    RUN_ERR(1, "there is no scene here, but there are photos in the folder DCIM/100CANON; name that folder (camera)",
            "train", "-s", "camera", "-m", "made", "--backend", "cpu");
    RUN_ERR(1, "no scene was found: looked for", "train", "-s", "texts", "-m", "made", "--backend", "cpu");
}

/* ---------------------------------------------------------------- --delete_first */

static void test_delete_first_is_careful(void **state)
{
    (void)state;
    assert_int_equal(mkdir("photos", 0755), 0);
    write_text("photos/precious.txt", "keep me");
    RUN_ERR(2, "neither cfg_args nor point_cloud", "train", "-s", "absent", "-m", "photos", "--delete_first");
    assert_true(exists("photos/precious.txt"));

    write_text("photos/cfg_args", "Namespace()"); /* now it looks like a model folder */
    assert_int_equal(mkdir("photos/scene", 0755), 0);
    RUN_ERR(2, "the scene lies in it", "train", "-s", "photos/scene", "-m", "photos/", "--delete_first");
    write_text("photos/start", "");
    RUN_ERR(2, "the checkpoint to start from lies in it", "train", "-s", "absent", "-m", "photos", "--start_checkpoint",
            "photos/start", "--delete_first");
    assert_int_equal(symlink("photos", "link"), 0);
    RUN_ERR(2, "it is a link", "train", "-s", "absent", "-m", "link/", "--delete_first");
    write_text("file", "");
    RUN_ERR(2, "it is not a folder", "train", "-s", "absent", "-m", "file", "--delete_first");
    /* what could be deleted stays when the training cannot even begin */
    RUN_ERR(1, "absent", "train", "-s", "absent", "-m", "photos", "--delete_first");
    assert_true(exists("photos/precious.txt"));
    write_text("cfg_args", "Namespace()");
    RUN_ERR(2, "the current folder lies in it", "train", "-s", "absent", "-m", "../work", "--delete_first");
    assert_int_equal(unlink("cfg_args"), 0);
}

/* ---------------------------------------------------------------- from a scene to pictures */

#define SHORT_RUN "--iterations", "30", "--eval", "--llffhold", "4", "--dense_start", "False"

static void test_sample(void **state)
{
    (void)state;
    RUN_OUT(0, "12 pictures of 96x72", "sample", "scene", "--width", "96", "--height", "72", "--cameras", "12",
            "--points", "600", "--truth_points", "1000", "--supersample", "1");
    assert_true(exists("scene/sparse/0/cameras.bin"));
    assert_true(exists("scene/ground_truth.ply"));
    expect(__LINE__, run("sample", "scene", (char *)NULL) != 0, 1, "", NULL); /* not into a folder that is in use */
}

static void test_train(void **state)
{
    (void)state;
    RUN_OUT(0, "[ITER 10] Evaluating test: L1 ", "train", "-s", "scene/", "-m", "model", SHORT_RUN, "--test_iterations",
            "10", "-1", "--save_iterations", "20", "--checkpoint_iterations", "20", "--threads", "2");
    assert_non_null(strstr(standard_output, "[ITER 30] Evaluating test: L1 "));
    assert_non_null(strstr(standard_output, "[ITER 30] Evaluating train: L1 "));
    assert_non_null(strstr(standard_output, "9 train and 3 test views"));
    assert_non_null(strstr(standard_output, "Trained 30 steps in "));
    assert_non_null(strstr(standard_output, "model/point_cloud/iteration_30/point_cloud_fused.ply"));
    assert_null(strchr(standard_error, '\r')); /* no redrawn line in a file */
    static const char *const files[] = {"cfg_args", "cameras.json", "input.ply", "split.json",
                                        "point_cloud/iteration_20/point_cloud.ply",
                                        "point_cloud/iteration_30/point_cloud.ply",
                                        "point_cloud/iteration_30/point_cloud_fused.ply"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[256];
        snprintf(path, sizeof path, "model/%s", files[i]);
        if (!exists(path)) fail_msg("%s was not written", path);
    }
    assert_true(exists_like("model/chkpnt20*"));
}

static void test_resume(void **state)
{
    (void)state;
    glob_t found;
    static char whole[MAX_OUTPUT], resumed[MAX_OUTPUT];
    assert_int_equal(glob("model/chkpnt20*", 0, NULL, &found), 0);
    RUN_OUT(0, "Trained 10 steps in ", "train", "-s", "scene", "-m", "resumed", SHORT_RUN, "--start_checkpoint",
            found.gl_pathv[0], "--threads", "1");
    RUN_ERR(0, "nothing to train: the checkpoint is at step 20", "train", "-s", "scene", "-m", "resumed", "--eval",
            "--llffhold", "4", "-n", "20", "--start_checkpoint", found.gl_pathv[0]);
    globfree(&found);
    read_text("model/point_cloud/iteration_30/point_cloud.ply", whole, sizeof whole);
    read_text("resumed/point_cloud/iteration_30/point_cloud.ply", resumed, sizeof resumed);
    assert_memory_equal(whole, resumed, sizeof whole); /* bit for bit, whatever the number of threads */
}

/* Every 7th step a checkpoint, the newest two stay, "latest" goes on from the last, and the one asked for stays too. */
static void test_checkpoint_interval(void **state)
{
    (void)state;
    static char whole[MAX_OUTPUT], resumed[MAX_OUTPUT];
    RUN_OUT(0, "Trained 30 steps in ", "train", "-s", "scene", "-m", "rolling", SHORT_RUN, "--checkpoint_interval", "7",
            "--checkpoint_iterations", "14");
    assert_false(exists("rolling/chkpnt7.splatsmith"));
    assert_true(exists("rolling/chkpnt14.splatsmith"));
    assert_true(exists("rolling/chkpnt21.splatsmith"));
    assert_true(exists("rolling/chkpnt28.splatsmith"));
    read_text("rolling/point_cloud/iteration_30/point_cloud.ply", whole, sizeof whole);
    RUN_OUT(0, "Trained 2 steps in ", "train", "-s", "scene", "-m", "rolling", SHORT_RUN, "--start_checkpoint",
            "latest");
    assert_non_null(strstr(standard_error, "the run in rolling has finished: rolling/point_cloud/iteration_30/"));
    read_text("rolling/point_cloud/iteration_30/point_cloud.ply", resumed, sizeof resumed);
    assert_memory_equal(whole, resumed, sizeof whole);
    RUN_ERR(1, "the run in this folder has finished: its splat of step 30 is saved", "train", "-s", "scene", "-m",
            "resumed", SHORT_RUN, "--start_checkpoint", "latest");
    RUN_ERR(1, "the model folder has no chkpntN.splatsmith", "train", "-s", "scene", "-m", "resumed", "-n", "31",
            "--start_checkpoint", "latest");
    RUN_ERR(2, "--delete_first and --start_checkpoint latest exclude each other", "train", "-s", "scene", "-m",
            "rolling", "--start_checkpoint", "latest", "--delete_first");
    assert_true(exists("rolling/chkpnt28.splatsmith"));
}

static void test_delete_first(void **state)
{
    (void)state;
    RUN_OUT(0, "Trained 1 step in", "train", "-s", "scene", "-m", "again", "-n", "1");
    write_text("again/marker", "");
    RUN_ERR(0, "again held an earlier run, which is now in again/earlier_", "train", "-s", "scene", "-m", "again", "-n",
            "1");
    assert_true(exists("again/marker"));
    assert_true(exists_like("again/earlier_*/point_cloud/iteration_1/point_cloud.ply"));
    RUN_OUT(0, "Trained 1 step in", "train", "-s", "scene", "-m", "again/", "-n", "1", "--delete_first");
    assert_false(exists("again/marker") || exists_like("again/earlier_*"));
    assert_true(exists("again/point_cloud/iteration_1/point_cloud.ply"));
}

static void test_output_names(void **state)
{
    (void)state;
    RUN_ERR(0, NULL, "train", "-s", "scene/", "--experiment_name", "first", "--iterations", "1", "--quiet");
    assert_string_equal(standard_output, "");
    assert_string_equal(standard_error, "");
    assert_true(exists("scene_output/first/point_cloud/iteration_1/point_cloud.ply"));
    RUN_OUT(0, "/scene_output/second\n", "train", "-s", "scene/images/..", "--experiment_name", "second", "-n", "1",
            "--data_device", "cpu");
    assert_true(file_contains("scene_output/first/cfg_args", "data_device='cuda'"));
    assert_true(file_contains("scene_output/second/cfg_args", "data_device='cpu'"));
    assert_true(exists("scene_output/second/point_cloud/iteration_1/point_cloud.ply"));
    RUN_OUT(0, "/scene_output/third\n", "train", "-s", "scene/.", "--experiment_name", "third", "-n", "1");
    RUN_ERR(0, "--gpu has no effect: running on the CPU", "train", "-s", "scene", "-m", "on_cpu", "-n", "1",
            "--backend", "cpu", "--gpu", "1");
    RUN_OUT(0, "Output folder: scene_output/20", "train", "-s", "scene/", "--iterations", "1");
    assert_true(exists_like("scene_output/20[0-9][0-9][01][0-9][0-3][0-9]_[0-2][0-9][0-5][0-9][0-6][0-9]/cfg_args"));
}

static void eval_with_lpips(void)
{
    char weights[4096];
    if (!data_folder("lpips", "eval with LPIPS", weights)) return;
    RUN_OUT(0, "(alex)", "eval", "-m", "model", "--lpips_weights", weights, "--lpips_net", "alex");
    assert_true(file_contains("model/results.json", "\"LPIPS\""));
    RUN_OUT(0, "(squeeze normalized)", "eval", "-m", "model", "--lpips_weights", weights, "--lpips_net", "squeeze",
            "--lpips_normalize");
}

static void test_eval(void **state)
{
    (void)state;
    static char before[MAX_OUTPUT];
    RUN_OUT(0, "PSNR (all channels)", "eval", "-m", "model");
    assert_non_null(strstr(standard_error, "splatsmith-lpips-convert")); /* there are no weights: how to get them */
    assert_non_null(strstr(standard_output, "LPIPS\n"));
    assert_non_null(strstr(standard_output, "not measured\n"));
    assert_non_null(strstr(standard_output, "PSNR (per channel)"));
    assert_non_null(strstr(standard_output, "\ntest             3 ")); /* the split of the training, not every 8th */
    assert_true(file_contains("model/results.json", "\"ours_30\""));
    assert_true(exists("model/per_view.json"));
    RUN_OUT(0, "PSNR (all channels)", "eval", "-m", "model"); /* and not again: one line */
    assert_non_null(strstr(standard_error, "notice: LPIPS is not measured: it has no weights (docs/files.md)\n"));
    assert_null(strstr(standard_error, "splatsmith-lpips-convert"));
    RUN_OUT(0, "PSNR (all channels)", "eval", "-m", "model", "--enable_lpips", "False");
    assert_null(strstr(standard_error, "LPIPS"));
    RUN_ERR(1, "absent.safetensors", "eval", "-m", "model", "--lpips_weights", "absent.safetensors");
    RUN_ERR(1, "there is no such folder", "eval", "-m", "absent_model", "model"); /* as metrics.py: the others go on */
    assert_non_null(strstr(standard_output, "PSNR (all channels)"));
    RUN_ERR(2, "--ply is one splat", "eval", "model", "--ply", "x.ply", "-s", "scene");
    eval_with_lpips();
    RUN_OUT(0, "iteration_20/point_cloud.ply", "eval", "-m", "model", "--iteration", "20", "--render-mode", "mip");
    assert_true(file_contains("model/results.json", "\"ours_20\""));
    read_text("model/results.json", before, sizeof before);
    RUN_OUT(0, "iteration_20/point_cloud.ply", "eval", "-m", "model", "--iteration", "20", "-r", "2");
    assert_true(file_contains("model/results.json", "\"ours_20_r2\""));
    RUN_OUT(0, "iteration_20/point_cloud.ply", "eval", "-m", "model", "--iteration", "20", "-r", "2", "--diffuse_only");
    assert_true(file_contains("model/results.json", "\"ours_20_diffuseonly_r2\""));
    const char *own = strstr(before, "\"ours_20\""); /* other sizes have left it as it was */
    assert_non_null(own);
    assert_true(file_contains("model/results.json", strndupa(own, strcspn(own, "}"))));
    RUN_OUT(0, "iteration_30/point_cloud.ply", "train", "--eval_only", "-m", "model");
    RUN_OUT(0, "\ntest             2 ", "eval", "--ply", "model/point_cloud/iteration_20/point_cloud.ply", "-s",
            "scene"); /* every 8th of 12 */
    RUN_ERR(1, "model", "eval", "-m", "model", "--iteration", "25");
}

/* A mesh measured on photos of another size leaves the results of the model's own size as they were. */
static void test_eval_mesh(void **state)
{
    (void)state;
    write_text("wall.obj", "v -5 -5 0\nv 5 -5 0\nv 0 5 0\nf 1 2 3\nf 1 3 2\n");
    RUN_OUT(0, "wall.obj", "eval", "--mesh", "wall.obj", "-m", "model");
    json_t *before = json_load_file("model/results.json", 0, NULL);
    RUN_OUT(0, "wall.obj", "eval", "--mesh", "wall.obj", "-m", "model", "-r", "2");
    json_t *after = json_load_file("model/results.json", 0, NULL);
    assert_non_null(json_object_get(before, "mesh_wall"));
    assert_null(json_object_get(before, "mesh_wall_r2"));
    assert_non_null(json_object_get(after, "mesh_wall_r2"));
    assert_true(json_equal(json_object_get(before, "mesh_wall"), json_object_get(after, "mesh_wall")));
    json_decref(before);
    json_decref(after);
}

static void test_render(void **state)
{
    (void)state;
    RUN_OUT(0, "3 pictures in model/test/ours_30", "render", "-m", "model", "--skip_train", "--data_device", "cpu");
    assert_true(exists("model/test/ours_30/test_preds_-1/00002.png"));
    assert_true(exists("model/test/ours_30/gt_-1/00002.png"));
    assert_false(exists("model/test/ours_30/test_preds_-1/00003.png"));
    assert_false(exists("model/train"));
    RUN_OUT(0, "9 pictures in pictures/train/ours_20", "render", "--ply",
            "model/point_cloud/iteration_20/point_cloud.ply", "-s", "scene", "-o", "pictures", "-r", "2", "--skip_test",
            "--eval", "--llffhold", "4");
    assert_true(exists("pictures/train/ours_20/test_preds_2/00008.png"));
}

static void test_render_maps(void **state)
{
    (void)state;
#define MAPS "render", "-m", "model", "--skip_train", "--data_device", "cpu", "-o"
    RUN_OUT(0, "maps of 3 views in maps/test/ours_30", MAPS, "maps", "--what", "depth,normal,alpha,density");
    assert_true(exists("maps/test/ours_30/depth_-1/00002.png"));
    assert_true(exists("maps/test/ours_30/depth_-1/00002.pfm"));
    assert_true(exists("maps/test/ours_30/depth_-1/00002.json"));
    assert_true(exists("maps/test/ours_30/normal_-1/00002.png"));
    assert_true(exists("maps/test/ours_30/alpha_-1/00002.png"));
    assert_true(exists("maps/test/ours_30/density_-1/00002.png"));
    assert_false(exists("maps/test/ours_30/median_-1"));
    assert_false(exists("maps/test/ours_30/test_preds_-1"));
    RUN_OUT(0, "3 pictures in both/test/ours_30", MAPS, "both", "--what", "rgb,median");
    assert_true(exists("both/test/ours_30/test_preds_-1/00002.png"));
    assert_true(exists("both/test/ours_30/median_-1/00002.json"));
    RUN_ERR(2, "not 'heat'", MAPS, "none", "--what", "depth,heat");
    RUN_ERR(2, "not ''", MAPS, "none", "--what", "depth,");
    RUN_ERR(2, "--what goes without", "render", "-m", "model", "--random_views", "2", "--what", "depth");
    assert_false(exists("none"));
}

/* Centres of the second splat are scale times those of the first, with these axes of theirs (-2: minus y). */
static void assert_turned(const char *before, const char *after, float scale, int x, int y, int z)
{
    const int axes[3] = {x, y, z};
    splat_cloud a, b;
    splat_error error;
    assert_int_equal(splat_cloud_read(before, &a, &error), SPLAT_OK);
    assert_int_equal(splat_cloud_read(after, &b, &error), SPLAT_OK);
    assert_int_equal(a.n, b.n);
    for (size_t i = 0; i < a.n; i++)
        for (size_t k = 0; k < 3; k++) {
            float wanted = scale * (axes[k] < 0 ? -1.0f : 1.0f) * a.means[3 * i + (size_t)abs(axes[k]) - 1];
            assert_true(fabsf(b.means[3 * i + k] - wanted) <= 1e-6f * (1 + fabsf(wanted)));
        }
    splat_cloud_free(&a);
    splat_cloud_free(&b);
}

static void test_export(void **state)
{
    (void)state;
    const char *fused = "model/point_cloud/iteration_30/point_cloud_fused.ply";
    assert_int_equal(unlink(fused), 0);
    RUN_OUT(0, "fused", "export", "-m", "model");
    assert_true(exists(fused));
    RUN_OUT(0, "fused", "export", "-m", "model", "--output_ply", "fused.ply");
    assert_true(file_contains("fused.ply", "SplatRenderMode: mip"));
    assert_false(file_contains("fused.ply", "filter_3D"));
    RUN_OUT(0, "Gaussians were floaters", "export", "-m", "model", "--remove_floaters", "-o", "clean.ply");
    RUN_OUT(0, "training views show", "export", "-m", "model", "--min_views", "2", "-o", "seen.ply");
    RUN_ERR(2, "not in 5000", "export", "-m", "model", "--min_views", "5000", "-o", "seen.ply");
    RUN_OUT(0, "plain.ply", "export", "--ply", "model/point_cloud/iteration_30/point_cloud.ply", "-o", "plain.ply");
    assert_true(file_contains("plain.ply", "filter_3D"));
    RUN_OUT(0, "fused", "export", "-m", "model", "-o", "exported/here/fused.ply");
    assert_true(exists("exported/here/fused.ply"));
    RUN_ERR(2, "chooses the format of a splat: .ply (PLY)", "export", "-m", "model", "-o", "splat.foo");
    RUN_ERR(0, "those above are left out", "export", "plain.ply", "plain.splat");
    RUN_ERR(0, "the mark of antialiased splats", "export", "plain.ply", "plain.splat");
    RUN_OUT(0, "of degree 3, fused", "export", "plain.ply", "plain.spz", "--spz_version", "3");
    RUN_OUT(0, "plain_back.ply", "export", "plain.spz", "plain_back.ply");
    RUN_ERR(2, "takes one of 3|4", "export", "plain.ply", "plain.spz", "--spz_version", "2");
    RUN_ERR(2, "two files", "export", "plain.ply");
    RUN_ERR(2, "two files", "export", "plain.ply", "a.ply", "b.ply");
    RUN_ERR(2, "two files", "export", "plain.ply", "a.ply", "-o", "b.ply");
    RUN_OUT(0, "the file to write: .ply, .compressed.ply", "export", "--help");
    assert_false(exists("splat.splat"));
    RUN_OUT(0, "removed ", "export", "-m", "model", "--bboxmin=-1,-1,-1", "--bboxmax", "1,1,1", "-o", "box.ply");
    assert_non_null(strstr(standard_output, " outside the box"));
    RUN_OUT(0, "too faint", "export", "-m", "model", "--min_opacity", "0.05", "-o", "solid.ply");
    RUN_ERR(1, "would be left", "export", "-m", "model", "--bboxmin", "90,90,90", "--bboxmax", "91,91,91", "-o",
            "empty.ply");
    assert_false(exists("empty.ply"));
    RUN_OUT(0, "turned: up was -y, and is z", "export", "-m", "model", "--up_axis", "z", "-o", "up.ply");
    RUN_OUT(0, "scaled by 2", "export", "-m", "model", "--up_axis", "-y", "--scene_up", "z", "--scale", "2", "-o",
            "turned.ply");
    assert_turned("fused.ply", "up.ply", 1, 1, 3, -2); /* x stays, -y becomes z, z becomes y */
    assert_turned("fused.ply", "turned.ply", 2, 1, -3, 2);
    RUN_OUT(0, "and is y", "export", "-m", "model", "--up_axis", "y", "-o", "up.ply"); /* half turns */
    assert_turned("fused.ply", "up.ply", 1, 1, -2, -3);
    RUN_OUT(0, "and is -x", "export", "-m", "model", "--up_axis", "-x", "--scene_up", "x", "-o", "up.ply");
    assert_turned("fused.ply", "up.ply", 1, -1, -2, 3);
    RUN_ERR(1, "--scene_up has no effect without", "export", "-m", "absent", "--scene_up", "-z", "-o", "x.ply");
    RUN_ERR(2, "takes one of x|y|z", "export", "-m", "model", "--up_axis", "up", "-o", "x.ply");
    RUN_ERR(2, "the box is empty", "export", "-m", "model", "--bboxmin", "1,1,1", "--bboxmax", "0,0,0", "-o", "x.ply");
    RUN_ERR(2, "or neither", "export", "-m", "model", "--bboxmin", "1,1,1", "-o", "x.ply");
    write_text("garbage.ply", "ply\nformat ascii 1.0\nelement vertex 99999999999999999999\n");
    RUN_ERR(1, "garbage.ply", "export", "--ply", "garbage.ply", "-o", "never.ply");
    assert_false(exists("never.ply"));
}

static void test_contact_sheet(void **state)
{
    (void)state;
    RUN_OUT(0, "sheet.png", "contact-sheet", "-m", "model", "-o", "sheet.png", "--views", "2");
    assert_true(file_contains("sheet.png", "\x89PNG"));
    RUN_OUT(0, "sheet.png", "contact-sheet", "-m", "model", "-o", "exported/sheets/sheet.png", "--views", "1");
    RUN_ERR(2, "contact-sheet writes PNG and JPEG", "contact-sheet", "-m", "model", "-o", "sheet.bmp");
}

static void test_info(void **state)
{
    (void)state;
    RUN_OUT(0, "backend cpu ", "info", "--threads", "1");
    assert_non_null(strstr(standard_output, "backend cuda "));
}

/* A full disk under the standard output is not a success. */
static void test_output_that_fails(void **state)
{
    (void)state;
    char command[4200];
    if (!exists("/dev/full")) skip();
    snprintf(command, sizeof command, "'%s' help train > /dev/full 2> stderr.txt", getenv("SPLATSMITH_BINARY"));
    int status = system(command);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_true(file_contains("stderr.txt", "could not be written"));
}

/* The program starts itself once more, and stays what ps, top and killall know. */
static void test_process_name(void **state)
{
    (void)state;
    char path[64], name[64] = "";
    const char *kept = getenv("OMP_WAIT_POLICY");
    char *policy = kept ? strdup(kept) : NULL;
    if (!exists("/proc/self/comm")) skip();
    unlink("stdout.txt");
    unsetenv("OMP_WAIT_POLICY");
    unsetenv("GOMP_SPINCOUNT");
    pid_t child = begin("monitor", "--interval", "0.1", (char *)NULL);
    if (policy) setenv("OMP_WAIT_POLICY", policy, 1);
    free(policy);
    for (int i = 0; i < LIMIT_S * 20 && !file_contains("stdout.txt", "Machine"); i++) usleep(50000);
    snprintf(path, sizeof path, "/proc/%d/comm", (int)child);
    read_text(path, name, sizeof name);
    kill(child, SIGKILL);
    finish(child);
    assert_string_equal(name, "splatsmith\n");
}

/* Runs a training whose standard error is a terminal so many columns wide; what the terminal got is in
 * standard_error. */
static void run_on_terminal(unsigned short columns)
{
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    size_t length = 0;
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    int line = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    assert_true(line >= 0 && ioctl(line, TIOCSWINSZ, &size) == 0);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("stdout.txt", "w", stdout) || dup2(line, STDERR_FILENO) < 0) _exit(126);
        alarm(LIMIT_S);
        execl(getenv("SPLATSMITH_BINARY"), "splatsmith", "train", "-s", "scene", "-m", "narrow", "-n", "60",
              "--delete_first", "--backend", "cpu", "--dense_start", "False", NULL);
        _exit(127);
    }
    close(line);
    for (ssize_t n; (n = read(terminal, standard_error + length, MAX_OUTPUT - 1 - length)) > 0;) length += (size_t)n;
    standard_error[length] = '\0';
    close(terminal);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A field that does not fit is omitted as a whole, because the beginning of a number would be another number. */
static void test_narrow_terminal(void **state)
{
    (void)state;
    for (int columns = 45; columns <= 65; columns += 5) {
        size_t n_lines = 0;
        run_on_terminal((unsigned short)columns);
        for (const char *at = standard_error, *end; (end = strstr(at, "\x1b[K")); at = end + 3) {
            if (end == at || !memchr(at, '|', (size_t)(end - at))) continue;
            n_lines++;
            if (end - at > columns || !strchr(")s%B?m", end[-1]))
                fail_msg("cut within a word: %.*s", (int)(end - at), at);
        }
        assert_true(n_lines > 0);
    }
}

/* ---------------------------------------------------------------- signals */

static void stop_with(int number, const char *folder)
{
    char first[256], later[2][256];
    snprintf(first, sizeof first, "%s/point_cloud/iteration_1/point_cloud_fused.ply", folder);
    snprintf(later[0], sizeof later[0], "%s/point_cloud/iteration_[2-9]*/point_cloud.ply", folder);
    snprintf(later[1], sizeof later[1], "%s/point_cloud/iteration_1?*/point_cloud.ply", folder);
    pid_t child = begin("train", "-s", "scene", "-m", folder, "--iterations", "1000000", "--save_iterations", "1",
                        "--test_iterations", "-1", (char *)NULL);
    for (int i = 0; i < LIMIT_S * 20 && !exists(first); i++) usleep(50000); /* until it trains */
    usleep(300000);
    kill(child, number);
    expect(__LINE__, finish(child), 128 + number, standard_error, "stopped at step ");
    assert_non_null(strstr(standard_output, "Trained "));
    assert_non_null(strstr(standard_error, ".splatsmith goes on from there"));
    if (!exists_like(later[0]) && !exists_like(later[1])) fail_msg("no splat was saved in %s", folder);
    snprintf(later[0], sizeof later[0], "%s/chkpnt*.splatsmith", folder);
    if (!exists_like(later[0])) fail_msg("no checkpoint was saved in %s", folder);
}

static void test_signals(void **state)
{
    (void)state;
    stop_with(SIGINT, "interrupted");
    stop_with(SIGTERM, "terminated");
}

int main(void)
{
    if (!has_binary()) return 0;
    unsetenv("NO_COLOR");
    if (!enter_work_folder()) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fifos_are_no_files),
        cmocka_unit_test(folders_without_a_scene),
        cmocka_unit_test(test_delete_first_is_careful),
        cmocka_unit_test(test_sample), /* the following use its scene, and the model of test_train */
        cmocka_unit_test(test_train),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_checkpoint_interval),
        cmocka_unit_test(test_delete_first),
        cmocka_unit_test(test_output_names),
        cmocka_unit_test(test_eval),
        cmocka_unit_test(test_eval_mesh), cmocka_unit_test(test_render),
        cmocka_unit_test(test_render_maps),
        cmocka_unit_test(test_export),
        cmocka_unit_test(test_contact_sheet),
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_output_that_fails),
        cmocka_unit_test(test_process_name),
        cmocka_unit_test(test_narrow_terminal),
        cmocka_unit_test(test_signals),
    };
    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
