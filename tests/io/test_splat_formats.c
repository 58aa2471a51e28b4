/* Packed formats of splats: bytes that were worked out by hand, what they lose, and files that are damaged. */
#include "base/file.h"
#include "base/rng.h"
#include "check.h"
#include "io/splat/formats.h"
#include "io/splat/packed.h"
#include "math/sh_rotation.h"
#include "scene_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* n Gaussians like those of a trained splat, in a row along x, 0.01 apart. */
static splat_cloud make_cloud(size_t n, int degree)
{
    splat_cloud c;
    splat_error error;
    ASSERT_OK(splat_cloud_make(&c, n, degree, false, &error));
    static const float lows[SPLAT_N_TENSORS] = {[SPLAT_TENSOR_means] = -4,      [SPLAT_TENSOR_sh_dc] = -1.5f,
                                                [SPLAT_TENSOR_sh_rest] = -0.5f, [SPLAT_TENSOR_opacities] = -4,
                                                [SPLAT_TENSOR_scales] = -5,     [SPLAT_TENSOR_rotations] = -1};
    static const float highs[SPLAT_N_TENSORS] = {[SPLAT_TENSOR_means] = 4,      [SPLAT_TENSOR_sh_dc] = 1.5f,
                                                 [SPLAT_TENSOR_sh_rest] = 0.5f, [SPLAT_TENSOR_opacities] = 4,
                                                 [SPLAT_TENSOR_scales] = -1,    [SPLAT_TENSOR_rotations] = 1};
#define SPLAT_TENSOR(name, ...)                                                                                        \
    for (size_t i = 0; i < n * splat_tensor_channels(SPLAT_TENSOR_##name, degree); i++) {                              \
        float u = splat_uniform(splat_random(1, SPLAT_STREAM_TEST, SPLAT_TENSOR_##name, i).x[0]);                      \
        c.name[i] = lows[SPLAT_TENSOR_##name] + u * (highs[SPLAT_TENSOR_##name] - lows[SPLAT_TENSOR_##name]);          \
    }
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    for (size_t i = 0; i < n; i++) c.means[3 * i] = 0.01f * (float)i;
    return c;
}

/* One Gaussian whose bytes the tests below work out by hand; degree 0 or 1. */
static splat_cloud make_one(int degree)
{
    static const float sh[9] = {0.5f, 0.5f, 0.5f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f};
    splat_cloud c;
    splat_error error;
    ASSERT_OK(splat_cloud_make(&c, 1, degree, false, &error));
    memcpy(c.means, (float[]){1, 2, 3}, 12);
    memcpy(c.scales, (float[]){-1, -2, -3}, 12);
    memcpy(c.sh_dc, (float[]){0, 1, -1}, 12);
    memcpy(c.rotations, (float[]){0.8f, 0, 0.6f, 0}, 16);
    if (degree) memcpy(c.sh_rest, sh, sizeof sh);
    return c;
}

/* The signs are those of half a turn about x. */
static void axes_that_look_up_are_half_a_turn_away(void **state)
{
    (void)state;
    static const double half_turn[9] = {1, 0, 0, 0, -1, 0, 0, 0, -1};
    splat_sh_rotation turn;
    float rest[45];
    splat_sh_rotation_make(&turn, half_turn);
    for (int k = 0; k < 45; k++) rest[k] = 1;
    splat_sh_rotate(&turn, 3, rest);
    for (int k = 0; k < 45; k++) assert_true(fabsf(rest[k] - splat_packed_sh_signs[k / 3]) < 1e-6f);
    for (int k = 0; k < 3; k++) assert_true((double)splat_packed_axis_signs[k] == half_turn[4 * k]);
}

/* ---------------------------------------------------------------- bytes */

static void a_splat_file_has_these_bytes(void **state)
{
    (void)state;
    /* 255 (0.5 + 0.28209 dc) = 127.5, 199.4, 55.6; sigmoid(0) = 127.5; 128 q + 128 = 230.4, 128, 204.8, 128 */
    static const uint8_t bytes[8] = {128, 199, 56, 128, 230, 128, 205, 128};
    splat_error error;
    splat_cloud c = make_one(0);
    uint8_t *data;
    float floats[6];
    size_t size;
    ASSERT_OK(splat_cloud_write("one.splat", &c, NULL, &error));
    ASSERT_OK(splat_file_read("one.splat", &data, &size, &error));
    assert_int_equal(size, 32);
    memcpy(floats, data, sizeof floats);
    for (int k = 0; k < 3; k++) {
        assert_true(floats[k] == c.means[k]);
        assert_true(fabs((double)floats[3 + k] - exp((double)c.scales[k])) < 1e-7);
    }
    assert_memory_equal(data + 24, bytes, sizeof bytes);
    free(data);
    splat_cloud_free(&c);
}

static void the_large_and_opaque_come_first_in_a_splat_file(void **state)
{
    (void)state;
    splat_error error;
    splat_cloud c = make_cloud(3, 0), back;
    for (int i = 0; i < 3; i++) c.scales[3 * i] = c.scales[3 * i + 1] = c.scales[3 * i + 2] = -3;
    memcpy(c.opacities, (float[]){-1, 3, 1}, 12);
    ASSERT_OK(splat_cloud_write("sorted.splat", &c, NULL, &error));
    ASSERT_OK(splat_cloud_read("sorted.splat", &back, &error));
    assert_true(back.means[0] == 0.01f && back.means[3] == 0.02f && back.means[6] == 0);
    splat_cloud_free(&back);
    splat_cloud_free(&c);
}

static void gunzip(const uint8_t *data, size_t size, uint8_t *out, size_t room, size_t *n)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data, .next_out = out};
    z.avail_in = (uInt)size;
    z.avail_out = (uInt)room;
    assert_int_equal(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    *n = room - z.avail_out;
    inflateEnd(&z);
}

/* The payload of one Gaussian of degree 1 in version 3. y and z are -2 and -3 in units of 2^-12; 255 (0.15 dc + 0.5) =
 * 127.5, 165.75, 89.25; 16 (s + 10); the quaternion x y z w is (0, -0.6, 0, 0.8): the fourth is left out, y has a sign
 * and 511 sqrt(2) 0.6 = 433.6; harmonics -0.5, -0.3, 0.3 are 64, 89.6, 166.4, in steps of 8: 64, 88, 168. */
static const uint8_t spz_one[] = {
    'N', 'G', 'S', 'P', 3, 0, 0, 0, 1, 0, 0, 0, 1, 12, 1, 0,                     /* antialiased */
    0x00, 0x10, 0x00, 0x00, 0xe0, 0xff, 0x00, 0xd0, 0xff, 128, 128, 166, 89, 144, 128, 112, 0x00, 0xc8, 0x0e, 0xc0,
    64, 64, 64, 88, 88, 88, 168, 168, 168};

static void an_spz_file_has_these_bytes(void **state)
{
    (void)state;
    splat_error error;
    splat_cloud c = make_one(1);
    uint8_t *data, plain[256];
    size_t size, n;
    c.render_mode = SPLAT_RENDER_MIP;
    ASSERT_OK(splat_cloud_write("one.spz", &c, NULL, &error));
    ASSERT_OK(splat_file_read("one.spz", &data, &size, &error));
    gunzip(data, size, plain, sizeof plain, &n);
    assert_int_equal(n, sizeof spz_one);
    assert_memory_equal(plain, spz_one, sizeof spz_one);
    free(data);
    splat_cloud_free(&c);
}

/* Logarithms of scales are kept up to 20, as the published writer does, and cut beyond. */
static void scales_of_a_compressed_ply_are_cut_at_20(void **state)
{
    (void)state;
    static const float scales[3] = {19, -19.5f, 0}, beyond[3] = {25, -1000, 20}, cut[3] = {20, -20, 20};
    splat_error error;
    splat_cloud c = make_one(0), back;
    for (int i = 0; i < 2; i++) {
        memcpy(c.scales, i == 0 ? scales : beyond, sizeof scales);
        ASSERT_OK(splat_cloud_write("wide.compressed.ply", &c, NULL, &error));
        ASSERT_OK(splat_cloud_read("wide.compressed.ply", &back, &error));
        for (int k = 0; k < 3; k++) assert_float_equal(back.scales[k], i == 0 ? scales[k] : cut[k], 1e-5);
        splat_cloud_free(&back);
    }
    splat_cloud_free(&c);
}

/* Text and words of three Gaussians. The middle one lies at 1/4, 1/2, 3/4 of the box: 512, 512 and 1535 steps; of its
 * rotation (0.8, 0, 0.6, 0) the first is left out and the others are 511.5, 945.5 and 511.5 steps of 1023. */
static void a_compressed_ply_has_these_words(void **state)
{
    (void)state;
    static const float means[9] = {5, 6, 7, 1, 2, 3, 2, 4, 6}, scales[9] = {-1, -1, -1, -3, -3, -3, -2, -1, -3};
    static const uint32_t words[12] = {0, 512u << 20 | 946u << 10 | 512u, 0, 0x80808080u,
                                       512u << 21 | 512u << 11 | 1535u, 512u << 20 | 946u << 10 | 512u,
                                       1024u << 21 | 1023u << 11 | 0u, 0x00000080u,
                                       0xffffffffu, 512u << 20 | 946u << 10 | 512u, 0xffffffffu, 0xffffff80u};
    splat_error error;
    splat_cloud c;
    uint8_t *data;
    size_t size;
    ASSERT_OK(splat_cloud_make(&c, 3, 0, false, &error));
    memcpy(c.means, means, sizeof means);
    memcpy(c.scales, scales, sizeof scales);
    for (int i = 0; i < 3; i++) {
        memcpy(c.rotations + 4 * i, (float[]){0.8f, 0, 0.6f, 0}, 16);
        for (int k = 0; k < 3; k++) c.sh_dc[3 * i + k] = i == 0 ? 1 : i == 1 ? 0 : -1;
    }
    c.sh_dc[3] = c.sh_dc[4] = c.sh_dc[5] = 0;
    ASSERT_OK(splat_cloud_write("three.compressed.ply", &c, NULL, &error));
    ASSERT_OK(splat_file_read("three.compressed.ply", &data, &size, &error));
    assert_non_null(strstr((char *)data, "element chunk 1\nproperty float min_x\n"));
    assert_non_null(strstr((char *)data, "property float max_b\nelement vertex 3\nproperty uint packed_position\n"
                                         "property uint packed_rotation\nproperty uint packed_scale\n"
                                         "property uint packed_color\nend_header\n"));
    uint32_t found[12];
    memcpy(found, data + size - sizeof found, sizeof found);
    for (int k = 0; k < 12; k++) /* dc is -1, 0, 1: 0 and 255, or the middle, 127.5, which rounds either way in float */
        if (k % 4 == 3 ? ((found[k] ^ words[k]) & 255) != 0 : found[k] != words[k])
            fail_msg("word %d is %08x instead of %08x", k, found[k], words[k]);
    assert_int_equal(found[7] >> 8, 0);
    assert_int_equal(found[11] >> 8, 0xffffff);
    assert_true((found[3] >> 24) - 127u <= 1u);
    free(data);
    splat_cloud_free(&c);
}

/* Discs of a surface are thinner than e^-12 of a unit: the format keeps them thin. */
static void thin_gaussians_stay_thin_in_a_compressed_ply(void **state)
{
    (void)state;
    static const float scales[6] = {-1, -1.5f, -15, -1, -1.5f, -2};
    splat_error error;
    splat_cloud c, back;
    ASSERT_OK(splat_cloud_make(&c, 2, 0, false, &error));
    memcpy(c.scales, scales, sizeof scales);
    for (int i = 0; i < 2; i++) {
        memcpy(c.means + 3 * i, (float[]){(float)i, 0, 0}, 12);
        memcpy(c.rotations + 4 * i, (float[]){1, 0, 0, 0}, 16);
    }
    ASSERT_OK(splat_cloud_write("thin.compressed.ply", &c, NULL, &error));
    ASSERT_OK(splat_cloud_read("thin.compressed.ply", &back, &error));
    for (int i = 0; i < 2; i++) {
        size_t row = (size_t)lroundf(back.means[3 * i]);
        for (size_t k = 0; k < 3; k++) /* half a step of the range of 13 */
            assert_float_equal(back.scales[3 * i + (int)k], scales[3 * row + k], 6.51 / 1023);
    }
    splat_cloud_free(&back);
    splat_cloud_free(&c);
}

/* ---------------------------------------------------------------- what is lost */

/* The largest errors that the bits of a format leave: half a step, and for the middle of a chunk's range, which the
 * test's numbers fill, half a step of that range. */
static const struct loss {
    const char *path;
    int spz_version;
    double mean, scale, opacity, color, harmonic, rotation; /* rotation: of a component of the unit quaternion */
    bool has_mark;
    bool is_text; /* its last bytes may be missing */
} losses[] = {
    {"back.splat", 0, 0, 1e-6, 0.51 / 255, 0.51 / 255 / 0.28209, 0, 1.0 / 128, false, false},
    {"back.spz", 3, 0x1p-13, 1.0 / 32 + 1e-6, 0.51 / 255, 0.51 / 255 / 0.15, 8.6 / 128, 0.004, true, false},
    {"back.spz", 4, 0x1p-13, 1.0 / 32 + 1e-6, 0.51 / 255, 0.51 / 255 / 0.15, 8.6 / 128, 0.004, true, false},
    {"back.sog", 0, 1.3e-4, 0.02, 0.51 / 255, 0.02, 0.02, 0.007, true, false},
    {"back.glb", 0, 0, 1e-6, 1e-6, 0, 0, 1e-6, true, false},
    {"back.compressed.ply", 0, 4.01 / 1023, 2.01 / 1023, 0.51 / 255, 1.51 / 255, 4.01 / 256, 0.004, true, false},
    {"back.usda", 0, 0, 1e-6, 1e-6, 0, 0, 1e-6, true, true},
    {"back.html", 0, 0x1p-13, 1.0 / 32 + 1e-6, 0.51 / 255, 0.51 / 255 / 0.15, 8.6 / 128, 0.004, true, true},
};

static void assert_near(const char *what, size_t i, double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%s of Gaussian %zu: %g instead of %g", what, i, b, a);
}

static void compare_gaussian(const splat_cloud *c, size_t i, const splat_cloud *back, size_t j, const struct loss *l)
{
    double p[4], q[4], dot = 0;
    for (size_t k = 0; k < 3; k++) {
        assert_near("mean", i, (double)c->means[3 * i + k], (double)back->means[3 * j + k], l->mean);
        assert_near("scale", i, (double)c->scales[3 * i + k], (double)back->scales[3 * j + k], l->scale);
        assert_near("colour", i, (double)c->sh_dc[3 * i + k], (double)back->sh_dc[3 * j + k], l->color);
    }
    assert_near("opacity", i, splat_packed_opacity(c->opacities[i]), splat_packed_opacity(back->opacities[j]),
                l->opacity);
    for (size_t k = 0, n = splat_sh_rest_floats(back->sh_degree); k < n; k++)
        assert_near("harmonic", i, (double)c->sh_rest[n * i + k], (double)back->sh_rest[n * j + k], l->harmonic);
    splat_packed_quaternion(c->rotations + 4 * i, p);
    splat_packed_quaternion(back->rotations + 4 * j, q);
    for (int k = 0; k < 4; k++) dot += p[k] * q[k];
    for (int k = 0; k < 4; k++) assert_near("rotation", i, p[k], dot < 0 ? -q[k] : q[k], l->rotation);
    const float *r = back->rotations + 4 * j;
    assert_near("length of the rotation", i, 1, sqrt((double)(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3])),
                fmax(2 * l->rotation, 1e-6)); /* four components, each off by at most this */
}

static void what_comes_back_differs_by_half_a_step(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof losses / sizeof losses[0]; f++)
        for (int i = 0; i < 8; i++) {
            const struct loss *l = &losses[f];
            splat_error error;
            splat_cloud c = make_cloud(i < 4 ? 300 : 5, i % 4), back;
            splat_save_options options = {.sh_degree = 3, .spz_version = l->spz_version};
            c.render_mode = i % 2 ? SPLAT_RENDER_MIP : SPLAT_RENDER_AUTO;
            splat_status status = splat_cloud_write(l->path, &c, &options, &error);
            if (status == SPLAT_ERROR_UNSUPPORTED) {
                print_message("SKIPPED: %s\n", error.message);
                splat_cloud_free(&c);
                break;
            }
            ASSERT_OK(status);
            ASSERT_OK(splat_cloud_read(l->path, &back, &error));
            assert_int_equal(back.n, c.n);
            assert_int_equal(back.sh_degree, l->has_mark ? i % 4 : 0); /* .splat has neither */
            assert_int_equal(back.render_mode, l->has_mark ? c.render_mode : SPLAT_RENDER_AUTO);
            for (size_t j = 0; j < back.n; j++) {
                size_t row = (size_t)lroundf(100 * back.means[3 * j]);
                compare_gaussian(&c, row, &back, j, l);
            }
            splat_cloud_free(&back);
            splat_cloud_free(&c);
        }
}

/* More Gaussians than SOG's palette has rows, but of fewer different harmonics: what is lost is the codebook's. */
static void a_palette_finds_harmonics_that_repeat(void **state)
{
    (void)state;
    enum { N = 3000, DIFFERENT = 700 };
    splat_error error;
    splat_cloud c = make_cloud(N, 2), back;
    for (size_t i = DIFFERENT; i < N; i++)
        memcpy(c.sh_rest + 24 * i, c.sh_rest + 24 * (i % DIFFERENT), 24 * sizeof(float));
    splat_status status = splat_cloud_write("palette.sog", &c, NULL, &error);
    if (status == SPLAT_ERROR_UNSUPPORTED) {
        print_message("SKIPPED: %s\n", error.message);
    } else {
        ASSERT_OK(status);
        ASSERT_OK(splat_cloud_read("palette.sog", &back, &error));
        for (size_t j = 0; j < N; j++) {
            size_t row = (size_t)lroundf(100 * back.means[3 * j]);
            for (size_t k = 0; k < 24; k++)
                assert_near("harmonic", row, (double)c.sh_rest[24 * row + k], (double)back.sh_rest[24 * j + k], 0.004);
        }
        splat_cloud_free(&back);
    }
    splat_cloud_free(&c);
}

/* Far values keep fewer bits after the point, and values beyond the range of SPZ are refused. */
static void spz_holds_far_gaussians(void **state)
{
    (void)state;
    splat_error error;
    splat_cloud c = make_one(0), back;
    c.means[0] = 5000.25f;
    ASSERT_OK(splat_cloud_write("far.spz", &c, NULL, &error));
    ASSERT_OK(splat_cloud_read("far.spz", &back, &error));
    assert_true(back.means[0] == 5000.25f && back.means[1] == 2);
    splat_cloud_free(&back);
    c.means[0] = 1e7f;
    assert_int_equal(splat_cloud_write("far.spz", &c, NULL, &error), SPLAT_ERROR_ARGUMENT);
    assert_says(&error, "2^23");
    splat_save_options options = {.sh_degree = 3, .spz_version = 2};
    assert_int_equal(splat_cloud_write("far.spz", &c, &options, &error), SPLAT_ERROR_ARGUMENT);
    splat_cloud_free(&c);
}

/* ---------------------------------------------------------------- other writers' SPZ */

static void write_gzip(const char *path, const uint8_t *bytes, size_t n)
{
    uint8_t packed[512];
    splat_error error;
    z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes, .next_out = packed};
    z.avail_in = (uInt)n;
    z.avail_out = sizeof packed;
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    ASSERT_OK(splat_file_write(path, packed, sizeof packed - z.avail_out, &error));
    deflateEnd(&z);
}

