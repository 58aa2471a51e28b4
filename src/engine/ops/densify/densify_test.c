/* density_select and density_grow against plain scalar versions of their contracts. */
#include "ops/densify/densify_test.h"

#include "base/compare.h"

/* ---------------------------------------------------------------- density_select */

static splat_density_selection reference_select(population *p, float threshold, float percent_dense, float extent,
                                                uint8_t *actions)
{
    splat_density_selection result = {0};
    uint32_t n = p->g.n, n_above = 0;
    if (n == 0) return result;
    float *g = calloc(n, sizeof *g), *a = calloc(n, sizeof *a), *sorted = calloc(n, sizeof *sorted);
    for (uint32_t i = 0; i < n; i++) {
        if (p->s.count[i] > 0) g[i] = p->s.grad[i] / p->s.count[i], a[i] = p->s.grad_abs[i] / p->s.count[i];
        n_above += g[i] >= threshold;
        sorted[i] = a[i];
    }
    qsort(sorted, n, sizeof *sorted, splat_compare_floats);
    /* torch.quantile, linear; a position that only rounding keeps off an integer is that integer */
    double position = (double)(n - 1) * (1.0 - (double)n_above / n);
    if (fabs(position - nearbyint(position)) < 1e-9 * n) position = nearbyint(position);
    uint32_t rank = (uint32_t)position;
    double low = sorted[rank], high = sorted[rank + 1 < n ? rank + 1 : rank];
    result.abs_threshold = (float)(low + (position - rank) * (high - low));
    result.fraction = (float)((double)n_above / n);
    for (uint32_t i = 0; i < n; i++) {
        bool selected = p->s.count[i] > 0 && (g[i] >= threshold || a[i] >= result.abs_threshold);
        actions[i] = SPLAT_DENSITY_KEEP;
        bool is_small = max_scale(p, i) <= percent_dense * extent;
        if (selected) actions[i] = is_small ? SPLAT_DENSITY_CLONE : SPLAT_DENSITY_SPLIT;
        result.n_clone += actions[i] == SPLAT_DENSITY_CLONE;
        result.n_split += actions[i] == SPLAT_DENSITY_SPLIT;
    }
    free(g), free(a), free(sorted);
    return result;
}

static int check_select(splat_backend *backend, population *p, float threshold, const char *what)
{
    int failures = 0;
    uint32_t n = p->g.n;
    uint8_t *expected = calloc((size_t)n + 1, 1);
    splat_density_selection reference = reference_select(p, threshold, 0.01f, 5.0f, expected);
    splat_density_selection result = run_select(backend, p, threshold);
    TEST_CHECK(failures, memcmp(expected, p->actions, n) == 0, "n %u, %s: other actions", n, what);
    TEST_CHECK(failures, result.n_clone == reference.n_clone && result.n_split == reference.n_split,
               "n %u, %s: %u clones, %u splits, not %u and %u", n, what, result.n_clone, result.n_split,
               reference.n_clone, reference.n_split);
    /* both interpolate in double and round once */
    TEST_CHECK(failures, fabsf(result.abs_threshold - reference.abs_threshold) <= 1e-6f * reference.abs_threshold,
               "n %u, %s: Q %.9g, not %.9g", n, what, result.abs_threshold, reference.abs_threshold);
    TEST_CHECK(failures, result.fraction == reference.fraction, "n %u, %s: fraction %g", n, what, result.fraction);
    if (n >= 1000 && threshold < 1)
        TEST_CHECK(failures, reference.n_clone > 4 && reference.n_split > 4 &&
                                 reference.n_clone + reference.n_split < n - 9,
                   "the data exercises nothing: %u clones, %u splits", reference.n_clone, reference.n_split);
    free(expected);
    return failures;
}

