/* COLMAP models: round trips, hand-made files as COLMAP writes them, and damaged ones. */
#include "scene_fixture.h"

#include "io/colmap/colmap.h"
#include "io/colmap/colmap_read.h"
#include "io/colmap/colmap_write.h"

#include <math.h>

static splat_colmap_camera cameras[] = {{2, 1, 640, 480, 500 + 1.0 / 3, 501.0 / 7, 320, 240.5, {0}},
                                        {7, 1, 100, 50, 1e-3, 1e5, -20, 700, {0}},
                                        {4000000000u, 1, 1, 1, 1, 1, 0.5, 0.5, {0}}};
static splat_colmap_image images[] = {
    {5, 7, {1, 0, 0, 0}, {0, 0, 0}, "b.jpg"},
    {1, 2, {0.1, -0.2, 1.0 / 3, 0.9}, {1e-9, -2.5, 1.0 / 7}, "sub/dir/a.jpg"},
    {9, 4000000000u, {-0.5, 0.5, -0.5, 0.5}, {1, 2, 3}, "name with spaces.v2.png"},
};
static splat_point points[] = {{{0.123456789f, -2.0f / 3, 1e20f}, {0, 128, 255}}, {{1e-30f, 0, -0.0f}, {1, 2, 3}}};
static const splat_colmap_model model = {cameras, 3, images, 3, points, 2, NULL};

static const char *const stems[] = {"cameras", "images", "points3D"};

static void remove_encoding(const char *folder, const char *extension)
{
    for (int i = 0; i < 3; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s.%s", folder, stems[i], extension);
        assert_int_equal(remove(path), 0);
    }
}

static void assert_same(const splat_colmap_model *a, const splat_colmap_model *b)
{
    assert_int_equal(a->n_cameras, b->n_cameras);
    assert_int_equal(a->n_images, b->n_images);
    assert_int_equal(a->n_points, b->n_points);
    for (size_t i = 0; i < a->n_cameras; i++) assert_memory_equal(&a->cameras[i], &b->cameras[i], sizeof *a->cameras);
    for (size_t i = 0; i < a->n_images; i++) {
        assert_int_equal(a->images[i].id, b->images[i].id);
        assert_int_equal(a->images[i].camera_id, b->images[i].camera_id);
        assert_memory_equal(a->images[i].rotation, b->images[i].rotation, sizeof a->images[i].rotation);
        assert_memory_equal(a->images[i].translation, b->images[i].translation, sizeof a->images[i].translation);
        assert_string_equal(a->images[i].name, b->images[i].name);
    }
    for (size_t i = 0; i < a->n_points; i++) {
        assert_memory_equal(a->points[i].position, b->points[i].position, sizeof a->points[i].position);
        assert_memory_equal(a->points[i].color, b->points[i].color, 3);
    }
}

/* Bit for bit, through either encoding alone. */
static void test_round_trip(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        splat_error error;
        splat_colmap_model back;
        fixture_folder("round");
        ASSERT_OK(splat_colmap_write("round", &model, &error));
        remove_encoding("round", k ? "bin" : "txt");
        ASSERT_OK(splat_colmap_read("round", &back, &error));
        assert_int_equal(back.n_points, 0); /* points are read separately */
        ASSERT_OK(splat_colmap_read_points("round", &back, &error));
        assert_same(&model, &back);
        splat_colmap_free(&back);
    }
}

static void test_binary_wins(void **state)
{
    (void)state;
    splat_error error;
    splat_colmap_model back;
    fixture_folder("both");
    ASSERT_OK(splat_colmap_write("both", &model, &error));
    fixture_text("both/cameras.txt", "nonsense");
    fixture_text("both/images.txt", "nonsense");
    fixture_text("both/points3D.txt", "nonsense");
    fixture_text("both/rigs.bin", "ignored");
    fixture_text("both/frames.bin", "ignored");
    ASSERT_OK(splat_colmap_read("both", &back, &error));
    ASSERT_OK(splat_colmap_read_points("both", &back, &error));
    assert_same(&model, &back);
    splat_colmap_free(&back);
}

