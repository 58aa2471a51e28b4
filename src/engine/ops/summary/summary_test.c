/* The summary against plain sums in double, over shapes around the sample's size, with values that are not finite. */
#include "ops/test_ops.h"

#include "ops/summary/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_EDGES 775

/* 0, then 1e-12 times powers of 1.1: what TensorBoard's histograms use for values that are not negative. */
static void make_edges(double edges[N_EDGES])
{
    edges[0] = 0;
    for (int i = 1; i < N_EDGES; i++) edges[i] = i == 1 ? 1e-12 : 1.1 * edges[i - 1];
}

static splat_gaussians upload(splat_backend *backend, splat_block *blocks, const splat_gaussians *g)
{
    splat_gaussians device = *g;
    size_t n = g->n;
    uint32_t n_rest = splat_sh_rest_floats(g->sh_degree);
    memset(&device.p, 0, sizeof device.p);
    device.filter_3d = NULL;
    device.p.means = test_upload(backend, &blocks[0], g->p.means, 3 * n * sizeof(float));
    device.p.opacities = test_upload(backend, &blocks[1], g->p.opacities, n * sizeof(float));
    device.p.scales = test_upload(backend, &blocks[2], g->p.scales, 3 * n * sizeof(float));
    device.p.rotations = test_upload(backend, &blocks[3], g->p.rotations, 4 * n * sizeof(float));
    device.p.sh_dc = test_upload(backend, &blocks[4], g->p.sh_dc, 3 * n * sizeof(float));
    if (g->sh_rest_half)
        device.sh_rest_half = test_upload(backend, &blocks[5], g->sh_rest_half,
                                          n * splat_half_row(n_rest) * sizeof *g->sh_rest_half);
    else
        device.p.sh_rest = test_upload(backend, &blocks[5], g->p.sh_rest, n * n_rest * sizeof(float));
    return device;
}