/* A hand-made population: n equal small Gaussians, each seen once. */
static population make_flat(uint32_t n, const float *grad, const float *grad_abs)
{
    population p = make(n, n, 0, 5);
    for (uint32_t i = 0; i < n; i++) {
        p.s.count[i] = 1, p.s.grad[i] = grad[i], p.s.grad_abs[i] = grad_abs[i];
        for (int k = 0; k < 3; k++) p.g.p.scales[3 * i + k] = -4.0f;
    }
    return p;
}

static int check_select_known(splat_backend *backend)
{
    int failures = 0;
    const float grad[5] = {1, 1, 0, 0, 0}, grad_abs[5] = {10, 30, 20, 50, 40}, zero[5] = {0};
    population p = make_flat(5, grad, grad_abs);
    splat_density_selection r = run_select(backend, &p, 0.5f); /* position 4 * 3/5 = 2.4 of 10 20 30 40 50 */
    TEST_CHECK(failures, fabsf(r.abs_threshold - 34.0f) < 1e-5f && r.fraction == 0.4f, "Q %g", r.abs_threshold);
    TEST_CHECK(failures, r.n_clone == 4 && p.actions[2] == SPLAT_DENSITY_KEEP, "%u clones", r.n_clone);
    r = run_select(backend, &p, 2.0f); /* fraction 0: the largest a alone */
    TEST_CHECK(failures, r.abs_threshold == 50 && r.n_clone == 1 && p.actions[3] == SPLAT_DENSITY_CLONE, "Q %g, %u",
               r.abs_threshold, r.n_clone);
    p.s.count[3] = 0; /* never seen: its a is 0 */
    r = run_select(backend, &p, 2.0f);
    TEST_CHECK(failures, r.abs_threshold == 40 && p.actions[4] == SPLAT_DENSITY_CLONE, "Q %g", r.abs_threshold);
    r = run_select(backend, &p, 0.0f); /* fraction 1: Q is the smallest, 0; the unseen is left alone */
    TEST_CHECK(failures, r.fraction == 1 && r.abs_threshold == 0 && r.n_clone == 4 && !p.actions[3], "%u", r.n_clone);
    p.s.grad_abs[0] = NAN, p.s.grad[1] = NAN; /* count as 0 */
    r = run_select(backend, &p, 2.0f);
    TEST_CHECK(failures, r.abs_threshold == 40 && r.n_clone == 1, "Q %g, %u clones", r.abs_threshold, r.n_clone);
    release(&p);
    p = make_flat(5, zero, zero);
    memset(p.s.count, 0, 5 * sizeof(float));
    r = run_select(backend, &p, 0.5f);
    TEST_CHECK(failures, r.abs_threshold == 0 && r.n_clone == 0 && r.n_split == 0, "%u clones", r.n_clone);
    release(&p);
    return failures;
}

int test_op_density_select(splat_backend *backend)
{
    int failures = check_select_known(backend);
    for (int c = 0; c < N_COUNTS; c++) {
        population p = make(counts[c], counts[c], 0, 40 + counts[c]);
        failures += check_select(backend, &p, 0.0002f, "random");
        failures += check_select(backend, &p, 1.0f, "none above");
        failures += check_select(backend, &p, 0.00024f, "few above");
        for (uint32_t i = 0; i < p.g.n; i++) /* many equal values */
            p.s.grad_abs[i] = p.s.count[i] * floorf(p.s.grad_abs[i] / fmaxf(p.s.count[i], 1) * 500);
        failures += check_select(backend, &p, 0.0002f, "ties");
        release(&p);
    }
    return failures;
}

/* ---------------------------------------------------------------- density_draw */

static double reference_key(const population *p, uint32_t i, uint32_t first, uint32_t stride, double *mean)
{
    splat_random4 r = splat_random(77, SPLAT_STREAM_DRAW, 600, first + (uint64_t)i * stride);
    *mean = p->s.count[i] > 0 ? (double)p->s.grad_abs[i] / p->s.count[i] : 0;
    return -log(((r.x[0] >> 8) + 0.5) / 16777216.0) / *mean;
}