/* As COLMAP writes them: comments, 2D points, tracks; Windows line ends and no newline at the end as well. */
static const char cameras_text[] = "# Camera list\n#   CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]\n\n"
                                   "3 SIMPLE_PINHOLE 800 600 700.5 400 300\r\n1 PINHOLE 640 480 500 501 320 240";
static const char images_text[] = "# Image list with two lines of data per image:\n"
                                  "2 0.5 0.5 0.5 0.5 1 -2 3e-1 3 photo.jpg\r\n"
                                  "10.5 20.5 -1 30.25 40 17\r\n"
                                  "1 2 0 0 0 0 0 0 1 other.jpg\n"
                                  "\n"
                                  "# a comment between images\n"
                                  "7 1 0 0 0 0 0 0 1 last.jpg";
static const char points_text[] = "# 3D point list\n63 1.5 -2.5 3.5 255 0 128 0.25 2 0 1 1\n"
                                  "18446744073709551615 0 0 0 1 2 3 0";

static void write_text_model(const char *cameras_file, const char *images_file, const char *points_file)
{
    fixture_folder("text");
    fixture_text("text/cameras.txt", cameras_file);
    fixture_text("text/images.txt", images_file);
    fixture_text("text/points3D.txt", points_file);
}

static void test_text(void **state)
{
    (void)state;
    splat_error error;
    splat_colmap_model m;
    write_text_model(cameras_text, images_text, points_text);
    ASSERT_OK(splat_colmap_read("text", &m, &error));
    ASSERT_OK(splat_colmap_read_points("text", &m, &error));
    assert_int_equal(m.n_cameras, 2);
    assert_int_equal(m.cameras[0].id, 1); /* sorted by id */
    assert_int_equal(m.cameras[1].model_id, 0);
    assert_true(m.cameras[1].fx == 700.5 && m.cameras[1].fy == 700.5 && m.cameras[1].cx == 400 &&
                m.cameras[1].cy == 300);
    assert_int_equal(m.n_images, 3); /* in the file's order */
    assert_string_equal(m.images[0].name, "photo.jpg");
    assert_true(m.images[0].translation[2] == 0.3);
    assert_string_equal(m.images[1].name, "other.jpg");
    assert_string_equal(m.images[2].name, "last.jpg");
    assert_int_equal(m.n_points, 2);
    assert_true(m.points[0].position[1] == -2.5f);
    assert_int_equal(m.points[0].color[2], 128);
    splat_colmap_free(&m);
}

/* ---------------------------------------------------------------- binary files by hand */

typedef struct bytes { uint8_t data[4096]; size_t size; } bytes;

static void put(bytes *b, const void *value, size_t size)
{
    assert_true(b->size + size <= sizeof b->data);
    memcpy(b->data + b->size, value, size);
    b->size += size;
}
static void put_u64(bytes *b, uint64_t value)
{
    put(b, &value, 8);
}
static void put_u32(bytes *b, uint32_t value)
{
    put(b, &value, 4);
}
static void put_f64(bytes *b, double value)
{
    put(b, &value, 8);
}

static void put_camera(bytes *b, uint32_t id, uint32_t model_id, const double *parameters, int n)
{
    put_u32(b, id);
    put_u32(b, model_id);
    put_u64(b, 800);
    put_u64(b, 600);
    for (int i = 0; i < n; i++) put_f64(b, parameters[i]);
}

static void put_image(bytes *b, uint32_t id, uint32_t camera_id, double w, const char *name, uint64_t n_points2d)
{
    put_u32(b, id);
    for (int i = 0; i < 7; i++) put_f64(b, i == 0 ? w : 0);
    put_u32(b, camera_id);
    put(b, name, strlen(name) + 1);
    put_u64(b, n_points2d);
    for (uint64_t i = 0; i < 3 * n_points2d; i++) put_u64(b, 0xffffffffffffffff);
}

static void put_point(bytes *b, double x, uint64_t track)
{
    put_u64(b, 1);
    for (int i = 0; i < 3; i++) put_f64(b, x + i);
    put(b, "\1\2\3", 3);
    put_f64(b, 0.5);
    put_u64(b, track);
    for (uint64_t i = 0; i < track; i++) put_u64(b, 0x0101010101010101);
}

