/* matte on CUDA: a thread a pixel. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/matte/matte.h"
}

#define MATTE_THREADS 256

__global__ void __launch_bounds__(MATTE_THREADS)
    matte_kernel(const __grid_constant__ splat_matte_args args, float scale, size_t plane)
{
    const size_t i = (size_t)blockIdx.x * MATTE_THREADS + threadIdx.x;
    if (i >= plane) return;
    const uint8_t mask = args.mask[i];
    if (args.grad_alpha)
        args.grad_alpha[i] = splat_matte_gradient(mask, args.is_soft, args.transmittance[i], scale);
    if (!args.photo_f32) return;
    for (int c = 0; c < 3; c++) {
        float *at = &args.photo_f32[c * plane + i];
        float photo = args.photo_u8 ? (float)args.photo_u8[3 * i + c] / 255.0f : *at;
        *at = photo + splat_matte_shift(mask, args.background[c] - args.composited);
    }
}

__global__ void __launch_bounds__(MATTE_THREADS)
    matte_maps_kernel(const __grid_constant__ splat_matte_args args, size_t n_maps)
{
    const size_t i = (size_t)blockIdx.x * MATTE_THREADS + threadIdx.x;
    if (i >= n_maps || !splat_matte_hides(&args, i)) return;
    for (int c = 0; c < args.n_channels; c++) args.maps[c * n_maps + i] = args.maps_value;
}

extern "C" splat_status splat_matte_cuda(splat_backend *backend, const struct splat_matte_args *args,
                                         splat_error *error)
{
    SPLAT_TRY(splat_matte_check(args, error));
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const size_t plane = (size_t)args->width * args->height;
    if (args->grad_alpha || args->photo_f32) {
        matte_kernel<<<splat_cuda_blocks(plane, MATTE_THREADS), MATTE_THREADS, 0, cuda->stream>>>(
            *args, splat_matte_scale(args), plane);
        CUDA_LAUNCHED("matte");
    }
    if (args->maps) {
        const size_t n_maps = (size_t)args->maps_width * args->maps_height;
        matte_maps_kernel<<<splat_cuda_blocks(n_maps, MATTE_THREADS), MATTE_THREADS, 0, cuda->stream>>>(*args, n_maps);
        CUDA_LAUNCHED("matte maps");
    }
    return SPLAT_OK;
}
