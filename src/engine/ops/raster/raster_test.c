/* raster against the float reference, which asks every Gaussian at every pixel of its rho square. */
#include "ops/raster/raster.h"

#include "ops/bin/bin.h"
#include "ops/raster/raster_scene_test.h"
#include "ops/simd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const test_scene_spec specs[] = {
    {"no Gaussians", TEST_SCENE_MIXED, 0, 20, 20, false, {0.2f, 0.4f, 0.6f}},
    {"one pixel", TEST_SCENE_SOFT, 40, 1, 1, false, {0.2f, 0.4f, 0.6f}},
    {"one Gaussian", TEST_SCENE_SOFT, 1, 40, 23, true, {0}},
    {"whole tiles", TEST_SCENE_MIXED, 300, 64, 48, false, {1, 1, 1}},
    {"edge tiles", TEST_SCENE_MIXED, 700, 101, 67, false, {0.2f, 0.4f, 0.6f}},
    {"edge tiles, jitter", TEST_SCENE_MIXED, 700, 101, 67, true, {0.2f, 0.4f, 0.6f}},
    {"one row", TEST_SCENE_MIXED, 200, 130, 1, true, {0}},
    {"one column", TEST_SCENE_MIXED, 200, 1, 130, false, {0}},
    {"opaque", TEST_SCENE_OPAQUE, 200, 50, 40, false, {1, 0, 1}},
    {"transparent", TEST_SCENE_TRANSPARENT, 200, 50, 40, false, {0.2f, 0.4f, 0.6f}},
    {"10000 on a tile", TEST_SCENE_STACKED, 10000, 20, 18, true, {0.2f, 0.4f, 0.6f}},
};

/* Pixels near a threshold: one in 500 at most (seen: 3 of 6767). The 10000 stacked Gaussians all have alpha near 1/255,
 * so that many of their pixels are (seen: 81 of 360). */
static size_t band_limit(const test_scene *scene)
{
    return scene->spec.kind == TEST_SCENE_STACKED ? scene->n_pixels / 3 : scene->n_pixels / 500 + 2;
}

/* Compacts plane values outside the band. */
static size_t interior(const test_scene *scene, const float *plane, float *values)
{
    size_t n = 0;
    for (size_t pixel = 0; pixel < scene->n_pixels; pixel++)
        if (!scene->band[pixel]) values[n++] = plane[pixel];
    return n;
}

/* NMSE 1e-7: the decisions are the same, so only the roundings of exp (2e-7) and of the sums are left, about 1e-13
 * squared (seen: 1e-15); the rest is room for T, whose error grows with the number of entries, and for device exps. */
static int compare_plane(const test_scene *scene, const char *what, const float *got, const float *wanted)
{
    int failures = 0;
    float *a = calloc(scene->n_pixels, sizeof *a), *b = calloc(scene->n_pixels, sizeof *b);
    size_t n = interior(scene, got, a);
    interior(scene, wanted, b);
    double nmse = test_nmse(a, b, n);
    TEST_CHECK(failures, nmse <= 1e-7, "%s: NMSE %g of %s", scene->spec.name, nmse, what);
    free(a);
    free(b);
    return failures;
}

/* The instance at `last` is the one that the double walk blended last. */
static int check_last(const test_scene *scene, const test_result *r)
{
    int failures = 0;
    size_t tiles_x = ((size_t)scene->spec.width + 15) / 16, width = (size_t)scene->spec.width;
    for (size_t pixel = 0; pixel < scene->n_pixels && failures < 5; pixel++) {
        if (scene->band[pixel]) continue;
        size_t tile = pixel / width / 16 * tiles_x + pixel % width / 16;
        uint32_t last = r->last[pixel], n = r->tile_begin[tile + 1] - r->tile_begin[tile];
        TEST_CHECK(failures, last <= n, "%s: last %u of %u", scene->spec.name, last, n);
        if (last > n) continue;
        int64_t v = last ? (int64_t)r->instances[r->tile_begin[tile] + last - 1] : -1;
        TEST_CHECK(failures, v == scene->last[pixel], "%s: pixel %zu ends with %lld, not %lld", scene->spec.name, pixel,
                   (long long)v, (long long)scene->last[pixel]);
    }
    return failures;
}

/* Exact outside the band: the decisions are the same. */
static int check_blended(const test_scene *scene, const test_result *r, const uint32_t *wanted)
{
    int failures = 0;
    for (size_t pixel = 0; pixel < scene->n_pixels && failures < 5; pixel++)
        TEST_CHECK(failures, scene->band[pixel] || r->blended[pixel] == wanted[pixel],
                   "%s: pixel %zu blends %u, not %u", scene->spec.name, pixel, r->blended[pixel], wanted[pixel]);
    return failures;
}

