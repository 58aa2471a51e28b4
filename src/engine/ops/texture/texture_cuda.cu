/* texture_gather and texture_blend on CUDA: a thread a texel. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/texture/texture.h"
}
#include "ops/texture/texture_math.h"

#define TEXTURE_THREADS 128

__global__ void __launch_bounds__(TEXTURE_THREADS)
    texture_gather_kernel(const __grid_constant__ struct splat_texture_gather_args P)
{
    size_t i = (size_t)blockIdx.x * TEXTURE_THREADS + threadIdx.x;
    if (i < P.points.n) splat_texture_gather_one(&P, i);
}

__global__ void __launch_bounds__(TEXTURE_THREADS)
    texture_blend_kernel(const __grid_constant__ struct splat_texture_blend_args P)
{
    size_t i = (size_t)blockIdx.x * TEXTURE_THREADS + threadIdx.x;
    if (i < P.points.n) splat_texture_blend_one(&P, i);
}

extern "C" splat_status splat_texture_gather_cuda(splat_backend *backend, const struct splat_texture_gather_args *args,
                                                  splat_error *error)
{
    SPLAT_TRY(splat_texture_gather_check(args, error));
    if (args->points.n == 0) return SPLAT_OK;
    texture_gather_kernel<<<splat_cuda_blocks(args->points.n, TEXTURE_THREADS), TEXTURE_THREADS, 0,
                            splat_cuda_of(backend)->stream>>>(*args);
    CUDA_LAUNCHED("texture_gather");
    return SPLAT_OK;
}

extern "C" splat_status splat_texture_blend_cuda(splat_backend *backend, const struct splat_texture_blend_args *args,
                                                 splat_error *error)
{
    if (args->points.n == 0) return SPLAT_OK;
    texture_blend_kernel<<<splat_cuda_blocks(args->points.n, TEXTURE_THREADS), TEXTURE_THREADS, 0,
                           splat_cuda_of(backend)->stream>>>(*args);
    CUDA_LAUNCHED("texture_blend");
    return SPLAT_OK;
}