static void spz_of_version_2_and_of_degree_4_is_read(void **state)
{
    (void)state;
    splat_error error;
    splat_cloud back;
    uint8_t old[45] = {0}, rich[16 + 20 + 72] = {0};
    memcpy(old, spz_one, 32);
    old[4] = 2;
    old[32] = 128, old[33] = 51, old[34] = 128; /* x y z as 127.5 q + 127.5: y is -0.6 */
    memcpy(old + 35, spz_one + 36, 9);
    write_gzip("old.spz", old, 44);
    ASSERT_OK(splat_cloud_read("old.spz", &back, &error));
    assert_int_equal(back.render_mode, SPLAT_RENDER_MIP);
    assert_true(back.means[1] == 2 && back.means[2] == 3);
    assert_near("rotation", 0, 0.8, (double)back.rotations[0], 0.001);
    assert_near("rotation", 0, 0.6, (double)back.rotations[2], 0.001);
    splat_cloud_free(&back);

    memcpy(rich, spz_one, 36);
    rich[12] = 4;
    for (int k = 0; k < 72; k++) rich[36 + k] = (uint8_t)(128 + k);
    write_gzip("rich.spz", rich, sizeof rich);
    ASSERT_OK(splat_cloud_read("rich.spz", &back, &error));
    assert_int_equal(back.sh_degree, 3);
    assert_true(back.sh_rest[44] == splat_packed_sh_signs[14] * 44 / 128.0f);
    splat_cloud_free(&back);
}

