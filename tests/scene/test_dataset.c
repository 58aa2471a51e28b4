/* Opening COLMAP scenes: names, order, sizes, splits, points, extent. */
#include "dataset_fixture.h"

#include "io/colmap/colmap_read.h"
#include "io/colmap/colmap_write.h"
#include "io/ply/ply_points.h"
#include "scene/dataset_open.h"
#include "scene/dataset_size.h"

/* A COLMAP scene "scene": cameras at x = 0, 1, 2, ... looking along z, PINHOLE 40x30 with an off-centre principal
 * point, and n_points points. Every photo is a 40x30 PNG. Names that begin with "wide" have a camera of half the focal
 * length. */
static void make_colmap(const char *const *names, size_t n, size_t n_points)
{
    splat_error error;
    splat_colmap_camera cameras[] = {
        {3, 1, 40, 30, 50, 60, 21, 14, {0}}, {1, 1, 40, 30, 25, 30, 21, 14, {0}}, {2, 1, 4, 3, 1, 1, 1, 1, {0}}};
    splat_colmap_model model = {cameras, 3, calloc(n, sizeof(splat_colmap_image)), n,
                                calloc(n_points + 1, sizeof(splat_point)), n_points, NULL};
    assert_true(model.images && model.points);
    fixture_folder("scene");
    ASSERT_OK(splat_folder_create("scene/sparse/0", &error));
    ASSERT_OK(splat_folder_create("scene/images", &error));
    for (size_t i = 0; i < n; i++) {
        uint32_t camera = strncmp(names[i], "wide", 4) == 0 ? 1 : 3;
        model.images[i] =
            (splat_colmap_image){(uint32_t)(i + 1), camera, {1, 0, 0, 0}, {-(double)i, 0, 0}, (char *)names[i]};
        char path[256];
        snprintf(path, sizeof path, "scene/images/%s", names[i]);
        char *slash = strrchr(path, '/');
        *slash = '\0';
        ASSERT_OK(splat_folder_create(path, &error));
        *slash = '/';
        make_png(path, 40, 30);
    }
    for (size_t i = 0; i < n_points; i++) model.points[i].position[2] = (float)(i + 1);
    ASSERT_OK(splat_colmap_write("scene/sparse/0", &model, &error));
    free(model.images);
    free(model.points);
}

/* n photos named p00.png, p01.png, ... */
static void make_numbered(size_t n)
{
    char names[100][32];
    const char *list[100];
    assert_true(n <= 100);
    for (size_t i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "p%02u.png", (unsigned)i);
        list[i] = names[i];
    }
    make_colmap(list, n, 5);
}

/* ---------------------------------------------------------------- sizes */

static void test_resolution(void **state)
{
    (void)state;
    /* Python: round(w / r) for divisors; else int(w / g), g = w / 1600 or w / r. 1601 becomes 1599 because
     * 1601 / (1601 / 1600) is 1599.9999999999998: the published rule, kept. Zero sides become 1. */
    static const struct { int r, w, h, out_w, out_h; bool limited; } table[] = {
        {1, 1061, 1894, 1061, 1894, false}, {2, 1061, 1894, 530, 947, false},   {4, 1061, 1894, 265, 474, false},
        {2, 5187, 3361, 2594, 1680, false}, {4, 5187, 3361, 1297, 840, false},  {8, 5187, 3361, 648, 420, false},
        {16, 1602, 1001, 100, 63, false},   {32, 799, 532, 25, 17, false},      {64, 1061, 1894, 17, 30, false},
        {2, 799, 533, 400, 266, false},     {2, 801, 535, 400, 268, false},     {8, 1601, 3, 200, 1, false},
        {-1, 1061, 1894, 1061, 1894, false}, {-1, 1600, 9000, 1600, 9000, false}, {-1, 5187, 3361, 1600, 1036, true},
        {-1, 1601, 3, 1599, 2, true},       {-1, 1602, 1001, 1600, 999, true},  {500, 5187, 3361, 500, 323, false},
        {1000, 1061, 1894, 1000, 1785, false}, {3, 799, 532, 3, 1, false},      {1598, 799, 532, 1598, 1064, false},
        {128, 1280, 720, 128, 72, false},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        int w, h;
        bool limited;
        splat_resolution_apply(table[i].r, table[i].w, table[i].h, &w, &h, &limited);
        if (w != table[i].out_w || h != table[i].out_h || limited != table[i].limited)
            fail_msg("-r %d of %d x %d: %d x %d, limited %d", table[i].r, table[i].w, table[i].h, w, h, limited);
    }
}

