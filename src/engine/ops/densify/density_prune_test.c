/* density_prune and opacity_reset against plain scalar versions of their contracts. */
#include "ops/densify/densify_test.h"

/* ---------------------------------------------------------------- density_prune */

typedef struct ranked {
    float logit;
    uint32_t index;
} ranked;

/* The first to go comes first. */
static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->logit != y->logit) return x->logit < y->logit ? -1 : 1;
    return x->index > y->index ? -1 : x->index < y->index;
}

typedef struct prune_case {
    const char *name;
    float min_opacity, max_scale;
    uint32_t target_count;
    bool actions, moments;
} prune_case;

/* Prunes p itself; kept rows move to the front of its arrays. */
static splat_density_pruned reference_prune(population *p, const prune_case *test, uint32_t n_actions)
{
    splat_density_pruned result = {0};
    uint32_t n = p->g.n, n_left = 0;
    bool *gone = calloc((size_t)n + 1, sizeof *gone);
    ranked *left = calloc((size_t)n + 1, sizeof *left);
    void **data[N_ARRAYS];
    uint32_t words[N_ARRAYS];
    list_arrays(p, data, words);
    for (uint32_t i = 0; i < n; i++) {
        bool finite = true;
        for (int a = 0; a < SPLAT_N_TENSORS; a++)
            for (uint32_t k = 0; k < words[a]; k++) {
                uint32_t word = row_of(data[a], words[a], i)[k];
                if (a == SPLAT_TENSOR_sh_rest && p->g.sh_rest_half)
                    finite = finite && isfinite(splat_half_decode((uint16_t)word)) &&
                             isfinite(splat_half_decode((uint16_t)(word >> 16)));
                else
                    finite = finite && isfinite(splat_float_of_bits(word));
            }
        gone[i] = true;
        if (i < n_actions && p->actions[i] == SPLAT_DENSITY_SPLIT)
            result.n_split_sources++;
        else if (1.0f / (1.0f + expf(-p->g.p.opacities[i])) < test->min_opacity)
            result.n_transparent++;
        else if (test->max_scale > 0 && max_scale(p, i) > test->max_scale)
            result.n_large++;
        else if (!finite)
            result.n_transparent++;
        else
            gone[i] = false, left[n_left++] = (ranked){p->g.p.opacities[i], i};
    }
    qsort(left, n_left, sizeof *left, compare_ranked);
    if (test->target_count && n_left > test->target_count) result.n_over_cap = n_left - test->target_count;
    for (uint32_t i = 0; i < result.n_over_cap; i++) gone[left[i].index] = true;
    for (uint32_t i = 0; i < n; i++)
        if (!gone[i]) copy_row(p, result.n_kept++, p, i, test->moments ? N_PERSISTENT : N_PARAMETERS);
    free(gone), free(left);
    return result;
}

static splat_density_pruned run_prune(splat_backend *backend, population *p, const prune_case *test, uint32_t n_actions)
{
    splat_density_pruned result = {.n_kept = UINT32_MAX};
    population device;
    upload(backend, p, &device);
    struct splat_density_prune_args args = {.gaussians = &device.g, .moments = test->moments ? &device.moments : NULL,
                                            .actions = n_actions ? device.actions : NULL, .n_actions = n_actions,
                                            .min_opacity = test->min_opacity, .max_scale = test->max_scale,
                                            .target_count = test->target_count, .result = &result};
    if (splat_op_density_prune(backend, &args, NULL) != SPLAT_OK) result.n_kept = UINT32_MAX - 1;
    download(backend, &device, p);
    return result;
}

/* A population with values that are not finite and with many equal opacities, zeros of both signs among them. */
static population make_for_prune(uint32_t n)
{
    population p = make(n, n, 1, 500 + n);
    for (uint32_t i = 0; i < n; i++) {
        float *logit = &p.g.p.opacities[i];
        *logit = i % 50 == 49 ? -0.0f : floorf(*logit * 8) / 8;
        if (i % 101 == 60) p.g.p.means[3 * i + i % 3] = NAN;
        if (i % 103 == 61) p.g.p.sh_rest[9 * i + i % 9] = i % 2 ? INFINITY : -INFINITY;
        if (i % 107 == 62) *logit = NAN;
        if (i % 109 == 63) p.g.p.rotations[4 * i + i % 4] = INFINITY;
        if (i % 113 == 64) p.g.p.scales[3 * i + i % 3] = NAN;
    }
    return p;
}

