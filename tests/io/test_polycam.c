/* Polycam's raw exports, as its documentation describes them: corrected cameras before those of ARKit, the black rim of
 * corrected photos, and what is missing. */
#include "poses_fixture.h"

#include "io/picture/image_write.h"
#include "scene/dataset_open.h"
#include "scene/photo.h"
#include "splatsmith/capture.h"

#define WIDTH 120
#define HEIGHT 90

static void write_camera(const char *folder, int i, const truth *t, double cx)
{
    char path[96], text[1024];
    snprintf(text, sizeof text,
             "{\"fx\": %d.5, \"fy\": 101.25, \"cx\": %g, \"cy\": 44.5, \"width\": %d, \"height\": %d, "
             "\"blur_score\": 3, \"t_00\": %.12f, \"t_01\": %.12f, \"t_02\": %.12f, \"t_03\": %.12f, "
             "\"t_10\": %.12f, \"t_11\": %.12f, \"t_12\": %.12f, \"t_13\": %.12f, "
             "\"t_20\": %.12f, \"t_21\": %.12f, \"t_22\": %.12f, \"t_23\": %.12f}", 100 + i, cx, WIDTH, HEIGHT,
             t->right[0], -t->down[0], -t->forward[0], t->center[0], t->right[1], -t->down[1], -t->forward[1],
             t->center[1], t->right[2], -t->down[2], -t->forward[2], t->center[2]);
    snprintf(path, sizeof path, "capture/keyframes/%s/%d.json", folder, 1000 + i);
    fixture_text(path, text);
}

/* A photo that says where each of its pixels is, with a rim of black. */
static void write_photo(const char *folder, int i, int rim)
{
    char path[96];
    splat_error error;
    uint8_t *pixels = calloc(WIDTH * HEIGHT, 3);
    for (int y = rim; y < HEIGHT - rim; y++)
        for (int x = rim; x < WIDTH - rim; x++) {
            uint8_t *p = pixels + 3 * (y * WIDTH + x);
            p[0] = (uint8_t)(2 * x);
            p[1] = (uint8_t)(2 * y);
            p[2] = (uint8_t)(50 + i);
        }
    snprintf(path, sizeof path, "capture/keyframes/%s/%d.png", folder, 1000 + i);
    ASSERT_OK(splat_png_write(path, WIDTH, HEIGHT, 3, 8, pixels, &error));
    free(pixels);
}

static void make_export(truth cameras[N_CAMERAS])
{
    static const char *const folders[] = {"cameras", "images", "corrected_cameras", "corrected_images", "depth"};
    const double zero[3] = {0};
    fixture_folder("capture");
    fixture_folder("capture/keyframes");
    for (int k = 0; k < 5; k++) {
        char path[64];
        snprintf(path, sizeof path, "capture/keyframes/%s", folders[k]);
        fixture_folder(path);
    }
    for (int i = 0; i < N_CAMERAS; i++) {
        cameras[i] = draw_truth((uint32_t)i, zero);
        truth rough = cameras[i];
        rough.center[1] += 0.25;
        write_camera("cameras", i, &rough, 60.25);
        write_camera("corrected_cameras", i, &cameras[i], 59.75);
        write_photo("images", i, 0);
        write_photo("corrected_images", i, 14);
    }
    fixture_text("capture/keyframes/depth/1000.png", "not read");
    fixture_text("capture/mesh_info.json", "{}");
}

static void corrected_cameras_come_first(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    truth cameras[N_CAMERAS];
    splat_scene_options options = options_of("capture");
    const double zero[3] = {0};
    uint8_t *rgb;
    make_export(cameras);
    assert_false(splat_cameras_are_needed("capture", NULL));
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_string_equal(d.format, "polycam");
    assert_non_null(strstr(log_text, "the black rim of 12 photos is cut off"));
    assert_null(strstr(log_text, "undistorting"));
    assert_true(d.n_views == N_CAMERAS && d.random_points);
    for (int i = 0; i < N_CAMERAS; i++) {
        const splat_camera *c = &d.views[i].camera;
        expect_camera(c, &cameras[i], zero);
        assert_true(c->width == WIDTH - 30 && c->height == HEIGHT - 30 && !d.views[i].has_mask);
        assert_float_equal(c->fx, 100.5 + i, 1e-4);
        assert_float_equal(c->fy, 101.25, 1e-4);
        assert_float_equal(c->cx, 44.75, 1e-4);
        assert_float_equal(c->cy, 29.5, 1e-4);
    }
    ASSERT_OK(splat_photo_load(&d, 3, &rgb, &error)); /* the photo's own pixels */
    for (int y = 0; y < HEIGHT - 30; y++)
        for (int x = 0; x < WIDTH - 30; x++) {
            const uint8_t *p = rgb + 3 * (y * (WIDTH - 30) + x);
            assert_true(p[0] == 2 * (x + 15) && p[1] == 2 * (y + 15) && p[2] == 53);
        }
    free(rgb);
    splat_dataset_free(&d);
}