static splat_density_drawn run_draw(splat_backend *backend, population *p, float limit, uint32_t first, uint32_t stride)
{
    splat_density_drawn result = {UINT32_MAX, UINT32_MAX};
    population device;
    upload(backend, p, &device);
    struct splat_density_draw_args args = {.n = device.g.n, .statistics = &device.s, .threshold = 0.004f,
                                           .limit = limit, .seed = 77, .step = 600, .first = first, .stride = stride,
                                           .actions = device.actions, .result = &result};
    splat_op_density_draw(backend, &args, NULL);
    download(backend, &device, p);
    return result;
}

/* Keys that lie within float's rounding of the limit may fall on either side; none of these does. */
static int check_draw(splat_backend *backend, uint32_t n, float limit, uint32_t first, uint32_t stride)
{
    int failures = 0;
    population p = make(n, n, 0, 60 + n);
    uint32_t n_candidates = 0, n_drawn = 0, n_wrong = 0;
    if (n > 2) p.s.grad_abs[1] = NAN, p.s.count[1] = 2;
    splat_density_drawn result = run_draw(backend, &p, limit, first, stride);
    for (uint32_t i = 0; i < n; i++) {
        double mean, key = reference_key(&p, i, first, stride, &mean);
        bool candidate = mean >= 0.004f, drawn = candidate && key <= limit;
        n_candidates += candidate;
        n_drawn += drawn;
        if (fabs(key - limit) < 1e-5 * limit) continue;
        n_wrong += p.actions[i] != (drawn ? SPLAT_DENSITY_LONG : SPLAT_DENSITY_KEEP);
    }
    TEST_CHECK(failures, n_wrong == 0, "n %u, limit %g: %u other actions", n, limit, n_wrong);
    TEST_CHECK(failures, result.n_candidates == n_candidates && abs((int)(result.n_drawn - n_drawn)) <= 1,
               "n %u, limit %g: %u of %u drawn, not %u of %u", n, limit, result.n_drawn, result.n_candidates, n_drawn,
               n_candidates);
    if (n >= 1000 && limit > 50 && limit < 1e6f)
        TEST_CHECK(failures, n_drawn > 9 && n_drawn < n_candidates - 9 && n_candidates < n - 9, "exercises nothing");
    release(&p);
    return failures;
}

/* The chance to be the first that is drawn is a/sum(a): of three Gaussians with a = 1, 2, 5, counted over rows that
 * stand for 20,000 independent draws; five standard deviations. */
static int check_draw_odds(splat_backend *backend)
{
    enum { DRAWS = 20000 };
    int failures = 0;
    const double weight[3] = {0.125, 0.25, 0.625};
    uint32_t wins[3] = {0};
    population p = make(3 * DRAWS, 3 * DRAWS, 0, 3);
    for (uint32_t i = 0; i < p.g.n; i++) p.s.count[i] = 1, p.s.grad_abs[i] = (float)(8 * weight[i % 3]);
    splat_density_drawn all = run_draw(backend, &p, INFINITY, 0, 1);
    TEST_CHECK(failures, all.n_drawn == p.g.n && all.n_candidates == p.g.n, "INFINITY draws %u", all.n_drawn);
    for (uint32_t d = 0; d < DRAWS; d++) {
        double mean, best = INFINITY;
        uint32_t first = 0;
        for (uint32_t k = 0; k < 3; k++) {
            double key = reference_key(&p, 3 * d + k, 0, 1, &mean);
            if (key < best) best = key, first = k;
        }
        wins[first]++;
    }
    for (int k = 0; k < 3; k++)
        TEST_CHECK(failures, fabs(wins[k] - DRAWS * weight[k]) < 5 * sqrt(DRAWS * weight[k] * (1 - weight[k])),
                   "Gaussian %d is first %u times of %d", k, wins[k], DRAWS);
    release(&p);
    return failures;
}