static void test_camera(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("scene");
    make_numbered(2);
    make_png("scene/images/p01.png", 20, 15); /* a reduced copy, as in images_2 */
    ASSERT_OK(open_dataset(&options, &d, &error));
    const splat_camera *c = &d.views[0].camera;
    assert_true(c->width == 40 && c->height == 30 && c->fx == 50 && c->fy == 60 && c->cx == 21 && c->cy == 14);
    assert_true(c->rotation[0] == 1 && c->rotation[1] == 0 && c->rotation[4] == 1 && c->rotation[8] == 1);
    c = &d.views[1].camera; /* the same field of view on half the pixels */
    assert_true(c->width == 20 && c->height == 15 && c->fx == 25 && c->fy == 30 && c->cx == 10.5f && c->cy == 7);
    assert_true(c->translation[0] == -1 && c->center[0] == 1 && c->center[1] == 0);
    assert_true(d.views[1].full_width == 40 && d.views[1].full_height == 30 && d.views[1].full_fx == 50);
    assert_true(d.views[1].file_width == 20 && d.views[1].file_height == 15);
    assert_string_equal(d.format, "colmap");
    assert_false(d.composite_truncates);
    splat_dataset_free(&d);

    options.resolution = 4; /* round(40 / 4) = 10, round(30 / 4 = 7.5) = 8: the axes scale each by its own ratio */
    options.white_background = true;
    ASSERT_OK(open_dataset(&options, &d, &error));
    c = &d.views[0].camera;
    assert_true(c->width == 10 && c->height == 8 && c->fx == 12.5f && c->fy == 16 && c->cx == 5.25f);
    assert_float_equal(c->cy, 14.0 * 8 / 30, 1e-6); /* one rounding to float */
    assert_true(d.white_background);
    splat_dataset_free(&d);

    options.resolution = 3;
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_non_null(strstr(log_text, "resolution 3 is taken as a width of 3 pixels"));
    splat_dataset_free(&d);

    make_png("scene/images/p01.png", 30, 40);
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error,
                   "30 x 40 pixels, but its camera is for 40 x 30");
    assert_non_null(strstr(error.message, "was the photo turned"));
    make_png("scene/images/p01.png", 40, 20);
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error, "another shape; use");
    make_png("scene/images/p01.png", 40, 31); /* one pixel: rounding of a resize */
    ASSERT_OK(open_dataset(&options, &d, &error));
    splat_dataset_free(&d);
    make_colmap((const char *[]){"a.png", "wide.png", "z.png"}, 3, 5);
    options.resolution = 1;
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_true(d.views[0].camera.fx == 50 && d.views[1].camera.fx == 25 && d.views[2].camera.fx == 50);
    splat_dataset_free(&d);
    options.resolution = 0;
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_ARGUMENT, &error, "resolution is 0");
    options.resolution = 100000;
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "`resolution` must be from -1 to 65500");
}

static void test_limit_notice(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("scene");
    make_numbered(2);
    make_png("scene/images/p00.png", 2000, 1500);
    make_png("scene/images/p01.png", 1700, 1275);
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_true(d.views[0].camera.width == 1600 && d.views[0].camera.height == 1200 && d.views[0].camera.fx == 2000);
    const char *notice = strstr(log_text, "photos wider than 1600 pixels (p00.png: 2000)");
    assert_non_null(notice);
    assert_null(strstr(notice + 1, "photos wider")); /* said once */
    splat_dataset_free(&d);
    options.resolution = 1;
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_int_equal(d.views[0].camera.width, 2000);
    assert_string_equal(log_text, "");
    splat_dataset_free(&d);
}

