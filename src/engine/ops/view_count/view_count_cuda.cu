/* view_count on CUDA: walks as raster does (walk_cuda.cuh), until so much of the light is gone. */
#include "ops/raster/walk_cuda.cuh"

extern "C" {
#include "ops/view_count/view_count.h"
}

#define VIEW_COUNT_THREADS (32 * TILE_PATCHES)

/* A pixel on its way from the front. */
struct view_count_pixel {
    float2 at;
    float T;
    uint32_t last;
    bool done;
    const uint32_t *ids;
    float light, weight;
    uint32_t stamp, *stamps, *counts;
};

/* Most have the stamp already: reading is cheaper. */
__device__ __forceinline__ void add_entry(view_count_pixel &q, float4, float weight, float T_after, uint32_t v)
{
    const uint32_t id = q.ids[v];
    q.done = !(T_after > q.light);
    if (!(weight >= q.weight)) return;
    if (*(volatile uint32_t *)&q.stamps[id] == q.stamp || atomicExch(&q.stamps[id], q.stamp) == q.stamp) return;
    q.counts[id]++; /* this thread alone saw the older stamp */
}

__global__ void __launch_bounds__(VIEW_COUNT_THREADS, 4)
    view_count_kernel(const __grid_constant__ raster_parameters P, const uint32_t *ids,
                      const __grid_constant__ splat_view_count_args args)
{
    __shared__ staged<SPLAT_WALK_COLOURS> warps[TILE_PATCHES];
    staged<SPLAT_WALK_COLOURS> &s = warps[threadIdx.x / 32];
    const uint32_t tile = P.tile_order[blockIdx.x];
    lane_pixels p = pixels_of(P, tile, threadIdx.x / 32);
    const bool inside = is_inside(P, p, 0);
    const bool kept = inside && (!args.mask || args.mask[index_of(P, p, 0)] >= SPLAT_LOSS_KEPT);
    view_count_pixel q = {position_of(P, p, 0), 1.0f, 0, !(kept || (inside && args.masked_counts)), ids, args.light,
                          args.weight, args.stamp, kept ? args.stamps : args.masked_stamps,
                          kept ? args.counts : args.masked_counts};
    walk_forward(P, list_of(P, tile), p, q, s);
}

extern "C" splat_status splat_view_count_cuda(splat_backend *backend, const struct splat_view_count_args *args,
                                              splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    raster_parameters P = parameters_of(args->frame, NULL);
    view_count_kernel<<<tiles_of_band(args->frame), VIEW_COUNT_THREADS, 0, cuda->stream>>>(P, args->frame->ids,
                                                                                             *args);
    CUDA_LAUNCHED("view_count");
    return SPLAT_OK;
}