int test_op_density_draw(splat_backend *backend)
{
    int failures = check_draw_odds(backend);
    for (int c = 0; c < N_COUNTS; c++) {
        failures += check_draw(backend, counts[c], 100, 0, 1);
        failures += check_draw(backend, counts[c], 100, 1, 4); /* rank 1 of 4 */
        failures += check_draw(backend, counts[c], 0, 0, 1);
        failures += check_draw(backend, counts[c], INFINITY, 0, 1);
    }
    splat_density_drawn result;
    struct splat_density_draw_args args = {.threshold = 0, .limit = 1, .stride = 1, .result = &result};
    TEST_CHECK(failures, splat_op_density_draw(backend, &args, NULL) == SPLAT_ERROR_ARGUMENT, "a threshold of 0");
    return failures;
}

/* ---------------------------------------------------------------- density_grow */

/* The contribution of one sample to the mean, in double: R(q) (s xi). */
static void reference_offset(const population *p, size_t i, uint32_t j, uint64_t seed, uint32_t step, double offset[3])
{
    double q[4], norm = 0, d[3];
    for (int k = 0; k < 4; k++) q[k] = p->g.p.rotations[4 * i + k], norm += q[k] * q[k];
    for (int k = 0; k < 4; k++) q[k] /= fmax(sqrt(norm), 1e-12);
    double r = q[0], x = q[1], y = q[2], z = q[3];
    double rotation[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - r * z), 2 * (x * z + r * y),
                          2 * (x * y + r * z), 1 - 2 * (x * x + z * z), 2 * (y * z - r * x),
                          2 * (x * z - r * y), 2 * (y * z + r * x), 1 - 2 * (x * x + y * y)};
    splat_random4 random = splat_random(seed, SPLAT_STREAM_SPLIT_SAMPLES, step, 2 * (uint64_t)i + j);
    float xi[4];
    splat_normal2(random.x[0], random.x[1], &xi[0], &xi[1]);
    splat_normal2(random.x[2], random.x[3], &xi[2], &xi[3]);
    for (int k = 0; k < 3; k++) d[k] = exp((double)p->g.p.scales[3 * i + k]) * xi[k];
    for (int k = 0; k < 3; k++)
        offset[k] = rotation[3 * k] * d[0] + rotation[3 * k + 1] * d[1] + rotation[3 * k + 2] * d[2];
}

static void count_actions(const population *p, uint32_t *n_clone, uint32_t *n_split)
{
    *n_clone = *n_split = 0;
    for (uint32_t i = 0; i < p->g.n; i++) {
        *n_clone += p->actions[i] == SPLAT_DENSITY_CLONE;
        *n_split += p->actions[i] == SPLAT_DENSITY_SPLIT;
    }
}

