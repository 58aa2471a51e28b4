/* Known depth of a scene: maps of inverse depth and points with tracks; both agree for one scene, through a lens and
 * smaller; the views that have them; and refused files. */
#include "dataset_fixture.h"

#include "io/picture/image_write.h"
#include "scene/dataset_open.h"
#include "scene/photo.h"
#include "splatsmith.h"

#define W 24
#define H 16

/* ---------------------------------------------------------------- the built-in scene knows both */

static void write_sample(const char *folder, splat_sample_distortion distortion)
{
    splat_context *context;
    splat_context_options options;
    splat_sample_options sample;
    splat_error error;
    splat_context_options_init(&options);
    options.backend = "cpu";
    options.threads = 2;
    ASSERT_OK(splat_context_create(&options, &context, &error));
    splat_sample_options_init(&sample);
    sample.width = 90;
    sample.height = 60;
    sample.n_cameras = 12;
    sample.n_points = 900;
    sample.n_truth = 10;
    sample.supersample = 1;
    sample.distortion = distortion;
    sample.tracks = sample.depths = true;
    ASSERT_OK(splat_folder_delete(folder, &error));
    ASSERT_OK(splat_sample_write(context, folder, &sample, &error));
    splat_context_destroy(context);
}

/* The share of a view's points whose depth is that of the map under them, within 5 %: points are noisy, and the nearest
 * pixel may be of another surface. */
static void count_agreeing(const splat_dataset *d, size_t view, size_t *n_agreeing, size_t *n)
{
    splat_error error;
    const splat_dataset_view *v = &d->views[view];
    uint8_t *photo;
    ASSERT_OK(splat_photo_load(d, view, &photo, &error));
    const uint16_t *map = splat_view_depth(v, photo);
    assert_non_null(map);
    for (size_t i = 0; i < v->n_depth_points; i++) {
        const splat_depth_point *p = &d->depth_points[v->first_depth_point + i];
        assert_true(p->x >= 0 && p->x <= v->camera.width - 1 && p->y >= 0 && p->y <= v->camera.height - 1);
        size_t pixel = (size_t)(p->y + 0.5f) * (size_t)v->camera.width + (size_t)(p->x + 0.5f);
        float inverse = v->depth_scale * (float)map[pixel] / 65536 + v->depth_offset;
        *n_agreeing += fabsf(inverse - p->inverse) < 0.05f * p->inverse;
        ++*n;
    }
    free(photo);
}

static void check_agreement(splat_sample_distortion distortion, int resolution, double least)
{
    splat_error error;
    splat_dataset d;
    size_t n = 0, n_agreeing = 0;
    splat_scene_options options = options_of("sample");
    write_sample("sample", distortion);
    options.depths = "depths";
    options.sfm_depth = true;
    options.eval = true;
    options.resolution = resolution;
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_true(d.n_test == 2 && d.n_depths == 10);
    assert_non_null(strstr(log_text, "depth maps: 10 of 10 training photos"));
    for (size_t i = 0; i < d.n_views; i++) {
        assert_true(d.views[i].is_test == (d.views[i].depth_path == NULL));
        if (d.views[i].is_test) assert_int_equal(d.views[i].n_depth_points, 0);
        if (!d.views[i].is_test) count_agreeing(&d, i, &n_agreeing, &n);
    }
    print_message("model %d, 1/%d: %zu of %zu points agree\n", (int)distortion, resolution, n_agreeing, n);
    assert_int_equal(n, d.n_depth_points);
    assert_true(n > 400 && (double)n_agreeing > least * (double)n);
    splat_dataset_free(&d);
}

static void maps_and_points_agree(void **state)
{
    (void)state;
    check_agreement(SPLAT_SAMPLE_DISTORTION_NONE, 1, 0.9);
    check_agreement(SPLAT_SAMPLE_DISTORTION_NONE, 40, 0.8); /* a width: not a whole part */
    check_agreement(SPLAT_SAMPLE_DISTORTION_OPENCV, 1, 0.9);
    check_agreement(SPLAT_SAMPLE_DISTORTION_OPENCV_FISHEYE, 2, 0.8);
}

