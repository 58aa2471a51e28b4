/* depth_params.json, 16-bit gray PNG files, and tracks of COLMAP models: read, and refused. */
#include "scene_fixture.h"

#include "io/colmap/colmap.h"
#include "io/colmap/colmap_parse.h"
#include "io/colmap/colmap_read.h"
#include "io/colmap/colmap_write.h"
#include "io/depth_params.h"
#include "io/picture/gray16.h"
#include "io/picture/image_write.h"

#include <math.h>

/* ---------------------------------------------------------------- depth_params.json */

static void params_are_found_by_name(void **state)
{
    (void)state;
    splat_error error;
    splat_depth_params p;
    fixture_text("p.json", "{\"b\": {\"scale\": 2, \"offset\": -0.5},"
                           " \"sub/a\": {\"scale\": 0.1, \"offset\": 0},\n"
                           " \"ab\": {\"scale\": 4.5, \"offset\": 1e-3}, \"c\": {\"scale\": -3, \"offset\": 1},\n"
                           " \"d\": {\"scale\": 0, \"offset\": 0}, \"e\": {\"scale\": 23, \"offset\": 0, \"x\": 1}}");
    ASSERT_OK(splat_depth_params_read("p.json", &p, &error));
    assert_int_equal(p.n, 6);
    assert_true(fabs(p.median_scale - 3.25) < 1e-12); /* of 0.1, 2, 4.5, 23 */
    const splat_depth_param *b = splat_depth_params_find(&p, "b.png", 1);
    assert_non_null(b);
    assert_true(b->scale == 2 && b->offset == -0.5);
    assert_non_null(splat_depth_params_find(&p, "sub/a", 5));
    assert_non_null(splat_depth_params_find(&p, "ab", 2));
    assert_null(splat_depth_params_find(&p, "a", 1));
    assert_null(splat_depth_params_find(&p, "abc", 3));
    /* below 0.2 of 3.25, above 5 of it, and without a fit */
    static const struct { const char *name; size_t length; bool good; } judged[] = {
        {"b", 1, true}, {"ab", 2, true}, {"sub/a", 5, false}, {"e", 1, false}, {"c", 1, false}, {"d", 1, false}};
    for (size_t i = 0; i < sizeof judged / sizeof *judged; i++)
        assert_int_equal(splat_depth_param_is_reliable(&p, splat_depth_params_find(&p, judged[i].name,
                                                                                   judged[i].length)), judged[i].good);
    splat_depth_params_free(&p);
}

static void bad_params_are_refused(void **state)
{
    (void)state;
    static const struct { const char *text, *words; } bad[] = {
        {"", "p.json"},
        {"[]", "names no photo"},
        {"{}", "names no photo"},
        {"{\"a\": 3}", "\"a\" lacks a scale and an offset"},
        {"{\"a\": {\"scale\": 1}}", "\"a\" lacks a scale and an offset"},
        {"{\"a\": {\"scale\": \"1\", \"offset\": 0}}", "\"a\" lacks a scale and an offset"},
        {"{\"a\": {\"scale\": 1e300, \"offset\": 0}}", "\"a\" lacks a scale and an offset"},
        {"{\"a\":\n {\"scale\": NaN, \"offset\": 0}}", "line 2"}, /* as Python writes it */
        {"{\"a\": {\"scale\": 1, \"offset\": 0}, \"a\": {\"scale\": 1, \"offset\": 0}}", "duplicate"}};
    splat_error error;
    splat_depth_params p;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fixture_text("p.json", bad[i].text);
        memset(&error, 0, sizeof error);
        assert_failure(splat_depth_params_read("p.json", &p, &error), SPLAT_ERROR_FORMAT, &error, bad[i].words);
        assert_null(p.items);
    }
    assert_int_equal(splat_depth_params_read("absent.json", &p, &error), SPLAT_ERROR_IO);
}

static void check_params(const uint8_t *data, size_t size, bool is_prefix)
{
    splat_error error;
    splat_depth_params p;
    fixture_bytes("swept.json", data, size);
    splat_status status = splat_depth_params_read("swept.json", &p, &error);
    if (is_prefix) assert_int_equal(status, SPLAT_ERROR_FORMAT);
    for (size_t i = 0; status == SPLAT_OK && i < p.n; i++) assert_true(isfinite(p.items[i].scale));
    if (status == SPLAT_OK) splat_depth_params_free(&p);
}

static void damaged_params_do_no_harm(void **state)
{
    (void)state;
    static const char text[] = "{\"a\": {\"scale\": 1.5, \"offset\": -0.25}, \"b/c\": {\"scale\": 2e0, \"offset\": 0}}";
    fixture_sweep((const uint8_t *)text, strlen(text), check_params, 3000);
}

/* ---------------------------------------------------------------- PNG */

enum { W = 7, H = 5 };