/* Depths if they are requested; the picture is the same as without them. */
static int check_depth(splat_backend *backend, test_scene *scene, const test_result *plain)
{
    int failures = 0;
    splat_error error = {0};
    const test_scene_spec *spec = &scene->spec;
    float *maps[2] = {calloc(scene->n_pixels, sizeof(float)), calloc(scene->n_pixels, sizeof(float))};
    test_scene_ask_depth(scene);
    TEST_CHECK(failures, test_scene_run(backend, scene, NULL, &error) == SPLAT_OK, "%s", error.message);
    test_result r = test_result_make(backend, scene);
    ref_raster_depth_f32(spec->n, scene->splats, spec->width, spec->height, scene->jitter, maps[0], maps[1]);
    for (size_t ch = 0; ch < 3; ch++)
        failures += compare_plane(scene, "a colour with depths", r.image + ch * scene->n_pixels,
                                  plain->image + ch * scene->n_pixels);
    failures += compare_plane(scene, "transmittance with depths", r.transmittance, plain->transmittance);
    for (size_t i = 0; i < scene->n_pixels && failures < 5; i++)
        TEST_CHECK(failures, scene->band[i] || (r.last[i] == plain->last[i] && r.blended[i] == plain->blended[i]),
                   "%s: what pixel %zu blends with depths", spec->name, i);
    for (size_t i = 0; i < scene->n_pixels; i++)
        if (!test_scene_has_depth(scene, i)) r.along[i] = r.inverse[i] = maps[0][i] = maps[1][i] = 0;
    failures += compare_plane(scene, "depth", r.along, maps[0]);
    failures += compare_plane(scene, "inverse depth", r.inverse, maps[1]);
    free(maps[0]);
    free(maps[1]);
    test_result_free(&r);
    return failures;
}

static int check_scene(splat_backend *backend, const test_scene_spec *spec)
{
    int failures = 0;
    splat_error error = {0};
    test_scene scene;
    test_scene_make(backend, spec, 1e-5, &scene);
    TEST_CHECK(failures, scene.n_band <= band_limit(&scene), "%s: %zu of %zu pixels are in the band", spec->name,
               scene.n_band, scene.n_pixels);
    test_scene_count(backend, &scene);
    TEST_CHECK(failures, test_scene_run(backend, &scene, NULL, &error) == SPLAT_OK, "%s", error.message);
    test_result r = test_result_make(backend, &scene);
    float *image = calloc(3 * scene.n_pixels, sizeof *image), *t = calloc(scene.n_pixels, sizeof *t);
    uint32_t *n_blended = calloc(scene.n_pixels, sizeof *n_blended);
    ref_raster_f32(spec->n, scene.splats, spec->width, spec->height, spec->background, scene.jitter, image, t,
                   n_blended);
    for (size_t ch = 0; ch < 3; ch++)
        failures += compare_plane(&scene, "a colour", r.image + ch * scene.n_pixels, image + ch * scene.n_pixels);
    failures += compare_plane(&scene, "transmittance", r.transmittance, t);
    failures += check_last(&scene, &r);
    failures += check_blended(&scene, &r, n_blended);
    failures += check_depth(backend, &scene, &r);
    /* In the band a flip is worth one faint Gaussian or the last 1e-4 of T times a few, not more. */
    for (size_t i = 0; i < 3 * scene.n_pixels && failures < 5; i++)
        TEST_CHECK(failures, fabsf(r.image[i] - image[i]) < 0.03f, "%s: value %zu: %g, not %g", spec->name, i,
                   (double)r.image[i], (double)image[i]);
    if (spec->kind == TEST_SCENE_TRANSPARENT || spec->n == 0)
        for (size_t i = 0; i < 3 * scene.n_pixels && failures < 5; i++)
            TEST_CHECK(failures, r.image[i] == spec->background[i / scene.n_pixels], "%s: value %zu", spec->name, i);
    free(image);
    free(t);
    free(n_blended);
    test_result_free(&r);
    test_scene_free(backend, &scene);
    return failures;
}

