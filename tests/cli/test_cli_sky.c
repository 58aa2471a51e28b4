/* The sky behind a splat by the user's door: where it is trained, its file, and who reads it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_ranks_fixture.h"

#include "io/picture/image_write.h"

#include <math.h>

#define SMALL "--width", "128", "--height", "96", "--supersample", "1", "--truth_points", "1000", "--points", "600", \
              "--backend", "cpu"
#define TRAIN "train", "--backend", "cpu", "--eval", "--dense_start", "False", "--tensorboard", "False", \
              "--report", "False", "--iterations", "60"
#define LAST "point_cloud/iteration_60/"

static void test_scenes(void **state)
{
    (void)state;
    RUN_OUT(0, NULL, "sample", "street", "--scene", "street", "--seed", "1", "--cameras", "24", SMALL);
    RUN_OUT(0, NULL, "sample", "room", "--cameras", "16", SMALL);
}

/* The decibels of the test views, by eval. */
static double psnr_of(const char *model)
{
    int n_views = 0;
    double psnr = 0;
    RUN_OUT(0, "\ntest ", "eval", "-m", model, "--backend", "cpu");
    assert_int_equal(sscanf(strstr(standard_output, "\ntest ") + 6, "%d %lf", &n_views, &psnr), 2);
    return psnr;
}

/* Under a sky the dome explains it; its file lies next to the splat, and eval and render draw it. */
static void a_street_has_a_sky(void **state)
{
    (void)state;
    RUN_ERR(0, "of the training photos, at infinity", TRAIN, "-s", "street", "-m", "with");
    RUN_OUT(0, NULL, TRAIN, "-s", "street", "-m", "without", "--sky", "none");
    assert_true(exists("with/" LAST "sky.safetensors") && exists("with/sky.safetensors"));
    assert_false(exists("without/" LAST "sky.safetensors") || exists("without/sky.safetensors"));
    const double with = psnr_of("with"), without = psnr_of("without");
    print_message("test views: %.2f dB with the sky behind, %.2f dB without\n", with, without);
    assert_true(with > without + 1);
    RUN_OUT(0, NULL, "render", "-m", "with", "-o", "seen", "--backend", "cpu");
    assert_int_equal(shell("mv with/" LAST "sky.safetensors kept.safetensors"), 0);
    RUN_OUT(0, NULL, "render", "-m", "with", "-o", "unseen", "--backend", "cpu");
    assert_int_equal(shell("mv kept.safetensors with/" LAST "sky.safetensors"), 0);
    assert_int_not_equal(shell("cmp -s seen/test/ours_60/test_preds_-1/00000.png "
                               "unseen/test/ours_60/test_preds_-1/00000.png"), 0);
}

/* Published methods keep their bytes unless the sky is asked for. */
static void other_strategies_have_none(void **state)
{
    (void)state;
    static const char *const strategies[] = {"classic", "mcmc"};
    for (int i = 0; i < 2; i++) {
        RUN_OUT(0, NULL, TRAIN, "-s", "street", "-m", "other", "--strategy", strategies[i]);
        assert_false(exists("other/sky.safetensors"));
        assert_int_equal(shell("rm -rf other"), 0);
        RUN_OUT(0, NULL, TRAIN, "-s", "street", "-m", "other", "--strategy", strategies[i], "--sky", "auto");
        assert_true(exists("other/sky.safetensors"));
        assert_int_equal(shell("rm -rf other"), 0);
    }
    RUN_OUT(0, NULL, TRAIN, "-s", "street", "-m", "other", "--strategy", "fast");
    assert_true(exists("other/sky.safetensors"));
}

static void a_room_has_none(void **state)
{
    (void)state;
    RUN_OUT(0, NULL, TRAIN, "-s", "room", "-m", "looked");
    RUN_OUT(0, NULL, TRAIN, "-s", "room", "-m", "without_sky", "--sky", "none");
    assert_false(exists("looked/sky.safetensors"));
    must_be_same_file("looked/" LAST "point_cloud.ply", "without_sky/" LAST "point_cloud.ply");
}

