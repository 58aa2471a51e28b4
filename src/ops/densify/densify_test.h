/* What the tests of the density ops share: a population on the host or on the device, and calls of the ops. */
#ifndef SPLAT_OPS_DENSIFY_TEST_H
#define SPLAT_OPS_DENSIFY_TEST_H

#include "base/rng.h"
#include "ops/densify/densify.h"
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
static inline void list_arrays(population *p, float **data[N_ARRAYS], uint32_t floats[N_ARRAYS])
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

static inline population make(uint32_t n, uint32_t capacity, int sh_degree, uint64_t seed)
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

static inline void release(population *p)
{
    float **data[N_ARRAYS];
    uint32_t floats[N_ARRAYS];
    list_arrays(p, data, floats);
    for (int a = 0; a < N_ARRAYS; a++) free(*data[a]);
    free(p->actions);
}

static inline population copy(const population *source)
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
static inline void upload(splat_backend *backend, population *host, population *device)
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
static inline void download(splat_backend *backend, population *device, population *host)
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

static inline bool is_equal_array(population *a, population *b, int array, size_t begin, size_t end)
{
    float **of_a[N_ARRAYS], **of_b[N_ARRAYS];
    uint32_t floats[N_ARRAYS];
    list_arrays(a, of_a, floats);
    list_arrays(b, of_b, floats);
    return memcmp(*of_a[array] + begin * floats[array], *of_b[array] + begin * floats[array],
                  (end - begin) * floats[array] * sizeof(float)) == 0;
}

/* Row i of `from` becomes row `to` of p, in the first n_arrays arrays. */
static inline void copy_row(population *p, size_t to, population *from, size_t i, int n_arrays)
{
    float **to_data[N_ARRAYS], **from_data[N_ARRAYS];
    uint32_t floats[N_ARRAYS];
    list_arrays(p, to_data, floats);
    list_arrays(from, from_data, floats);
    for (int a = 0; a < n_arrays; a++)
        memcpy(*to_data[a] + to * floats[a], *from_data[a] + i * floats[a], floats[a] * sizeof(float));
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
    if (backend->functions->ops.density_select(backend, &args, NULL) != SPLAT_OK) result.fraction = -2;
    download(backend, &device, p);
    return result;
}

static inline splat_status run_grow(splat_backend *backend, population *p, uint32_t n_clone, uint32_t n_split,
                                    bool moments)
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

/* A part of test_op_density_prune (density_reorder_test.c). */
int check_density_reorder(splat_backend *backend);

#endif