static const double pinhole[4] = {700, 701, 400, 300};

static bytes good_cameras(void)
{
    bytes b = {{0}, 0};
    put_u64(&b, 2);
    put_camera(&b, 3, 0, (double[3]){700.5, 400, 300}, 3);
    put_camera(&b, 1, 1, pinhole, 4);
    return b;
}

static bytes good_images(void)
{
    bytes b = {{0}, 0};
    put_u64(&b, 2);
    put_image(&b, 1, 3, 1, "a.jpg", 2);
    put_image(&b, 2, 1, -1, "sub/b.jpg", 0);
    return b;
}

static bytes good_points(void)
{
    bytes b = {{0}, 0};
    put_u64(&b, 2);
    put_point(&b, 1, 3);
    put_point(&b, -4, 0);
    return b;
}

static void write_binary_model(const bytes *camera_file, const bytes *image_file, const bytes *point_file)
{
    fixture_folder("binary");
    fixture_bytes("binary/cameras.bin", camera_file->data, camera_file->size);
    fixture_bytes("binary/images.bin", image_file->data, image_file->size);
    fixture_bytes("binary/points3D.bin", point_file->data, point_file->size);
}

static void test_binary(void **state)
{
    (void)state;
    splat_error error;
    splat_colmap_model m;
    bytes c = good_cameras(), i = good_images(), p = good_points();
    write_binary_model(&c, &i, &p);
    ASSERT_OK(splat_colmap_read("binary", &m, &error));
    ASSERT_OK(splat_colmap_read_points("binary", &m, &error));
    assert_int_equal(m.n_cameras, 2);
    assert_true(m.cameras[0].fy == 701 && m.cameras[1].fy == 700.5 && m.cameras[1].cx == 400);
    assert_int_equal(m.n_images, 2);
    assert_string_equal(m.images[1].name, "sub/b.jpg");
    assert_true(m.images[1].rotation[0] == -1);
    assert_int_equal(m.n_points, 2);
    assert_true(m.points[1].position[2] == -2);
    assert_int_equal(m.points[1].color[1], 2);
    splat_colmap_free(&m);
}

/* COLMAP 3.8 keeps the camera model of photos that have no distortion: its coefficients are zero. */
static void test_zero_distortion(void **state)
{
    (void)state;
    static const struct { uint32_t model_id; int n_focals, n; } lenses[] = {
        {2, 1, 4}, {3, 1, 5}, {4, 2, 8}, {6, 2, 12}};
    static const char text[] = "3 SIMPLE_RADIAL 800 600 700 400 300 0\n4 RADIAL 800 600 700 400 300 0 -0\n"
                               "5 OPENCV 800 600 700 701 400 300 0 0 0 0.0\n"
                               "6 FULL_OPENCV 800 600 700 701 400 300 0 0 0 0 0 0 0 0\n1 PINHOLE 8 6 7 7 4 3\n";
    const double one[12] = {700, 400, 300}, two[12] = {700, 701, 400, 300};
    splat_error error;
    splat_colmap_model m;
    bytes c = {{0}, 0}, i = good_images(), p = good_points();
    put_u64(&c, 5);
    for (uint32_t k = 0; k < 4; k++)
        put_camera(&c, 3 + k, lenses[k].model_id, lenses[k].n_focals == 1 ? one : two, lenses[k].n);
    put_camera(&c, 1, 1, pinhole, 4);
    write_binary_model(&c, &i, &p);
    write_text_model(text, images_text, points_text);
    for (int k = 0; k < 2; k++) {
        ASSERT_OK(splat_colmap_read(k ? "text" : "binary", &m, &error));
        assert_int_equal(m.n_cameras, 5);
        for (size_t j = 1; j < 5; j++) {
            const splat_colmap_camera *camera = &m.cameras[j];
            assert_int_equal(camera->model_id, lenses[j - 1].model_id);
            assert_true(camera->fx == 700 && camera->fy == (lenses[j - 1].n_focals == 1 ? 700 : 701));
            assert_true(camera->cx == 400 && camera->cy == 300);
        }
        splat_colmap_free(&m);
    }
}

