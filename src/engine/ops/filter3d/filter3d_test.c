/* filter3d against its reference in double. */
#include "ops/filter3d/filter3d.h"

#include "base/rng.h"
#include "ops/ref.h"
#include "ops/test_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_CAMERAS = 7, N_MAX = 20000 };

/* A ring of cameras of different focal lengths and sizes around the origin. */
static void make_cameras(splat_camera cameras[N_CAMERAS])
{
    for (int c = 0; c < N_CAMERAS; c++) {
        cameras[c] = test_camera_make(64 + 16 * c, 48 + 8 * (c % 3));
        float angle = 0.9f * (float)c, cosine = cosf(angle), sine = sinf(angle), rotation[9];
        for (int k = 0; k < 3; k++) { /* rotation * R_y(angle) */
            const float *row = &cameras[c].rotation[3 * k];
            rotation[3 * k] = row[0] * cosine - row[2] * sine;
            rotation[3 * k + 1] = row[1];
            rotation[3 * k + 2] = row[0] * sine + row[2] * cosine;
        }
        memcpy(cameras[c].rotation, rotation, sizeof rotation);
        cameras[c].translation[2] = 1.0f + 0.3f * (float)c;
        cameras[c].fx *= 1.0f + 0.5f * (float)(c % 2);
    }
}

/* True when rounding may decide whether a camera sees the mean: within 1e-3 pixel of the border or 1e-5 of z = 0.2,
 * far above the rounding of float coordinates of size 10. */
static bool is_borderline(const splat_camera *camera, const float mean[3])
{
    double p[3];
    for (int k = 0; k < 3; k++)
        p[k] = (double)camera->rotation[3 * k] * mean[0] + (double)camera->rotation[3 * k + 1] * mean[1] +
               (double)camera->rotation[3 * k + 2] * mean[2] + camera->translation[k];
    if (fabs(p[2] - 0.2) < 1e-5) return true;
    double u = camera->fx * p[0] / p[2] + camera->cx, v = camera->fy * p[1] / p[2] + camera->cy;
    double w = camera->width, h = camera->height;
    return fabs(u + 0.15 * w) < 1e-3 || fabs(u - 1.15 * w) < 1e-3 || fabs(v + 0.15 * h) < 1e-3 ||
           fabs(v - 1.15 * h) < 1e-3;
}

/* Points around the ring: seen by some, behind, outside; a few that are not finite. */
static void make_means(float *means, uint32_t n, const splat_camera *cameras)
{
    for (uint32_t i = 0; i < n; i++) {
        float *mean = means + 3 * (size_t)i;
        splat_random4 r = splat_random(11, SPLAT_STREAM_TEST, n, i);
        for (int k = 0; k < 3; k++) mean[k] = (i % 3 ? 2.0f : 12.0f) * (splat_uniform(r.x[k]) - 0.5f);
        for (int c = 0; c < N_CAMERAS; c++)
            if (is_borderline(&cameras[c], mean)) memset(mean, 0, 3 * sizeof *mean);
        if (i % 97 == 50) mean[i % 3] = i % 2 ? NAN : i % 4 ? INFINITY : -INFINITY;
    }
}

static void run_part(splat_backend *backend, const float *means, uint32_t n, const splat_camera *cameras,
                     uint32_t n_cameras, float *result, float least, float *largest)
{
    splat_block in = {0}, out = {0};
    struct splat_filter3d_args args = {
        .n = n, .cameras = cameras, .n_cameras = n_cameras, .least = least, .largest = largest};
    args.means = test_upload(backend, &in, means, 3 * (size_t)n * sizeof *means);
    args.filter_3d = test_upload(backend, &out, NULL, n * sizeof *result);
    splat_error error = {0};
    if (splat_op_filter3d(backend, &args, &error) != SPLAT_OK) fprintf(stderr, "%s\n", error.message);
    test_download(backend, result, args.filter_3d, n * sizeof *result);
    splat_block_free(backend, &in);
    splat_block_free(backend, &out);
}

static void run(splat_backend *backend, const float *means, uint32_t n, const splat_camera *cameras, uint32_t n_cameras,
                float *result)
{
    run_part(backend, means, n, cameras, n_cameras, result, 0, NULL);
}

static int check_against_reference(splat_backend *backend, uint32_t n, const splat_camera *cameras, uint32_t n_cameras)
{
    int failures = 0;
    float *means = calloc(3 * (size_t)n + 1, sizeof *means), *fast = calloc((size_t)n + 1, sizeof *fast);
    double *means64 = calloc(3 * (size_t)n + 1, sizeof *means64), *reference = calloc((size_t)n + 1, sizeof *reference);
    make_means(means, n, cameras);
    for (size_t i = 0; i < 3 * (size_t)n; i++) means64[i] = means[i];
    run(backend, means, n, cameras, n_cameras, fast);
    ref_filter3d_f64(n, means64, cameras, n_cameras, reference);
    /* z is a sum of four terms of size up to 12: its rounding is below 4 * 12 * 2^-24 = 3e-6 where z >= 0.2, that is
     * 1.5e-5 of f at worst; plus a few roundings of 6e-8. */
    double worst = 0, largest = 0;
    uint32_t n_largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs(fast[i] - reference[i]) / (reference[i] > 0 ? reference[i] : 1));
        largest = fmax(largest, reference[i]);
    }
    for (uint32_t i = 0; i < n; i++) n_largest += reference[i] == largest;
    TEST_CHECK(failures, worst < 2e-5, "n %u, %u cameras: relative error %g", n, n_cameras, worst);
    if (n >= 1000 && n_cameras)
        TEST_CHECK(failures, largest > 0 && n_largest > 10 && n_largest < n / 2,
                   "the data exercises nothing: %u unseen", n_largest);
    free(means), free(fast), free(means64), free(reference);
    return failures;
}

