/* density_relocate on CUDA: weights and their sums, a thread a draw, then rows moved array by array. */
#include "backend/cuda_backend.cuh"
#include "backend/cuda_select.cuh"
#include "base/rng.h"

extern "C" {
#include "ops/relocate/relocate.h"
#include "ops/relocate/relocate_math.h"
}
#include "ops/densify/rows_cuda.cuh"

#define RELOCATE_THREADS 256

struct relocate_parameters {
    uint32_t n;
    float dead_opacity;
    uint64_t seed;
    uint32_t step;
    splat_density_arrays arrays;
    float *opacities, *scales;
    const float *rotations, *filter_3d;
    uint32_t *weights, *counts, *dead, *sources; /* [n], [n], [n_dead], a source a draw */
    uint64_t *sums;                              /* [n] inclusive */
    uint32_t *n_dead;
    void *work; /* CUB's */
    size_t scan_bytes, select_bytes;
};

/* ---------------------------------------------------------------- draws */

__global__ void __launch_bounds__(RELOCATE_THREADS) weights_kernel(const __grid_constant__ relocate_parameters P)
{
    __shared__ uint32_t bad[RELOCATE_THREADS];
    const uint32_t first = blockIdx.x * RELOCATE_THREADS;
    splat_density_mark_broken<RELOCATE_THREADS>(P.arrays, first, P.n, bad);
    if (threadIdx.x >= P.n - first) return;
    const size_t i = (size_t)first + threadIdx.x;
    P.counts[i] = 0;
    P.weights[i] = bad[threadIdx.x] ? SPLAT_RELOCATE_BROKEN
                                    : splat_relocate_weight(P.opacities[i], P.scales + 3 * i, P.rotations + 4 * i,
                                                            P.filter_3d[i], P.dead_opacity);
}

/* The source of a draw: the first i with sums[i] > k. */
__global__ void __launch_bounds__(RELOCATE_THREADS)
    draw_kernel(const __grid_constant__ relocate_parameters P, uint32_t n_draws, uint64_t first)
{
    uint32_t j = blockIdx.x * RELOCATE_THREADS + threadIdx.x;
    if (j >= n_draws) return;
    splat_random4 random = splat_random(P.seed, SPLAT_STREAM_RELOCATE, P.step, first + j);
    uint64_t bits = random.x[0] | (uint64_t)random.x[1] << 32, k = __umul64hi(bits, P.sums[P.n - 1]);
    uint32_t low = 0, high = P.n - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (P.sums[middle] > k)
            high = middle;
        else
            low = middle + 1;
    }
    P.sources[j] = low;
    atomicAdd(&P.counts[low], 1u);
}

/* ---------------------------------------------------------------- what the draws change */

__global__ void __launch_bounds__(RELOCATE_THREADS) divide_kernel(const __grid_constant__ relocate_parameters P)
{
    uint32_t i = blockIdx.x * RELOCATE_THREADS + threadIdx.x;
    if (i >= P.n || P.counts[i] == 0) return;
    float *scales = P.scales + 3 * (size_t)i;
    splat_relocated one = splat_relocate_one(P.opacities[i], scales, P.filter_3d[i], P.counts[i] + 1, P.dead_opacity);
    P.opacities[i] = one.logit;
    for (int k = 0; k < 3; k++) scales[k] = one.log_scales[k];
}

/* The moments of what was drawn, and of what was not finite. A thread a word, threadIdx.x the column. */
__global__ void __launch_bounds__(RELOCATE_THREADS)
    restart_kernel(uint32_t *data, const uint32_t *counts, const uint32_t *weights, uint32_t n)
{
    uint32_t row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row < n && (counts[row] || weights[row] == SPLAT_RELOCATE_BROKEN))
        data[(size_t)row * blockDim.x + threadIdx.x] = 0;
}

/* Rows of their sources, to the rows `targets`, or from row n on. Without sources they are zero. */
__global__ void __launch_bounds__(RELOCATE_THREADS) place_kernel(uint32_t *data, const uint32_t *sources,
                                                                 const uint32_t *targets, uint32_t n, uint32_t n_rows)
{
    uint32_t row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= n_rows) return;
    size_t to = targets ? targets[row] : (size_t)n + row;
    data[to * blockDim.x + threadIdx.x] = sources ? data[(size_t)sources[row] * blockDim.x + threadIdx.x] : 0;
}

/* ---------------------------------------------------------------- host */

static splat_status reserve(splat_cuda_backend *cuda, uint32_t n_new, relocate_parameters *P, splat_error *error)
{
    splat_backend *backend = &cuda->base;
    const size_t rows = P->n, draws = P->n > n_new ? P->n : n_new;
    CUDA_TRY("plan a scan", splat_cuda_sum_shares(NULL, &P->scan_bytes, NULL, NULL, P->n, cuda->stream));
    CUDA_TRY("plan a selection",
             splat_cuda_select_dead(NULL, &P->select_bytes, NULL, NULL, NULL, P->n, cuda->stream));
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, rows * sizeof *P->sums, (void **)&P->sums, error));
    SPLAT_TRY(splat_scratch_take(backend, rows * sizeof *P->weights, (void **)&P->weights, error));
    SPLAT_TRY(splat_scratch_take(backend, rows * sizeof *P->counts, (void **)&P->counts, error));
    SPLAT_TRY(splat_scratch_take(backend, rows * sizeof *P->dead, (void **)&P->dead, error));
    SPLAT_TRY(splat_scratch_take(backend, draws * sizeof *P->sources, (void **)&P->sources, error));
    SPLAT_TRY(splat_scratch_take(backend, sizeof *P->n_dead, (void **)&P->n_dead, error));
    size_t work = P->scan_bytes > P->select_bytes ? P->scan_bytes : P->select_bytes;
    return splat_scratch_take(backend, work, &P->work, error);
}