/* Finite but absurd Gaussians give finite pictures and gradients. */
static int check_finite(splat_backend *backend)
{
    enum { N = 64 };
    static const float means[4] = {5.0f, -1e30f, 3e38f, 1e7f}, conics[4] = {1e-20f, 1e-3f, 10.0f, 1e4f};
    int failures = 0;
    test_scene scene;
    test_scene_make(backend, &(test_scene_spec){"absurd", TEST_SCENE_MIXED, N, 30, 30, true, {0}}, -1, &scene);
    float mean2d[2 * N], conic[4 * N], rgb[3 * N];
    uint16_t rect[4 * N];
    for (int i = 0; i < N; i++) {
        mean2d[2 * i] = means[i % 4];
        mean2d[2 * i + 1] = means[i / 4 % 4];
        float a = conics[i / 16], c = conics[i % 4];
        memcpy(conic + 4 * i, (float[]){a, (i % 3 - 1) * sqrtf(a * c), c, 1.0f}, 4 * sizeof(float)); /* degenerate */
        memcpy(rgb + 3 * i, (float[]){0, 1e4f, (float)i}, 3 * sizeof(float));
        memcpy(rect + 4 * i, (uint16_t[]){0, 0, 2, 2}, 4 * sizeof(uint16_t));
    }
    splat_backend_upload(backend, scene.frame.mean2d, mean2d, sizeof mean2d, NULL);
    splat_backend_upload(backend, scene.frame.conic, conic, sizeof conic, NULL);
    splat_backend_upload(backend, scene.frame.rgb, rgb, sizeof rgb, NULL);
    splat_backend_upload(backend, scene.frame.tile_rect, rect, sizeof rect, NULL);
    float *grad = test_scene_gradient(&scene);
    splat_error error = {0};
    TEST_CHECK(failures, test_scene_run(backend, &scene, grad, &error) == SPLAT_OK, "%s", error.message);
    test_result r = test_result_make(backend, &scene);
    size_t n_bad = 0, n_blended = 0;
    for (size_t i = 0; i < 3 * scene.n_pixels; i++) n_bad += !isfinite(r.image[i]);
    for (size_t i = 0; i < scene.n_pixels; i++) n_bad += !isfinite(r.transmittance[i]), n_blended += r.last[i] > 0;
    for (size_t i = 0; i < 10 * r.n_visible; i++) n_bad += !isfinite(r.grad2d[i]);
    TEST_CHECK(failures, n_bad == 0, "%zu values are not finite", n_bad);
    TEST_CHECK(failures, n_blended > scene.n_pixels / 2, "only %zu pixels blend", n_blended);
    free(grad);
    test_result_free(&r);
    test_scene_free(backend, &scene);
    return failures;
}

/* The vector exp is the scalar one, which is right to 2e-7. */
static int check_exp(void)
{
    int failures = 0;
    for (uint32_t i = 0; i < 20000 && failures < 5; i += SPLAT_NATIVE_LANES) {
        splat_vf x = {0};
        for (uint32_t lane = 0; lane < SPLAT_NATIVE_LANES; lane++)
            x[lane] = 200 * test_scene_random(40, i + lane) - 100;
        splat_vf y = splat_vf_exp(x);
        for (uint32_t lane = 0; lane < SPLAT_NATIVE_LANES; lane++) {
            float scalar = splat_exp(x[lane]), vector = y[lane];
            double exact = exp(fmax(-87, fmin(88, (double)x[lane])));
            TEST_CHECK(failures, memcmp(&scalar, &vector, sizeof scalar) == 0, "exp(%g): %g, %g", (double)x[lane],
                       (double)scalar, (double)vector);
            TEST_CHECK(failures, fabs((double)scalar / exact - 1) < 2e-7, "exp(%g) = %g", (double)x[lane],
                       (double)scalar);
        }
    }
    return failures;
}

/* The exponential of blending: its error is as stated, 1 is its largest value below 0, and all lanes give the same. */
static int check_blending_exp(void)
{
    int failures = 0;
    for (uint32_t i = 0; i < 400000 && failures < 5; i++) {
        float x = i % 2 ? 174 * test_scene_random(41, i) - 87 : -6 * test_scene_random(42, i);
        if (i == 0) x = 0;
        splat_vf at[4] = {{0}}, y[4];
        const uint32_t k = i % 4, lane = i / 4 % SPLAT_NATIVE_LANES;
        at[k][lane] = -x;
        splat_vf_exps_of_negative(at, y, 4);
        double error = fabs((double)y[k][lane] / exp((double)x) - 1), most = 1.7e-7 + 8e-8 * fabs((double)x);
        TEST_CHECK(failures, error <= most, "exp(%.9g) is wrong by %g, more than %g", (double)x, error, most);
        TEST_CHECK(failures, x > 0 || y[k][lane] <= 1, "exp(%.9g) = %.9g", (double)x, (double)y[k][lane]);
        TEST_CHECK(failures, x != 0 || y[k][lane] == 1, "exp(0) = %.9g", (double)y[k][lane]);
    }
    return failures;
}

/* A Gaussian for every tile, of every width and slant: alone over black its picture is alpha, which is right to 1e-5
 * plus the rounding of its power, whether its rows are stepped through or not (reach.h; seen: 5.4e-6). */