static void damaged_spz_is_refused(void **state)
{
    (void)state;
    splat_error error;
    splat_cloud back;
    static const struct { int at, value; splat_status status; const char *says; } cases[] = {
        {0, 'X', SPLAT_ERROR_FORMAT, "begin"},         {4, 1, SPLAT_ERROR_UNSUPPORTED, "version 1"},
        {4, 4, SPLAT_ERROR_UNSUPPORTED, "version 4"},  {8, 2, SPLAT_ERROR_FORMAT, "cut short"},
        {11, 255, SPLAT_ERROR_FORMAT, "too short"},    {12, 5, SPLAT_ERROR_FORMAT, "degree"},
        {13, 24, SPLAT_ERROR_FORMAT, "fractional"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t bytes[sizeof spz_one];
        memcpy(bytes, spz_one, sizeof bytes);
        bytes[cases[i].at] = (uint8_t)cases[i].value;
        write_gzip("damaged.spz", bytes, sizeof bytes);
        assert_int_equal(splat_cloud_read("damaged.spz", &back, &error), cases[i].status);
        assert_says(&error, cases[i].says);
        assert_null(back.means);
    }
}

/* Deflates `n` zeros after `head` into a file, in gzip's or a zip's wrapping. Returns the packed size. */
static size_t pack_with_zeros(FILE *stream, const uint8_t *head, size_t n_head, size_t n, uint8_t fill, int window)
{
    uint8_t in[65536], out[65536];
    size_t total = 0, taken = 0;
    int code = Z_OK;
    z_stream z = {.next_in = (Bytef *)(uintptr_t)head, .avail_in = (uInt)n_head};
    memset(in, fill, sizeof in);
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
    while (code == Z_OK) {
        if (z.avail_in == 0 && taken < n) {
            z.next_in = in;
            z.avail_in = (uInt)(n - taken < sizeof in ? n - taken : sizeof in);
            taken += z.avail_in;
        }
        z.next_out = out;
        z.avail_out = sizeof out;
        code = deflate(&z, taken == n ? Z_FINISH : Z_NO_FLUSH);
        total += fwrite(out, 1, sizeof out - z.avail_out, stream);
    }
    assert_int_equal(code, Z_STREAM_END);
    deflateEnd(&z);
    return total;
}

static void write_spz_with_rest(const uint8_t *head, size_t n_head, size_t n_zeros)
{
    FILE *stream = fopen("rest.spz", "wb");
    pack_with_zeros(stream, head, n_head, n_zeros, 0, 16 + MAX_WBITS);
    fclose(stream);
}

/* Bytes after the last stream are those of extensions, if the header says so, and few. Nothing follows the gzip. */
static void spz_ends_with_its_last_stream(void **state)
{
    (void)state;
    static const struct { size_t n; bool is_extension, is_read; } cases[] = {
        {1, false, false},          {20, true, true},      {1 << 20, true, true},
        {(1 << 20) + 1, true, false}, {1 << 26, true, false}, {1 << 26, false, false}};
    splat_error error;
    splat_cloud back;
    uint8_t *data, head[sizeof spz_one];
    size_t size;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memcpy(head, spz_one, sizeof head);
        if (cases[i].is_extension) head[14] |= 2;
        write_spz_with_rest(head, sizeof head, cases[i].n);
        splat_status status = splat_cloud_read("rest.spz", &back, &error);
        if (status != (cases[i].is_read ? SPLAT_OK : SPLAT_ERROR_FORMAT)) fail_msg("case %zu: status %d", i, status);
        if (!cases[i].is_read) assert_says(&error, "bytes follow its last stream");
        splat_cloud_free(&back);
    }
    for (int version = 3; version <= 4; version++) {
        splat_cloud c = make_one(1);
        splat_save_options options = {.sh_degree = 3, .spz_version = version};
        splat_status status = splat_cloud_write("rest.spz", &c, &options, &error);
        splat_cloud_free(&c);
        if (status == SPLAT_ERROR_UNSUPPORTED) continue;
        ASSERT_OK(status);
        ASSERT_OK(splat_file_read("rest.spz", &data, &size, &error));
        data[size] = 0; /* the byte that the reader of files adds */
        ASSERT_OK(splat_file_write("rest.spz", data, size + 1, &error));
        free(data);
        assert_int_equal(splat_cloud_read("rest.spz", &back, &error), SPLAT_ERROR_FORMAT);
        assert_says(&error, "bytes follow its");
    }
}

