/* jitter on CUDA: a thread a pixel. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "base/rng.h"
#include "ops/jitter/jitter.h"
}

#define JITTER_WIDTH 32
#define JITTER_HEIGHT 8

/* Two neighbours and the weight of the second, for a coordinate clamped to [0, size - 1]. */
struct tap {
    int low, high;
    float weight;
};

/* The clamp is on the sum (pixel + offset), but floor and weight come from the offset alone: no digit is lost to a
 * large pixel index. */
__device__ __forceinline__ tap tap_at(int pixel, float offset, int size)
{
    tap t;
    int low = offset < 0.0f ? pixel - 1 : pixel;
    bool between = low >= 0 && low < size - 1;
    t.low = min(max(low, 0), size - 1);
    t.high = between ? low + 1 : t.low;
    t.weight = between ? (offset < 0.0f ? offset + 1.0f : offset) : 0.0f;
    return t;
}

__global__ void __launch_bounds__(JITTER_WIDTH * JITTER_HEIGHT)
    jitter_kernel(const __grid_constant__ struct splat_jitter_args P)
{
    int x = (int)(blockIdx.x * JITTER_WIDTH + threadIdx.x), y = (int)(blockIdx.y * JITTER_HEIGHT + threadIdx.y);
    if (x >= P.width || y >= P.height) return;
    size_t pixel = (size_t)y * P.width + x, n = (size_t)P.width * P.height;
    splat_random4 r = splat_random(P.seed, SPLAT_STREAM_RAY_JITTER, P.step, pixel);
    float offset_x = splat_uniform(r.x[0]) - 0.5f, offset_y = splat_uniform(r.x[1]) - 0.5f;
    P.offsets[pixel] = offset_x;
    P.offsets[n + pixel] = offset_y;
    if (!P.photo_f32) return;
    tap tx = tap_at(x, offset_x, P.width), ty = tap_at(y, offset_y, P.height);
    const uint8_t *top = P.photo_u8 + 3 * ((size_t)ty.low * P.width);
    const uint8_t *bottom = P.photo_u8 + 3 * ((size_t)ty.high * P.width);
    size_t left = 3 * (size_t)tx.low, right = 3 * (size_t)tx.high;
#pragma unroll
    for (int c = 0; c < 3; c++) {
        float a = top[left + c], b = top[right + c], d = bottom[left + c], e = bottom[right + c];
        float upper = a + tx.weight * (b - a), lower = d + tx.weight * (e - d);
        P.photo_f32[c * n + pixel] = (upper + ty.weight * (lower - upper)) / 255.0f;
    }
}

extern "C" splat_status splat_jitter_cuda(splat_backend *backend, const struct splat_jitter_args *args,
                                          splat_error *error)
{
    SPLAT_TRY(splat_jitter_check(args, error));
    dim3 block(JITTER_WIDTH, JITTER_HEIGHT);
    dim3 grid(splat_cuda_blocks((uint64_t)args->width, JITTER_WIDTH),
              splat_cuda_blocks((uint64_t)args->height, JITTER_HEIGHT));
    jitter_kernel<<<grid, block, 0, splat_cuda_of(backend)->stream>>>(*args);
    CUDA_LAUNCHED("jitter");
    return SPLAT_OK;
}