static void cameras_of_arkit_will_do(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    truth cameras[N_CAMERAS];
    splat_scene_options options = options_of("capture");
    make_export(cameras);
    ASSERT_OK(splat_folder_delete("capture/keyframes/corrected_images", &error));
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_null(strstr(log_text, "rim"));
    for (int i = 0; i < N_CAMERAS; i++) {
        const splat_camera *c = &d.views[i].camera;
        expect_camera(c, &cameras[i], (double[3]){0, -0.25, 0});
        assert_true(c->width == WIDTH && c->height == HEIGHT && !d.views[i].is_distorted);
        assert_float_equal(c->cx, 60.25, 1e-5);
    }
    splat_dataset_free(&d);
}

/* If `images` names other photos, the corrected photos may be absent. */
static void other_photos_of_corrected_cameras(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    truth cameras[N_CAMERAS];
    splat_scene_options options = options_of("capture");
    make_export(cameras);
    ASSERT_OK(splat_folder_delete("capture/my_photos", &error));
    assert_int_equal(rename("capture/keyframes/corrected_images", "capture/my_photos"), 0);
    ASSERT_OK(splat_folder_delete("capture/keyframes/cameras", &error));
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error, "");
    options.images = "my_photos";
    assert_false(splat_cameras_are_needed("capture", "my_photos"));
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_string_equal(d.format, "polycam");
    assert_null(strstr(log_text, "rim"));
    assert_true(d.n_views == N_CAMERAS && d.views[0].camera.width == WIDTH);
    for (int i = 0; i < N_CAMERAS; i++) expect_camera(&d.views[i].camera, &cameras[i], (double[3]){0, 0, 0});
    splat_dataset_free(&d);
}

static void exports_that_are_wrong(void **state)
{
    (void)state;
#define LENS "\"fx\": 100, \"fy\": 100, \"cx\": 60, \"cy\": 45, \"width\": 120, \"height\": 90"
#define POSE "\"t_00\": 1, \"t_01\": 0, \"t_02\": 0, \"t_03\": 0, \"t_10\": 0, \"t_11\": 1, \"t_12\": 0, "   \
             "\"t_13\": 0, \"t_20\": 0, \"t_21\": 0"
    static const struct { const char *text; const char *words; } cases[] = {
        {"{", "not valid JSON"},
        {"{}", "\"fx\" is missing"},
        {"{" LENS "}", "\"t_00\" is missing"},
        {"{" LENS ", " POSE ", \"t_22\": \"1\", \"t_23\": 0}", "\"t_22\" is missing or no finite"},
        {"{" LENS ", " POSE ", \"t_22\": 1, \"t_23\": 1e39}", "\"t_23\" is missing or no finite"},
        {"{" LENS ", " POSE ", \"t_22\": -1, \"t_23\": 0}", "not a rotation"},
        {"{" LENS ", " POSE ", \"t_22\": 0, \"t_23\": 0}", "not a rotation"},
        {"{\"fx\": 0, \"fy\": 100, \"cx\": 60, \"cy\": 45, \"width\": 120, \"height\": 90, " POSE
         ", \"t_22\": 1, \"t_23\": 0}", "not positive"},
        {"{\"fx\": 9, \"fy\": 100, \"cx\": 60, \"cy\": 45, \"width\": 0, \"height\": 90, " POSE
         ", \"t_22\": 1, \"t_23\": 0}", "not positive"},
    };
    splat_error error;
    splat_dataset d;
    truth cameras[N_CAMERAS];
    splat_scene_options options = options_of("capture");
    make_export(cameras);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture_text("capture/keyframes/corrected_cameras/1004.json", cases[i].text);
        assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error, cases[i].words);
        assert_non_null(strstr(error.file, "1004.json"));
    }
    make_export(cameras);
    assert_int_equal(unlink("capture/keyframes/corrected_images/1007.png"), 0);
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_int_equal(d.n_views, N_CAMERAS - 1);
    splat_dataset_free(&d);
    options.strict = true;
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_IO, &error, "the photo \"1007\" is neither");
    fixture_folder("capture/keyframes/corrected_cameras");
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error, "no .json of a camera");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corrected_cameras_come_first),
        cmocka_unit_test(cameras_of_arkit_will_do),
        cmocka_unit_test(other_photos_of_corrected_cameras),
        cmocka_unit_test(exports_that_are_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
