/* density_grow on the CPU. */
#include "base/rng.h"
#include "math/gaussian.h"
#include "ops/densify/densify_common.h"
#include "ops/densify/long_split.h"

#include <math.h>

/* The places of a chunk's first clone and first split, counted from the first of each. */
typedef struct chunk_offsets {
    uint32_t clones, splits;
} chunk_offsets;

/* p.means and p.scales of sample j of source i: mu + R(q)(s xi), ln s - ln 1.6 (docs/method.md 10, step 3). */
static void sample_split(const struct splat_density_grow_args *args, size_t i, uint32_t j, size_t to)
{
    const splat_tensors *p = &args->gaussians->p;
    const float *scale = p->scales + 3 * i, *raw = p->rotations + 4 * i;
    float norm = sqrtf(raw[0] * raw[0] + raw[1] * raw[1] + raw[2] * raw[2] + raw[3] * raw[3]), xi[4], d[3];
    norm = norm > 1e-12f ? norm : 1e-12f;
    float w = raw[0] / norm, x = raw[1] / norm, y = raw[2] / norm, z = raw[3] / norm;
    splat_random4 r = splat_random(args->seed, SPLAT_STREAM_SPLIT_SAMPLES, args->step, 2 * (uint64_t)i + j);
    splat_normal2(r.x[0], r.x[1], &xi[0], &xi[1]);
    splat_normal2(r.x[2], r.x[3], &xi[2], &xi[3]);
    for (int k = 0; k < 3; k++) d[k] = expf(scale[k]) * xi[k];
    float *mean = p->means + 3 * to;
    splat_rotation t = splat_rotation_make(w, x, y, z);
    mean[0] += t.r00 * d[0] + t.r01 * d[1] + t.r02 * d[2];
    mean[1] += t.r10 * d[0] + t.r11 * d[1] + t.r12 * d[2];
    mean[2] += t.r20 * d[0] + t.r21 * d[1] + t.r22 * d[2];
    for (int k = 0; k < 3; k++) p->scales[3 * to + k] = scale[k] - 0.470003629f; /* ln 1.6 */
}

/* Copies row i to rows [to, to + n) of every parameter and zeroes their moments. */
static void copy_row(const splat_density_arrays *arrays, size_t i, size_t to, size_t n)
{
    for (int a = 0; a < arrays->n; a++) {
        size_t words = arrays->words[a], bytes = words * sizeof(uint32_t);
        for (size_t row = to; row < to + n; row++)
            if (a < arrays->n_copied)
                memcpy(arrays->data[a] + row * words, arrays->data[a] + i * words, bytes);
            else
                memset(arrays->data[a] + row * words, 0, bytes);
    }
}

/* Row i, copied to row `to`, and its copy become two halves; the moments of row i become 0. */
static void split_long(const splat_density_arrays *arrays, const splat_gaussians *g, size_t i, size_t to)
{
    const splat_tensors *p = &g->p;
    const splat_long_halves h = splat_long_split(p->scales + 3 * i, p->rotations + 4 * i, p->opacities[i],
                                                 g->filter_3d[i]);
    for (size_t k = 0; k < 3; k++) {
        p->means[3 * to + k] = p->means[3 * i + k] - h.offset[k];
        p->means[3 * i + k] += h.offset[k];
        p->scales[3 * to + k] = p->scales[3 * i + k] = h.log_scales[k];
    }
    p->opacities[to] = p->opacities[i] = h.logit;
    for (int a = arrays->n_copied; a < arrays->n; a++)
        memset(arrays->data[a] + i * arrays->words[a], 0, arrays->words[a] * sizeof(uint32_t));
}

static bool is_copied(uint8_t action)
{
    return action == SPLAT_DENSITY_CLONE || action == SPLAT_DENSITY_LONG;
}

static void count_actions(splat_backend *backend, const struct splat_density_grow_args *args, chunk_offsets *offsets)
{
    uint32_t n = args->gaussians->n;
#pragma omp parallel for num_threads(backend->threads)
    for (int64_t c = 0; c < (int64_t)splat_density_chunks(n); c++) {
        uint32_t clones = 0, splits = 0, end = splat_density_chunk_end(n, (uint32_t)c);
        for (uint32_t i = (uint32_t)c * SPLAT_DENSITY_CHUNK; i < end; i++) {
            clones += is_copied(args->actions[i]);
            splits += args->actions[i] == SPLAT_DENSITY_SPLIT;
        }
        offsets[c].clones = clones;
        offsets[c].splits = splits;
    }
}

static void grow_chunk(const struct splat_density_grow_args *args, const splat_density_arrays *arrays, uint32_t chunk,
                       chunk_offsets at)
{
    uint32_t n = args->gaussians->n, end = splat_density_chunk_end(n, chunk);
    size_t clone = (size_t)n + at.clones, split = (size_t)n + args->n_clone + 2 * (size_t)at.splits;
    for (uint32_t i = chunk * SPLAT_DENSITY_CHUNK; i < end; i++) {
        if (is_copied(args->actions[i])) {
            copy_row(arrays, i, clone, 1);
            if (args->actions[i] == SPLAT_DENSITY_LONG) split_long(arrays, args->gaussians, i, clone);
            clone++;
        } else if (args->actions[i] == SPLAT_DENSITY_SPLIT) {
            copy_row(arrays, i, split, 2);
            for (uint32_t j = 0; j < 2; j++) sample_split(args, i, j, split++);
        }
    }
}

splat_status splat_density_grow_cpu(splat_backend *backend, const struct splat_density_grow_args *args,
                                    splat_error *error)
{
    uint32_t n = args->gaussians->n, n_chunks = splat_density_chunks(n);
    uint64_t n_grown = (uint64_t)n + args->n_clone + 2 * (uint64_t)args->n_split;
    if (n_grown > UINT32_MAX)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "density control would make %llu Gaussians; a model holds %u",
                          (unsigned long long)n_grown, UINT32_MAX);
    if (args->n_clone == 0 && args->n_split == 0) return SPLAT_OK;
    void *scratch;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, n_chunks * sizeof(chunk_offsets), &scratch, error));
    chunk_offsets *offsets = scratch, total = {0};
    count_actions(backend, args, offsets);
    for (uint32_t c = 0; c < n_chunks; c++) { /* exclusive sums */
        chunk_offsets here = offsets[c];
        offsets[c] = total;
        total.clones += here.clones;
        total.splits += here.splits;
    }
    if (total.clones != args->n_clone || total.splits != args->n_split)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "%u clones and %u splits were announced, the actions hold %u and %u", args->n_clone,
                          args->n_split, total.clones, total.splits);
    splat_density_arrays arrays = splat_density_arrays_list(args->gaussians, args->moments, args->rest);
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic)
    for (int64_t c = 0; c < (int64_t)n_chunks; c++) grow_chunk(args, &arrays, (uint32_t)c, offsets[c]);
    return SPLAT_OK;
}