/* A point of a panorama lies in one of its views, or near a border in two; a map of the photo has another axis. */
static void panoramas_have_points_and_no_maps(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("sample");
    write_sample("sample", SPLAT_SAMPLE_DISTORTION_EQUIRECTANGULAR);
    options.sfm_depth = true;
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_true(d.n_photos == 12 && d.n_views > 40);
    size_t n_with = 0;
    for (size_t i = 0; i < d.n_views; i++) n_with += d.views[i].n_depth_points > 0;
    print_message("%zu of %zu views have points, %zu\n", n_with, d.n_views, d.n_depth_points);
    assert_true(n_with > 30 && d.n_depth_points > 1000);
    splat_dataset_free(&d);
    options.depths = "depths";
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error, "no training photo has a depth map");
    assert_non_null(strstr(log_text, "12 of 12 training photos are cut into several views (the first is image_000"));
}

/* ---------------------------------------------------------------- a scene made by hand */

static const char *const names[] = {"a.png", "sub/b.jpg.png", "c.png", "d.png"};
#define PARAMS "s/sparse/0/depth_params.json"

static void write_map(const char *path, int width, int height, const uint16_t *values)
{
    splat_error error;
    uint16_t *pixels = calloc((size_t)width * (size_t)height, sizeof *pixels);
    for (int i = 0; i < width * height; i++) pixels[i] = values ? values[i] : 1000;
    ASSERT_OK(splat_folder_create_for(path, &error));
    ASSERT_OK(splat_png_write(path, width, height, 1, 16, pixels, &error));
    free(pixels);
}

static void make_scene(void)
{
    char images[1024] = "", path[256];
    splat_error error;
    fixture_folder("s");
    fixture_folder("s/images");
    fixture_folder("s/sparse");
    fixture_folder("s/sparse/0");
    fixture_text("s/sparse/0/cameras.txt", "1 PINHOLE 24 16 20 20 12 8\n");
    for (int i = 0; i < 4; i++) {
        snprintf(images + strlen(images), sizeof images - strlen(images), "%d 1 0 0 0 %g 0 0 1 %s\n\n", 10 * i + 7,
                 -0.1 * i, names[i]);
        snprintf(path, sizeof path, "s/images/%s", names[i]);
        ASSERT_OK(splat_folder_create_for(path, &error));
        make_png(path, W, H);
        snprintf(path, sizeof path, "s/depths/%.*s.png", (int)strlen(names[i]) - 4, names[i]);
        write_map(path, W, H, NULL);
    }
    fixture_text("s/sparse/0/images.txt", images);
    fixture_text("s/sparse/0/points3D.txt", "1 0 0 3 1 2 3 0\n2 1 0 3 1 2 3 0\n");
    fixture_text(PARAMS, "{\"a\": {\"scale\": 1, \"offset\": 0.5}, \"sub/b.jpg\": {\"scale\": 2, \"offset\": 0},"
                         " \"c\": {\"scale\": 1.5, \"offset\": 0}, \"d\": {\"scale\": 1, \"offset\": 0}}");
}

static splat_scene_options with_maps(void)
{
    splat_scene_options options = options_of("s");
    options.depths = "depths";
    return options;
}

static void views_have_their_own_numbers(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = with_maps();
    make_scene();
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_int_equal(d.n_depths, 4);
    assert_string_equal(d.views[1].depth_path, "s/depths/sub/b.jpg.png");
    assert_true(d.views[0].depth_scale == 1 && d.views[0].depth_offset == 0.5f);
    assert_true(d.views[1].depth_scale == 2 && d.views[2].depth_scale == 1.5f);
    splat_dataset_free(&d);
    options.depths = NULL; /* not asked for: not read */
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_true(d.n_depths == 0 && !d.views[0].depth_path);
    assert_int_equal(splat_view_decoded_bytes(&d.views[0]), 3 * W * H);
    splat_dataset_free(&d);
}

/* Two values at an edge are never mixed, for any sizes; and a pixel has the value of the map under its middle. */
static void nothing_is_mixed(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = with_maps();
    make_scene();
    enum { BIG = 96 }; /* the map is finer than its photo */
    uint16_t values[BIG * 64];
    for (int i = 0; i < BIG * 64; i++) values[i] = (uint16_t)(i % BIG < 41 ? 1000 : 60000);
    write_map("s/depths/a.png", BIG, 64, values);
    static const int widths[] = {24, 7, 12};
    for (size_t k = 0; k < 3; k++) {
        options.resolution = k == 0 ? 1 : widths[k] == 12 ? 2 : widths[k];
        ASSERT_OK(open_dataset(&options, &d, &error));
        uint8_t *photo;
        const splat_dataset_view *v = &d.views[0];
        const int width = v->camera.width, height = v->camera.height;
        assert_int_equal(width, widths[k]);
        ASSERT_OK(splat_photo_load(&d, 0, &photo, &error));
        assert_true(splat_view_depth_at(v) % 2 == 0 && splat_view_depth_at(v) >= 3 * (size_t)(width * height));
        const uint16_t *map = splat_view_depth(v, photo);
        for (int i = 0; i < width * height; i++)
            assert_int_equal(map[i], (int)((i % width + 0.5) * BIG / width) < 41 ? 1000 : 60000);
        free(photo);
        splat_dataset_free(&d);
    }
}

