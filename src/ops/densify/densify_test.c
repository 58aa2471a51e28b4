/* density_select, density_grow, density_prune and opacity_reset against plain scalar versions of their contracts. */
#include "ops/densify/densify.h"

#include "base/rng.h"
#include "ops/test_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_ARRAYS = 3 * SPLAT_N_TENSORS + 4, N_PERSISTENT = 3 * SPLAT_N_TENSORS + 1, N_PARAMETERS = SPLAT_N_TENSORS + 1 };
static const uint32_t counts[] = {0, 1, 2, 5, 17, 1000, 20000};
enum { N_COUNTS = sizeof counts / sizeof counts[0] };

/* A model in training: parameters, moments, statistics, actions; on the host or, the same struct, on the device. */
typedef struct population {
    uint32_t capacity;
    splat_gaussians g; /* g.n <= capacity */
    splat_tensors m, v;
    splat_statistics s;
    uint8_t *actions;
    splat_block blocks[N_ARRAYS + 1]; /* on the device */
} population;

/* Parameters and filter_3d first, then moments, then statistics. */
static void list_arrays(population *p, float **data[N_ARRAYS], uint32_t floats[N_ARRAYS])
{
    splat_tensors *sets[3] = {&p->g.p, &p->m, &p->v};
    int n = 0;
    for (int s = 0; s < 3; s++) {
#define SPLAT_TENSOR(name, channels)                                                                                   \
    data[n] = &sets[s]->name;                                                                                          \
    floats[n++] = splat_tensor_channels(SPLAT_TENSOR_##name, p->g.sh_degree);
#include "ops/gaussians.def"
#undef SPLAT_TENSOR
        if (s == 0) data[n] = &p->g.filter_3d, floats[n++] = 1;
    }
    data[n] = &p->s.grad, floats[n++] = 1;
    data[n] = &p->s.grad_abs, floats[n++] = 1;
    data[n] = &p->s.count, floats[n] = 1;
}

static population make(uint32_t n, uint32_t capacity, int sh_degree, uint64_t seed)
{
    population p = {.capacity = capacity};
    test_gaussians parts[3];
    for (uint64_t k = 0; k < 3; k++) parts[k] = test_gaussians_make(capacity, sh_degree, sh_degree, seed + k);
    p.g = parts[0].g, p.m = parts[1].g.p, p.v = parts[2].g.p;
    free(parts[1].g.filter_3d), free(parts[2].g.filter_3d);
    p.g.n = n;
    p.s.grad = calloc((size_t)capacity + 1, sizeof(float));
    p.s.grad_abs = calloc((size_t)capacity + 1, sizeof(float));
    p.s.count = calloc((size_t)capacity + 1, sizeof(float));
    p.actions = calloc((size_t)capacity + 1, 1);
    for (uint32_t i = 0; i < capacity; i++) {
        splat_random4 r = splat_random(seed, SPLAT_STREAM_TEST, 900, i);
        p.s.count[i] = (float)(r.x[0] % 5); /* one in five was never seen */
        p.s.grad[i] = p.s.count[i] * 0.00025f * splat_uniform(r.x[1]);
        p.s.grad_abs[i] = p.s.count[i] * 0.01f * splat_uniform(r.x[2]);
        p.actions[i] = (uint8_t)(r.x[3] % 3);
    }
    return p;
}

static void release(population *p)
{
    float **data[N_ARRAYS];
    uint32_t floats[N_ARRAYS];
    list_arrays(p, data, floats);
    for (int a = 0; a < N_ARRAYS; a++) free(*data[a]);
    free(p->actions);
}

static population copy(const population *source)
{
    population p = *source, from = *source;
    float **to_data[N_ARRAYS], **from_data[N_ARRAYS];
    uint32_t floats[N_ARRAYS];
    list_arrays(&p, to_data, floats);
    list_arrays(&from, from_data, floats);
    for (int a = 0; a < N_ARRAYS; a++) {
        size_t bytes = (size_t)p.capacity * floats[a] * sizeof(float);
        *to_data[a] = malloc(bytes + 1);
        memcpy(*to_data[a], *from_data[a], bytes);
    }
    p.actions = malloc((size_t)p.capacity + 1);
    memcpy(p.actions, source->actions, p.capacity);
    return p;
}

/* Live blocks are linked in a list: *device must not be moved. */
static void upload(splat_backend *backend, population *host, population *device)
{
    float **to[N_ARRAYS], **from[N_ARRAYS];
    uint32_t floats[N_ARRAYS];
    *device = *host;
    memset(device->blocks, 0, sizeof device->blocks);
    list_arrays(device, to, floats);
    list_arrays(host, from, floats);
    for (int a = 0; a < N_ARRAYS; a++)
        *to[a] = test_upload(backend, &device->blocks[a], *from[a], (size_t)host->capacity * floats[a] * sizeof(float));
    device->actions = test_upload(backend, &device->blocks[N_ARRAYS], host->actions, host->capacity);
}

/* Back into the host's arrays; the device's are freed. */
static void download(splat_backend *backend, population *device, population *host)
{
    float **from[N_ARRAYS], **to[N_ARRAYS];
    uint32_t floats[N_ARRAYS];
    list_arrays(device, from, floats);
    list_arrays(host, to, floats);
    for (int a = 0; a < N_ARRAYS; a++)
        test_download(backend, *to[a], *from[a], (size_t)host->capacity * floats[a] * sizeof(float));
    test_download(backend, host->actions, device->actions, host->capacity);
    for (int a = 0; a <= N_ARRAYS; a++) splat_block_free(backend, &device->blocks[a]);
}

static bool is_equal_array(population *a, population *b, int array, size_t begin, size_t end)
{
    float **of_a[N_ARRAYS], **of_b[N_ARRAYS];
    uint32_t floats[N_ARRAYS];
    list_arrays(a, of_a, floats);
    list_arrays(b, of_b, floats);
    return memcmp(*of_a[array] + begin * floats[array], *of_b[array] + begin * floats[array],
                  (end - begin) * floats[array] * sizeof(float)) == 0;
}

/* Row i of `from` becomes row `to` of p, in the first n_arrays arrays. */
static void copy_row(population *p, size_t to, population *from, size_t i, int n_arrays)
{
    float **to_data[N_ARRAYS], **from_data[N_ARRAYS];
    uint32_t floats[N_ARRAYS];
    list_arrays(p, to_data, floats);
    list_arrays(from, from_data, floats);
    for (int a = 0; a < n_arrays; a++)
        memcpy(*to_data[a] + to * floats[a], *from_data[a] + i * floats[a], floats[a] * sizeof(float));
}

static float max_scale(const population *p, size_t i)
{
    const float *s = p->g.p.scales + 3 * i;
    return expf(fmaxf(s[0], fmaxf(s[1], s[2])));
}

/* ---------------------------------------------------------------- density_select */

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

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
    qsort(sorted, n, sizeof *sorted, compare_floats);
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
        if (selected) actions[i] = max_scale(p, i) <= percent_dense * extent ? SPLAT_DENSITY_CLONE : SPLAT_DENSITY_SPLIT;
        result.n_clone += actions[i] == SPLAT_DENSITY_CLONE;
        result.n_split += actions[i] == SPLAT_DENSITY_SPLIT;
    }
    free(g), free(a), free(sorted);
    return result;
}

