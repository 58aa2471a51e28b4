/* visibility_buffer on CUDA: a thread prepares a Gaussian, then a warp draws it, or the whole block where the box is
 * large. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/visibility_buffer/visibility_buffer.h"
#include "ops/visibility_buffer/visibility_buffer_math.h"
}

#define DRAW_THREADS 128
#define LARGE_BOX 4096 /* pixels of a box that the block draws together */

struct draw_parameters {
    uint32_t n, n_pixels;
    splat_camera camera;
    const float *means, *scales, *rotations;
    unsigned long long *keys;
    uint32_t *ids;
    float *depth;
};

/* This thread's share: one pixel of each patch of columns x rows of the box. */
__device__ __forceinline__ void draw(const draw_parameters &P, const splat_diamond &d, uint32_t index, int thread,
                                     int columns, int rows)
{
    for (int j = d.y0 + thread / columns; j < d.y1; j += rows)
        for (int i = d.x0 + thread % columns; i < d.x1; i += columns) {
            float depth;
            if (!splat_diamond_covers(&d, i, j, &depth)) continue;
            unsigned long long *at = &P.keys[(size_t)j * P.camera.width + i], key = splat_visibility_key(depth, index);
            if (key < *(volatile unsigned long long *)at) atomicMin(at, key); /* most are hidden: reading is cheaper */
        }
}

__device__ __forceinline__ bool is_large(const splat_diamond &d)
{
    return (int64_t)(d.x1 - d.x0) * (d.y1 - d.y0) > LARGE_BOX;
}

__global__ void __launch_bounds__(DRAW_THREADS) draw_kernel(const __grid_constant__ draw_parameters P)
{
    __shared__ splat_diamond diamonds[DRAW_THREADS];
    const uint32_t first = blockIdx.x * DRAW_THREADS, own = first + threadIdx.x;
    const int lane = threadIdx.x & 31, warp_begin = threadIdx.x - lane;
    splat_diamond d = {};
    if (own < P.n)
        d = splat_diamond_make(&P.camera, P.means + 3 * (size_t)own, P.scales + 3 * (size_t)own,
                               P.rotations + 4 * (size_t)own);
    bool draws = d.x1 > d.x0 && d.y1 > d.y0;
    diamonds[threadIdx.x] = d;
    unsigned small = __ballot_sync(0xffffffffu, draws && !is_large(d));
    int any_large = __syncthreads_or(draws && is_large(d));
    for (; small; small &= small - 1) {
        int k = warp_begin + __ffs(small) - 1;
        draw(P, diamonds[k], first + k, lane, 8, 4);
    }
    for (int k = 0; any_large && k < DRAW_THREADS; k++) /* those that draw nothing have no pixels and are not large */
        if (is_large(diamonds[k])) draw(P, diamonds[k], first + k, threadIdx.x, 32, DRAW_THREADS / 32);
}

__global__ void __launch_bounds__(DRAW_THREADS) unpack_kernel(const __grid_constant__ draw_parameters P)
{
    uint32_t i = blockIdx.x * DRAW_THREADS + threadIdx.x;
    if (i < P.n_pixels) splat_visibility_unpack(P.keys[i], &P.ids[i], &P.depth[i]);
}

extern "C" splat_status splat_visibility_buffer_cuda(splat_backend *backend,
                                                     const struct splat_visibility_buffer_args *args,
                                                     splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const splat_gaussians *g = args->gaussians;
    size_t n_pixels = (size_t)args->camera->width * args->camera->height;
    void *keys;
    if (n_pixels > UINT32_MAX / 2)
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "a picture of %d x %d pixels is too large for surface points",
                          args->camera->width, args->camera->height);
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, n_pixels * sizeof(uint64_t), &keys, error));
    draw_parameters P = {g->n, (uint32_t)n_pixels, *args->camera, g->p.means, g->p.scales, g->p.rotations,
                         (unsigned long long *)keys, args->ids, args->depth};
    static_assert(SPLAT_VISIBILITY_NOTHING == ~(uint64_t)0, "all bytes are 0xff");
    CUDA_TRY("clear memory", cudaMemsetAsync(keys, 0xff, n_pixels * sizeof(uint64_t), cuda->stream));
    if (P.n) {
        draw_kernel<<<splat_cuda_blocks(P.n, DRAW_THREADS), DRAW_THREADS, 0, cuda->stream>>>(P);
        CUDA_LAUNCHED("visibility_buffer");
    }
    unpack_kernel<<<splat_cuda_blocks(n_pixels, DRAW_THREADS), DRAW_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("visibility_buffer unpack");
    return SPLAT_OK;
}
