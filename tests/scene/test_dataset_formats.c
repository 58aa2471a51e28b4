/* Opening JSON scenes; and the real scenes, when they exist. */
#include "data_fixture.h"
#include "dataset_fixture.h"

#include "io/ply/ply_points.h"
#include "scene/dataset_open.h"

#include <time.h>

#define POSE(x) "\"transform_matrix\": [[1,0,0," #x "],[0,1,0,0],[0,0,1,4],[0,0,0,1]]"

static void make_blender(void)
{
    fixture_folder("blender");
    fixture_folder("blender/train");
    fixture_folder("blender/test");
    make_png("blender/train/r_0.png", 20, 10);
    make_png("blender/train/r_1.png", 20, 10);
    make_png("blender/test/r_0.png", 20, 10);
    fixture_text("blender/transforms_train.json", "{\"camera_angle_x\": 1.5707963267948966, \"frames\": ["
                                                  "{\"file_path\": \"./train/r_1\", " POSE(1) "},"
                                                  "{\"file_path\": \"./train/r_0\", " POSE(0) "}]}");
    fixture_text("blender/transforms_test.json", "{\"camera_angle_x\": 1.5707963267948966, \"frames\": ["
                                                 "{\"file_path\": \"./test/r_0\", " POSE(2) "}]}");
}

static void test_nerf_synthetic(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("blender");
    make_blender();
    ASSERT_OK(open_dataset(&options, &d, &error)); /* without eval the test pictures are trained on */
    assert_string_equal(d.format, "nerf-synthetic");
    assert_true(d.n_views == 3 && d.n_train == 3 && d.n_test == 0 && d.composite_truncates);
    assert_random(&d, (float[3]){0, 0, 0}, 1.3f);
    assert_string_equal(d.views[0].name, "r_0.png");
    assert_string_equal(d.views[0].path, "blender/test/r_0.png");
    assert_string_equal(d.views[1].path, "blender/train/r_0.png");
    const splat_camera *c = &d.views[2].camera;
    assert_float_equal(c->fx, 10, 1e-5); /* 20 / (2 tan(pi / 4)) */
    assert_true(c->fy == c->fx && c->cx == 10 && c->cy == 5 && c->width == 20 && c->height == 10);
    assert_true(c->center[0] == 1 && c->center[1] == 0 && c->center[2] == 4);
    splat_dataset_free(&d);
    options.eval = true;
    options.test_camera_count = 3; /* the scene's own list wins */
    expect_split(&options, "0");
    /* the split of a model folder lists both r_0.png: the scene's own split tells them apart */
    write_split("\"r_0.png\", \"r_1.png\"", "\"r_0.png\"");
    options.split_file = "model/split.json";
    expect_split(&options, "0");
    splat_point ply[2] = {{{1, 2, 3}, {4, 5, 6}}};
    ASSERT_OK(splat_ply_write_points("blender/points3d.ply", ply, NULL, 2, &error));
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_true(d.n_points == 2 && !d.random_points);
    splat_dataset_free(&d);
}

static void test_multiscale(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("blender");
    make_blender();
    remove("blender/transforms_train.json");
    make_png("blender/train/r_0_d0.png", 20, 10);
    make_png("blender/train/r_0_d1.png", 10, 5);
    make_png("blender/test/r_0_d1.png", 10, 5);
#define M "[[1,0,0,0],[0,1,0,0],[0,0,1,4],[0,0,0,1]]"
    fixture_text("blender/metadata.json",
                 "{\"train\": {\"file_path\": [\"train/r_0_d0.png\", \"train/r_0_d1.png\"], \"cam2world\": ["
                 M "," M "],"
                 " \"width\": [20, 10], \"height\": [10, 5], \"focal\": [30, 15]}, \"test\": {\"file_path\": "
                 "[\"test/r_0_d1.png\"], \"cam2world\": [" M "], \"width\": [10], \"height\": [5], \"focal\": [15]}}");
    for (int k = 0; k < 4; k++) {
        static const size_t n_train[4] = {1, 1, 3, 2}; /* d0 only, or all; the test picture is of scale d1 */
        options.eval = k % 2;
        options.load_allres = k / 2;
        ASSERT_OK(open_dataset(&options, &d, &error));
        assert_string_equal(d.format, "multiscale-blender");
        assert_int_equal(d.n_views, 3);
        assert_int_equal(d.n_train, n_train[k]);
        assert_int_equal(d.n_test, options.eval ? 1 : 0);
        assert_true(d.views[0].camera.fx == 30 && d.views[1].camera.fx == 15);
        splat_dataset_free(&d);
    }
}