/* Any number of threads, and a stop in the middle: the same bytes. */
static void runs_repeat(void **state)
{
    (void)state;
    static const char *const files[] = {LAST "point_cloud.ply", LAST "sky.safetensors", "sky.safetensors"};
    RUN_OUT(0, NULL, TRAIN, "-s", "street", "-m", "whole", "--exposure", "--ray_jitter", "--threads", "1");
    RUN_OUT(0, NULL, TRAIN, "-s", "street", "-m", "parts", "--exposure", "--ray_jitter", "--threads", "3",
            "--checkpoint_iterations", "25");
    assert_int_equal(shell("rm -rf parts/point_cloud parts/sky.safetensors"), 0);
    RUN_OUT(0, "Trained 35 steps", TRAIN, "-s", "street", "-m", "parts", "--ray_jitter", "--start_checkpoint",
            "parts/chkpnt25.splatsmith");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char a[64], b[64];
        snprintf(a, sizeof a, "whole/%s", files[i]);
        snprintf(b, sizeof b, "parts/%s", files[i]);
        must_be_same_file(a, b);
    }
    RUN_OUT(0, "PSNR", "eval", "-m", "parts", "--ply", "parts/chkpnt25.splatsmith", "--backend", "cpu");
}

/* Two ranks have one sky; they go on from a checkpoint as if they had not stopped, and one rank goes on from theirs. */
static void ranks_share_the_sky(void **state)
{
    (void)state;
    RUN_OUT(0, NULL, TRAIN, "-s", "street", "-m", "two", "--gpus", "2", "--checkpoint_iterations", "31");
    assert_int_equal(shell("cp -r two again && rm -r again/point_cloud again/sky.safetensors"), 0);
    RUN_OUT(0, NULL, TRAIN, "-s", "street", "-m", "again", "--gpus", "2", "--start_checkpoint",
            "latest");
    must_be_same_file("two/" LAST "sky.safetensors", "again/" LAST "sky.safetensors");
    must_be_same_file("two/" LAST "point_cloud.ply", "again/" LAST "point_cloud.ply");
    RUN_OUT(0, NULL, TRAIN, "-s", "street", "-m", "again", "--start_checkpoint", "two/chkpnt31.splatsmith");
    const double one = psnr_of("with"), two = psnr_of("two");
    print_message("test views: %.2f dB by two ranks, %.2f dB by one\n", two, one);
    assert_true(two > one - 1); /* half of the steps of Gaussians */
}

/* Views in bands of tiles, as a memory limit makes them, have the sky once. */
static void bands_have_it(void **state)
{
    (void)state;
    RUN_ERR(0, "(bands of tiles) from here on", TRAIN, "-s", "street", "-m", "banded", "--vram_limit", "6M");
    const double one = psnr_of("with"), bands = psnr_of("banded");
    print_message("test views: %.2f dB in bands, %.2f dB without\n", bands, one);
    assert_true(fabs(bands - one) < 0.2);
}

/* Coarse training goes on with the sky of its splat. */
static void later_stages_have_it(void **state)
{
    (void)state;
    RUN_OUT(0, NULL, "coarse", "-c", "with", "-o", "coarse", "--backend", "cpu", "--coarse_iterations", "7010",
            "--prune_opacity", "0.02", "--tensorboard", "False", "--export_ply", "False");
    assert_true(exists("coarse/sky.safetensors"));
    assert_int_not_equal(shell("cmp -s coarse/sky.safetensors with/sky.safetensors"), 0);
    RUN_OUT(0, NULL, "coarse", "-c", "with", "-o", "bare", "--backend", "cpu", "--coarse_iterations", "7010",
            "--prune_opacity", "0.02", "--tensorboard", "False", "--sky", "none");
    assert_false(exists("bare/sky.safetensors"));
}