/* Every model, its parameters 700, 701, ... in COLMAP's order, from both encodings. */
static void test_lenses(void **state)
{
    (void)state;
    splat_error error;
    splat_colmap_model m;
    char text[8192];
    int length = 0;
    double parameters[SPLAT_LENS_PARAMETERS];
    bytes c = {{0}, 0}, i = good_images(), p = good_points();
    for (int k = 0; k < SPLAT_LENS_PARAMETERS; k++) parameters[k] = 700 + k;
    put_u64(&c, SPLAT_LENS_NERFSTUDIO);
    for (uint32_t model_id = 0; model_id < SPLAT_LENS_NERFSTUDIO; model_id++) {
        const splat_lens_form *form = splat_lens_form_get((int)model_id);
        int n = splat_lens_n_parameters(form);
        put_camera(&c, model_id + 1, model_id, parameters, n);
        length += sprintf(text + length, "%u %s 800 600", (unsigned)model_id + 1, form->name);
        for (int k = 0; k < n; k++) length += sprintf(text + length, " %d", 700 + k);
        length += sprintf(text + length, "\n");
    }
    write_binary_model(&c, &i, &p);
    write_text_model(text, images_text, points_text);
    for (int k = 0; k < 2; k++) {
        ASSERT_OK(splat_colmap_read(k ? "text" : "binary", &m, &error));
        assert_int_equal(m.n_cameras, SPLAT_LENS_NERFSTUDIO);
        for (int id = 0; id < SPLAT_LENS_NERFSTUDIO; id++) {
            const splat_colmap_camera *camera = &m.cameras[id];
            const splat_lens_form *form = splat_lens_form_get(id);
            int first = splat_lens_n_parameters(form) - form->n_coefficients;
            assert_int_equal(camera->model_id, id);
            assert_true(camera->fx == (form->n_focals ? 700 : 0));
            assert_true(camera->fy == (form->n_focals == 2 ? 701 : camera->fx));
            assert_true(camera->cy == (form->n_focals ? 699 + first : 0));
            for (int j = 0; j < SPLAT_LENS_COEFFICIENTS; j++)
                assert_true(camera->coefficients[j] == (j < form->n_coefficients ? 700 + first + j : 0));
        }
        splat_colmap_free(&m);
    }
}

static splat_status read_all(const char *folder, splat_error *error)
{
    splat_colmap_model m;
    memset(error, 0, sizeof *error);
    splat_status status = splat_colmap_read(folder, &m, error);
    if (status == SPLAT_OK) status = splat_colmap_read_points(folder, &m, error);
    splat_colmap_free(&m); /* after a failure it is empty */
    return status;
}

static void expect_binary(const bytes *c, const bytes *i, const bytes *p, splat_status wanted, const char *words)
{
    splat_error error;
    bytes cg = good_cameras(), ig = good_images(), pg = good_points();
    write_binary_model(c ? c : &cg, i ? i : &ig, p ? p : &pg);
    splat_status status = read_all("binary", &error);
    assert_failure(status, wanted, &error, words);
}