/* Runs select on p, whose actions are overwritten. */
static splat_density_selection run_select(splat_backend *backend, population *p, float threshold)
{
    splat_density_selection result = {.fraction = -1};
    population device;
    upload(backend, p, &device);
    struct splat_density_select_args args = {.gaussians = &device.g, .statistics = &device.s, .grad_threshold = threshold,
                                             .percent_dense = 0.01f, .extent = 5.0f, .actions = device.actions,
                                             .result = &result};
    if (backend->functions->ops.density_select(backend, &args, NULL) != SPLAT_OK) result.fraction = -2;
    download(backend, &device, p);
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
               "n %u, %s: %u clones, %u splits, not %u and %u", n, what, result.n_clone, result.n_split, reference.n_clone,
               reference.n_split);
    /* both interpolate in double and round once */
    TEST_CHECK(failures, fabsf(result.abs_threshold - reference.abs_threshold) <= 1e-6f * reference.abs_threshold,
               "n %u, %s: Q %.9g, not %.9g", n, what, result.abs_threshold, reference.abs_threshold);
    TEST_CHECK(failures, result.fraction == reference.fraction, "n %u, %s: fraction %g", n, what, result.fraction);
    if (n >= 1000 && threshold < 1)
        TEST_CHECK(failures, reference.n_clone > 4 && reference.n_split > 4 && reference.n_clone + reference.n_split < n - 9,
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

/* ---------------------------------------------------------------- density_grow */

/* What one sample adds to the mean, in double: R(q) (s xi). */
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

static splat_status run_grow(splat_backend *backend, population *p, uint32_t n_clone, uint32_t n_split, bool moments)
{
    population device;
    upload(backend, p, &device);
    struct splat_density_grow_args args = {.gaussians = &device.g, .m = moments ? &device.m : NULL,
                                           .v = moments ? &device.v : NULL, .actions = device.actions,
                                           .n_clone = n_clone, .n_split = n_split, .seed = 77, .step = 600};
    splat_status status = backend->functions->ops.density_grow(backend, &args, NULL);
    download(backend, &device, p);
    return status;
}

static int check_grow(splat_backend *backend, uint32_t n, int sh_degree, bool moments)
{
    int failures = 0;
    uint32_t n_clone, n_split;
    population before = make(n, 3 * n, sh_degree, 300 + n);
    count_actions(&before, &n_clone, &n_split);
    population expected = copy(&before), result = copy(&before), zero = copy(&before);
    float **zero_data[N_ARRAYS];
    uint32_t floats[N_ARRAYS];
    list_arrays(&zero, zero_data, floats);
    for (int a = N_PARAMETERS; a < N_PERSISTENT; a++)
        memset(*zero_data[a], 0, (size_t)zero.capacity * floats[a] * sizeof(float));
    uint32_t clone = n, split = n + n_clone, end = n + n_clone + 2 * n_split;
    for (uint32_t i = 0; i < n; i++)
        for (int j = 0; j < before.actions[i]; j++) /* one clone, two samples */
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

int test_op_density_grow(splat_backend *backend)
{
    int failures = check_split_statistics(backend);
    for (int c = 0; c < N_COUNTS; c++)
        for (int moments = 0; moments < 2; moments++) failures += check_grow(backend, counts[c], c % 4, moments);
    population p = make(100, 300, 1, 8), same = copy(&p);
    uint32_t n_clone, n_split;
    count_actions(&p, &n_clone, &n_split);
    TEST_CHECK(failures, run_grow(backend, &p, n_clone + 1, n_split, true) == SPLAT_ERROR_ARGUMENT, "a wrong count");
    TEST_CHECK(failures, run_grow(backend, &p, UINT32_MAX, 1, true) == SPLAT_ERROR_ARGUMENT, "too many");
    for (int a = 0; a < N_ARRAYS; a++)
        TEST_CHECK(failures, is_equal_array(&p, &same, a, 0, 300), "array %d was written in spite of the error", a);
    release(&p), release(&same);
    return failures;
}

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
    float **data[N_ARRAYS];
    uint32_t floats[N_ARRAYS];
    list_arrays(p, data, floats);
    for (uint32_t i = 0; i < n; i++) {
        bool finite = true;
        for (int a = 0; a < SPLAT_N_TENSORS; a++)
            for (uint32_t k = 0; k < floats[a]; k++) finite = finite && isfinite((*data[a])[(size_t)i * floats[a] + k]);
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
    struct splat_density_prune_args args = {.gaussians = &device.g, .m = test->moments ? &device.m : NULL,
                                            .v = test->moments ? &device.v : NULL,
                                            .actions = n_actions ? device.actions : NULL, .n_actions = n_actions,
                                            .min_opacity = test->min_opacity, .max_scale = test->max_scale,
                                            .target_count = test->target_count, .result = &result};
    if (backend->functions->ops.density_prune(backend, &args, NULL) != SPLAT_OK) result.n_kept = UINT32_MAX - 1;
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

static int check_prune(splat_backend *backend, uint32_t n, const prune_case *test)
{
    int failures = 0;
    population expected = make_for_prune(n), result = copy(&expected);
    uint32_t n_actions = test->actions ? n - n / 3 : 0;
    splat_density_pruned reference = reference_prune(&expected, test, n_actions);
    splat_density_pruned pruned = run_prune(backend, &result, test, n_actions);
    TEST_CHECK(failures, memcmp(&pruned, &reference, sizeof pruned) == 0,
               "n %u, %s: kept %u, not %u; gone %u %u %u %u, not %u %u %u %u", n, test->name, pruned.n_kept,
               reference.n_kept, pruned.n_split_sources, pruned.n_transparent, pruned.n_large, pruned.n_over_cap,
               reference.n_split_sources, reference.n_transparent, reference.n_large, reference.n_over_cap);
    for (int a = 0; a < N_PERSISTENT; a++) /* without moments theirs are left alone */
        TEST_CHECK(failures, is_equal_array(&expected, &result, a, 0, a < N_PARAMETERS || test->moments ? reference.n_kept : n),
                   "n %u, %s: array %d differs", n, test->name, a);
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
    int failures = check_prune_ties(backend);
    for (int c = 0; c < N_COUNTS; c++)
        for (size_t t = 0; t < sizeof tests / sizeof tests[0]; t++)
            if (counts[c] <= 1000 || t < 2) failures += check_prune(backend, counts[c], &tests[t]);
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
                                            .m = moments ? device.m.opacities : NULL,
                                            .v = moments ? device.v.opacities : NULL};
    splat_status status = backend->functions->ops.opacity_reset(backend, &args, NULL);
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

static int check_reset(splat_backend *backend, uint32_t n, bool moments)
{
    int failures = 0;
    uint32_t n_kept = 0, n_lowered = 0;
    const float cap = 0.01f;
    population p = make(n, n, 0, 700 + n);
    for (uint32_t i = 0; i < n; i++) {
        if (i % 7 == 3) p.g.filter_3d[i] = 0;
        if (i % 11 == 4) p.g.p.opacities[i] = 40;                  /* sigmoid is 1 in float */
        if (i % 13 == 5) p.g.p.scales[3 * i + 1] = -60;            /* c3 is nearly 0: s^2 would underflow */
        if (i % 17 == 6) p.g.filter_3d[i] = 0.3f, p.g.p.opacities[i] = 6; /* o c3 around the cap */
        if (i % 19 == 7) p.g.filter_3d[i] = 0, p.g.p.scales[3 * i] = -200, p.g.p.opacities[i] = 3; /* s is 0, no filter */
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
    float **data[N_ARRAYS];
    uint32_t floats[N_ARRAYS];
    list_arrays(&before, data, floats);
    memcpy(before.g.p.opacities, p.g.p.opacities, n * sizeof(float));
    if (moments) memset(before.m.opacities, 0, n * sizeof(float)), memset(before.v.opacities, 0, n * sizeof(float));
    for (int a = 0; a < N_ARRAYS; a++)
        TEST_CHECK(failures, is_equal_array(&before, &p, a, 0, n), "n %u: array %d is not as it should be", n, a);
    if (n >= 1000) TEST_CHECK(failures, n_kept > 9 && n_lowered > 9, "the data exercises nothing");
    release(&p), release(&before);
    return failures;
}

/* One pass of density control on one thread of plain C and on this backend gives the same bytes. */
static int check_identity(splat_backend *backend)
{
    enum { N = 20000, CAPACITY = 3 * N };
    int failures = 0;
    splat_backend *backends[2] = {backend, NULL};
    population p[2];
    const prune_case test = {"identity", 0.005f, 0.5f, N, true, true};
    if (strcmp(backend->functions->name, "cpu") != 0) return 0;
    if (splat_backend_cpu_create(1, "c", &backends[1], NULL) != SPLAT_OK) return 1;
    for (int k = 0; k < 2; k++) {
        p[k] = make(N, CAPACITY, 1, 900);
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
    backends[1]->functions->destroy(backends[1]);
    return failures;
}

int test_op_opacity_reset(splat_backend *backend)
{
    int failures = check_identity(backend);
    for (int c = 0; c < N_COUNTS; c++)
        for (int moments = 0; moments < 2; moments++) failures += check_reset(backend, counts[c], moments);
    population p = make(1, 1, 0, 1);
    TEST_CHECK(failures, run_reset(backend, &p, 0, true) == SPLAT_ERROR_ARGUMENT, "a cap of 0");
    TEST_CHECK(failures, run_reset(backend, &p, 1, true) == SPLAT_ERROR_ARGUMENT, "a cap of 1");
    release(&p);
    return failures;
}