static void test_transforms(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("studio");
    splat_point ply[2] = {{{1, 2, 3}, {4, 5, 6}}};
    fixture_folder("studio");
    fixture_folder("studio/images");
    for (int i = 0; i < 3; i++) {
        char path[64];
        snprintf(path, sizeof path, "studio/images/f%d.png", i);
        make_png(path, 20, 10);
    }
#define STUDIO                                                                                                         \
    "{\"w\": 40, \"h\": 20, \"fl_x\": 50, \"fl_y\": 52, \"cx\": 22, \"cy\": 9, \"frames\": ["                          \
    "{\"file_path\": \"images/f0.png\", " POSE(0) "}, {\"file_path\": \"images/f1.png\", " POSE(1) "},"                \
    "{\"file_path\": \"images/f2.png\", " POSE(2) "}]"
    fixture_text("studio/transforms.json",
                 STUDIO ", \"ply_file_path\": \"points.ply\", \"test_filenames\": [\"images/f1.png\"]}");
    assert_true(open_dataset(&options, &d, &error) != SPLAT_OK); /* the point cloud it names does not exist */
    ASSERT_OK(splat_ply_write_points("studio/points.ply", ply, NULL, 2, &error));
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_string_equal(d.format, "transforms");
    assert_true(d.n_points == 2 && !d.composite_truncates && d.n_train == 3);
    const splat_camera *c = &d.views[1].camera; /* photos of half the size in the file */
    assert_true(c->width == 20 && c->fx == 25 && c->fy == 26 && c->cx == 11 && c->cy == 4.5f);
    splat_dataset_free(&d);
    options.eval = true;
    expect_split(&options, "1");
    fixture_text("studio/transforms.json", STUDIO "}"); /* no split, no points */
    expect_split(&options, "0");
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_random(&d, (float[3]){1.5f, 0, 4}, 0.55f); /* train cameras at x = 1, 2 */
    splat_dataset_free(&d);
}

/* A focal length is given if it is positive, however small: here that of a photo of 3 x 3 pixels. */
static void test_a_focal_length_below_a_pixel(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("dot");
    fixture_folder("dot");
    make_png("dot/f.png", 3, 3);
    fixture_text("dot/transforms.json", "{\"w\": 3, \"h\": 3, \"fl_x\": 0.875, \"fl_y\": 0.9375, \"frames\": ["
                                        "{\"file_path\": \"f.png\", " POSE(0) "}]}");
    ASSERT_OK(open_dataset(&options, &d, &error));
    const splat_camera *c = &d.views[0].camera;
    assert_true(c->width == 3 && c->height == 3 && c->fx == 0.875f && c->fy == 0.9375f);
    splat_dataset_free(&d);
}

/* ---------------------------------------------------------------- real scenes */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Extents: numpy, double, from the same files. */
static void expect_real(const char *name, size_t n_views, size_t n_test, size_t n_points, int width, int height,
                        double fx, double extent)
{
    splat_error error;
    splat_dataset d;
    char path[4096];
    if (!data_folder(name, "a real scene", path)) return;
    splat_scene_options options = options_of(path);
    options.eval = true;
    double start = now_ms();
    ASSERT_OK(open_dataset(&options, &d, &error));
    print_message("%s: %zu views and %zu points opened in %.1f ms\n", name, d.n_views, d.n_points, now_ms() - start);
    if (d.n_points != n_points || d.views[0].camera.width != width) {
        print_message("SKIPPED: the figures of %s: this is another copy than docs/performance.md describes\n", name);
        splat_dataset_free(&d);
        return;
    }
    assert_int_equal(d.n_views, n_views);
    assert_int_equal(d.n_test, n_test);
    assert_int_equal(d.n_train, n_views - n_test);
    for (size_t i = 0; i < d.n_views; i++)
        assert_true(d.views[i].camera.width == width && d.views[i].camera.height == height);
    assert_float_equal(d.views[0].camera.fx, fx, 1e-4 * fx);
    assert_float_equal(d.extent, extent, 1e-5 * extent); /* centres are floats */
    splat_dataset_free(&d);
}

static void test_real_scenes(void **state)
{
    (void)state;
    expect_real("fox", 50, 7, 14666, 1061, 1894, 1375.4965, 4.990940896322103);
    expect_real("bonsai", 292, 37, 100198, 799, 532, 821.6669, 5.136173966538564);
    expect_real("lego", 200, 100, 100000, 400, 400, 555.5555, 5.202147551415841);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nerf_synthetic), cmocka_unit_test(test_multiscale), cmocka_unit_test(test_transforms),
        cmocka_unit_test(test_a_focal_length_below_a_pixel), cmocka_unit_test(test_real_scenes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