static void test_binary_refused(void **state)
{
    (void)state;
    static const uint32_t models[] = {18, 0xffffffff};
    static const char *const names[] = {"camera 1 is model 18, which is none of COLMAP's models", "model -1,"};
    const double many[16] = {700, 701, 400, 300, 0.1};
    for (int k = 0; k < 2; k++) {
        bytes b = {{0}, 0};
        put_u64(&b, 1);
        put_camera(&b, 1, models[k], many, 16);
        expect_binary(&b, NULL, NULL, SPLAT_ERROR_UNSUPPORTED, names[k]);
    }
    static const double unsound[] = {NAN, INFINITY, -1e300};
    for (size_t k = 0; k < sizeof unsound / sizeof unsound[0]; k++) {
        const double radial[4] = {700, 400, 300, unsound[k]};
        bytes b = {{0}, 0};
        put_u64(&b, 1);
        put_camera(&b, 1, 2, radial, 4);
        expect_binary(&b, NULL, NULL, SPLAT_ERROR_FORMAT, "which is not finite");
    }
    static const double bad[][4] = {{0, 1, 0, 0}, {1, -1, 0, 0}, {NAN, 1, 0, 0}, {1, INFINITY, 0, 0}, {1e300, 1, 0, 0},
                                    {1, 1, NAN, 0}, {1, 1, 0, -INFINITY}, {1e-60, 1, 0, 0}};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        bytes b = {{0}, 0};
        put_u64(&b, 2);
        put_camera(&b, 1, 1, pinhole, 4);
        put_camera(&b, 2, 1, bad[k], 4);
        expect_binary(&b, NULL, NULL, SPLAT_ERROR_FORMAT, "byte 64)");
    }
    for (int k = 0; k < 2; k++) { /* a size of zero, and an absurd one */
        bytes b = good_cameras();
        uint64_t side = k ? 1000001 : 0;
        memcpy(b.data + 16, &side, 8);
        expect_binary(&b, NULL, NULL, SPLAT_ERROR_FORMAT, "pixels; each must be 1 to 1000000");
    }
    bytes twice = {{0}, 0};
    put_u64(&twice, 2);
    put_camera(&twice, 3, 1, pinhole, 4);
    put_camera(&twice, 3, 1, pinhole, 4);
    expect_binary(&twice, NULL, NULL, SPLAT_ERROR_FORMAT, "the camera id 3 comes twice (binary/cameras.bin, byte 64)");
    bytes none = {{0}, 0};
    put_u64(&none, 0);
    expect_binary(&none, NULL, NULL, SPLAT_ERROR_FORMAT, "no cameras (binary/cameras.bin)");
    expect_binary(NULL, &none, NULL, SPLAT_ERROR_FORMAT, "no images (binary/images.bin)");
    bytes longer = good_points();
    put_u32(&longer, 0);
    expect_binary(NULL, NULL, &longer, SPLAT_ERROR_FORMAT, "4 bytes follow the last of the points");
}

static void expect_image(uint32_t id, uint32_t camera_id, double w, const char *name, const char *words)
{
    bytes b = {{0}, 0};
    put_u64(&b, 2);
    put_image(&b, 1, 3, 1, "a.jpg", 0);
    put_image(&b, id, camera_id, w, name, 0);
    expect_binary(NULL, &b, NULL, SPLAT_ERROR_FORMAT, words);
}

static void test_images_refused(void **state)
{
    (void)state;
    expect_image(2, 3, 1, "../../etc/x.jpg", "leaves the folder of the photos");
    expect_image(2, 3, 1, "/etc/x.jpg", "leaves the folder");
    expect_image(2, 3, 1, "a/../../x.jpg", "leaves the folder");
    expect_image(2, 3, 1, "..\\x.jpg", "leaves the folder");
    expect_image(2, 3, 1, "", "no file name");
    expect_image(2, 3, 0, "b.jpg", "no rotation");
    expect_image(2, 3, NAN, "b.jpg", "no rotation");
    expect_image(2, 3, 1e200, "b.jpg", "no rotation");
    expect_image(2, 4, 1, "b.jpg", "image 2 (b.jpg) uses camera 4, which the model does not have");
    expect_image(2, 4, 1, "b.jpg", "byte 86)"); /* 8 + 64 + "a.jpg" and NUL + 8 */
    expect_image(1, 3, 1, "b.jpg", "the image id 1 comes twice (binary/images.bin, byte 86)");
    bytes far = good_images();
    double nan = NAN;
    memcpy(far.data + 8 + 4 + 32, &nan, 8);
    expect_binary(NULL, &far, NULL, SPLAT_ERROR_FORMAT, "translation");
}