static int check_prune(splat_backend *backend, uint32_t n, const prune_case *test, bool small)
{
    int failures = 0;
    population expected = make_for_prune(n);
    if (small) make_small(&expected);
    population result = copy(&expected);
    uint32_t n_actions = test->actions ? n - n / 3 : 0;
    splat_density_pruned reference = reference_prune(&expected, test, n_actions);
    splat_density_pruned pruned = run_prune(backend, &result, test, n_actions);
    TEST_CHECK(failures, memcmp(&pruned, &reference, sizeof pruned) == 0,
               "n %u, %s: kept %u, not %u; gone %u %u %u %u, not %u %u %u %u", n, test->name, pruned.n_kept,
               reference.n_kept, pruned.n_split_sources, pruned.n_transparent, pruned.n_large, pruned.n_over_cap,
               reference.n_split_sources, reference.n_transparent, reference.n_large, reference.n_over_cap);
    for (int a = 0; a < N_PERSISTENT; a++) { /* without moments theirs are left alone */
        uint32_t n_rows = a < N_PARAMETERS || test->moments ? reference.n_kept : n;
        TEST_CHECK(failures, is_equal_array(&expected, &result, a, 0, n_rows), "n %u, %s: array %d differs", n,
                   test->name, a);
    }
    if (n >= 1000 && strcmp(test->name, "all") == 0)
        TEST_CHECK(failures, reference.n_kept == test->target_count && reference.n_split_sources > 9 &&
                                 reference.n_transparent > 9 && reference.n_large > 9 && reference.n_over_cap > 9,
                   "the data exercises nothing");
    if (strcmp(test->name, "all removed") == 0) TEST_CHECK(failures, pruned.n_kept == 0, "%u are left", pruned.n_kept);
    release(&expected), release(&result);
    return failures;
}

/* Equal opacities: the cap takes the higher indices, exactly as many as needed. */
static int check_prune_ties(splat_backend *backend)
{
    int failures = 0;
    population p = make(8, 8, 0, 3);
    const float logits[8] = {1, 0, 1, -0.0f, 2, 0, 0, 1};
    const prune_case test = {"ties", 0.005f, 0, 5, false, true};
    memcpy(p.g.p.opacities, logits, sizeof logits);
    for (int i = 0; i < 8; i++) p.g.filter_3d[i] = (float)i;
    splat_density_pruned pruned = run_prune(backend, &p, &test, 0);
    const float kept[5] = {0, 1, 2, 4, 7};
    TEST_CHECK(failures, pruned.n_kept == 5 && pruned.n_over_cap == 3, "kept %u", pruned.n_kept);
    TEST_CHECK(failures, memcmp(p.g.filter_3d, kept, sizeof kept) == 0, "the wrong ones were kept");
    release(&p);
    return failures;
}

int test_op_density_prune(splat_backend *backend)
{
    static const prune_case tests[] = {
        {"all", 0.005f, 0.5f, 300, true, true},        {"no cap", 0.005f, 0.5f, 0, true, true},
        {"no moments", 0.005f, 0.5f, 300, true, false}, {"cap of one", 0.005f, 0, 1, false, true},
        {"cap not reached", 0.3f, 0.05f, 100000, true, true}, {"no large test", 0.005f, -1, 0, false, true},
        {"all removed", 1.1f, 0.5f, 300, true, true},
    };
    int failures = check_prune_ties(backend) + check_density_reorder(backend) + check_density_cache(backend);
    for (int c = 0; c < N_COUNTS; c++)
        for (size_t t = 0; t < sizeof tests / sizeof tests[0]; t++)
            for (int small = 0; small < 2; small++)
                if (counts[c] <= 1000 || t < 2) failures += check_prune(backend, counts[c], &tests[t], small);
    population p = make(5, 5, 0, 1);
    TEST_CHECK(failures, run_prune(backend, &p, &tests[0], 6).n_kept == UINT32_MAX - 1, "more actions than Gaussians");
    release(&p);
    return failures;
}

/* ---------------------------------------------------------------- opacity_reset */

static splat_status run_reset(splat_backend *backend, population *p, float max_opacity, bool moments)
{
    population device;
    upload(backend, p, &device);
    struct splat_opacity_reset_args args = {.gaussians = &device.g, .max_opacity = max_opacity,
                                            .moments = moments ? &device.moments : NULL};
    splat_status status = splat_op_opacity_reset(backend, &args, NULL);
    download(backend, &device, p);
    return status;
}

static double filter_factor(const population *p, uint32_t i)
{
    double c3 = 1, f = p->g.filter_3d[i];
    for (int k = 0; k < 3; k++) {
        double s = exp((double)p->g.p.scales[3 * i + k]);
        if (f > 0) c3 *= s / sqrt(s * s + f * f);
    }
    return c3;
}