static int check_grow(splat_backend *backend, uint32_t n, int sh_degree, bool moments, bool small)
{
    int failures = 0;
    uint32_t n_clone, n_split;
    population before = make(n, 3 * n, sh_degree, 300 + n);
    if (small) make_small(&before);
    count_actions(&before, &n_clone, &n_split);
    population expected = copy(&before), result = copy(&before), zero = copy(&before);
    void **zero_data[N_ARRAYS];
    uint32_t words[N_ARRAYS];
    list_arrays(&zero, zero_data, words);
    for (int a = N_PARAMETERS; a < N_PERSISTENT; a++)
        if (words[a]) memset(*zero_data[a], 0, (size_t)zero.capacity * words[a] * sizeof(uint32_t));
    uint32_t clone = n, split = n + n_clone, end = n + n_clone + 2 * n_split;
    for (uint32_t i = 0; i < n; i++)
        for (int j = 0; j < before.actions[i]; j++) /* actions are 0, 1 (one clone), 2 (two samples) */
            copy_row(&expected, before.actions[i] == SPLAT_DENSITY_CLONE ? clone++ : split++, &zero, i,
                     moments ? N_PERSISTENT : N_PARAMETERS);
    if (n >= 1000) TEST_CHECK(failures, n_clone > 9 && n_split > 9, "the data exercises nothing");

    TEST_CHECK(failures, run_grow(backend, &result, n_clone, n_split, moments) == SPLAT_OK, "n %u failed", n);
    double worst_mean = 0, worst_scale = 0;
    split = n + n_clone;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < 2 && before.actions[i] == SPLAT_DENSITY_SPLIT; j++, split++) {
            double offset[3], size = max_scale(&before, i);
            reference_offset(&before, i, j, 77, 600, offset);
            for (uint32_t k = 0; k < 3; k++) {
                float *mean = &result.g.p.means[3 * split + k], *scale = &result.g.p.scales[3 * split + k];
                double exact = before.g.p.means[3 * i + k] + offset[k];
                worst_mean = fmax(worst_mean, fabs(*mean - exact) / (size + fabs(exact)));
                worst_scale = fmax(worst_scale, fabs(*scale - log(exp((double)before.g.p.scales[3 * i + k]) / 1.6)));
                *mean = expected.g.p.means[3 * split + k]; /* compared; the rest must be equal bytes */
                *scale = expected.g.p.scales[3 * split + k];
            }
        }
    /* about ten roundings of 6e-8 on values up to 5 sizes; one rounding of a log scale below 16 */
    TEST_CHECK(failures, worst_mean < 5e-6, "n %u: samples off by %g", n, worst_mean);
    TEST_CHECK(failures, worst_scale < 2e-6, "n %u: scales off by %g", n, worst_scale);
    for (int a = 0; a < N_PERSISTENT; a++)
        TEST_CHECK(failures, is_equal_array(&expected, &result, a, 0, end), "n %u: array %d differs", n, a);
    TEST_CHECK(failures, is_equal_array(&before, &result, 0, end, before.capacity), "n %u: wrote past the end", n);
    release(&before), release(&expected), release(&result), release(&zero);
    return failures;
}

/* Samples of one rotated, anisotropic Gaussian have its mean and covariance. Standard errors of N samples: of the mean
 * sqrt(C_ii / N), of a covariance sqrt((C_ii C_jj + C_ij^2) / N); five of them fail once in a million draws. */
static int check_split_statistics(splat_backend *backend)
{
    enum { N = 20000 };
    int failures = 0;
    const float mean[3] = {1, -2, 3}, scale[3] = {-1, -2.5f, 0.3f}, rotation[4] = {1.4f, -0.6f, 1.0f, 0.4f};
    population p = make(N, 3 * N, 0, 9);
    for (size_t i = 0; i < N; i++) {
        memcpy(p.g.p.means + 3 * i, mean, sizeof mean);
        memcpy(p.g.p.scales + 3 * i, scale, sizeof scale);
        memcpy(p.g.p.rotations + 4 * i, rotation, sizeof rotation);
    }
    memset(p.actions, SPLAT_DENSITY_SPLIT, N);
    TEST_CHECK(failures, run_grow(backend, &p, 0, N, true) == SPLAT_OK, "failed");
    /* R(q) of the quaternion above by hand: |q|^2 = 3.48 */
    double w = 1.4, x = -0.6, y = 1.0, z = 0.4, s = 2 / 3.48, exact[3][3], sum[3] = {0}, square[3][3] = {{0}};
    double r[3][3] = {{1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)},
                      {s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)},
                      {s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            exact[i][j] = 0;
            for (int k = 0; k < 3; k++) exact[i][j] += r[i][k] * exp(2.0 * scale[k]) * r[j][k];
        }
    for (size_t i = N; i < 3 * (size_t)N; i++)
        for (int a = 0; a < 3; a++) {
            double da = p.g.p.means[3 * i + (size_t)a] - mean[a];
            sum[a] += da;
            for (int b = 0; b < 3; b++) square[a][b] += da * (p.g.p.means[3 * i + (size_t)b] - mean[b]);
        }
    for (int a = 0; a < 3; a++) {
        TEST_CHECK(failures, fabs(sum[a] / (2.0 * N)) < 5 * sqrt(exact[a][a] / (2.0 * N)), "mean %d off by %g", a,
                   sum[a] / (2.0 * N));
        for (int b = 0; b < 3; b++)
            TEST_CHECK(failures, fabs(square[a][b] / (2.0 * N) - exact[a][b]) <
                                     5 * sqrt((exact[a][a] * exact[b][b] + exact[a][b] * exact[a][b]) / (2.0 * N)),
                       "covariance %d %d is %g, not %g", a, b, square[a][b] / (2.0 * N), exact[a][b]);
    }
    release(&p);
    return failures;
}

