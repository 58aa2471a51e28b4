/* knn against all pairs, bit for bit. */
#include "ops/knn/knn.h"

#include "base/clock.h"
#include "base/rng.h"
#include "ops/ref.h"
#include "ops/test_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum layout { UNIFORM, DUPLICATES, LATTICE, LINE, IDENTICAL, HUGE_VALUES, CLUSTERS, N_LAYOUTS } layout;
static const char *const layout_names[N_LAYOUTS] = {"uniform",   "duplicates", "lattice", "line",
                                                    "identical", "huge",       "clusters"};

static float *make_points(layout kind, uint32_t n)
{
    float *points = calloc(3 * (size_t)n + 1, sizeof *points);
    for (uint32_t i = 0; i < n; i++) {
        float *p = points + 3 * (size_t)i, u[4];
        splat_random4 r = splat_random(5, SPLAT_STREAM_TEST, (uint32_t)kind, i);
        for (int k = 0; k < 4; k++) u[k] = splat_uniform(r.x[k]);
        for (int k = 0; k < 3; k++) {
            p[k] = u[k];
            if (kind == DUPLICATES) /* three of each, on average */
                p[k] = splat_uniform(splat_random(5, SPLAT_STREAM_TEST, 50, r.x[3] % (n / 3 + 1)).x[k]);
            if (kind == LATTICE) p[k] = floorf(u[k] * 10) - 5; /* ties, zeros */
            if (kind == LINE) p[k] = k == 1 ? u[0] * 100 : 3;
            if (kind == IDENTICAL) p[k] = 0.1f * (float)k;
            if (kind == HUGE_VALUES) /* distances overflow and underflow */
                p[k] = (u[k] - 0.5f) * (i % 2 ? 3e38f : 1e-30f);
            if (kind == CLUSTERS) p[k] = u[k] * 1e-3f + (float)(r.x[3] % 5) * 1000; /* far apart, tight */
        }
        if (kind == LATTICE && i % 3 == 0 && p[0] == 0) p[0] = -0.0f;
    }
    return points;
}

static splat_status run(splat_backend *backend, const float *points, uint32_t n, uint32_t k, float *distances2,
                        uint32_t *indices)
{
    splat_block in = {0}, out_distances = {0}, out_indices = {0};
    size_t bytes = (size_t)n * k * 4;
    struct splat_knn_args args = {.n = n, .k = k};
    args.points = test_upload(backend, &in, points, 3 * (size_t)n * sizeof *points);
    if (distances2) args.distances2 = test_upload(backend, &out_distances, NULL, bytes);
    if (indices) args.indices = test_upload(backend, &out_indices, NULL, bytes);
    splat_status status = splat_op_knn(backend, &args, NULL);
    if (distances2) test_download(backend, distances2, args.distances2, bytes);
    if (indices) test_download(backend, indices, args.indices, bytes);
    splat_block_free(backend, &in);
    splat_block_free(backend, &out_distances);
    splat_block_free(backend, &out_indices);
    return status;
}

static int check_against_reference(splat_backend *backend, layout kind, uint32_t n, uint32_t k)
{
    int failures = 0;
    size_t size = (size_t)n * k;
    float *points = make_points(kind, n), *distances = calloc(size, 4), *expected_distances = calloc(size, 4);
    uint32_t *indices = calloc(size, 4), *expected = calloc(size, 4);
    ref_knn_f32(n, points, k, expected_distances, expected);
    TEST_CHECK(failures, run(backend, points, n, k, distances, indices) == SPLAT_OK, "%s failed", layout_names[kind]);
    TEST_CHECK(failures, memcmp(distances, expected_distances, size * 4) == 0, "%s, n %u, k %u: distances differ",
               layout_names[kind], n, k);
    TEST_CHECK(failures, memcmp(indices, expected, size * 4) == 0, "%s, n %u, k %u: indices differ", layout_names[kind],
               n, k);
    free(points), free(distances), free(expected_distances), free(indices), free(expected);
    return failures;
}

static int check_known(splat_backend *backend)
{
    int failures = 0;
    const float points[15] = {0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, -1, 1, 0, 0};
    const float expected_distances[15] = {1, 1, 1, 0, 1, 2, 4, 5, 5, 1, 2, 2, 0, 1, 2};
    const uint32_t expected[15] = {1, 3, 4, 4, 0, 3, 0, 1, 3, 0, 1, 4, 1, 0, 3};
    float distances[15];
    uint32_t indices[15];
    TEST_CHECK(failures, run(backend, points, 5, 3, distances, NULL) == SPLAT_OK, "distances alone");
    TEST_CHECK(failures, run(backend, points, 5, 3, NULL, indices) == SPLAT_OK, "indices alone");
    TEST_CHECK(failures, memcmp(distances, expected_distances, sizeof distances) == 0, "wrong distances");
    TEST_CHECK(failures, memcmp(indices, expected, sizeof indices) == 0, "wrong indices");
    return failures;
}