/* ---------------------------------------------------------------- names */

static void test_names(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("scene");
    /* Sorted by the part before the first dot, then by the whole name: "a-b" < "a.c" as text, but "a" < "a-b". */
    make_colmap((const char *[]){"b.png", "a-b.png", "a.z.png", "a.c.png", "cam2/x.png", "cam1/x.png"}, 6, 5);
    ASSERT_OK(open_dataset(&options, &d, &error));
    static const char *const sorted[] = {"a.c.png", "a.z.png", "a-b.png", "b.png", "cam1/x.png", "cam2/x.png"};
    for (size_t i = 0; i < 6; i++) assert_string_equal(d.views[i].name, sorted[i]);
    assert_string_equal(d.views[4].path, "scene/images/cam1/x.png");
    splat_dataset_free(&d);
    /* sub-folders that do not exist: the file name alone, as 3DGS looks for it */
    ASSERT_OK(splat_folder_delete("scene/images/cam1", &error));
    make_png("scene/images/x.png", 40, 30);
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_string_equal(d.views[4].path, "scene/images/cam2/x.png");
    assert_string_equal(d.views[5].path, "scene/images/x.png");
    splat_dataset_free(&d);
    ASSERT_OK(splat_folder_delete("scene/images/cam2", &error));
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error,
                   "two cameras of the scene use this photo");
    remove("scene/images/x.png");
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_IO, &error,
                   "/x.png\" is not in the folder scene/images; put it there or name the right folder with "
                   "`images`; 2 of 6 photos are absent or damaged, and at most 10 % may be left out");
    fixture_text("scene/images/x.PNG", "");
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_IO, &error,
                   "/x.png\" is not in the folder scene/images, but \"x.PNG\" is");
    remove("scene/images/x.PNG");
    fixture_text("scene/images/x.png", "no picture");
    remove("scene/images/b.png");
    fixture_text("scene/images/b.png", "no picture");
    assert_true(open_dataset(&options, &d, &error) != SPLAT_OK); /* two reasons; the message is one of them */
    assert_true(error.message[0] && d.n_views == 0);
}

static void test_folders(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("scene");
    make_numbered(3);
    options.images = "images_2";
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_IO, &error,
                   "name another with `images` (scene/images_2)");
    assert_int_equal(rename("scene/images", "scene/images_2"), 0);
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_string_equal(d.views[0].path, "scene/images_2/p00.png");
    splat_dataset_free(&d);
    assert_int_equal(rename("scene/sparse/0", "scene/sparse/1"), 0);
    ASSERT_OK(open_dataset(&options, &d, &error));
    splat_dataset_free(&d);
    /* next to a smaller one: by the counts of both encodings */
    splat_colmap_camera camera = {3, 1, 40, 30, 50, 60, 21, 14, {0}};
    splat_colmap_image image = {1, 3, {1, 0, 0, 0}, {0, 0, 0}, "p00.png"};
    const splat_colmap_model small = {&camera, 1, &image, 1, NULL, 0, NULL};
    ASSERT_OK(splat_folder_create("scene/sparse/0", &error));
    ASSERT_OK(splat_colmap_write("scene/sparse/0", &small, &error));
    for (int is_text = 0; is_text < 2; is_text++) {
        if (is_text) assert_int_equal(remove("scene/sparse/0/images.bin") | remove("scene/sparse/1/images.bin"), 0);
        assert_int_equal(splat_colmap_count_images("scene/sparse/0"), 1);
        assert_int_equal(splat_colmap_count_images("scene/sparse/1"), 3);
        ASSERT_OK(open_dataset(&options, &d, &error));
        assert_int_equal(d.n_views, 3);
        assert_non_null(strstr(log_text, "of 2 COLMAP models the largest is taken, scene/sparse/1 with 3 photos"));
        splat_dataset_free(&d);
    }
    assert_int_equal(splat_colmap_count_images("scene/images_2"), 0);
    ASSERT_OK(splat_folder_delete("scene/sparse/0", &error));
    assert_int_equal(rename("scene/sparse/1", "scene/sparse/0"), 0);
    fixture_folder("other"); /* sparse/ without 0, as image_undistorter writes it */
    assert_int_equal(rename("scene/sparse/0", "other/sparse"), 0);
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error, "holds no COLMAP model");
    assert_non_null(strstr(error.message, "with \"splatsmith cameras PHOTOS -o SCENE\""));
    options.source_path = "other";
    char *absolute = realpath("scene/images_2", NULL);
    options.images = absolute;
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_int_equal(d.n_views, 3);
    splat_dataset_free(&d);
    free(absolute);
    options.source_path = "empty";
    ASSERT_OK(splat_folder_delete("empty", &error));
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_IO, &error, "there is no such file or folder");
    fixture_folder("empty");
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error, "the folder is empty");
    options.source_path = NULL;
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_ARGUMENT, &error, "no scene folder");
}