/* ---------------------------------------------------------------- long-axis splits */

/* R(q) e_axis in double, and the product of s/sqrt(s^2 + f^2). */
static void reference_axis(const float *raw, int axis, double column[3])
{
    double q[4], norm = 0;
    for (int k = 0; k < 4; k++) norm += (double)raw[k] * raw[k];
    for (int k = 0; k < 4; k++) q[k] = raw[k] / fmax(sqrt(norm), 1e-12);
    double w = q[0], x = q[1], y = q[2], z = q[3];
    double rows[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
                      2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                      2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)};
    for (int k = 0; k < 3; k++) column[k] = rows[3 * k + axis];
}

static double reference_ratio(const float *log_scales, double filter)
{
    double product = 1;
    for (int k = 0; k < 3; k++) product *= exp(log_scales[k]) / hypot(exp(log_scales[k]), filter);
    return product;
}

/* Rows `a` and `b` of the result are halves of row i of `before`. Float arithmetic: some roundings of 6e-8. */
static int check_halves(const population *before, const population *result, size_t i, size_t a, size_t b)
{
    int failures = 0, axis = 0;
    const float *s = before->g.p.scales + 3 * i;
    const double filter = before->g.filter_3d[i], ratio = reference_ratio(s, filter);
    double column[3];
    for (int k = 1; k < 3; k++) axis = s[k] > s[axis] ? k : axis;
    reference_axis(before->g.p.rotations + 4 * i, axis, column);
    const double before_opacity = ratio / (1 + exp(-(double)before->g.p.opacities[i]));
    const size_t rows[2] = {a, b};
    for (int h = 0; h < 2; h++) {
        const float *mean = result->g.p.means + 3 * rows[h], *scale = result->g.p.scales + 3 * rows[h];
        const double reach = (h ? -1.35 : 1.35) * exp(s[axis]);
        double raw = fmin(0.6 * before_opacity / reference_ratio(scale, filter), 0.99);
        double logit = result->g.p.opacities[rows[h]];
        for (int k = 0; k < 3; k++) {
            double exact = before->g.p.means[3 * i + (size_t)k] + reach * column[k];
            TEST_CHECK(failures, fabs(mean[k] - exact) < 2e-6 * (fabs(reach) + fabs(exact) + 1),
                       "row %zu: mean %g, not %g", i, mean[k], exact);
            TEST_CHECK(failures, fabs(scale[k] - s[k] - log(k == axis ? 0.55 : 0.893)) < 2e-6, "row %zu: scale", i);
        }
        TEST_CHECK(failures, fabs(1 / (1 + exp(-logit)) - raw) < 1e-5 * raw + 1e-11, "row %zu: opacity %g, not %g", i,
                   1 / (1 + exp(-logit)), raw);
    }
    return failures;
}

/* Clones and long-axis splits in one call: clones stay copies; halves have moments of 0 and all else of their
 * source. */