static int check_reset(splat_backend *backend, uint32_t n, bool moments, bool small)
{
    int failures = 0;
    uint32_t n_kept = 0, n_lowered = 0;
    const float cap = 0.01f;
    population p = make(n, n, small ? 1 : 0, 700 + n);
    if (small) make_small(&p);
    for (uint32_t i = 0; i < n; i++) {
        if (i % 7 == 3) p.g.filter_3d[i] = 0;
        if (i % 11 == 4) p.g.p.opacities[i] = 40;                  /* sigmoid is 1 in float */
        if (i % 13 == 5) p.g.p.scales[3 * i + 1] = -60;            /* c3 is nearly 0: s^2 would underflow */
        if (i % 17 == 6) p.g.filter_3d[i] = 0.3f, p.g.p.opacities[i] = 6; /* o c3 around the cap */
        if (i % 19 == 7) /* s is 0, no filter */
            p.g.filter_3d[i] = 0, p.g.p.scales[3 * i] = -200, p.g.p.opacities[i] = 3;
    }
    population before = copy(&p);
    TEST_CHECK(failures, run_reset(backend, &p, cap, moments) == SPLAT_OK, "n %u failed", n);
    for (uint32_t i = 0; i < n; i++) {
        double c3 = filter_factor(&p, i), old = 1 / (1 + exp(-(double)before.g.p.opacities[i])) * c3;
        double now = 1 / (1 + exp(-(double)p.g.p.opacities[i])) * c3, expected = fmin(old, cap);
        bool same = memcmp(&p.g.p.opacities[i], &before.g.p.opacities[i], sizeof(float)) == 0;
        /* twenty float roundings of the factors and of a logit below 16 */
        TEST_CHECK(failures, fabs(now - expected) <= 3e-6 * expected, "n %u, Gaussian %u: %.9g, not %.9g", n, i, now,
                   expected);
        if (old < 0.999 * cap) TEST_CHECK(failures, same, "n %u, Gaussian %u was below the cap and moved", n, i);
        TEST_CHECK(failures, p.g.p.opacities[i] <= before.g.p.opacities[i], "n %u, Gaussian %u rose", n, i);
        TEST_CHECK(failures, isfinite(p.g.p.opacities[i]), "n %u, Gaussian %u is not finite", n, i);
        n_kept += same;
        n_lowered += !same;
    }
    memcpy(before.g.p.opacities, p.g.p.opacities, n * sizeof(float));
    if (moments && small) memset(before.moments.quantized[SPLAT_TENSOR_opacities], 0, n * sizeof(uint32_t));
    if (moments && !small) memset(before.moments.m.opacities, 0, n * sizeof(float));
    if (moments && !small) memset(before.moments.v.opacities, 0, n * sizeof(float));
    for (int a = 0; a < N_ARRAYS; a++)
        TEST_CHECK(failures, is_equal_array(&before, &p, a, 0, n), "n %u: array %d is not as it should be", n, a);
    if (n >= 1000) TEST_CHECK(failures, n_kept > 9 && n_lowered > 9, "the data exercises nothing");
    release(&p), release(&before);
    return failures;
}

/* One pass of density control on one thread of plain C and on this backend gives the same bytes. */
static int check_identity(splat_backend *backend, bool small)
{
    enum { N = 20000, CAPACITY = 3 * N };
    int failures = 0;
    splat_backend *backends[2] = {backend, NULL};
    population p[2];
    const prune_case test = {"identity", 0.005f, 0.5f, N, true, true};
    if (strcmp(splat_backend_name(backend), "cpu") != 0) return 0;
    if (splat_backend_cpu_create(1, "c", &backends[1], NULL) != SPLAT_OK) return 1;
    for (int k = 0; k < 2; k++) {
        p[k] = make(N, CAPACITY, 1, 900);
        if (small) make_small(&p[k]);
        splat_density_selection selection = run_select(backends[k], &p[k], 0.0002f);
        run_grow(backends[k], &p[k], selection.n_clone, selection.n_split, true);
        p[k].g.n = N + selection.n_clone + 2 * selection.n_split;
        p[k].g.n = run_prune(backends[k], &p[k], &test, N).n_kept;
        run_reset(backends[k], &p[k], 0.01f, true);
    }
    TEST_CHECK(failures, p[0].g.n == N && p[1].g.n == N, "%u and %u are left", p[0].g.n, p[1].g.n);
    for (int a = 0; a < N_PERSISTENT; a++)
        TEST_CHECK(failures, is_equal_array(&p[0], &p[1], a, 0, N), "%s: array %d differs from one thread of plain C",
                   backend->description, a);
    TEST_CHECK(failures, memcmp(p[0].actions, p[1].actions, N) == 0, "%s: other actions", backend->description);
    release(&p[0]), release(&p[1]);
    splat_backend_destroy(backends[1]);
    return failures;
}

int test_op_opacity_reset(splat_backend *backend)
{
    int failures = check_identity(backend, false) + check_identity(backend, true);
    for (int c = 0; c < N_COUNTS; c++)
        for (int k = 0; k < 4; k++) failures += check_reset(backend, counts[c], k % 2, k / 2);
    population p = make(1, 1, 0, 1);
    TEST_CHECK(failures, run_reset(backend, &p, 0, true) == SPLAT_ERROR_ARGUMENT, "a cap of 0");
    TEST_CHECK(failures, run_reset(backend, &p, 1, true) == SPLAT_ERROR_ARGUMENT, "a cap of 1");
    release(&p);
    return failures;
}