static int check_errors(splat_backend *backend)
{
    int failures = 0;
    float *points = make_points(UNIFORM, 40), distances[40 * 40];
    TEST_CHECK(failures, run(backend, points, 0, 3, distances, NULL) == SPLAT_ERROR_ARGUMENT, "no points");
    TEST_CHECK(failures, run(backend, points, 3, 3, distances, NULL) == SPLAT_ERROR_ARGUMENT, "n = k");
    TEST_CHECK(failures, run(backend, points, 40, 0, distances, NULL) == SPLAT_ERROR_ARGUMENT, "k = 0");
    TEST_CHECK(failures, run(backend, points, 40, 33, distances, NULL) == SPLAT_ERROR_ARGUMENT, "k = 33");
    points[3 * 17 + 1] = NAN;
    TEST_CHECK(failures, run(backend, points, 40, 3, distances, NULL) == SPLAT_ERROR_ARGUMENT, "NaN");
    points[3 * 17 + 1] = -INFINITY;
    TEST_CHECK(failures, run(backend, points, 40, 3, distances, NULL) == SPLAT_ERROR_ARGUMENT, "infinity");
    free(points);
    return failures;
}

/* Inputs that make careless trees quadratic: those take a thousand times as long as uniform points, and a good tree a
 * few times. *usual: the seconds of uniform points, which come first; so no machine is too slow or too busy. */
static int check_large(splat_backend *backend, layout kind, double *usual)
{
    enum { N = 100000, K = 3 };
    int failures = 0;
    float *points = make_points(kind, N);
    uint32_t *indices = calloc((size_t)N * K, sizeof *indices), *plain_indices = calloc((size_t)N * K, sizeof *indices);
    double start = splat_clock_seconds();
    TEST_CHECK(failures, run(backend, points, N, K, NULL, indices) == SPLAT_OK, "%s failed", layout_names[kind]);
    double seconds = splat_clock_seconds() - start;
    if (kind == UNIFORM) *usual = seconds;
    TEST_CHECK(failures, seconds < 0.5 + 20 * *usual, "%s: %.2f s for %d points, uniform ones %.2f", layout_names[kind],
               seconds, N, *usual);
    splat_backend *plain;
    if (strcmp(splat_backend_name(backend), "cpu") == 0 && splat_backend_cpu_create(2, "c", &plain, NULL) == SPLAT_OK) {
        run(plain, points, N, K, NULL, plain_indices);
        TEST_CHECK(failures, memcmp(indices, plain_indices, (size_t)N * K * sizeof *indices) == 0,
                   "%s: %d threads differ from 2", layout_names[kind], backend->threads);
        splat_backend_destroy(plain);
    }
    for (uint32_t i = 0; kind == IDENTICAL && i < N; i++) /* the lowest indices but its own */
        for (uint32_t m = 0; m < K; m++)
            if (indices[i * K + m] != m + (i <= m)) {
                TEST_CHECK(failures, false, "identical: neighbour %u of %u is %u", m, i, indices[i * K + m]);
                i = N - 1;
                break;
            }
    free(points), free(indices), free(plain_indices);
    return failures;
}

int test_op_knn(splat_backend *backend)
{
    static const uint32_t counts[] = {2, 5, 17, 100, 1000}, ks[] = {1, 3, 16, 32};
    int failures = check_known(backend) + check_errors(backend);
    double usual = 0;
    for (layout kind = 0; kind < N_LAYOUTS; kind++) {
        for (int c = 0; c < 5; c++)
            for (int k = 0; k < 4; k++)
                if (counts[c] > ks[k])
                    TEST_CASE(failures, check_against_reference(backend, kind, counts[c], ks[k]));
        /* large ones once a thread count: the op has no SIMD levels; uniform ones in each part, for their time */
        if (backend->simd == SPLAT_SIMD_C && (kind == UNIFORM || test_is_in_part()))
            failures += check_large(backend, kind, &usual);
    }
    if (backend->simd == SPLAT_SIMD_C) TEST_CASE(failures, check_against_reference(backend, UNIFORM, 20000, 3));
    return failures;
}
