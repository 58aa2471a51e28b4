/* The ops of known depth on CUDA: a warp a drawn patch, a thread a point, and a block a sum. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/depth_prior/depth_prior_math.h"
}

#define MAP_THREADS 256
#define POINT_THREADS 128

/* Warp i of all takes patch i: they lie by tiles, drawn ones of a tile one after another. */
__global__ void __launch_bounds__(MAP_THREADS)
    depth_map_kernel(const __grid_constant__ splat_depth_map_args args, uint32_t tiles_x, uint64_t n_patches,
                     float scale, double share)
{
    __shared__ double2 parts[MAP_THREADS / 32];
    const uint32_t lane = threadIdx.x & 31, n_parts = args.patches.n_parts, per_tile = SPLAT_TILE_PATCHES / n_parts;
    uint64_t patch = (uint64_t)blockIdx.x * (MAP_THREADS / 32) + threadIdx.x / 32;
    double loss = 0.0;
    for (; patch < n_patches; patch += (uint64_t)SPLAT_DEPTH_SUMS * (MAP_THREADS / 32)) {
        const uint32_t tile = (uint32_t)(patch / per_tile), drawn = splat_patches_drawn(&args.patches, tile);
        const uint32_t k = (uint32_t)__ffs((int)drawn) - 1 + n_parts * (uint32_t)(patch % per_tile);
        const uint32_t x = tile % tiles_x * SPLAT_TILE + k % 2 * SPLAT_PATCH_WIDTH + lane % SPLAT_PATCH_WIDTH;
        const uint32_t y = tile / tiles_x * SPLAT_TILE + k / 2 * SPLAT_PATCH_HEIGHT + lane / SPLAT_PATCH_WIDTH;
        if (x >= (uint32_t)args.width || y >= (uint32_t)args.height) continue;
        const size_t i = (size_t)y * args.width + x;
        float sign;
        loss += splat_depth_map_pixel(&args, i, &sign);
        args.gradient[i] = scale * sign;
    }
    const double2 sum = splat_block_sum2<MAP_THREADS / 32>(loss, 0.0, parts);
    if (threadIdx.x == 0) args.result[blockIdx.x] = share * sum.x;
}

extern "C" splat_status splat_depth_map_cuda(splat_backend *backend, const struct splat_depth_map_args *args,
                                             splat_error *error)
{
    SPLAT_TRY(splat_depth_map_check(args, error));
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const uint32_t tiles_x = (uint32_t)splat_tiles_along((size_t)args->width);
    const uint32_t tiles_y = (uint32_t)splat_tiles_along((size_t)args->height);
    const uint64_t n_patches = (uint64_t)tiles_x * tiles_y * (SPLAT_TILE_PATCHES / args->patches.n_parts);
    const double share = (double)args->patches.n_parts / ((double)args->width * (double)args->height);
    depth_map_kernel<<<SPLAT_DEPTH_SUMS, MAP_THREADS, 0, cuda->stream>>>(*args, tiles_x, n_patches,
                                                                        splat_depth_map_scale(args), share);
    CUDA_LAUNCHED("depth_map");
    return SPLAT_OK;
}

/* No two points share a pixel. */
__global__ void __launch_bounds__(POINT_THREADS)
    depth_points_kernel(const __grid_constant__ splat_depth_points_args args)
{
    __shared__ double2 parts[POINT_THREADS / 32];
    double loss = 0, count = 0;
    for (uint64_t i = blockIdx.x * POINT_THREADS + threadIdx.x; i < args.n; i += SPLAT_DEPTH_SUMS * POINT_THREADS) {
        int counts;
        loss += splat_depth_points_one(&args, (uint32_t)i, &counts);
        count += counts;
    }
    const double2 sum = splat_block_sum2<POINT_THREADS / 32>(loss, count, parts);
    if (threadIdx.x != 0) return;
    args.result[2 * blockIdx.x] = sum.x;
    args.result[2 * blockIdx.x + 1] = sum.y;
}

extern "C" splat_status splat_depth_points_cuda(splat_backend *backend, const struct splat_depth_points_args *args,
                                                splat_error *error)
{
    SPLAT_TRY(splat_depth_points_check(args, error));
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    depth_points_kernel<<<SPLAT_DEPTH_SUMS, POINT_THREADS, 0, cuda->stream>>>(*args);
    CUDA_LAUNCHED("depth_points");
    return SPLAT_OK;
}