static void values_come_back(void **state)
{
    (void)state;
    splat_error error;
    uint16_t written[W * H], *read;
    int width, height;
    for (int i = 0; i < W * H; i++) written[i] = (uint16_t)(i * 1871 + 3);
    ASSERT_OK(splat_png_write("d.png", W, H, 1, 16, written, &error));
    ASSERT_OK(splat_gray16_probe("d.png", &width, &height, &error));
    assert_true(width == W && height == H);
    ASSERT_OK(splat_gray16_read("d.png", W, H, &read, &error));
    assert_memory_equal(read, written, sizeof written);
    free(read);
    assert_failure(splat_gray16_read("d.png", W + 1, H, &read, &error), SPLAT_ERROR_FORMAT, &error,
                   "7 x 5 pixels, but had 8 x 5");
    assert_null(read);
}

static void other_pictures_are_refused(void **state)
{
    (void)state;
    static const struct { int channels, depth; const char *words; } kinds[] = {
        {1, 8, "8 bits a channel (gray); it must be 16-bit gray"},
        {3, 16, "16 bits a channel (RGB)"},
        {4, 8, "8 bits a channel (RGBA)"}};
    splat_error error;
    uint16_t pixels[4 * W * H] = {0}, *read;
    int width, height;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        ASSERT_OK(splat_png_write("k.png", W, H, kinds[i].channels, kinds[i].depth, pixels, &error));
        assert_failure(splat_gray16_probe("k.png", &width, &height, &error), SPLAT_ERROR_UNSUPPORTED, &error,
                       kinds[i].words);
        assert_failure(splat_gray16_read("k.png", W, H, &read, &error), SPLAT_ERROR_UNSUPPORTED, &error,
                       kinds[i].words);
    }
    fixture_text("k.png", "\xff\xd8\xff\xe0 a JPEG, perhaps, longer than a header");
    assert_failure(splat_gray16_probe("k.png", &width, &height, &error), SPLAT_ERROR_FORMAT, &error, "not a PNG");
    assert_int_equal(splat_gray16_probe("absent.png", &width, &height, &error), SPLAT_ERROR_IO);
}