static int check_alpha(splat_backend *backend)
{
    enum { TILES = 32, N = TILES * TILES, SIDE = TILES * SPLAT_TILE };
    int failures = 0;
    size_t n_blended = 0;
    splat_error error = {0};
    test_scene scene;
    test_scene_make(backend, &(test_scene_spec){"alone", TEST_SCENE_SOFT, N, SIDE, SIDE, false, {0}}, -1, &scene);
    float *mean2d = calloc(2 * N, sizeof(float)), *conic = calloc(4 * N, sizeof(float));
    float *rgb = calloc(3 * N, sizeof(float));
    uint16_t *rect = calloc(4 * N, sizeof *rect);
    for (uint32_t i = 0; i < N; i++) {
        const uint32_t x = i % TILES, y = i / TILES;
        double s0 = 0.3 * pow(150, test_scene_random(50, i)), s1 = 0.3 * pow(150, test_scene_random(51, i));
        double angle = 3.14159 * test_scene_random(52, i), cosine = cos(angle), sine = sin(angle);
        double w0 = 1 / (s0 * s0), w1 = 1 / (s1 * s1);
        mean2d[2 * i] = (float)(SPLAT_TILE * x) + 32 * test_scene_random(53, i) - 8;
        mean2d[2 * i + 1] = (float)(SPLAT_TILE * y) + 32 * test_scene_random(54, i) - 8;
        conic[4 * i] = (float)(cosine * cosine * w0 + sine * sine * w1);
        conic[4 * i + 1] = (float)(cosine * sine * (w0 - w1));
        conic[4 * i + 2] = (float)(sine * sine * w0 + cosine * cosine * w1);
        conic[4 * i + 3] = i % 2 ? 0.98f : 1.0f;
        rgb[3 * i] = 1;
        for (int k = 0; k < 4; k++) rect[4 * i + (uint32_t)k] = (uint16_t)((k % 2 ? y : x) + (uint32_t)k / 2);
    }
    splat_backend_upload(backend, scene.frame.mean2d, mean2d, 2 * N * sizeof(float), NULL);
    splat_backend_upload(backend, scene.frame.conic, conic, 4 * N * sizeof(float), NULL);
    splat_backend_upload(backend, scene.frame.rgb, rgb, 3 * N * sizeof(float), NULL);
    splat_backend_upload(backend, scene.frame.tile_rect, rect, 4 * N * sizeof *rect, NULL);
    TEST_CHECK(failures, test_scene_run(backend, &scene, NULL, &error) == SPLAT_OK, "%s", error.message);
    test_result r = test_result_make(backend, &scene);
    for (size_t pixel = 0; pixel < scene.n_pixels && failures < 5; pixel++) {
        const size_t x = pixel % SIDE, y = pixel / SIDE, i = y / SPLAT_TILE * TILES + x / SPLAT_TILE;
        const double dx = (double)mean2d[2 * i] - (double)x, dy = (double)mean2d[2 * i + 1] - (double)y;
        const double a = conic[4 * i], b = conic[4 * i + 1], c = conic[4 * i + 2], size = a * dx * dx + c * dy * dy;
        const double alpha = fmin(0.99, (double)conic[4 * i + 3] * exp(-0.5 * size - b * dx * dy));
        const double rounding = 4e-7 * size, got = r.image[pixel];
        if (fabs(alpha * 255 - 1) < 1e-5 + rounding) continue;
        const double wanted = alpha < 1.0 / 255 ? 0 : alpha, wrong = wanted > 0 ? fabs(got / wanted - 1) : fabs(got);
        n_blended += wanted > 0;
        TEST_CHECK(failures, wrong <= 1e-5 + rounding, "alpha of Gaussian %zu at (%zu, %zu): %.9g, not %.9g", i, x, y,
                   got, wanted);
    }
    TEST_CHECK(failures, n_blended > scene.n_pixels / 4, "only %zu pixels blend", n_blended);
    free(mean2d);
    free(conic);
    free(rgb);
    free(rect);
    test_result_free(&r);
    test_scene_free(backend, &scene);
    return failures;
}

int test_op_raster(splat_backend *backend)
{
    int failures = check_exp() + check_blending_exp();
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) failures += check_scene(backend, &specs[i]);
    failures += check_finite(backend);
    failures += check_alpha(backend);
    failures += test_bands_picture(backend);
    failures += test_scene_same_everywhere(
        backend, &(test_scene_spec){"same", TEST_SCENE_MIXED, 6000, 150, 90, true, {0.2f, 0.4f, 0.6f}});
    failures += test_scene_same_everywhere(
        backend, &(test_scene_spec){"same", TEST_SCENE_MIXED, 6000, 150, 90, false, {0.2f, 0.4f, 0.6f}});
    return failures;
}
