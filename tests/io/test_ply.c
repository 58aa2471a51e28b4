/* PLY: round trips, what other tools write, and damaged files. */
#include "base/file.h"
#include "base/rng.h"
#include "check.h"
#include "io/ply/ply_points.h"
#include "io/splat/formats.h"
#include "scene_fixture.h"
#include "text_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float *random_floats(size_t n, uint32_t step)
{
    float *values = malloc((n ? n : 1) * sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = 4.0f * splat_uniform(splat_random(1, SPLAT_STREAM_TEST, step, i).x[0]) - 2.0f;
    return values;
}

static splat_cloud make(size_t n, int degree, bool filter)
{
    size_t n_rest = splat_sh_rest_floats(degree);
    splat_cloud g = {.n = n, .sh_degree = degree, .means = random_floats(3 * n, 1), .sh_dc = random_floats(3 * n, 2),
                     .sh_rest = random_floats(n_rest * n, 3), .opacities = random_floats(n, 4),
                     .scales = random_floats(3 * n, 5), .rotations = random_floats(4 * n, 6),
                     .filter_3d = filter ? random_floats(n, 7) : NULL};
    for (size_t i = 0; filter && i < n; i++) g.filter_3d[i] = fabsf(g.filter_3d[i]);
    return g;
}

static void assert_floats(const float *a, const float *b, size_t n)
{
    assert_memory_equal(a, b, n * sizeof *a);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (int degree = 0; degree <= 3; degree++) {
        for (int filter = 0; filter <= 1; filter++) {
            splat_error error;
            splat_cloud a = make(17, degree, filter), b;
            size_t n_rest = splat_sh_rest_floats(degree);
            a.means[0] = NAN; /* kept: renderers skip and count what is not finite */
            a.opacities[3] = INFINITY;
            ASSERT_OK(splat_cloud_write("round.ply", &a, NULL, &error));
            ASSERT_OK(splat_cloud_read("round.ply", &b, &error));
            assert_int_equal(b.n, 17);
            assert_int_equal(b.sh_degree, degree);
            assert_int_equal(b.filter_3d != NULL, filter);
            assert_int_equal(b.render_mode, SPLAT_RENDER_AUTO);
            assert_floats(a.means, b.means, 51);
            assert_floats(a.sh_dc, b.sh_dc, 51);
            assert_floats(a.sh_rest, b.sh_rest, 17 * n_rest);
            assert_floats(a.opacities, b.opacities, 17);
            assert_floats(a.scales, b.scales, 51);
            assert_floats(a.rotations, b.rotations, 68);
            if (filter) assert_floats(a.filter_3d, b.filter_3d, 17);
            splat_cloud_free(&a);
            splat_cloud_free(&b);
        }
    }
}

/* The exact bytes that 3DGS tools expect: the order of the columns, and f_rest channel by channel. */
static void test_layout(void **state)
{
    (void)state;
    static const char header[] =
        "ply\nformat binary_little_endian 1.0\ncomment SplatRenderMode: mip\nelement vertex 1\n"
        "property float x\nproperty float y\nproperty float z\n"
        "property float nx\nproperty float ny\nproperty float nz\n"
        "property float f_dc_0\nproperty float f_dc_1\nproperty float f_dc_2\n"
        "property float f_rest_0\nproperty float f_rest_1\nproperty float f_rest_2\n"
        "property float f_rest_3\nproperty float f_rest_4\nproperty float f_rest_5\n"
        "property float f_rest_6\nproperty float f_rest_7\nproperty float f_rest_8\n"
        "property float opacity\nproperty float scale_0\nproperty float scale_1\nproperty float scale_2\n"
        "property float rot_0\nproperty float rot_1\nproperty float rot_2\nproperty float rot_3\n"
        "property float filter_3D\nend_header\n";
    static const float row[27] = {1,  2,  3,  0,  0,  0, 4, 5, 6, 10, 11, 12, 20, 21,
                                  22, 30, 31, 32, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    float means[3] = {1, 2, 3}, dc[3] = {4, 5, 6}, opacity = 7, scales[3] = {8, 9, 10}, rotation[4] = {11, 12, 13, 14};
    float rest[9] = {10, 20, 30, 11, 21, 31, 12, 22, 32}, filter = 15; /* tens: channel, ones: coefficient */
    splat_cloud back, g = {.n = 1, .sh_degree = 1, .means = means, .sh_dc = dc, .sh_rest = rest, .opacities = &opacity,
                           .scales = scales, .rotations = rotation, .filter_3d = &filter,
                           .render_mode = SPLAT_RENDER_MIP};
    splat_error error;
    uint8_t *data;
    size_t size;
    ASSERT_OK(splat_cloud_write("layout.ply", &g, NULL, &error));
    ASSERT_OK(splat_file_read("layout.ply", &data, &size, &error));
    assert_int_equal(size, sizeof header - 1 + sizeof row);
    assert_memory_equal(data, header, sizeof header - 1);
    assert_memory_equal(data + sizeof header - 1, row, sizeof row);
    free(data);
    ASSERT_OK(splat_cloud_read("layout.ply", &back, &error));
    assert_floats(back.sh_rest, rest, 9);
    splat_cloud_free(&back);
}

/* ---------------------------------------------------------------- files of other tools */

/* Every scalar type, lists before, inside and after the vertices, columns nobody asked for, \r\n, blank lines. */
static const char ascii_splat[] =
    "ply\r\nformat ascii 1.0\r\ncomment   SplatRenderMode:  default \r\nobj_info a b c d e f g h\r\n"
    "element camera 2\r\nproperty list uint8 float32 view\r\nproperty int16 id\r\n"
    "element vertex 2\r\nproperty double x\r\nproperty float y\r\nproperty float32 z\r\n"
    "property uchar red\r\nproperty list uchar int neighbours\r\nproperty float f_dc_0\r\nproperty float f_dc_1\r\n"
    "property float f_dc_2\r\nproperty float64 opacity\r\nproperty float scale_0\r\nproperty float scale_1\r\n"
    "property float scale_2\r\nproperty float rot_3\r\nproperty float rot_0\r\nproperty char rot_1\r\n"
    "property float rot_2\r\nelement face 1\r\nproperty list uchar int vertex_indices\r\nend_header\r\n"
    "3 1 2 3 7\r\n0 8\r\n"
    "1.5 -2 3e-1 255 2 5 6 0.1 0.2 0.3 -4 -1 -2 -3 0.75 1 -5 0.25\r\n\r\n"
    "  nan inf 0 1 0 1 2 3 4 5 6 7 8 9 10 11 \r\n3 0 1 0\r\n";

static void test_ascii(void **state)
{
    (void)state;
    splat_error error;
    splat_cloud g;
    fixture_text("ascii.ply", ascii_splat);
    ASSERT_OK(splat_cloud_read("ascii.ply", &g, &error));
    static const float means[3] = {1.5f, -2, 0.3f}, dc[6] = {0.1f, 0.2f, 0.3f, 1, 2, 3};
    static const float scales[6] = {-1, -2, -3, 5, 6, 7}, rotations[8] = {1, -5, 0.25f, 0.75f, 9, 10, 11, 8};
    assert_int_equal(g.n, 2);
    assert_int_equal(g.sh_degree, 0);
    assert_int_equal(g.render_mode, SPLAT_RENDER_CLASSIC);
    assert_floats(g.means, means, 3);
    assert_true(isnan(g.means[3]) && isinf(g.means[4]));
    assert_floats(g.sh_dc, dc, 6);
    assert_floats(g.scales, scales, 6);
    assert_floats(g.rotations, rotations, 8);
    assert_true(g.opacities[0] == -4.0f && g.opacities[1] == 4.0f);
    splat_cloud_free(&g);
}

static uint8_t *put(uint8_t *p, const void *value, size_t size, bool big)
{
    for (size_t i = 0; i < size; i++) p[big ? size - 1 - i : i] = ((const uint8_t *)value)[i];
    return p + size;
}

/* A point file with a list element before the vertices, a list among them, every numeric type, in either byte order. */
static size_t make_binary_points(uint8_t *file, bool big)
{
    int length = sprintf((char *)file,
                         "ply\nformat binary_%s_endian 1.0\nelement chunk 1\nproperty list ushort double data\n"
                         "property int8 a\nelement vertex 2\nproperty short z\nproperty double x\nproperty list char "
                         "uint skip\nproperty float y\nproperty ushort green\nproperty uchar red\nproperty float blue\n"
                         "property int i\nproperty uint u\nend_header\n", big ? "big" : "little");
    uint8_t *p = file + length;
    double two_doubles[2] = {1e300, -1.0}, x[2] = {0.25, -8.0};
    float y[2] = {0.5f, 16.0f}, blue[2] = {0.5f, 2.0f};
    int16_t z[2] = {-300, 7};
    uint16_t n_data = 2, green[2] = {65535, 51400};
    uint8_t red[2] = {200, 0}, n_skip[2] = {2, 0}, byte = 0x80;
    uint32_t word = 0xdeadbeef;
    p = put(p, &n_data, 2, big);
    for (int i = 0; i < 2; i++) p = put(p, &two_doubles[i], 8, big);
    p = put(p, &byte, 1, big);
    for (int i = 0; i < 2; i++) {
        p = put(p, &z[i], 2, big);
        p = put(p, &x[i], 8, big);
        p = put(p, &n_skip[i], 1, big);
        for (int k = 0; k < n_skip[i]; k++) p = put(p, &word, 4, big);
        p = put(p, &y[i], 4, big);
        p = put(p, &green[i], 2, big);
        p = put(p, &red[i], 1, big);
        p = put(p, &blue[i], 4, big);
        p = put(p, &word, 4, big);
        p = put(p, &word, 4, big);
    }
    return (size_t)(p - file);
}

static void test_points(void **state)
{
    (void)state;
    splat_error error;
    splat_point *points;
    size_t n;
    for (int big = 0; big <= 1; big++) {
        uint8_t file[1024];
        size_t size = make_binary_points(file, big);
        ASSERT_OK(splat_file_write("points.ply", file, size, &error));
        ASSERT_OK(splat_ply_read_points("points.ply", &points, &n, &error));
        static const splat_point wanted[2] = {{{0.25f, 0.5f, -300.0f}, {200, 255, 128}}, {{-8, 16, 7}, {0, 200, 255}}};
        assert_int_equal(n, 2);
        for (int i = 0; i < 2; i++) {
            assert_floats(points[i].position, wanted[i].position, 3);
            assert_memory_equal(points[i].color, wanted[i].color, 3);
        }
        free(points);
        file[size - 58] = 0xff; /* the length of the first "skip": -1 */
        ASSERT_OK(splat_file_write("points.ply", file, size, &error));
        assert_int_equal(splat_ply_read_points("points.ply", &points, &n, &error), SPLAT_ERROR_FORMAT);
        assert_non_null(strstr(error.message, "list skip has an impossible length"));
        assert_int_equal(error.offset, size - 58);
    }
    static const splat_point some[2] = {{{1, 2, 3}, {4, 5, 6}}, {{-1, -2, -3}, {255, 0, 1}}};
    static const float normals[6] = {0, 0, 1, 0, 1, 0};
    uint8_t *data;
    size_t size;
    ASSERT_OK(splat_ply_write_points("points.ply", some, normals, 2, &error));
    ASSERT_OK(splat_ply_read_points("points.ply", &points, &n, &error));
    assert_int_equal(n, 2);
    assert_memory_equal(points[1].color, some[1].color, 3);
    assert_floats(points[1].position, some[1].position, 3);
    free(points);
    ASSERT_OK(splat_file_read("points.ply", &data, &size, &error));
    assert_memory_equal(data + size - 15, normals + 3, 12); /* of the last point, before its colour */
    free(data);
    fixture_text("points.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
                             "property float z\nend_header\n1 2 3\n");
    ASSERT_OK(splat_ply_read_points("points.ply", &points, &n, &error));
    assert_true(n == 1 && points[0].color[0] == 128 && points[0].color[2] == 128);
    free(points);
}

/* ---------------------------------------------------------------- damage */

static void assert_refused(const char *text, splat_status wanted, const char *part, uint64_t line)
{
    splat_error error;
    splat_cloud g;
    fixture_text("bad.ply", text);
    assert_int_equal(splat_cloud_read("bad.ply", &g, &error), wanted);
    if (!strstr(error.message, part)) fail_msg("\"%s\" does not say \"%s\"", error.message, part);
    assert_string_equal(error.file, "bad.ply");
    assert_int_equal(error.line, line);
    assert_null(g.means);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct { const char *what, *by; splat_status status; const char *says; uint64_t line; } cases[] = {
        {"ply", "plY", SPLAT_ERROR_FORMAT, "not a PLY", 0},
        {"format ascii 1.0", "format ascii 2.0", SPLAT_ERROR_UNSUPPORTED, "version 2.0", 0},
        {"format ascii 1.0", "format text 1.0", SPLAT_ERROR_FORMAT, "the format is none of", 0},
        {"format ascii 1.0\r\n", "", SPLAT_ERROR_FORMAT, "no format line", 0},
        {"end_header\r\n", "", SPLAT_ERROR_FORMAT, "does not know", 0},
        {"element vertex 2", "element vertices 2", SPLAT_ERROR_FORMAT, "no element vertex", 0},
        {"element vertex 2", "element vertex -2", SPLAT_ERROR_FORMAT, "name and a count", 0},
        {"element vertex 2", "element vertex 18446744073709551616", SPLAT_ERROR_FORMAT, "name and a count", 0},
        {"element vertex 2", "element vertex 18446744073709551615", SPLAT_ERROR_FORMAT, "claims 1844674407", 0},
        {"element vertex 2", "element vertex 4", SPLAT_ERROR_FORMAT, "claims 4 rows", 0},
        {"element vertex 2", "element vertex 3", SPLAT_ERROR_FORMAT, "ends before its value of neighbours", 33},
        {"property double x", "property double xx", SPLAT_ERROR_FORMAT, "no number called x", 0},
        {"property double x", "property list int int x", SPLAT_ERROR_FORMAT, "no number called x", 0},
        {"property float rot_2", "property float rot_4", SPLAT_ERROR_FORMAT, "no number called rot_2", 0},
        {"float64 opacity", "float64 opacitY", SPLAT_ERROR_FORMAT, "no number called opacity", 0},
        {"property float scale_2", "property float f_rest_0", SPLAT_ERROR_FORMAT, "1 f_rest columns", 0},
        {"property float scale_2", "property float scale_1", SPLAT_ERROR_FORMAT, "scale_1 appears twice", 0},
        {"property float scale_2", "property half scale_2", SPLAT_ERROR_FORMAT, "unknown type", 0},
        {"property list uchar int n", "property list float int n", SPLAT_ERROR_FORMAT, "integer type", 0},
        {"property uchar red", "property uchar packed_position", SPLAT_ERROR_FORMAT, "chunk", 0},
        {"3e-1", "3e-1x", SPLAT_ERROR_FORMAT, "value of z is not a number", 30},
        {"-5 0.25", "-5", SPLAT_ERROR_FORMAT, "ends before its value of rot_2", 30},
        {"-5 0.25", "-5 0.25 1", SPLAT_ERROR_FORMAT, "more values", 30},
        {"255 2 5 6", "255 -1 5 6", SPLAT_ERROR_FORMAT, "impossible length", 30},
        {"255 2 5 6", "255 1e30 5 6", SPLAT_ERROR_FORMAT, "impossible length", 30},
        {"255 2 5 6", "255 1.5 5 6", SPLAT_ERROR_FORMAT, "impossible length", 30},
        {"3 1 2 3 7", "9 1 2 3 7", SPLAT_ERROR_FORMAT, "ends before its value of view", 28},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = text_replaced(ascii_splat, cases[i].what, cases[i].by);
        assert_refused(text, cases[i].status, cases[i].says, cases[i].line);
        free(text);
    }
    splat_error error;
    splat_cloud g;
    assert_int_equal(splat_cloud_read("absent.ply", &g, &error), SPLAT_ERROR_IO);
    splat_point *points;
    size_t n;
    fixture_text("bad.ply", "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\n"
                          "property float z\nend_header\n1 2 3\n1 inf 3\n");
    assert_int_equal(splat_ply_read_points("bad.ply", &points, &n, &error), SPLAT_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "coordinate y of point 1"));
    assert_int_equal(error.line, 9);
    fixture_text("bad.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
                          "property float z\nproperty uchar red\nend_header\n1 2 3 4\n");
    assert_int_equal(splat_ply_read_points("bad.ply", &points, &n, &error), SPLAT_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "green"));
}