/* Viewers that know no sky get Gaussians of its colours. */
static void exports_can_have_it(void **state)
{
    (void)state;
    static const char *const files[] = {"alone/plain.ply", "alone/sky.ply"};
    double psnr[2] = {0};
    RUN_OUT(0, NULL, "export", "-m", "with", "-o", files[0], "--backend", "cpu");
    RUN_OUT(0, "added 2000 Gaussians of the sky", "export", "-m", "with", "-o", files[1], "--dome", "--backend", "cpu");
    RUN_ERR(2, "there is no sky behind this splat", "export", "-m", "without", "-o", "alone/never.ply", "--dome",
            "--backend", "cpu");
    assert_false(exists("alone/never.ply") || exists("alone/sky.safetensors"));
    for (int i = 0; i < 2; i++) {
        int n_views = 0;
        RUN_OUT(0, "\ntest ", "eval", "-s", "street", "--eval", "--ply", files[i], "--backend", "cpu");
        assert_int_equal(sscanf(strstr(standard_output, "\ntest ") + 6, "%d %lf", &n_views, &psnr[i]), 2);
    }
    print_message("exported: %.2f dB with Gaussians of the sky, %.2f dB without\n", psnr[1], psnr[0]);
    assert_true(psnr[1] > psnr[0] + 1);
}

/* The decibels of all pixels of the test views, by eval of a mesh. */
static double psnr_of_mesh(const char *mesh)
{
    int n_views = 0;
    double psnr = 0;
    RUN_OUT(0, "\ntest ", "eval", "-s", "street", "--eval", "--mesh", mesh, "--backend", "cpu");
    assert_int_equal(sscanf(strstr(standard_output, "\ntest ") + 6, "%d %lf", &n_views, &psnr), 2);
    return psnr;
}

/* Mesh, refinement and texture keep the sky next to their results; a GLB has a node with it, unless --no_sky. */
static void meshes_have_it(void **state)
{
    (void)state;
    RUN_OUT(0, NULL, "mesh", "-c", "coarse", "-o", "meshed", "--backend", "cpu");
    assert_true(exists("meshed/sky.safetensors"));
    RUN_OUT(0, NULL, "refine", "-s", "street", "-c", "coarse", "-m", "meshed/mesh.ply", "-o", "fine", "--backend",
            "cpu", "--refinement_iterations", "20", "--tensorboard", "False");
    assert_true(exists("fine/sky.safetensors"));
    RUN_OUT(0, NULL, "texture", "-m", "fine", "-s", "street", "--backend", "cpu", "--texture_polish", "2", "-o",
            "painted/a.glb");
    assert_int_equal(shell("grep -aq '\"name\":\"sky\"' painted/a.glb"), 0);
    assert_true(exists("painted/sky.safetensors"));
    RUN_OUT(0, NULL, "texture", "-m", "fine", "-s", "street", "--backend", "cpu", "--texture_polish", "2", "-o",
            "plain/a.glb", "--no_sky");
    assert_int_not_equal(shell("grep -aq '\"name\":\"sky\"' plain/a.glb"), 0);
    assert_false(exists("plain/sky.safetensors"));
    const double painted = psnr_of_mesh("painted/a.glb"), plain = psnr_of_mesh("plain/a.glb");
    print_message("textured mesh: %.2f dB before the sky, %.2f dB before black\n", painted, plain);
    assert_true(painted > plain + 3);
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    assert_int_equal(shell("cp with/" LAST "sky.safetensors kept.safetensors"), 0);
    assert_int_equal(shell("head -c 5000 kept.safetensors > with/" LAST "sky.safetensors"), 0);
    RUN_ERR(1, "sky.safetensors", "eval", "-m", "with", "--backend", "cpu");
    assert_int_equal(shell("sed 's/colors/colour/' kept.safetensors > with/" LAST "sky.safetensors"), 0);
    RUN_ERR(1, "`colors` of 73728 values in the shape 6 x 64 x 64 x 3", "eval", "-m", "with", "--backend", "cpu");
    RUN_ERR(1, "needs a tensor `colors`", "coarse", "-c", "with", "-o", "never", "--backend", "cpu");
    assert_int_equal(shell("sed 's/\\[6,64,64,3\\]/[6,64,32,6]/; s/\\[6, 64, 64, 3\\]/[6, 64, 32, 6]/' "
                           "kept.safetensors > with/" LAST "sky.safetensors"), 0);
    RUN_ERR(1, "6 x 64 x 64 x 3", "eval", "-m", "with", "--backend", "cpu");
    assert_int_equal(shell("(head -c 200000 kept.safetensors; printf '\\377\\377\\377\\377\\377\\377\\377\\377'; "
                           "tail -c +200009 kept.safetensors) > with/" LAST "sky.safetensors"), 0);
    RUN_ERR(1, "of tensor `colors` is ", "eval", "-m", "with", "--backend", "cpu");
    assert_int_equal(shell("mv kept.safetensors with/" LAST "sky.safetensors"), 0);
    RUN_OUT(0, "PSNR", "eval", "-m", "with", "--backend", "cpu");
}

