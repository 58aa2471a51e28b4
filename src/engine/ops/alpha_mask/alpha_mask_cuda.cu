/* alpha_mask on CUDA: a thread a pixel. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/alpha_mask/alpha_mask.h"
}

#define ALPHA_MASK_THREADS 256

__global__ void __launch_bounds__(ALPHA_MASK_THREADS)
    alpha_mask_kernel(const __grid_constant__ splat_alpha_mask_args args, float scale, size_t plane)
{
    const size_t i = (size_t)blockIdx.x * ALPHA_MASK_THREADS + threadIdx.x;
    if (i >= plane) return;
    const uint8_t mask = args.mask[i];
    if (args.grad_alpha)
        args.grad_alpha[i] = splat_alpha_mask_gradient(mask, args.is_soft, args.transmittance[i], scale);
    if (!args.photo_f32) return;
    for (int c = 0; c < 3; c++) {
        float *at = &args.photo_f32[c * plane + i];
        float photo = args.photo_u8 ? (float)args.photo_u8[3 * i + c] / 255.0f : *at;
        *at = photo + splat_alpha_mask_shift(mask, args.background[c] - args.composited);
    }
}

__global__ void __launch_bounds__(ALPHA_MASK_THREADS)
    alpha_mask_maps_kernel(const __grid_constant__ splat_alpha_mask_args args, size_t n_maps)
{
    const size_t i = (size_t)blockIdx.x * ALPHA_MASK_THREADS + threadIdx.x;
    if (i >= n_maps || !splat_alpha_mask_hides(&args, i)) return;
    for (int c = 0; c < args.n_channels; c++) args.maps[c * n_maps + i] = args.maps_value;
}

extern "C" splat_status splat_alpha_mask_cuda(splat_backend *backend, const struct splat_alpha_mask_args *args,
                                              splat_error *error)
{
    SPLAT_TRY(splat_alpha_mask_check(args, error));
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const size_t plane = (size_t)args->width * args->height;
    if (args->grad_alpha || args->photo_f32) {
        alpha_mask_kernel<<<splat_cuda_blocks(plane, ALPHA_MASK_THREADS), ALPHA_MASK_THREADS, 0, cuda->stream>>>(
            *args, splat_alpha_mask_scale(args), plane);
        CUDA_LAUNCHED("alpha_mask");
    }
    if (args->maps) {
        const size_t n_maps = (size_t)args->maps_width * args->maps_height;
        alpha_mask_maps_kernel<<<splat_cuda_blocks(n_maps, ALPHA_MASK_THREADS), ALPHA_MASK_THREADS, 0, cuda->stream>>>(
            *args, n_maps);
        CUDA_LAUNCHED("alpha_mask maps");
    }
    return SPLAT_OK;
}