/* ---------------------------------------------------------------- hostile files */

static void put(uint8_t **at, uint32_t value, int n_bytes)
{
    for (int k = 0; k < n_bytes; k++) *(*at)++ = (uint8_t)(value >> 8 * k);
}

/* A zip of one deflated meta.json of `n` blanks. */
static void write_blank_sog(const char *path, size_t n)
{
    static const char name[] = "meta.json";
    uint8_t head[39], entry[55], end[22], *at = head;
    FILE *stream = fopen(path, "wb");
    uLong sum = 0;
    uint8_t blanks[4096];
    memset(blanks, ' ', sizeof blanks);
    for (size_t done = 0; done < n; done += sizeof blanks) sum = crc32(sum, blanks, sizeof blanks);
    fwrite(head, 1, sizeof head, stream);
    uint32_t packed = (uint32_t)pack_with_zeros(stream, NULL, 0, n, ' ', -MAX_WBITS);
    put(&at, 0x04034b50u, 4), put(&at, 20, 2), put(&at, 0, 2), put(&at, 8, 2), put(&at, 0, 4);
    put(&at, (uint32_t)sum, 4), put(&at, packed, 4), put(&at, (uint32_t)n, 4), put(&at, 9, 2), put(&at, 0, 2);
    memcpy(at, name, 9);
    at = entry;
    put(&at, 0x02014b50u, 4), put(&at, 20, 2), put(&at, 20, 2), put(&at, 0, 2), put(&at, 8, 2), put(&at, 0, 4);
    put(&at, (uint32_t)sum, 4), put(&at, packed, 4), put(&at, (uint32_t)n, 4), put(&at, 9, 2);
    for (int k = 0; k < 16; k++) *at++ = 0;
    memcpy(at, name, 9);
    at = end;
    put(&at, 0x06054b50u, 4), put(&at, 0, 4), put(&at, 1, 2), put(&at, 1, 2), put(&at, sizeof entry, 4);
    put(&at, (uint32_t)sizeof head + packed, 4), put(&at, 0, 2);
    fwrite(entry, 1, sizeof entry, stream);
    fwrite(end, 1, sizeof end, stream);
    rewind(stream);
    fwrite(head, 1, sizeof head, stream);
    fclose(stream);
}