/* Counts that no memory could hold must be refused before any is asked for. */
static void test_huge_counts(void **state)
{
    (void)state;
    static const uint64_t counts[] = {3, 1u << 20, UINT64_MAX / 64, UINT64_MAX};
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        bytes c = good_cameras(), i = good_images(), p = good_points();
        memcpy(c.data, &counts[k], 8);
        memcpy(i.data, &counts[k], 8);
        memcpy(p.data, &counts[k], 8);
        expect_binary(&c, NULL, NULL, SPLAT_ERROR_FORMAT, "truncated or corrupt (binary/cameras.bin, byte");
        expect_binary(NULL, &i, NULL, SPLAT_ERROR_FORMAT, "truncated or corrupt (binary/images.bin, byte");
        expect_binary(NULL, NULL, &p, SPLAT_ERROR_FORMAT, "truncated or corrupt (binary/points3D.bin, byte");
        i = good_images();
        memcpy(i.data + 8 + 64 + 6, &counts[k], 8); /* 2D points of the first image */
        expect_binary(NULL, &i, NULL, SPLAT_ERROR_FORMAT, "binary/images.bin, byte");
        p = good_points();
        memcpy(p.data + 8 + 43, &counts[k], 8); /* its track */
        if (counts[k] != 3) expect_binary(NULL, NULL, &p, SPLAT_ERROR_FORMAT, "point 1; it is truncated");
    }
    bytes p = good_points();
    double infinite = 1e39; /* a finite double, but no float */
    memcpy(p.data + 16, &infinite, 8);
    expect_binary(NULL, NULL, &p, SPLAT_ERROR_FORMAT, "is not finite (binary/points3D.bin, byte 8)");
}

/* ---------------------------------------------------------------- bad text */

static void expect_text(int which, const char *content, splat_status wanted, const char *words)
{
    splat_error error;
    write_text_model(which == 0 ? content : cameras_text, which == 1 ? content : images_text,
                     which == 2 ? content : points_text);
    splat_status status = read_all("text", &error);
    assert_failure(status, wanted, &error, words);
}

