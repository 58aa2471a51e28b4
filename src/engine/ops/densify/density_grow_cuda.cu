/* density_grow on CUDA: one scan of the actions gives every new row its source; rows are then copied array by array. */
#include "backend/cuda_backend.cuh"
#include "backend/cuda_select.cuh"
#include "base/rng.h"

extern "C" {
#include "math/gaussian.h"
#include "ops/densify/long_split.h"
}
#include "ops/densify/rows_cuda.cuh"
#include "ops/densify/order_cuda.cuh"

#define GROW_THREADS 256

/* sums are inclusive: clones in the low half, splits in the high half. sources[r] is the Gaussian that new row n + r
 * comes from. */
__global__ void __launch_bounds__(GROW_THREADS)
    sources_kernel(const uint8_t *actions, const uint64_t *sums, uint32_t n, uint32_t n_clone, uint32_t *sources)
{
    uint32_t i = blockIdx.x * GROW_THREADS + threadIdx.x;
    if (i >= n) return;
    if (actions[i] == SPLAT_DENSITY_CLONE || actions[i] == SPLAT_DENSITY_LONG) {
        sources[(uint32_t)sums[i] - 1] = i;
    } else if (actions[i] == SPLAT_DENSITY_SPLIT) {
        size_t at = n_clone + 2 * (size_t)((sums[i] >> 32) - 1);
        sources[at] = sources[at + 1] = i;
    }
}

/* A thread a word: threadIdx.x is the column, neighbours write neighbours. Without sources the new rows are zero. */
__global__ void __launch_bounds__(GROW_THREADS)
    copy_kernel(const __grid_constant__ splat_density_arrays arrays, int a, const uint32_t *sources, uint32_t n,
                uint32_t n_new)
{
    uint32_t row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= n_new) return;
    arrays.data[a][((size_t)n + row) * blockDim.x + threadIdx.x] =
        sources ? splat_density_word(arrays, a, sources[row], threadIdx.x) : 0;
}

/* Means and scales of the samples: mu + R(q)(s xi), ln s - ln 1.6 (docs/method.md 10, step 3). Row r is sample r % 2 of
 * its source. */
__global__ void __launch_bounds__(GROW_THREADS)
    sample_kernel(const __grid_constant__ splat_tensors p, const uint32_t *sources, size_t first, uint32_t n_samples,
                  uint64_t seed, uint32_t step)
{
    uint32_t row = blockIdx.x * GROW_THREADS + threadIdx.x;
    if (row >= n_samples) return;
    size_t i = sources[row], to = first + row;
    const float *scale = p.scales + 3 * i, *mu = p.means + 3 * i;
    float4 raw = reinterpret_cast<const float4 *>(p.rotations)[i];
    float norm = fmaxf(sqrtf(raw.x * raw.x + raw.y * raw.y + raw.z * raw.z + raw.w * raw.w), 1e-12f);
    float w = raw.x / norm, x = raw.y / norm, y = raw.z / norm, z = raw.w / norm, xi[4];
    splat_random4 r = splat_random(seed, SPLAT_STREAM_SPLIT_SAMPLES, step, 2 * (uint64_t)i + (row & 1));
    splat_normal2(r.x[0], r.x[1], &xi[0], &xi[1]);
    splat_normal2(r.x[2], r.x[3], &xi[2], &xi[3]);
    float dx = expf(scale[0]) * xi[0], dy = expf(scale[1]) * xi[1], dz = expf(scale[2]) * xi[2];
    splat_rotation t = splat_rotation_make(w, x, y, z);
    p.means[3 * to] = mu[0] + (t.r00 * dx + t.r01 * dy + t.r02 * dz);
    p.means[3 * to + 1] = mu[1] + (t.r10 * dx + t.r11 * dy + t.r12 * dz);
    p.means[3 * to + 2] = mu[2] + (t.r20 * dx + t.r21 * dy + t.r22 * dz);
    for (int k = 0; k < 3; k++) p.scales[3 * to + k] = scale[k] - 0.470003629f; /* ln 1.6 */
}

/* The sources and copies of long-axis splits become halves. */
__global__ void __launch_bounds__(GROW_THREADS)
    long_kernel(const __grid_constant__ splat_tensors p, const float *filter_3d, const uint8_t *actions,
                const uint32_t *sources, uint32_t n, uint32_t n_clone)
{
    const uint32_t row = blockIdx.x * GROW_THREADS + threadIdx.x;
    if (row >= n_clone || actions[sources[row]] != SPLAT_DENSITY_LONG) return;
    const size_t i = sources[row], to = (size_t)n + row;
    const splat_long_halves h = splat_long_split(p.scales + 3 * i, p.rotations + 4 * i, p.opacities[i], filter_3d[i]);
    for (int k = 0; k < 3; k++) {
        const float mean = p.means[3 * i + k];
        p.means[3 * to + k] = mean - h.offset[k];
        p.means[3 * i + k] = mean + h.offset[k];
        p.scales[3 * to + k] = p.scales[3 * i + k] = h.log_scales[k];
    }
    p.opacities[to] = p.opacities[i] = h.logit;
}

/* Moments of the sources of long-axis splits become 0, wherever they lie. A thread a word, as copy_kernel. */
__global__ void __launch_bounds__(GROW_THREADS)
    clear_kernel(const __grid_constant__ splat_density_arrays arrays, int a, const uint8_t *actions,
                 const uint32_t *sources, uint32_t n_clone)
{
    const uint32_t row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= n_clone || actions[sources[row]] != SPLAT_DENSITY_LONG) return;
    *splat_density_word_at(arrays, a, sources[row], threadIdx.x) = 0;
}