/* The lens's own formula, u' = u (1 + k r²): every pixel is that of the map in which the lens shows its ray. */
static void maps_go_through_the_lens(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = with_maps();
    enum { FINE = 10 };
    const double k = -0.25;
    static uint16_t values[FINE * W * FINE * H];
    make_scene();
    fixture_text("s/sparse/0/cameras.txt", "1 SIMPLE_RADIAL 24 16 20 12 8 -0.25\n");
    for (int i = 0; i < FINE * W * FINE * H; i++) values[i] = (uint16_t)(i % (FINE * W) + 256 * (i / (FINE * W)));
    write_map("s/depths/a.png", FINE * W, FINE * H, values);
    ASSERT_OK(open_dataset(&options, &d, &error));
    uint8_t *photo;
    const splat_dataset_view *v = &d.views[0];
    assert_true(v->is_distorted);
    ASSERT_OK(splat_photo_load(&d, 0, &photo, &error));
    const uint16_t *map = splat_view_depth(v, photo);
    double largest = 0;
    for (int i = 0; i < v->camera.width * v->camera.height; i++) {
        double u = (i % v->camera.width + 0.5 - (double)v->camera.cx) / (double)v->camera.fx;
        double w = (i / v->camera.width + 0.5 - (double)v->camera.cy) / (double)v->camera.fy;
        double by = 1 + k * (u * u + w * w), x = FINE * (20 * u * by + 12), y = FINE * (20 * w * by + 8);
        if (x < 1 || y < 1 || x > FINE * W - 1 || y > FINE * H - 1) continue;
        assert_true(fabs(map[i] % 256 + 0.5 - x) < 0.51 && fabs(map[i] / 256 + 0.5 - y) < 0.51);
        largest = fmax(largest, fabs(FINE * 20 * u * (1 - by)));
    }
    assert_true(largest > 8); /* pixels of the map, which a map without the lens would be wrong by */
    free(photo);
    splat_dataset_free(&d);
}

static void what_photos_lack_is_named(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = with_maps();
    make_scene();
    assert_int_equal(remove("s/depths/c.png"), 0);
    fixture_text(PARAMS, "{\"a\": {\"scale\": 1, \"offset\": 0}, \"d\": {\"scale\": 1, \"offset\": 0},"
                         " \"c\": {\"scale\": 1, \"offset\": 0}}");
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_int_equal(d.n_depths, 2);
    assert_non_null(strstr(log_text, "1 of 4 training photos have no depth map in s/depths (the first is c.png"));
    assert_non_null(strstr(log_text, "1 of 4 training photos are not in depth_params.json (the first is b.jpg.png)"));
    splat_dataset_free(&d);
    fixture_text(PARAMS, "{\"a\": {\"scale\": 1, \"offset\": 0}, \"d\": {\"scale\": 5.1, \"offset\": 0},"
                         " \"sub/b.jpg\": {\"scale\": 1, \"offset\": 0}}");
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_int_equal(d.n_depths, 2);
    assert_non_null(strstr(log_text, "1 of 4 depth maps are left out (the first is that of d.png)"));
    splat_dataset_free(&d);
    fixture_text(PARAMS, "{\"x\": {\"scale\": 1, \"offset\": 0}}");
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error,
                   "no training photo has a depth map that can be used (1 have no file, as c.png; 3 are not in");
}

static void bad_maps_are_refused(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = with_maps();
    uint8_t bytes[W * H] = {0}, *photo;
    make_scene();
    write_map("s/depths/a.png", W, H + 4, NULL);
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error,
                   "the depth map has 24 x 20 pixels, and its photo 24 x 16, which is another shape");
    ASSERT_OK(splat_png_write("s/depths/a.png", W, H, 1, 8, bytes, &error));
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_UNSUPPORTED, &error, "8 bits a channel (gray)");
    write_map("s/depths/a.png", W, H, NULL);
    ASSERT_OK(open_dataset(&options, &d, &error));
    write_map("s/depths/a.png", 2 * W, 2 * H, NULL); /* while the scene is open */
    assert_failure(splat_photo_load(&d, 0, &photo, &error), SPLAT_ERROR_FORMAT, &error, "open it again");
    assert_null(photo);
    splat_dataset_free(&d);
    options.depths = "nowhere";
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_IO, &error, "name another with `depths`");
    options.depths = "depths";
    assert_int_equal(remove(PARAMS), 0);
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_IO, &error, "make_depth_scale.py");
}