/* Gigabytes that a small file claims are not asked for. */
static void a_size_that_cannot_be_is_refused(void **state)
{
    (void)state;
    splat_error error;
    uint16_t pixels[W * H] = {0};
    uint8_t *data;
    size_t size;
    int width, height;
    ASSERT_OK(splat_png_write("d.png", W, H, 1, 16, pixels, &error));
    ASSERT_OK(splat_file_read("d.png", &data, &size, &error));
    static const uint8_t sizes[][8] = {
        {0, 0, 255, 0, 0, 0, 255, 0}, {0, 0, 0, 0, 0, 0, 0, 5}, {255, 255, 255, 255, 0, 0, 0, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memcpy(data + 16, sizes[i], 8);
        fixture_bytes("huge.png", data, size);
        assert_failure(splat_gray16_probe("huge.png", &width, &height, &error), SPLAT_ERROR_FORMAT, &error, "damaged");
    }
    free(data);
}

static void check_png(const uint8_t *data, size_t size, bool is_prefix)
{
    splat_error error;
    uint16_t *pixels;
    fixture_bytes("swept.png", data, size);
    splat_status status = splat_gray16_read("swept.png", W, H, &pixels, &error);
    if (is_prefix) assert_int_equal(status, SPLAT_ERROR_FORMAT);
    assert_true((status == SPLAT_OK) == (pixels != NULL));
    free(pixels);
}

static void damaged_pictures_do_no_harm(void **state)
{
    (void)state;
    splat_error error;
    uint16_t pixels[W * H];
    uint8_t *data;
    size_t size;
    for (int i = 0; i < W * H; i++) pixels[i] = (uint16_t)(i * i * 977);
    ASSERT_OK(splat_png_write("d.png", W, H, 1, 16, pixels, &error));
    ASSERT_OK(splat_file_read("d.png", &data, &size, &error));
    fixture_sweep(data, size, check_png, 3000);
    free(data);
}

/* ---------------------------------------------------------------- tracks */

static splat_colmap_camera cameras[] = {{.id = 1, .model_id = 1, .width = 64, .height = 48, .fx = 50, .fy = 50,
                                         .cx = 32, .cy = 24}};
static splat_colmap_image images[] = {{1, 1, {1, 0, 0, 0}, {0, 0, 0}, "a.png"},
                                      {2, 1, {1, 0, 0, 0}, {1, 0, 0}, "b.png"}};
static splat_point points[] = {{{0, 0, 3}, {1, 2, 3}}, {{1, 0, 3}, {1, 2, 3}}, {{0, 1, 3}, {1, 2, 3}}};
static float errors[] = {0.75f, 0, 2.5f}, places[] = {1, 2, 3, 4, 5, 6};
static size_t ends[] = {2, 2, 3};
static uint32_t image_ids[] = {2, 1, 2};
static splat_colmap_tracks tracks = {.errors = errors, .ends = ends, .image_ids = image_ids, .places = places, .n = 3};
static const splat_colmap_model model = {.cameras = cameras, .n_cameras = 1, .images = images, .n_images = 2,
                                         .points = points, .n_points = 3, .tracks = &tracks};

static void tracks_come_back(void **state)
{
    (void)state;
    for (int text = 0; text < 2; text++) {
        splat_error error;
        splat_colmap_tracks read = {0};
        splat_colmap_model back;
        fixture_folder("m");
        ASSERT_OK(splat_colmap_write("m", &model, &error));
        if (text) {
            assert_int_equal(remove("m/points3D.bin"), 0);
            assert_int_equal(remove("m/images.bin"), 0);
        }
        ASSERT_OK(splat_colmap_read("m", &back, &error));
        assert_int_equal(back.n_images, 2);
        back.tracks = &read;
        ASSERT_OK(splat_colmap_read_points("m", &back, &error));
        assert_int_equal(back.n_points, 3);
        assert_int_equal(read.n, 3);
        assert_memory_equal(read.errors, errors, sizeof errors);
        assert_memory_equal(read.ends, ends, sizeof ends);
        assert_memory_equal(read.image_ids, image_ids, sizeof image_ids);
        splat_colmap_tracks_free(&read);
        splat_colmap_free(&back);
    }
}

static splat_status read_tracks(splat_colmap_tracks *read, splat_error *error)
{
    splat_colmap_model back = {.tracks = read};
    memset(error, 0, sizeof *error);
    splat_status status = splat_colmap_read_points("t", &back, error);
    if (status == SPLAT_OK) assert_int_equal(back.n_points, read->n);
    splat_colmap_free(&back);
    return status;
}

/* Errors that are no positive numbers say nothing; a track that does not come in pairs is an error with its line, where
 * tracks are asked for. */
static void text_tracks_are_checked(void **state)
{
    (void)state;
    static const struct { const char *line, *words; } bad[] = {{"1 0 0 3 1 2 3", "error of reprojection"},
                                                               {"1 0 0 3 1 2 3 0.5 4", "2D point of a track"},
                                                               {"1 0 0 3 1 2 3 0.5 x 4", "image id of a track"},
                                                               {"1 0 0 3 1 2 3 0.5 -1 4", "image id of a track"}};
    splat_error error;
    splat_colmap_tracks read = {0};
    splat_colmap_model plain = {0};
    fixture_folder("t");
    fixture_text("t/points3D.txt", "1 0 0 3 1 2 3 nan 4 5\n2 0 0 3 1 2 3 -1\n3 0 0 3 1 2 3 1e99\n4 0 0 3 1 2 3 .5 7 0");
    ASSERT_OK(read_tracks(&read, &error));
    assert_int_equal(read.n, 4);
    for (int i = 0; i < 4; i++) assert_true(read.errors[i] == (i < 3 ? 0 : 0.5f));
    assert_true(read.ends[0] == 1 && read.ends[2] == 1 && read.ends[3] == 2 && read.image_ids[1] == 7);
    splat_colmap_tracks_free(&read);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fixture_text("t/points3D.txt", bad[i].line);
        assert_failure(read_tracks(&read, &error), SPLAT_ERROR_FORMAT, &error, bad[i].words);
        splat_colmap_tracks_free(&read);
        ASSERT_OK(splat_colmap_read_points("t", &plain, &error)); /* as ever */
        splat_colmap_free(&plain);
    }
}

static void check_points(const uint8_t *data, size_t size, bool is_prefix)
{
    splat_error error;
    splat_colmap_tracks read = {0};
    fixture_bytes("t/points3D.bin", data, size);
    splat_status status = read_tracks(&read, &error);
    if (is_prefix) assert_int_equal(status, SPLAT_ERROR_FORMAT);
    for (size_t i = 0; i < read.n; i++) assert_true(isfinite(read.errors[i]) && read.errors[i] >= 0);
    splat_colmap_tracks_free(&read);
}

static void damaged_tracks_do_no_harm(void **state)
{
    (void)state;
    splat_error error;
    uint8_t *data;
    size_t size;
    fixture_folder("m");
    ASSERT_OK(splat_colmap_write("m", &model, &error));
    ASSERT_OK(splat_file_read("m/points3D.bin", &data, &size, &error));
    fixture_folder("t");
    fixture_sweep(data, size, check_points, 3000);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(params_are_found_by_name),
        cmocka_unit_test(bad_params_are_refused),
        cmocka_unit_test(damaged_params_do_no_harm),
        cmocka_unit_test(values_come_back),
        cmocka_unit_test(other_pictures_are_refused),
        cmocka_unit_test(a_size_that_cannot_be_is_refused),
        cmocka_unit_test(damaged_pictures_do_no_harm),
        cmocka_unit_test(tracks_come_back),
        cmocka_unit_test(text_tracks_are_checked),
        cmocka_unit_test(damaged_tracks_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