struct grow_arrays {
    uint64_t *sums;
    uint32_t *sources;
};

static splat_status sum_actions(splat_cuda_backend *cuda, const struct splat_density_grow_args *args,
                                grow_arrays *arrays, splat_error *error)
{
    splat_backend *backend = &cuda->base;
    uint32_t n = args->gaussians->n;
    size_t n_new = args->n_clone + 2 * (size_t)args->n_split, scan_bytes = 0;
    void *scan_memory;
    CUDA_TRY("plan a scan", splat_cuda_sum_actions(NULL, &scan_bytes, args->actions, NULL, n, cuda->stream));
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, n * sizeof *arrays->sums, (void **)&arrays->sums, error));
    SPLAT_TRY(splat_scratch_take(backend, n_new * sizeof *arrays->sources, (void **)&arrays->sources, error));
    SPLAT_TRY(splat_scratch_take(backend, scan_bytes, &scan_memory, error));
    CUDA_TRY("sum the actions",
             splat_cuda_sum_actions(scan_memory, &scan_bytes, args->actions, arrays->sums, n, cuda->stream));
    return SPLAT_OK;
}

/* By kernels alone: the rows may lie in host memory. */
static splat_status copy_rows(splat_cuda_backend *cuda, const struct splat_density_grow_args *args,
                              const uint32_t *sources, uint32_t n_new, splat_error *error)
{
    uint32_t n = args->gaussians->n;
    splat_density_arrays arrays = splat_density_arrays_list(args->gaussians, args->moments, args->rest);
    for (int a = 0; a < arrays.n; a++) {
        dim3 threads(arrays.words[a], GROW_THREADS / arrays.words[a]);
        copy_kernel<<<splat_cuda_blocks(n_new, threads.y), threads, 0, cuda->stream>>>(
            arrays, a, a < arrays.n_copied ? sources : NULL, n, n_new);
        CUDA_LAUNCHED("density copy");
    }
    return SPLAT_OK;
}

static splat_status split_long(splat_cuda_backend *cuda, const struct splat_density_grow_args *args,
                               const uint32_t *sources, splat_error *error)
{
    const splat_density_arrays arrays = splat_density_arrays_list(args->gaussians, args->moments, args->rest);
    long_kernel<<<splat_cuda_blocks(args->n_clone, GROW_THREADS), GROW_THREADS, 0, cuda->stream>>>(
        args->gaussians->p, args->gaussians->filter_3d, args->actions, sources, args->gaussians->n, args->n_clone);
    CUDA_LAUNCHED("density long");
    for (int a = arrays.n_copied; a < arrays.n; a++) {
        dim3 threads(arrays.words[a], GROW_THREADS / arrays.words[a]);
        clear_kernel<<<splat_cuda_blocks(args->n_clone, threads.y), threads, 0, cuda->stream>>>(
            arrays, a, args->actions, sources, args->n_clone);
        CUDA_LAUNCHED("density clear");
    }
    return SPLAT_OK;
}

static splat_status grow_in(splat_cuda_backend *cuda, const struct splat_density_grow_args *args, splat_error *error)
{
    uint32_t n = args->gaussians->n, n_new = args->n_clone + 2 * args->n_split;
    grow_arrays arrays = {};
    uint64_t total = 0;
    /* Room for the new rows is made by the announced counts: they are checked before anything is written. */
    if (args->n_clone <= n && args->n_split <= n && n > 0) {
        SPLAT_TRY(sum_actions(cuda, args, &arrays, error));
        CUDA_TRY("read the action counts",
                 cudaMemcpyAsync(&total, arrays.sums + (n - 1), sizeof total, cudaMemcpyDeviceToHost, cuda->stream));
        CUDA_TRY("read the action counts", cudaStreamSynchronize(cuda->stream));
    }
    if ((uint32_t)total != args->n_clone || (uint32_t)(total >> 32) != args->n_split)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "%u clones and %u splits were announced for %u Gaussians, their actions hold others",
                          args->n_clone, args->n_split, n);
    sources_kernel<<<splat_cuda_blocks(n, GROW_THREADS), GROW_THREADS, 0, cuda->stream>>>(
        args->actions, arrays.sums, n, args->n_clone, arrays.sources);
    CUDA_LAUNCHED("density sources");
    SPLAT_TRY(copy_rows(cuda, args, arrays.sources, n_new, error));
    if (args->n_long) SPLAT_TRY(split_long(cuda, args, arrays.sources, error));
    if (args->n_split == 0) return SPLAT_OK;
    sample_kernel<<<splat_cuda_blocks(2 * (uint64_t)args->n_split, GROW_THREADS), GROW_THREADS, 0, cuda->stream>>>(
        args->gaussians->p, arrays.sources + args->n_clone, (size_t)n + args->n_clone, 2 * args->n_split, args->seed,
        args->step);
    CUDA_LAUNCHED("density sample");
    return SPLAT_OK;
}

extern "C" splat_status splat_density_grow_cuda(splat_backend *backend, const struct splat_density_grow_args *args,
                                                splat_error *error)
{
    uint64_t n_grown = (uint64_t)args->gaussians->n + args->n_clone + 2 * (uint64_t)args->n_split;
    if (n_grown > UINT32_MAX)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "density control would make %llu Gaussians; a model holds %u",
                          (unsigned long long)n_grown, UINT32_MAX);
    if (args->n_clone == 0 && args->n_split == 0) return SPLAT_OK;
    return grow_in(splat_cuda_of(backend), args, error);
}
