/* Code shared by the tests of the density ops: a population on the host or on the device, and calls of the ops. */
#ifndef SPLAT_OPS_DENSIFY_TEST_H
#define SPLAT_OPS_DENSIFY_TEST_H

#include "base/rng.h"
#include "ops/densify/densify.h"
#include "ops/test_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_ARRAYS = 4 * SPLAT_N_TENSORS + 4, N_PERSISTENT = 4 * SPLAT_N_TENSORS + 1, N_PARAMETERS = SPLAT_N_TENSORS + 1 };
static const uint32_t counts[] = {0, 1, 2, 5, 17, 1000, 20000};
enum { N_COUNTS = sizeof counts / sizeof counts[0] };

/* A model in training: parameters, moments, statistics, actions; on the host or, the same struct, on the device. */
typedef struct population {
    uint32_t capacity;
    splat_gaussians g; /* g.n <= capacity */
    splat_moments moments;
    splat_statistics s;
    uint8_t *actions;
    splat_block blocks[N_ARRAYS + 1]; /* on the device */
} population;

/* Parameters and filter_3d first, then moments in either storage, then statistics; words of a row. An array that the
 * population's storage lacks is NULL, with rows of 0 words. */
static inline void list_arrays(population *p, void **data[N_ARRAYS], uint32_t words[N_ARRAYS])
{
    const bool quantized = p->moments.storage == SPLAT_OPTIMIZER_QUANTIZED;
    splat_tensors *sets[3] = {&p->g.p, &p->moments.m, &p->moments.v};
    int n = 0;
    for (int s = 0; s < 3; s++) {
#define SPLAT_TENSOR(name, ...)                                                                                        \
    data[n] = (void **)&sets[s]->name;                                                                                 \
    words[n++] = s > 0 && quantized ? 0 : splat_tensor_channels(SPLAT_TENSOR_##name, p->g.sh_degree);
#include "math/gaussians.def"
#undef SPLAT_TENSOR
        if (s == 0) data[n] = (void **)&p->g.filter_3d, words[n++] = 1;
    }
    if (p->g.sh_rest_half) {
        data[SPLAT_TENSOR_sh_rest] = (void **)&p->g.sh_rest_half;
        words[SPLAT_TENSOR_sh_rest] = splat_parameter_words(SPLAT_TENSOR_sh_rest, p->g.sh_degree, SPLAT_SH_FLOAT16);
    }
    for (int t = 0; t < SPLAT_N_TENSORS; t++) {
        data[n] = (void **)&p->moments.quantized[t];
        words[n++] = quantized ? splat_quantized_moment_words(t, p->g.sh_degree) : 0;
    }
    data[n] = (void **)&p->s.grad, words[n++] = 1;
    data[n] = (void **)&p->s.grad_abs, words[n++] = 1;
    data[n] = (void **)&p->s.count, words[n] = 1;
}

static inline uint32_t *row_of(void **data, uint32_t words, size_t row)
{
    return (uint32_t *)*data + row * words;
}

static inline population make(uint32_t n, uint32_t capacity, int sh_degree, uint64_t seed)
{
    population p = {.capacity = capacity};
    test_gaussians parts[3];
    for (uint64_t k = 0; k < 3; k++) parts[k] = test_gaussians_make(capacity, sh_degree, sh_degree, seed + k);
    p.g = parts[0].g, p.moments.m = parts[1].g.p, p.moments.v = parts[2].g.p;
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

/* Half SH, and quantized moments of random words: the density ops only move them. */
static inline void make_small(population *p)
{
    const uint32_t n = p->g.n;
    p->g.n = p->capacity;
    test_gaussians_to_half(&p->g);
    p->g.n = n;
#define SPLAT_TENSOR(name, ...) free(p->moments.m.name), free(p->moments.v.name);
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    p->moments = (splat_moments){.storage = SPLAT_OPTIMIZER_QUANTIZED};
    for (int t = 0; t < SPLAT_N_TENSORS; t++) {
        size_t n_words = (size_t)p->capacity * splat_quantized_moment_words(t, p->g.sh_degree);
        p->moments.quantized[t] = calloc(n_words + 1, sizeof(uint32_t));
        for (size_t i = 0; i < n_words; i++) p->moments.quantized[t][i] = splat_rounding_bits((uint32_t)t, i);
    }
}

static inline void release(population *p)
{
    void **data[N_ARRAYS];
    uint32_t words[N_ARRAYS];
    list_arrays(p, data, words);
    for (int a = 0; a < N_ARRAYS; a++) free(*data[a]);
    free(p->actions);
}

static inline population copy(const population *source)
{
    population p = *source, from = *source;
    void **to_data[N_ARRAYS], **from_data[N_ARRAYS];
    uint32_t words[N_ARRAYS];
    list_arrays(&p, to_data, words);
    list_arrays(&from, from_data, words);
    for (int a = 0; a < N_ARRAYS; a++) {
        size_t bytes = (size_t)p.capacity * words[a] * sizeof(uint32_t);
        if (!*from_data[a]) continue;
        *to_data[a] = malloc(bytes + 1);
        memcpy(*to_data[a], *from_data[a], bytes);
    }
    p.actions = malloc((size_t)p.capacity + 1);
    memcpy(p.actions, source->actions, p.capacity);
    return p;
}

/* Live blocks are linked in a list: *device must not be moved. */
static inline void upload(splat_backend *backend, population *host, population *device)
{
    void **to[N_ARRAYS], **from[N_ARRAYS];
    uint32_t words[N_ARRAYS];
    *device = *host;
    memset(device->blocks, 0, sizeof device->blocks);
    list_arrays(device, to, words);
    list_arrays(host, from, words);
    for (int a = 0; a < N_ARRAYS; a++)
        if (*from[a])
            *to[a] = test_upload(backend, &device->blocks[a], *from[a],
                                 (size_t)host->capacity * words[a] * sizeof(uint32_t));
    device->actions = test_upload(backend, &device->blocks[N_ARRAYS], host->actions, host->capacity);
}

/* Back into the host's arrays; the device's are freed. */
static inline void download(splat_backend *backend, population *device, population *host)
{
    void **from[N_ARRAYS], **to[N_ARRAYS];
    uint32_t words[N_ARRAYS];
    list_arrays(device, from, words);
    list_arrays(host, to, words);
    for (int a = 0; a < N_ARRAYS; a++)
        if (*from[a])
            test_download(backend, *to[a], *from[a], (size_t)host->capacity * words[a] * sizeof(uint32_t));
    test_download(backend, host->actions, device->actions, host->capacity);
    for (int a = 0; a <= N_ARRAYS; a++) splat_block_free(backend, &device->blocks[a]);
}

static inline bool is_equal_array(population *a, population *b, int array, size_t begin, size_t end)
{
    void **of_a[N_ARRAYS], **of_b[N_ARRAYS];
    uint32_t words[N_ARRAYS];
    list_arrays(a, of_a, words);
    list_arrays(b, of_b, words);
    if (words[array] == 0 || begin == end) return true;
    return memcmp(row_of(of_a[array], words[array], begin), row_of(of_b[array], words[array], begin),
                  (end - begin) * words[array] * sizeof(uint32_t)) == 0;
}

/* Row i of `from` becomes row `to` of p, in the first n_arrays arrays. */
static inline void copy_row(population *p, size_t to, population *from, size_t i, int n_arrays)
{
    void **to_data[N_ARRAYS], **from_data[N_ARRAYS];
    uint32_t words[N_ARRAYS];
    list_arrays(p, to_data, words);
    list_arrays(from, from_data, words);
    for (int a = 0; a < n_arrays; a++)
        if (words[a])
            memcpy(row_of(to_data[a], words[a], to), row_of(from_data[a], words[a], i), words[a] * sizeof(uint32_t));
}

static inline float max_scale(const population *p, size_t i)
{
    const float *s = p->g.p.scales + 3 * i;
    return expf(fmaxf(s[0], fmaxf(s[1], s[2])));
}

/* Runs select on p, whose actions are overwritten. */
static inline splat_density_selection run_select(splat_backend *backend, population *p, float threshold)
{
    splat_density_selection result = {.fraction = -1};
    population device;
    upload(backend, p, &device);
    struct splat_density_select_args args = {.gaussians = &device.g, .statistics = &device.s,
                                             .grad_threshold = threshold, .percent_dense = 0.01f, .extent = 5.0f,
                                             .actions = device.actions, .result = &result};
    if (splat_op_density_select(backend, &args, NULL) != SPLAT_OK) result.fraction = -2;
    download(backend, &device, p);
    return result;
}

static inline splat_status run_grow_of(splat_backend *backend, population *p, uint32_t n_clone, uint32_t n_split,
                                       uint32_t n_long, bool moments)
{
    population device;
    upload(backend, p, &device);
    struct splat_density_grow_args args = {.gaussians = &device.g, .moments = moments ? &device.moments : NULL,
                                           .actions = device.actions,
                                           .n_clone = n_clone, .n_split = n_split, .n_long = n_long, .seed = 77,
                                           .step = 600};
    splat_status status = splat_op_density_grow(backend, &args, NULL);
    download(backend, &device, p);
    return status;
}

static inline splat_status run_grow(splat_backend *backend, population *p, uint32_t n_clone, uint32_t n_split,
                                    bool moments)
{
    return run_grow_of(backend, p, n_clone, n_split, 0, moments);
}

/* Clones, of which n_long are long-axis splits. */
static inline splat_status run_grow_long(splat_backend *backend, population *p, uint32_t n_clone, uint32_t n_long)
{
    return run_grow_of(backend, p, n_clone, 0, n_long, true);
}

/* Parts of test_op_density_prune (density_reorder_test.c, density_cache_test.c). */
int check_density_reorder(splat_backend *backend);
int check_density_cache(splat_backend *backend);

#endif