/* Weights, their sums, and who is dead. */
static splat_status weigh(splat_cuda_backend *cuda, relocate_parameters *P, uint32_t *n_dead, uint64_t *total,
                          splat_error *error)
{
    weights_kernel<<<splat_cuda_blocks(P->n, RELOCATE_THREADS), RELOCATE_THREADS, 0, cuda->stream>>>(*P);
    CUDA_LAUNCHED("relocation weights");
    CUDA_TRY("sum the weights",
             splat_cuda_sum_shares(P->work, &P->scan_bytes, P->weights, P->sums, P->n, cuda->stream));
    CUDA_TRY("list the dead", splat_cuda_select_dead(P->work, &P->select_bytes, P->weights, P->dead, P->n_dead, P->n,
                                                     cuda->stream));
    CUDA_TRY("read the weights",
             cudaMemcpyAsync(n_dead, P->n_dead, sizeof *n_dead, cudaMemcpyDeviceToHost, cuda->stream));
    CUDA_TRY("read the weights",
             cudaMemcpyAsync(total, P->sums + (P->n - 1), sizeof *total, cudaMemcpyDeviceToHost, cuda->stream));
    CUDA_TRY("read the weights", cudaStreamSynchronize(cuda->stream));
    return SPLAT_OK;
}

/* Draws, what they change of their sources, and the rows that come of them: at `targets`, or appended with moments 0.
 * By kernels alone: the rows may lie in host memory. */
static splat_status draw(splat_cuda_backend *cuda, const relocate_parameters &P, uint32_t n_draws, uint64_t first,
                         const uint32_t *targets, splat_error *error)
{
    draw_kernel<<<splat_cuda_blocks(n_draws, RELOCATE_THREADS), RELOCATE_THREADS, 0, cuda->stream>>>(P, n_draws, first);
    CUDA_LAUNCHED("relocation draw");
    divide_kernel<<<splat_cuda_blocks(P.n, RELOCATE_THREADS), RELOCATE_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("relocation divide");
    for (int a = 0; a < P.arrays.n; a++) {
        const bool is_moment = a >= P.arrays.n_copied;
        dim3 threads(P.arrays.words[a], RELOCATE_THREADS / P.arrays.words[a]);
        if (is_moment) {
            restart_kernel<<<splat_cuda_blocks(P.n, threads.y), threads, 0, cuda->stream>>>(P.arrays.data[a], P.counts,
                                                                                           P.weights, P.n);
            CUDA_LAUNCHED("relocation restart");
        }
        if (is_moment && targets) continue; /* a moved Gaussian keeps its own */
        place_kernel<<<splat_cuda_blocks(n_draws, threads.y), threads, 0, cuda->stream>>>(
            P.arrays.data[a], is_moment ? NULL : P.sources, targets, P.n, n_draws);
        CUDA_LAUNCHED("relocation place");
    }
    return SPLAT_OK;
}

static relocate_parameters parameters_of(const struct splat_density_relocate_args *args)
{
    const splat_gaussians *g = args->gaussians;
    relocate_parameters P = {};
    P.n = g->n;
    P.dead_opacity = args->dead_opacity;
    P.seed = args->seed;
    P.step = args->step;
    P.arrays = splat_density_arrays_list(g, args->moments, NULL);
    P.opacities = g->p.opacities;
    P.scales = g->p.scales;
    P.rotations = g->p.rotations;
    P.filter_3d = g->filter_3d;
    return P;
}

extern "C" splat_status splat_density_relocate_cuda(splat_backend *backend,
                                                    const struct splat_density_relocate_args *args, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    splat_density_relocated result = {};
    uint32_t n_dead = 0, unused;
    uint64_t total = 0;
    *args->result = result;
    SPLAT_TRY(splat_density_relocate_check(args, error));
    if (args->gaussians->n == 0) return SPLAT_OK;
    relocate_parameters P = parameters_of(args);
    SPLAT_TRY(reserve(cuda, args->n_new, &P, error));
    SPLAT_TRY(weigh(cuda, &P, &n_dead, &total, error));
    result.n_dead = n_dead;
    if (n_dead && total) {
        SPLAT_TRY(draw(cuda, P, n_dead, 0, P.dead, error));
        result.n_relocated = n_dead;
        if (args->n_new) SPLAT_TRY(weigh(cuda, &P, &unused, &total, error));
    }
    if (args->n_new && total) {
        SPLAT_TRY(draw(cuda, P, args->n_new, n_dead, NULL, error));
        result.n_added = args->n_new;
    }
    *args->result = result;
    return SPLAT_OK;
}