static splat_status read_bytes(const void *data, size_t size, bool points)
{
    splat_error error = {0};
    splat_cloud g;
    splat_point *list = NULL;
    size_t n;
    FILE *stream = fopen("damaged.ply", "wb"); /* not splat_file_write: thousands of fsyncs take minutes on a disk */
    assert_int_equal(fwrite(data, 1, size, stream), size);
    fclose(stream);
    splat_status status = points ? splat_ply_read_points("damaged.ply", &list, &n, &error)
                                 : splat_cloud_read("damaged.ply", &g, &error);
    if (status == SPLAT_OK && points) free(list);
    if (status == SPLAT_OK && !points) splat_cloud_free(&g);
    if (status != SPLAT_OK) assert_true(error.message[0] != '\0');
    return status;
}

/* Every proper prefix is refused, and no single changed byte makes the reader misbehave (the sanitizers watch). */
static void sweep(const uint8_t *data, size_t size, bool points)
{
    static const uint8_t flips[] = {0x01, 0x10, 0x80, 0xff};
    uint8_t *copy = malloc(size);
    for (size_t length = 0; length < size; length++) assert_int_not_equal(read_bytes(data, length, points), SPLAT_OK);
    assert_int_equal(read_bytes(data, size, points), SPLAT_OK);
    for (size_t i = 0; i < size; i++) {
        memcpy(copy, data, size);
        copy[i] ^= flips[i % sizeof flips];
        read_bytes(copy, size, points);
        copy[i] = "0 9\n-"[i % 5];
        read_bytes(copy, size, points);
    }
    free(copy);
}

static void test_damage(void **state)
{
    (void)state;
    splat_error error;
    uint8_t *data, points[1024];
    size_t size;
    splat_cloud g = make(2, 1, true);
    ASSERT_OK(splat_cloud_write("small.ply", &g, NULL, &error));
    splat_cloud_free(&g);
    ASSERT_OK(splat_file_read("small.ply", &data, &size, &error));
    sweep(data, size, false);
    free(data);
    for (int big = 0; big <= 1; big++) sweep(points, make_binary_points(points, big), true);
    /* without the face element, which is never read */
    char *text = text_replaced(ascii_splat, "element face 1\r\nproperty list uchar int vertex_indices\r\n", "");
    char *short_text = text_replaced(text, "3 0 1 0\r\n", "");
    sweep((uint8_t *)short_text, strlen(short_text), false);
    free(text);
    free(short_text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_layout),  cmocka_unit_test(test_ascii),
        cmocka_unit_test(test_points),     cmocka_unit_test(test_refused), cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