/* Deflate that stands for much text is refused before memory is asked for. */
static void a_large_description_of_a_sog_is_refused(void **state)
{
    (void)state;
    splat_error error;
    splat_cloud back;
    write_blank_sog("blank.sog", 1 << 20);
    splat_status status = splat_cloud_read("blank.sog", &back, &error);
    if (status == SPLAT_ERROR_UNSUPPORTED) return; /* built without libwebp */
    assert_int_equal(status, SPLAT_ERROR_FORMAT);
    assert_says(&error, "meta.json is not valid JSON");
    write_blank_sog("blank.sog", 1 << 26);
    assert_int_equal(splat_cloud_read("blank.sog", &back, &error), SPLAT_ERROR_FORMAT);
    assert_says(&error, "meta.json in the zip file has 67108864 bytes, far more than it needs (at most 1048576)");
}

/* Every prefix of a file, and the file with each byte changed: an error with a sentence, or finite numbers. */
static void damaged_files_are_refused_or_read(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof losses / sizeof losses[0]; f++) {
        splat_error error;
        splat_cloud c = make_cloud(3, 1), back;
        splat_cloud_shape shape;
        splat_save_options options = {.sh_degree = 3, .spz_version = losses[f].spz_version};
        const char *path = losses[f].path;
        splat_status status = splat_cloud_write(path, &c, &options, &error);
        splat_cloud_free(&c);
        if (status == SPLAT_ERROR_UNSUPPORTED) continue;
        uint8_t *data;
        size_t size;
        ASSERT_OK(status);
        ASSERT_OK(splat_file_read(path, &data, &size, &error));
        for (size_t i = 0; i < 2 * size; i += size > 512 ? 5 : 1) { /* 5: in time, and at every place of a record */
            size_t n = i < size ? i : size;
            if (i >= size) data[i - size] ^= 0x5a;
            fixture_bytes(path, data, n);
            (void)splat_cloud_describe(path, &shape, &error);
            error.message[0] = '\0';
            status = splat_cloud_read(path, &back, &error);
            if (status == SPLAT_OK) {
                int tensor;
                size_t row;
                assert_true(splat_packed_is_finite(&back, &row, &tensor));
                if (i < size && losses[f].has_mark && !losses[f].is_text)
                    fail_msg("%s: %zu of %zu bytes are a whole file", path, n, size);
            } else {
                assert_true(error.message[0] && !back.means);
            }
            splat_cloud_free(&back);
            if (i >= size) data[i - size] ^= 0x5a;
        }
        free(data);
    }
}