/* Values known by hand: a camera at the origin, fx = 100, 100 x 100 pixels, so that |x| <= 0.65 z and |y| <= 0.65 z. */
static int check_known(splat_backend *backend)
{
    int failures = 0;
    const float s = sqrtf(0.2f);
    splat_camera camera = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .fx = 100, .fy = 100, .cx = 50, .cy = 50,
                           .width = 100, .height = 100};
    const struct {
        float mean[3], expected;
    } cases[] = {
        {{0, 0, 2}, 2},           {{1.299f, 0, 2}, 2}, {{-1.299f, 0, 2}, 2}, {{0, 1.299f, 2}, 2}, {{0, -1.299f, 2}, 2},
        {{1.301f, 0, 2}, 8},      {{-1.301f, 0, 2}, 8}, {{0, 1.301f, 2}, 8}, {{0, -1.301f, 2}, 8}, /* outside */
        {{0, 0, 0.199f}, 8},      {{0, 0, 0.201f}, 0.201f}, {{0, 0, -2}, 8}, {{NAN, 0, 2}, 8},
        {{0, 0, INFINITY}, 8},    {{INFINITY, 0, 2}, 8}, {{0, 0, 8}, 8},
    };
    enum { N = sizeof cases / sizeof cases[0] };
    float means[3 * N], result[N];
    for (int i = 0; i < N; i++) memcpy(means + 3 * i, cases[i].mean, sizeof cases[i].mean);
    run(backend, means, N, &camera, 1, result);
    for (int i = 0; i < N; i++)
        TEST_CHECK(failures, fabsf(result[i] - s * cases[i].expected / 100) < 1e-6f, "case %d: %g, not %g", i,
                   result[i], s * cases[i].expected / 100);
    camera.translation[2] = -100; /* nothing is in front of it */
    run(backend, means, N, &camera, 1, result);
    for (int i = 0; i < N; i++) TEST_CHECK(failures, result[i] == 0, "case %d, none seen: %g", i, result[i]);
    run(backend, means, N, NULL, 0, result);
    for (int i = 0; i < N; i++) TEST_CHECK(failures, result[i] == 0, "case %d, no camera: %g", i, result[i]);
    return failures;
}

/* A model in two parts, each with the largest filter of both, has the filters of the whole, bit for bit. */
static int check_parts(splat_backend *backend, const splat_camera *cameras)
{
    enum { N = 1000, FIRST = 37 };
    const uint32_t begin[] = {0, FIRST, N};
    int failures = 0;
    float means[3 * N], whole[N], parts[N], largest[2] = {-1, -1};
    make_means(means, N, cameras);
    run(backend, means, N, cameras, N_CAMERAS, whole);
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < 2; k++) {
            const float least = pass ? fmaxf(largest[0], largest[1]) : 0;
            run_part(backend, means + 3 * begin[k], begin[k + 1] - begin[k], cameras, N_CAMERAS, parts + begin[k],
                     least, pass ? NULL : &largest[k]);
        }
    TEST_CHECK(failures, largest[0] > 0 && largest[1] > 0 && largest[0] != largest[1], "%g and %g tell nothing",
               largest[0], largest[1]);
    TEST_CHECK(failures, memcmp(whole, parts, sizeof whole) == 0, "parts differ from the whole");
    return failures;
}

/* Any thread count and SIMD level gives the same bytes. */
static int check_identity(splat_backend *backend, const splat_camera *cameras)
{
    int failures = 0;
    splat_backend *plain;
    if (strcmp(splat_backend_name(backend), "cpu") != 0) return 0;
    if (splat_backend_cpu_create(1, "c", &plain, NULL) != SPLAT_OK) return 1;
    float *means = calloc(3 * N_MAX, sizeof *means), *a = calloc(N_MAX, sizeof *a), *b = calloc(N_MAX, sizeof *b);
    make_means(means, N_MAX, cameras);
    run(backend, means, N_MAX, cameras, N_CAMERAS, a);
    run(plain, means, N_MAX, cameras, N_CAMERAS, b);
    TEST_CHECK(failures, memcmp(a, b, N_MAX * sizeof *a) == 0, "%s differs from one thread of plain C",
               backend->description);
    free(means), free(a), free(b);
    splat_backend_destroy(plain);
    return failures;
}

int test_op_filter3d(splat_backend *backend)
{
    static const uint32_t counts[] = {0, 1, 2, 5, 17, 1000, N_MAX};
    splat_camera cameras[N_CAMERAS];
    make_cameras(cameras);
    int failures = check_known(backend) + check_identity(backend, cameras) + check_parts(backend, cameras);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (uint32_t n_cameras = 0; n_cameras <= N_CAMERAS; n_cameras += N_CAMERAS)
            failures += check_against_reference(backend, counts[i], cameras, n_cameras);
    return failures;
}