static void write_mask(const char *folder, int photo, int low, int high)
{
    enum { WIDTH = 128, HEIGHT = 96 };
    static uint8_t pixels[WIDTH * HEIGHT];
    char path[64];
    splat_error error;
    for (int i = 0; i < WIDTH * HEIGHT; i++) pixels[i] = i / WIDTH >= low && i / WIDTH < high ? 255 : 0;
    snprintf(path, sizeof path, "street/%s/image_%03d.png", folder, photo);
    ASSERT_OK(splat_png_write(path, WIDTH, HEIGHT, 1, 8, pixels, &error));
}

/* Masks: without a file, of no sky, of sky everywhere, of some photos; and too few photos. */
static void scenes_at_the_edge(void **state)
{
    (void)state;
    static const struct {
        const char *folder;
        int low, high, step; /* rows from low to high of all or of every second mask are white */
    } masks[] = {{"skies", 0, 30, 2}, {"white", 0, 96, 1}, {"black", 0, 0, 1}};
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        assert_int_equal(shell("mkdir -p street/%s", masks[m].folder), 0);
        for (int i = 0; i < 24; i += masks[m].step) write_mask(masks[m].folder, i, masks[m].low, masks[m].high);
    }
    RUN_ERR(1, "nowhere", TRAIN, "-s", "street", "-m", "never", "--sky", "nowhere");
    RUN_ERR(0, "of the training photos, by their masks", TRAIN, "-s", "street", "-m", "masked", "--sky", "skies");
    assert_true(exists("masked/sky.safetensors"));
    RUN_OUT(0, NULL, TRAIN, "-s", "street", "-m", "whole_sky", "--sky", "white");
    assert_true(exists("whole_sky/sky.safetensors"));
    RUN_OUT(0, NULL, TRAIN, "-s", "street", "-m", "no_sky", "--sky", "black");
    assert_false(exists("no_sky/sky.safetensors"));
    must_be_same_file("no_sky/" LAST "point_cloud.ply", "without/" LAST "point_cloud.ply");
    RUN_OUT(0, NULL, "sample", "pair", "--scene", "street", "--seed", "1", "--cameras", "3", SMALL);
    RUN_OUT(0, NULL, "train", "-s", "pair", "--eval", "--llffhold", "3", "-m", "of_pair", "--backend", "cpu",
            "--iterations", "20");
    assert_false(exists("of_pair/sky.safetensors"));
}

int main(void)
{
    if (system("rm -rf street room with masked whole_sky no_sky of_pair without seen unseen other looked whole "
               "without_sky parts two again coarse bare meshed fine painted "
               "plain alone banded never pair kept.safetensors") != 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scenes),          cmocka_unit_test(a_street_has_a_sky),
        cmocka_unit_test(other_strategies_have_none), cmocka_unit_test(a_room_has_none),
        cmocka_unit_test(runs_repeat),          cmocka_unit_test(ranks_share_the_sky),
        cmocka_unit_test(bands_have_it),        cmocka_unit_test(later_stages_have_it),
        cmocka_unit_test(meshes_have_it),
        cmocka_unit_test(exports_can_have_it),  cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(scenes_at_the_edge),
    };
    if (!has_binary() || !enter_work_folder()) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