/* ---------------------------------------------------------------- points */

static const splat_depth_point *points_of(const splat_dataset *d, size_t view, size_t n)
{
    assert_int_equal(d->views[view].n_depth_points, n);
    return d->depth_points + d->views[view].first_depth_point;
}

/* The camera of photo i stands at 0.1 i, so a point at (x, y, z) is seen at 20 (x - 0.1 i)/z + 12, 20 y/z + 8. */
static void points_are_where_photos_see_them(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("s");
    options.sfm_depth = true;
    make_scene();
    fixture_text("s/sparse/0/points3D.txt",
                 "1 0.1 0.2 4 1 2 3 1 7 0 17 0 27 0\n"          /* three photos, error 1 */
                 "2 -1 0 2 1 2 3 0.1 7 1 17 1 37 1 7 5\n"       /* three others, one twice; no better than 1/2 */
                 "3 1 1 5 1 2 3 0 7 2 17 2 27 2 37 2 99 0\n"    /* four, and one that is absent; the median's error */
                 "4 0 0 3 1 2 3 0.5 7 3 17 3 7 4\n"             /* two: left out */
                 "5 0.1 0.2 4.01 1 2 3 3 7 6 17 4 27 3\n"       /* where 1 is, and worse */
                 "6 0 0 -3 1 2 3 1 7 7 17 5 27 4\n"             /* behind */
                 "7 9 0 3 1 2 3 1 7 8 17 6 27 5\n");            /* outside */
    ASSERT_OK(open_dataset(&options, &d, &error));
    const splat_depth_point *p = points_of(&d, 0, 3); /* a.png, the largest weight first */
    double expected[3][4] = {{20 * -0.5 + 11.5, 7.5, 0.5, 4}, {20 * 0.1 / 4 + 11.5, 8.5, 0.25, 1},
                             {20 * 0.2 + 11.5, 11.5, 0.2, 1}};
    for (int i = 0; i < 3; i++) {
        assert_true(fabs((double)p[i].x - expected[i][0]) < 1e-4 && fabs((double)p[i].y - expected[i][1]) < 1e-4);
        assert_true(fabs((double)p[i].inverse - expected[i][2]) < 1e-6);
        double weight = expected[i][3] / 6 * (double)d.extent * expected[i][2];
        assert_true(fabs((double)p[i].weight - weight) < 1e-5 * weight);
    }
    points_of(&d, 3, 1); /* d.png: point 2 is outside */
    assert_int_equal(d.n_depth_points, 3 + 3 + 2 + 1);
    assert_non_null(strstr(log_text, "depths of points: 9 in 4 training photos"));
    splat_dataset_free(&d);
}

static void scenes_without_tracks_are_refused(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("s");
    options.sfm_depth = true;
    make_scene();
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error,
                   "none of the model's 2 points has a track of 3 of them");
    assert_int_equal(remove("s/sparse/0/points3D.txt"), 0);
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error, "none of the model's 0 points");
    fixture_folder("j");
    fixture_folder("j/images");
    make_png("j/images/a.png", W, H);
    fixture_text("j/transforms.json", "{\"fl_x\": 20, \"frames\": [{\"file_path\": \"images/a.png\","
                                      " \"transform_matrix\": [[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}]}");
    options.source_path = "j";
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_UNSUPPORTED, &error, "needs a COLMAP model");
    options.sfm_depth = false;
    options.depths = "depths"; /* maps of other scenes: their numbers lie in the scene's folder */
    write_map("j/depths/a.png", W, H, NULL);
    fixture_text("j/depth_params.json", "{\"a\": {\"scale\": 1, \"offset\": 0}}");
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_int_equal(d.n_depths, 1);
    splat_dataset_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_and_points_agree),
        cmocka_unit_test(panoramas_have_points_and_no_maps),
        cmocka_unit_test(views_have_their_own_numbers),
        cmocka_unit_test(nothing_is_mixed),
        cmocka_unit_test(maps_go_through_the_lens),
        cmocka_unit_test(what_photos_lack_is_named),
        cmocka_unit_test(bad_maps_are_refused),
        cmocka_unit_test(points_are_where_photos_see_them),
        cmocka_unit_test(scenes_without_tracks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