/* ---------------------------------------------------------------- splits */

static void test_rules(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("scene");
    make_numbered(20);
    expect_split(&options, "");
    options.test_camera_count = 6;
    expect_split(&options, ""); /* without eval nothing is held out */
    options.eval = true;
    expect_split(&options, "0 4 8 11 15 19"); /* 19 i / 5: 0 3.8 7.6 11.4 15.2 19 */
    options.test_camera_count = 3;
    expect_split(&options, "0 10 19"); /* 9.5 -> 10, the even one */
    options.test_camera_count = 0;
    expect_split(&options, "");
    options.test_camera_count = 1;
    expect_split(&options, "0");
    options.test_camera_count = 2;
    expect_split(&options, "0 19");
    options.test_camera_count = -1;
    expect_split(&options, "0 8 16");
    options.llffhold = 7;
    expect_split(&options, "0 7 14");
    options.llffhold = 100;
    expect_split(&options, "0");
    options.llffhold = 0;
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_ARGUMENT, &error, "`llffhold` must be from 2");
    options.llffhold = 1;
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_ARGUMENT, &error, "`llffhold` must be from 2");
    options.llffhold = 8;
    options.test_camera_count = 1000; /* capped at all views */
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "all 20 photos of the scene are held out for testing, none is left to train on");
    make_numbered(6);
    options.test_camera_count = 3;
    expect_split(&options, "0 2 5"); /* 2.5 -> 2, the even one */
}

static void test_lists(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("scene");
    make_numbered(6);
    fixture_text("scene/sparse/0/test.txt", "p01.png\n");
    expect_split(&options, ""); /* only with eval */
    options.eval = true;
    options.test_camera_count = 2;
    expect_split(&options, "1");
    assert_non_null(strstr(log_text, "test photos are taken from scene/sparse/0/test.txt"));
    fixture_text("scene/sparse/0/list_test.txt", "p02\n"); /* either name in either place */
    expect_split(&options, "2");
    fixture_text("scene/test.txt", "p04\n");
    expect_split(&options, "4");
    /* the scene's own list comes first; blanks, comments, Windows line ends, names without extension, unknown names */
    fixture_text("scene/list_test.txt", "# held out\r\np03\r\n\r\n  p05.png \r\nunplaced.png");
    expect_split(&options, "3 5");
    assert_non_null(strstr(log_text, "1 name of scene/list_test.txt is no photo of the scene"));
    fixture_text("scene/list_test.txt", "x\ny\n");
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error, "names no photo of the scene");
    fixture_text("scene/list_test.txt", "");
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error, "names no photo of the scene");
}