static int check_long(splat_backend *backend, uint32_t n, int sh_degree, bool small)
{
    int failures = 0;
    population before = make(n, 2 * n, sh_degree, 700 + n);
    if (small) make_small(&before);
    uint32_t n_new = 0, n_long = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i % 3 == 0) before.g.filter_3d[i] = 0; /* no filter */
        before.actions[i] = before.actions[i] == SPLAT_DENSITY_SPLIT ? SPLAT_DENSITY_LONG : before.actions[i];
        n_new += before.actions[i] != SPLAT_DENSITY_KEEP;
        n_long += before.actions[i] == SPLAT_DENSITY_LONG;
    }
    population expected = copy(&before), result = copy(&before), zero = copy(&before);
    void **zero_data[N_ARRAYS];
    uint32_t words[N_ARRAYS], to = n;
    list_arrays(&zero, zero_data, words);
    for (int a = N_PARAMETERS; a < N_PERSISTENT; a++)
        if (words[a]) memset(*zero_data[a], 0, (size_t)zero.capacity * words[a] * sizeof(uint32_t));
    TEST_CHECK(failures, run_grow_long(backend, &result, n_new, n_long) == SPLAT_OK, "n %u failed", n);
    for (uint32_t i = 0; i < n; i++) {
        if (before.actions[i] == SPLAT_DENSITY_KEEP) continue;
        copy_row(&expected, to, &zero, i, N_PERSISTENT);
        if (before.actions[i] == SPLAT_DENSITY_LONG) {
            failures += check_halves(&before, &result, i, i, to);
            copy_row(&expected, i, &zero, i, N_PERSISTENT);
            for (int h = 0; h < 2; h++) { /* compared above; the rest must be equal bytes */
                size_t row = h ? to : i;
                memcpy(result.g.p.means + 3 * row, before.g.p.means + 3 * i, 3 * sizeof(float));
                memcpy(result.g.p.scales + 3 * row, before.g.p.scales + 3 * i, 3 * sizeof(float));
                result.g.p.opacities[row] = before.g.p.opacities[i];
            }
        }
        to++;
    }
    if (n >= 1000) TEST_CHECK(failures, n_long > 9 && n_new - n_long > 9, "the data exercises nothing");
    for (int a = 0; a < N_PERSISTENT; a++)
        TEST_CHECK(failures, is_equal_array(&expected, &result, a, 0, to), "n %u: array %d differs", n, a);
    TEST_CHECK(failures, is_equal_array(&before, &result, 0, to, before.capacity), "n %u: wrote past the end", n);
    release(&before), release(&expected), release(&result), release(&zero);
    return failures;
}

int test_op_density_grow(splat_backend *backend)
{
    int failures = check_split_statistics(backend);
    for (int c = 0; c < N_COUNTS; c++)
        for (int k = 0; k < 2; k++) failures += check_long(backend, counts[c], c % 4, k);
    for (int c = 0; c < N_COUNTS; c++)
        for (int k = 0; k < 4; k++) failures += check_grow(backend, counts[c], c % 4, k % 2, k / 2);
    population p = make(100, 300, 1, 8), same = copy(&p);
    uint32_t n_clone, n_split;
    count_actions(&p, &n_clone, &n_split);
    TEST_CHECK(failures, run_grow(backend, &p, n_clone + 1, n_split, true) == SPLAT_ERROR_ARGUMENT, "a wrong count");
    TEST_CHECK(failures, run_grow(backend, &p, n_clone, n_split - 1, true) == SPLAT_ERROR_ARGUMENT, "a wrong count");
    TEST_CHECK(failures, run_grow(backend, &p, UINT32_MAX, 1, true) == SPLAT_ERROR_ARGUMENT, "too many");
    for (int a = 0; a < N_ARRAYS; a++)
        TEST_CHECK(failures, is_equal_array(&p, &same, a, 0, 300), "array %d was written in spite of the error", a);
    release(&p), release(&same);
    return failures;
}
