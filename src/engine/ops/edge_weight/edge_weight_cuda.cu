/* edge_weight on CUDA: a thread a pixel, in two passes; between them the range of the picture, by atomics on the bits
 * of floats that are not negative, which have the order of the floats. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/edge_weight/edge_weight_math.h"
}

#define EDGE_X 32
#define EDGE_Y 8

/* Least, then largest. */
typedef uint32_t *edge_range;

__global__ void __launch_bounds__(EDGE_X * EDGE_Y)
    strength_kernel(const __grid_constant__ splat_edge_weight_args args, edge_range range)
{
    const int x = blockIdx.x * EDGE_X + threadIdx.x, y = blockIdx.y * EDGE_Y + threadIdx.y;
    uint32_t least = UINT32_MAX, largest = 0;
    if (x < args.width && y < args.height && !splat_edge_is_border(&args, x, y)) {
        float strength = splat_edge_strength(&args, x, y);
        args.weights[(size_t)y * args.width + x] = strength;
        least = largest = __float_as_uint(strength);
    }
#pragma unroll
    for (int offset = 16; offset; offset /= 2) { /* a row of the block is a warp */
        least = min(least, __shfl_xor_sync(0xffffffffu, least, offset));
        largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
    }
    if (threadIdx.x != 0 || least == UINT32_MAX) return;
    atomicMin(&range[0], least);
    atomicMax(&range[1], largest);
}

__global__ void __launch_bounds__(EDGE_X * EDGE_Y)
    weight_kernel(const __grid_constant__ splat_edge_weight_args args, const uint32_t *range)
{
    const int x = blockIdx.x * EDGE_X + threadIdx.x, y = blockIdx.y * EDGE_Y + threadIdx.y;
    if (x >= args.width || y >= args.height) return;
    float *weight = &args.weights[(size_t)y * args.width + x];
    *weight = splat_edge_is_border(&args, x, y)
                  ? 0.0f
                  : splat_edge_weight_of(*weight, __uint_as_float(range[0]), __uint_as_float(range[1]));
}

extern "C" splat_status splat_edge_weight_cuda(splat_backend *backend, const struct splat_edge_weight_args *args,
                                               splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const dim3 grid(splat_cuda_blocks(args->width, EDGE_X), splat_cuda_blocks(args->height, EDGE_Y));
    const dim3 block(EDGE_X, EDGE_Y);
    void *data;
    SPLAT_TRY(splat_edge_weight_check(args, error));
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_edge_weight_scratch_bytes(true, (size_t)args->height), &data, error));
    edge_range range = (edge_range)data;
    CUDA_TRY("clear a range", cudaMemsetAsync(range, 0xff, sizeof *range, cuda->stream));
    CUDA_TRY("clear a range", cudaMemsetAsync(range + 1, 0, sizeof *range, cuda->stream));
    strength_kernel<<<grid, block, 0, cuda->stream>>>(*args, range);
    CUDA_LAUNCHED("edge_weight");
    weight_kernel<<<grid, block, 0, cuda->stream>>>(*args, range);
    CUDA_LAUNCHED("edge_weight scale");
    return SPLAT_OK;
}