static void test_split_file(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("scene");
    options.split_file = "model/split.json";
    make_colmap((const char *[]){"a.png", "b.png", "c.png", "cam1/x.png", "cam2/x.png"}, 5, 5);
    fixture_text("scene/list_test.txt", "a.png\n");
    write_split("\"a.png\", \"c.png\", \"cam1/x.png\"", "\"b.png\", \"cam2/x.png\"");
    for (int eval = 0; eval <= 1; eval++) { /* it wins over everything, with or without eval */
        options.eval = eval;
        expect_split(&options, "1 4");
    }
    write_split("\"a.png\"", "\"c.png\"");
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_true(d.n_train == 1 && d.n_test == 1 && d.train[0] == 0 && d.test[0] == 2 && !d.views[1].is_test);
    assert_non_null(strstr(log_text, "3 photos are not in model/split.json"));
    splat_dataset_free(&d);
    write_split("\"a.png\", \"gone.png\"", "\"c.png\"");
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error,
                   "\"gone.png\", which is no photo of the scene");
    write_split("\"a.png\"", "\"a.png\"");
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error,
                   "\"a.png\" for training and for testing");
    write_split("", "\"a.png\"");
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_ARGUMENT, &error, "none is left to train on");
    remove("model/split.json");
    assert_true(open_dataset(&options, &d, &error) != SPLAT_OK);
}

/* ---------------------------------------------------------------- points and extent */

static void test_points(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("scene");
    make_numbered(5);
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_int_equal(d.n_points, 5);
    assert_false(d.random_points);
    assert_float_equal(d.extent, 2.2f, 1e-6); /* cameras at x = 0 .. 4: 1.1 x 2 */
    splat_dataset_free(&d);
    options.eval = true;
    options.test_camera_count = 1; /* without the first: mean 2.5, radius 1.5 */
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_float_equal(d.extent, 1.65f, 1e-6);
    splat_dataset_free(&d);

    splat_point ply = {{1, 2, 3}, {4, 5, 6}}; /* points3D.ply next to the model wins */
    ASSERT_OK(splat_ply_write_points("scene/sparse/0/points3D.ply", &ply, NULL, 1, &error));
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_int_equal(d.n_points, 1);
    assert_true(d.points[0].position[1] == 2 && d.points[0].color[2] == 6);
    splat_dataset_free(&d);
}

static void test_random_points(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d, again;
    splat_scene_options options = options_of("scene");
    make_colmap((const char *[]){"a.png", "b.png", "c.png"}, 3, 0);
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_random(&d, (float[3]){1, 0, 0}, 1.1f); /* around the cameras' mean, the extent to each side */
    assert_non_null(strstr(log_text, "the scene has no points"));
    ASSERT_OK(open_dataset(&options, &again, &error));
    assert_memory_equal(d.points, again.points, d.n_points * sizeof *d.points);
    splat_dataset_free(&again);
    options.seed = 1;
    ASSERT_OK(open_dataset(&options, &again, &error));
    assert_memory_not_equal(d.points, again.points, d.n_points * sizeof *d.points);
    splat_dataset_free(&again);
    splat_dataset_free(&d);
    for (int i = 0; i < 2; i++) remove(i ? "scene/sparse/0/points3D.txt" : "scene/sparse/0/points3D.bin");
    ASSERT_OK(open_dataset(&options, &d, &error)); /* no file of points at all */
    assert_int_equal(d.n_points, 100000);
    splat_dataset_free(&d);
}

static void test_one_camera(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("scene");
    make_numbered(1); /* at the origin, points at z = 1 .. 5 */
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_true(d.extent == 3); /* the median distance: the cameras say nothing of the scene's size */
    splat_dataset_free(&d);
    options.eval = true;
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_ARGUMENT, &error, "none is left to train on");
    options.eval = false;
    make_colmap((const char *[]){"a.png"}, 1, 0);
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_random(&d, (float[3]){0, 0, 0}, 1);
    assert_true(d.extent > 0.5f && d.extent < 1.5f);
    splat_dataset_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resolution), cmocka_unit_test(test_camera),        cmocka_unit_test(test_limit_notice),
        cmocka_unit_test(test_names),      cmocka_unit_test(test_folders),       cmocka_unit_test(test_rules),
        cmocka_unit_test(test_lists),      cmocka_unit_test(test_split_file),    cmocka_unit_test(test_points),
        cmocka_unit_test(test_one_camera), cmocka_unit_test(test_random_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