/* USD as others write it: other words between, halves, tuples on lines, comments, and no degree. */
#define USD_HEAD                                                                                                       \
    "#usda 1.0\n(\n upAxis = \"Y\"\n)\ndef Xform \"World\" {\n def Mesh \"M\" { point3f[] positions = [(9, 9, 9)] }\n"
#define USD_PRIM "def ParticleField3DGaussianSplat \"S\" (\n customData = { string SplatRenderMode = \"mip\" }\n) {\n"
#define USD_ARRAYS                                                                                                     \
    "half3[] positionsh = [ # two\n (1, 2, 3),\n(4, 5, 6) ]\n quath[] orientationsh = [(1,0,0,0), (0,1,0,0)]\n"      \
    "string note = \"positions = [] } \\\" {\"\n float3[] scales = [(1, 1, 1), (2, 2, 2)]\n" \
    "float[] opacities = [0.5, 1]\n"                                                                                   \
    "float3[] radiance:sphericalHarmonicsCoefficients = [(1,2,3), (4,5,6)] (\n elementSize = 1\n)\n"

static void write_text(const char *path, const char *text)
{
    fixture_bytes(path, text, strlen(text));
}

static void usd_of_others_is_read(void **state)
{
    (void)state;
    splat_error error;
    splat_cloud cloud;
    write_text("theirs.usda", USD_HEAD USD_PRIM USD_ARRAYS "}\n}\n");
    ASSERT_OK(splat_cloud_read("theirs.usda", &cloud, &error));
    assert_int_equal(cloud.n, 2);
    assert_int_equal(cloud.sh_degree, 0);
    assert_int_equal(cloud.render_mode, SPLAT_RENDER_MIP);
    assert_float_equal(cloud.means[3], 4, 0);
    assert_float_equal(cloud.means[4], -5, 0); /* its y points up */
    assert_float_equal(cloud.scales[3], logf(2), 1e-7);
    assert_float_equal(cloud.opacities[0], 0, 1e-7);
    assert_float_equal(cloud.sh_dc[5], 6, 0);
    splat_cloud_free(&cloud);
    static const struct { const char *text; splat_status status; const char *says; } cases[] = {
        {USD_HEAD "}\n", SPLAT_ERROR_FORMAT, "no ParticleField3DGaussianSplat"},
        {USD_HEAD USD_PRIM USD_ARRAYS, SPLAT_ERROR_FORMAT, "too soon"},
        {USD_HEAD USD_PRIM "}}", SPLAT_ERROR_FORMAT, "no positions"},
        {USD_HEAD USD_PRIM USD_ARRAYS "float[] opacities = [1]\n}}", SPLAT_ERROR_FORMAT, "do not fit 2 positions"},
        {USD_HEAD USD_PRIM USD_ARRAYS "float[] opacities = [1, x]\n}}", SPLAT_ERROR_FORMAT, "no number"},
        {USD_HEAD USD_PRIM USD_ARRAYS "float[] scales = [(1, 1, -1), (1, 1, 1)]\n}}", SPLAT_ERROR_FORMAT, "not finite"},
        {USD_HEAD USD_PRIM USD_ARRAYS "}\n" USD_PRIM USD_ARRAYS "}}", SPLAT_ERROR_UNSUPPORTED, "several"},
        {USD_HEAD USD_PRIM USD_ARRAYS "double3 xformOp:translate = (1, 0, 0)\n}}", SPLAT_ERROR_UNSUPPORTED,
         "transform"},
        {USD_HEAD USD_PRIM USD_ARRAYS "uniform int radiance:sphericalHarmonicsDegree = 7\n}}", SPLAT_ERROR_UNSUPPORTED,
         "degree 0 to 3"},
        {"#usda 1.0\n( upAxis = \"Z\" )\n" USD_PRIM USD_ARRAYS "}", SPLAT_ERROR_UNSUPPORTED, "z up"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_text("theirs.usda", cases[i].text);
        assert_int_equal(splat_cloud_read("theirs.usda", &cloud, &error), cases[i].status);
        assert_says(&error, cases[i].says);
        assert_null(cloud.means);
    }
    write_text("page.html", "<!DOCTYPE html>\n<p>a page</p>");
    assert_int_equal(splat_cloud_read("page.html", &cloud, &error), SPLAT_ERROR_FORMAT);
    assert_says(&error, "no splat");
    write_text("page.html", "<!DOCTYPE html>\n<script id=\"spz\">?</script>");
    assert_int_equal(splat_cloud_read("page.html", &cloud, &error), SPLAT_ERROR_FORMAT);
    assert_says(&error, "no base64");
}

static void numbers_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    splat_error error;
    for (size_t f = 0; f < sizeof losses / sizeof losses[0]; f++) {
        splat_cloud c = make_cloud(3, 1);
        splat_save_options options = {.sh_degree = 3, .spz_version = 3};
        c.scales[4] = NAN;
        assert_int_equal(splat_cloud_write(losses[f].path, &c, &options, &error), SPLAT_ERROR_ARGUMENT);
        assert_says(&error, "scales of Gaussian 1");
        c.scales[4] = -2;
        c.opacities[0] = INFINITY; /* is opaque */
        splat_status status = splat_cloud_write(losses[f].path, &c, &options, &error);
        if (status != SPLAT_ERROR_UNSUPPORTED) ASSERT_OK(status);
        splat_cloud_free(&c);
    }
    float row[8] = {0, 0, 0, 1, 1, 1, 0, 0};
    splat_cloud back;
    for (int k = 0; k < 6; k++) {
        float kept = row[k];
        row[k] = k == 4 ? -1 : INFINITY;
        ASSERT_OK(splat_file_write("infinite.splat", row, sizeof row, &error));
        assert_int_equal(splat_cloud_read("infinite.splat", &back, &error), SPLAT_ERROR_FORMAT);
        assert_says(&error, "not finite");
        assert_null(back.means);
        row[k] = kept;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_that_look_up_are_half_a_turn_away),
        cmocka_unit_test(a_splat_file_has_these_bytes),
        cmocka_unit_test(the_large_and_opaque_come_first_in_a_splat_file),
        cmocka_unit_test(an_spz_file_has_these_bytes),
        cmocka_unit_test(a_compressed_ply_has_these_words),
        cmocka_unit_test(thin_gaussians_stay_thin_in_a_compressed_ply),
        cmocka_unit_test(what_comes_back_differs_by_half_a_step),
        cmocka_unit_test(a_palette_finds_harmonics_that_repeat),
        cmocka_unit_test(scales_of_a_compressed_ply_are_cut_at_20),
        cmocka_unit_test(spz_holds_far_gaussians),
        cmocka_unit_test(spz_of_version_2_and_of_degree_4_is_read),
        cmocka_unit_test(damaged_spz_is_refused),
        cmocka_unit_test(spz_ends_with_its_last_stream),
        cmocka_unit_test(a_large_description_of_a_sog_is_refused),
        cmocka_unit_test(damaged_files_are_refused_or_read),
        cmocka_unit_test(usd_of_others_is_read),
        cmocka_unit_test(numbers_that_are_not_finite_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
