/* density_draw on CUDA. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/densify/draw_key.h"
}

#define DRAW_THREADS 256

__global__ void __launch_bounds__(DRAW_THREADS)
    draw_kernel(const __grid_constant__ splat_density_draw_args args,
                const __grid_constant__ splat_statistics statistics, splat_density_drawn *counts)
{
    const uint32_t i = blockIdx.x * DRAW_THREADS + threadIdx.x;
    bool candidate = false, drawn = false;
    if (i < args.n) {
        const float mean = splat_density_mean(statistics.grad_abs[i], statistics.count[i]);
        candidate = mean >= args.threshold;
        drawn = candidate && splat_draw_key(&args, i, mean) <= args.limit;
        args.actions[i] = drawn ? SPLAT_DENSITY_LONG : SPLAT_DENSITY_KEEP;
    }
    const int n_candidates = __syncthreads_count(candidate), n_drawn = __syncthreads_count(drawn);
    if (threadIdx.x == 0 && n_candidates) atomicAdd(&counts->n_candidates, (uint32_t)n_candidates);
    if (threadIdx.x == 0 && n_drawn) atomicAdd(&counts->n_drawn, (uint32_t)n_drawn);
}

extern "C" splat_status splat_density_draw_cuda(splat_backend *backend, const struct splat_density_draw_args *args,
                                                splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    void *counts;
    SPLAT_TRY(splat_density_draw_check(args, error));
    *args->result = splat_density_drawn{0, 0};
    if (args->n == 0) return SPLAT_OK;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, sizeof *args->result, &counts, error));
    CUDA_TRY("clear its counters", cudaMemsetAsync(counts, 0, sizeof *args->result, cuda->stream));
    draw_kernel<<<splat_cuda_blocks(args->n, DRAW_THREADS), DRAW_THREADS, 0, cuda->stream>>>(
        *args, *args->statistics, (splat_density_drawn *)counts);
    CUDA_LAUNCHED("density draw");
    CUDA_TRY("read the draw", cudaMemcpyAsync(args->result, counts, sizeof *args->result, cudaMemcpyDeviceToHost,
                                              cuda->stream));
    CUDA_TRY("read the draw", cudaStreamSynchronize(cuda->stream));
    return SPLAT_OK;
}