static int run_summary(splat_backend *backend, const splat_gaussians *g, const double *edges, uint32_t n_edges,
                       uint32_t max_samples, splat_summary *result, uint32_t *counts)
{
    int failures = 0;
    splat_block blocks[6] = {{0}}, scratch = {0};
    splat_gaussians device = upload(backend, blocks, g);
    struct splat_summary_args args = {&device, edges, n_edges, max_samples, true, &scratch, result, counts};
    splat_error error = {0};
    for (int i = 0; i < 2; i++) { /* again with a scratch that is not fresh */
        memset(result, 0xff, sizeof *result);
        memset(counts, 0xff, SPLAT_SUMMARY_N * (n_edges - 1) * sizeof *counts);
        TEST_CHECK(failures, splat_op_summary(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    }
    splat_summary with = *result;
    args.spreads = false;
    TEST_CHECK(failures, splat_op_summary(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    for (int t = 0; t < SPLAT_N_TENSORS; t++) TEST_CHECK(failures, result->tensors[t].n == 0, "spreads not asked for");
    *result = with;
    for (int i = 0; i < 6; i++) splat_block_free(backend, &blocks[i]);
    splat_block_free(backend, &scratch);
    return failures;
}

/* In double; what it costs a float is the tolerance. */
static void sample(const splat_gaussians *g, uint32_t k, uint32_t m, double values[SPLAT_SUMMARY_N])
{
    size_t i = (size_t)((uint64_t)k * g->n / m);
    const float *q = g->p.rotations + 4 * i, *x = g->p.means + 3 * i;
    double qq = 0, xx = 0;
    for (int c = 0; c < 4; c++) qq += (double)q[c] * (double)q[c];
    for (int c = 0; c < 3; c++) xx += (double)x[c] * (double)x[c];
    values[SPLAT_SUMMARY_OPACITY] = 1 / (1 + exp(-(double)g->p.opacities[i]));
    values[SPLAT_SUMMARY_SCALE] = exp((double)g->p.scales[3 * i + k % 3]);
    values[SPLAT_SUMMARY_ROTATION] = sqrt(qq);
    values[SPLAT_SUMMARY_POSITION] = sqrt(xx);
}

/* expf is right to a few ulp (6e-8) on every backend, and the rest of the formulas adds one or two. */
#define RELATIVE 1e-6

static bool near(double a, double b)
{
    return fabs(a - b) <= RELATIVE * fmax(fabs(a), fabs(b));
}

/* Below each edge there are as many values as the double reference counts, but for those within RELATIVE of it. */
static int check_counts(const splat_gaussians *g, uint32_t m, const double *edges, uint32_t n_edges, int what,
                        const uint32_t *counts)
{
    int failures = 0;
    uint32_t below = 0, n_wrong = 0;
    for (uint32_t e = 1; e < n_edges; e++) {
        uint32_t surely = 0, perhaps = 0;
        below += counts[(size_t)what * (n_edges - 1) + e - 1];
        for (uint32_t k = 0; k < m; k++) {
            double values[SPLAT_SUMMARY_N], v;
            sample(g, k, m, values);
            v = values[what];
            if (!(v >= edges[0])) continue;
            surely += v < edges[e] * (1 - RELATIVE);
            perhaps += v < edges[e] * (1 + RELATIVE);
        }
        n_wrong += below < surely || below > perhaps;
    }
    TEST_CHECK(failures, n_wrong == 0, "figure %d of %u Gaussians: %u edges have a wrong count", what, g->n, n_wrong);
    return failures;
}

static int check_moments(const splat_gaussians *g, uint32_t m, double first, double last, int what,
                         const splat_summary_moments *moments)
{
    int failures = 0;
    splat_summary_moments expected = {INFINITY, -INFINITY, 0, 0};
    for (uint32_t k = 0; k < m; k++) {
        double values[SPLAT_SUMMARY_N];
        sample(g, k, m, values);
        double v = values[what];
        if (!(v >= first && v < last)) continue;
        expected.min = fmin(expected.min, v);
        expected.max = fmax(expected.max, v);
        expected.sum += v;
        expected.sum_squares += v * v;
    }
    if (expected.min > expected.max) expected = (splat_summary_moments){0};
    TEST_CHECK(failures, near(moments->min, expected.min) && near(moments->max, expected.max) &&
                             near(moments->sum, expected.sum) && near(moments->sum_squares, expected.sum_squares),
               "figure %d of %u: %.9g %.9g %.9g %.9g, not %.9g %.9g %.9g %.9g", what, g->n, moments->min, moments->max,
               moments->sum, moments->sum_squares, expected.min, expected.max, expected.sum, expected.sum_squares);
    return failures;
}

static int check_range(const float *raw, size_t n, bool logit, const splat_summary_range *range)
{
    int failures = 0;
    double min = INFINITY, max = -INFINITY, sum = 0;
    size_t n_finite = 0;
    for (size_t i = 0; i < n; i++) {
        double v = logit ? 1 / (1 + exp(-(double)raw[i])) : exp((double)raw[i]);
        if (!(v < 3.4e38)) continue; /* what a float holds */
        min = fmin(min, v);
        max = fmax(max, v);
        sum += v;
        n_finite++;
    }
    if (n_finite == 0) min = max = 0;
    double mean = n_finite ? sum / (double)n_finite : 0;
    TEST_CHECK(failures, range->n == n_finite && near((double)range->min, min) && near((double)range->max, max) &&
                             near(range->mean, mean),
               "%s of %zu: %zu, %.9g %.9g %.9g, not %zu, %.9g %.9g %.9g", logit ? "opacity" : "scale", n,
               (size_t)range->n, (double)range->min, (double)range->max, range->mean, n_finite, min, max, mean);
    return failures;
}

/* Value k of a tensor of Gaussian i, as it acts, in double. */
static double acting(const splat_gaussians *g, int tensor, size_t i, uint32_t k)
{
    const uint32_t n_rest = splat_sh_rest_floats(g->sh_degree);
    const float *q = g->p.rotations + 4 * i;
    double length = 0;
    for (int c = 0; c < 4; c++) length += (double)q[c] * (double)q[c];
    switch (tensor) {
    case SPLAT_TENSOR_means: return (double)g->p.means[3 * i + k];
    case SPLAT_TENSOR_sh_dc: return (double)g->p.sh_dc[3 * i + k];
    case SPLAT_TENSOR_opacities: return 1 / (1 + exp(-(double)g->p.opacities[i]));
    case SPLAT_TENSOR_scales: return exp((double)g->p.scales[3 * i + k]);
    case SPLAT_TENSOR_rotations: return (double)q[k] / sqrt(length);
    default: return (double)(g->sh_rest_half ? splat_half_decode(g->sh_rest_half[i * splat_half_row(n_rest) + k])
                                             : g->p.sh_rest[i * n_rest + k]);
    }
}

static int check_spread(const splat_gaussians *g, uint32_t m, int tensor, const splat_summary_spread *spread)
{
    int failures = 0;
    double mean = 0, deviation = 0;
    uint64_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t s = 0; s < m; s++)
            for (uint32_t k = 0; k < splat_tensor_channels(tensor, g->sh_degree); k++) {
                double v = acting(g, tensor, (size_t)((uint64_t)s * g->n / m), k);
                if (!(fabs(v) < 3.4e38)) continue; /* what a float holds */
                n += pass == 0;
                if (pass == 0) mean += v;
                else deviation += (v - mean) * (v - mean);
            }
        if (pass == 0 && n) mean /= (double)n;
    }
    deviation = n > 1 ? sqrt(deviation / (double)(n - 1)) : 0;
    double scale = RELATIVE * (fabs(mean) + deviation); /* of sums whose terms cancel */
    TEST_CHECK(failures, spread->n == n && fabs(spread->mean - mean) <= scale &&
                             fabs(spread->standard_deviation - deviation) <= 2 * scale,
               "tensor %d of %u: %zu, %.9g, %.9g, not %zu, %.9g, %.9g", tensor, g->n, (size_t)spread->n, spread->mean,
               spread->standard_deviation, (size_t)n, mean, deviation);
    return failures;
}

static int test_population(splat_backend *backend, uint32_t n, uint32_t max_samples, bool hostile)
{
    int failures = 0;
    double edges[N_EDGES];
    static uint32_t counts[SPLAT_SUMMARY_N * (N_EDGES - 1)];
    splat_summary result;
    test_gaussians t = test_gaussians_make(n, (int)(n % 4), 0, 77);
    make_edges(edges);
    if (hostile) test_gaussians_to_half(&t.g);
    for (uint32_t i = 0; hostile && i < n; i++) {
        if (i % 5 == 1) t.g.p.opacities[i] = i % 2 ? NAN : INFINITY;
        if (i % 5 == 2) t.g.p.scales[3 * i + i % 3] = i % 2 ? NAN : 200.0f; /* exp overflows */
        if (i % 5 == 3) t.g.p.rotations[4 * i] = NAN, t.g.p.means[3 * i] = -INFINITY;
        if (i % 5 == 4) t.g.p.opacities[i] = -INFINITY, t.g.p.scales[3 * i] = -INFINITY;
    }
    failures += run_summary(backend, &t.g, edges, N_EDGES, max_samples, &result, counts);
    TEST_CHECK(failures, result.n_gaussians == n, "%u Gaussians, not %u", result.n_gaussians, n);
    failures += check_range(t.g.p.opacities, n, true, &result.opacity);
    failures += check_range(t.g.p.scales, 3 * (size_t)n, false, &result.scale);
    uint32_t low = 0, high = 0, active = 0, m = n < max_samples ? n : max_samples;
    for (uint32_t i = 0; i < n; i++) {
        /* No logit of the population is within a rounding of these. */
        low += t.g.p.opacities[i] < (float)log(0.1 / 0.9);
        high += t.g.p.opacities[i] > (float)log(0.9 / 0.1);
        active += t.g.p.opacities[i] > (float)log(0.01 / 0.99);
    }
    TEST_CHECK(failures, result.n_active == active, "%u active, not %u", result.n_active, active);
    for (int tensor = 0; tensor < SPLAT_N_TENSORS; tensor++)
        failures += check_spread(&t.g, m, tensor, &result.tensors[tensor]);
    TEST_CHECK(failures, result.n_low_opacity == low && result.n_high_opacity == high, "%u low, %u high, not %u, %u",
               result.n_low_opacity, result.n_high_opacity, low, high);
    for (int what = 0; what < SPLAT_SUMMARY_N; what++) {
        failures += check_counts(&t.g, m, edges, N_EDGES, what, counts);
        failures += check_moments(&t.g, m, edges[0], edges[N_EDGES - 1], what, &result.moments[what]);
    }
    test_gaussians_free(&t);
    return failures;
}

/* Golden: four Gaussians, edges of a hand's width, limits that belong to the upper bucket. */
static int test_golden(splat_backend *backend)
{
    int failures = 0;
    const double edges[4] = {0, 0.5, 2, 5};
    test_gaussians t = test_gaussians_make(4, 0, 0, 1);
    for (int i = 0; i < 4; i++) {
        const float logits[4] = {0, 0, 50, -50};
        t.g.p.opacities[i] = logits[i]; /* 0.5, 0.5, 1, 2e-22 */
        for (int k = 0; k < 3; k++) t.g.p.scales[3 * i + k] = i == 0 ? 0.0f : 10.0f; /* 1; 22026: beyond */
        for (int k = 0; k < 4; k++) t.g.p.rotations[4 * i + k] = k == 0 ? 2.0f : 0.0f;
        for (int k = 0; k < 3; k++) t.g.p.means[3 * i + k] = k == 0 ? 3.0f : k == 1 ? -4.0f : 0.0f; /* 5: beyond */
    }
    uint32_t counts[SPLAT_SUMMARY_N * 3];
    const uint32_t expected[SPLAT_SUMMARY_N * 3] = {1, 3, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0};
    splat_summary result;
    failures += run_summary(backend, &t.g, edges, 4, 100, &result, counts);
    TEST_CHECK(failures, memcmp(counts, expected, sizeof counts) == 0, "golden counts");
    TEST_CHECK(failures, result.n_low_opacity == 1 && result.n_high_opacity == 1, "%u low, %u high",
               result.n_low_opacity, result.n_high_opacity);
    TEST_CHECK(failures, result.opacity.max == 1.0f && result.scale.min == 1.0f, "golden range");
    TEST_CHECK(failures, result.moments[SPLAT_SUMMARY_ROTATION].sum_squares == 16, "golden squares");
    test_gaussians_free(&t);
    return failures;
}

static int test_refusals(splat_backend *backend)
{
    int failures = 0;
    const double edges[3] = {0, 1, 1};
    splat_gaussians g = {0};
    splat_block scratch = {0};
    splat_summary result;
    uint32_t counts[SPLAT_SUMMARY_N * 2];
    const uint32_t n_edges[] = {0, 1, 3, SPLAT_SUMMARY_MAX_EDGES + 1};
    for (int i = 0; i < 4; i++) {
        splat_error error = {0};
        struct splat_summary_args args = {&g, edges, n_edges[i], 10, false, &scratch, &result, counts};
        TEST_CHECK(failures, splat_op_summary(backend, &args, &error) == SPLAT_ERROR_ARGUMENT &&
                                 error.message[0], "%u edges", n_edges[i]);
    }
    return failures;
}

int test_op_summary(splat_backend *backend)
{
    int failures = 0;
    const uint32_t sizes[] = {0, 1, 7, 129, 1000};
    for (int i = 0; i < 5; i++)
        for (int hostile = 0; hostile < 2; hostile++)
            failures += test_population(backend, sizes[i], 10000, hostile);
    failures += test_population(backend, 3001, 1000, false);
    failures += test_population(backend, 70001, 997, true); /* several Gaussians a thread of a GPU */
    failures += test_population(backend, 17, 0, false);
    failures += test_golden(backend);
    failures += test_refusals(backend);
    return failures;
}
