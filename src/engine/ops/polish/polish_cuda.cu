/* polish_draw and polish_step on CUDA: a thread a pixel, and a thread a texel. Gradients are added atomically, as whole
 * numbers. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/polish/polish.h"
}
#include "ops/polish/polish_math.h"

#define POLISH_THREADS 256

__global__ void __launch_bounds__(POLISH_THREADS)
    polish_draw_kernel(const __grid_constant__ struct splat_polish_draw_args P)
{
    size_t i = (size_t)blockIdx.x * POLISH_THREADS + threadIdx.x;
    if (i < P.n_pixels) splat_polish_draw_one(&P, i);
}

__global__ void __launch_bounds__(POLISH_THREADS)
    polish_add_kernel(const __grid_constant__ struct splat_polish_step_args P)
{
    size_t i = (size_t)blockIdx.x * POLISH_THREADS + threadIdx.x, at[4];
    float weight[4];
    if (i >= P.n_pixels || P.places[i].left[0] == SPLAT_POLISH_NO_TEXEL) return;
    splat_polish_taps(&P.places[i], at, weight);
    for (size_t c = 0; c < 3; c++)
        for (int k = 0; k < 4; k++) {
            int32_t share = splat_polish_share(P.grad_image[c * P.n_pixels + i], weight[k], P.n_pixels);
            if (share) atomicAdd(&P.sums[3 * at[k] + c], share);
        }
}

__global__ void __launch_bounds__(POLISH_THREADS)
    polish_step_kernel(const __grid_constant__ struct splat_polish_step_args P)
{
    size_t i = (size_t)blockIdx.x * POLISH_THREADS + threadIdx.x;
    if (i < P.n_texels) splat_polish_step_one(&P, i);
}

extern "C" splat_status splat_polish_draw_cuda(splat_backend *backend, const struct splat_polish_draw_args *args,
                                               splat_error *error)
{
    if (args->n_pixels == 0) return SPLAT_OK;
    polish_draw_kernel<<<splat_cuda_blocks(args->n_pixels, POLISH_THREADS), POLISH_THREADS, 0,
                         splat_cuda_of(backend)->stream>>>(*args);
    CUDA_LAUNCHED("polish_draw");
    return SPLAT_OK;
}

extern "C" splat_status splat_polish_step_cuda(splat_backend *backend, const struct splat_polish_step_args *args,
                                               splat_error *error)
{
    cudaStream_t stream = splat_cuda_of(backend)->stream;
    if (args->n_pixels == 0 || args->n_texels == 0) return SPLAT_OK;
    polish_add_kernel<<<splat_cuda_blocks(args->n_pixels, POLISH_THREADS), POLISH_THREADS, 0, stream>>>(*args);
    CUDA_LAUNCHED("polish_step, adding");
    polish_step_kernel<<<splat_cuda_blocks(args->n_texels, POLISH_THREADS), POLISH_THREADS, 0, stream>>>(*args);
    CUDA_LAUNCHED("polish_step");
    return SPLAT_OK;
}
