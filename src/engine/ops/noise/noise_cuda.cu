/* means_noise on CUDA. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/noise/noise_math.h"
}

#define NOISE_THREADS 256

__global__ void __launch_bounds__(NOISE_THREADS)
    noise_kernel(const __grid_constant__ splat_gaussians g, const __grid_constant__ splat_means_noise_args args)
{
    uint32_t i = blockIdx.x * NOISE_THREADS + threadIdx.x;
    if (i >= g.n) return;
    splat_means_noise_args mine = args;
    mine.gaussians = &g;
    splat_noise_move(&mine, i);
}

extern "C" splat_status splat_means_noise_cuda(splat_backend *backend, const struct splat_means_noise_args *args,
                                               splat_error *error)
{
    const splat_gaussians *g = args->gaussians;
    if (g->n == 0) return SPLAT_OK;
    noise_kernel<<<splat_cuda_blocks(g->n, NOISE_THREADS), NOISE_THREADS, 0, splat_cuda_of(backend)->stream>>>(*g,
                                                                                                               *args);
    CUDA_LAUNCHED("means_noise");
    return SPLAT_OK;
}