static void test_text_refused(void **state)
{
    (void)state;
    static const struct { int which; const char *content, *words; } bad[] = {
        {0, "", "no cameras (text/cameras.txt)"},
        {0, "# only a comment\n", "no cameras"},
        {0, "x PINHOLE 1 1 1 1 1 1", "\"x\" is not a valid camera id (text/cameras.txt, line 1)"},
        {0, "-1 PINHOLE 1 1 1 1 1 1", "\"-1\" is not a valid camera id"},
        {0, "4294967296 PINHOLE 1 1 1 1 1 1", "is not a valid camera id"},
        {0, "1", "the line ends before its camera model"},
        {0, "\n\n1 PINHOLE 640 480 500 501 320", "the line ends before its principal point (text/cameras.txt, line 3)"},
        {0, "1 PINHOLE 640 480 500 501 320 240 0.1", "more numbers than a PINHOLE"},
        {0, "1 PINHOLE 640 480 5oo 501 320 240", "\"5oo\" is not a valid focal length"},
        {0, "1 PINHOLE 640 480 nan 501 320 240", "\"nan\" is not a valid focal length"},
        {0, "1 PINHOLE 640 480 1,5 501 320 240", "\"1,5\" is not a valid focal length"},
        {0, "1 PINHOLE 0 480 500 501 320 240", "0 x 480 pixels"},
        {0, "1 PINHOLE 640 480 0 501 320 240", "must be positive"},
        {0, "1 PINHOLE 640 480 5 5 3 2\n# c\n1 PINHOLE 640 480 5 5 3 2\n",
         "camera id 1 comes twice (text/cameras.txt, line 3)"},
        {1, "", "no images (text/images.txt)"},
        {1, "1 0 0 0 0 0 0 0 1 a.jpg\n\n", "no rotation (text/images.txt, line 1)"},
        {1, "1 1 0 0 0 inf 0 0 1 a.jpg\n\n", "\"inf\" is not a valid translation"},
        {1, "1 1 0 0 0 0 0 0 1\n\n", "no file name"},
        {1, "1 1 0 0 0 0 0 0 8 a.jpg\n\n", "uses camera 8"},
        {1, "1 1 0 0 0 0 0 0 1 ../a.jpg\n\n", "leaves the folder"},
        {1, "1 1 0 0 0 0 0 0 1 a.jpg\n\n1 1 0 0 0 0 0 0 1 b.jpg\n\n",
         "image id 1 comes twice (text/images.txt, line 3)"},
        /* the lines of 2D points left out: every other photo would vanish */
        {1, "1 1 0 0 0 0 0 0 1 a.jpg\n2 1 0 0 0 0 0 0 1 b.jpg\n", "2D points of image 1"},
        {2, "1 0 0 0 1 2 256 0", "\"256\" is not a valid colour"},
        {2, "1 0 0 inf 1 2 3 0", "\"inf\" is not a valid coordinate"},
        {2, "1 0 0 1e39 1 2 3 0", "is not finite (text/points3D.txt, line 1)"},
        {2, "1 0 0\n", "the line ends before its coordinate"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
        expect_text(bad[k].which, bad[k].content, SPLAT_ERROR_FORMAT, bad[k].words);
    expect_text(0, "1 OPENCV 640 480 5 5 3 2 0 0 0", SPLAT_ERROR_FORMAT, "the line ends before its coefficient");
    expect_text(0, "1 OPENCV_FISHEYE 640 480 5 5 3 2 0 0 0 nan", SPLAT_ERROR_FORMAT,
                "\"nan\" is not a valid coefficient");
    expect_text(0, "1 PINHOLEX 640 480 5 5 3 2", SPLAT_ERROR_UNSUPPORTED, "camera 1 is PINHOLEX,");
    expect_text(0, "1 NERFSTUDIO 640 480 5 5 3 2 0 0 0 0 0 0", SPLAT_ERROR_UNSUPPORTED, "camera 1 is NERFSTUDIO,");
}

static void test_absent(void **state)
{
    (void)state;
    splat_error error;
    splat_colmap_model m;
    fixture_folder("absent");
    assert_failure(read_all("absent", &error), SPLAT_ERROR_IO, &error, "neither cameras.bin nor cameras.txt");
    fixture_text("absent/cameras.txt", cameras_text);
    assert_failure(read_all("absent", &error), SPLAT_ERROR_IO, &error, "neither images.bin nor images.txt");
    fixture_text("absent/images.txt", images_text);
    ASSERT_OK(splat_colmap_read("absent", &m, &error));
    ASSERT_OK(splat_colmap_read_points("absent", &m, &error)); /* without points: not an error here */
    assert_int_equal(m.n_points, 0);
    splat_colmap_free(&m);
}

/* ---------------------------------------------------------------- sweeps */

static const char *sweep_path;

/* A prefix of a binary file always contradicts its count; one of a text file may be a smaller model. Damage may pass
 * (a moved point is a valid point), but what is returned must be sound: the sanitizers look on. */
static void check_damaged(const uint8_t *data, size_t size, bool is_prefix)
{
    splat_error error;
    const char *folder = strncmp(sweep_path, "binary", 6) == 0 ? "binary" : "text";
    fixture_bytes(sweep_path, data, size);
    splat_status status = read_all(folder, &error);
    if (is_prefix && strstr(sweep_path, ".bin")) {
        assert_int_equal(status, SPLAT_ERROR_FORMAT);
        assert_true(error.offset != SPLAT_NO_OFFSET);
    }
    if (status == SPLAT_OK) return;
    assert_true(status == SPLAT_ERROR_FORMAT || status == SPLAT_ERROR_UNSUPPORTED);
    assert_true(error.message[0] && error.file[0]);
}

static void test_damage(void **state)
{
    (void)state;
    const bytes files[3] = {good_cameras(), good_images(), good_points()};
    const char *const texts[3] = {cameras_text, images_text, points_text};
    for (int k = 0; k < 3; k++) {
        char path[64];
        sweep_path = path;
        write_binary_model(&files[0], &files[1], &files[2]);
        snprintf(path, sizeof path, "binary/%s.bin", stems[k]);
        fixture_sweep(files[k].data, files[k].size, check_damaged, 3000);
        write_text_model(texts[0], texts[1], texts[2]);
        snprintf(path, sizeof path, "text/%s.txt", stems[k]);
        fixture_sweep((const uint8_t *)texts[k], strlen(texts[k]), check_damaged, 3000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_binary_wins), cmocka_unit_test(test_text),
        cmocka_unit_test(test_binary),         cmocka_unit_test(test_zero_distortion),
        cmocka_unit_test(test_lenses),
        cmocka_unit_test(test_binary_refused),
        cmocka_unit_test(test_images_refused), cmocka_unit_test(test_huge_counts), cmocka_unit_test(test_text_refused),
        cmocka_unit_test(test_absent),         cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
