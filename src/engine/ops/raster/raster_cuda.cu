/* raster on CUDA: what a pixel gathers on its walk (walk_cuda.cuh) along the tile's list. */
#include "ops/raster/walk_cuda.cuh"

#define RASTER_THREADS (32 * TILE_PATCHES)

/* A pixel on its way from the front. */
template <bool COUNTED>
struct raster_pixel {
    float2 at;
    float T, r, g, b;
    uint32_t last, n_blended;
    bool done;
    float along, inverse; /* of depths */
};

template <bool COUNTED>
__device__ __forceinline__ void add_entry(raster_pixel<COUNTED> &q, float4 channels, float weight, float, uint32_t)
{
    q.r += channels.x * weight;
    q.g += channels.y * weight;
    q.b += channels.z * weight;
    if (COUNTED) q.n_blended++;
}

template <bool COUNTED>
__device__ __forceinline__ void add_depth(raster_pixel<COUNTED> &q, float2 depth, float weight)
{
    q.along += depth.x * weight;
    q.inverse += depth.y * weight;
}

/* The pixels of a warp. */
template <splat_walk WALK, bool COUNTED>
__device__ __forceinline__ void blend_patch(const raster_parameters &P, uint32_t tile, staged<WALK> &s)
{
    lane_pixels p = pixels_of(P, tile, threadIdx.x / 32);
    tile_list list = list_of(P, tile);
    raster_pixel<COUNTED> q = {position_of(P, p, 0), 1.0f, 0.0f, 0.0f, 0.0f, 0, 0, !is_inside(P, p, 0), 0.0f, 0.0f};
    walk_forward(P, list, p, q, s);
    if (!is_inside(P, p, 0)) return;
    size_t at = index_of(P, p, 0), plane = (size_t)P.width * P.height;
    P.image[at] = q.r + q.T * P.background[0];
    P.image[plane + at] = q.g + q.T * P.background[1];
    P.image[2 * plane + at] = q.b + q.T * P.background[2];
    P.transmittance[at] = q.T;
    P.last[at] = q.last;
    if (COUNTED) P.blended[at] = q.n_blended;
    if (WALK == SPLAT_WALK_DEPTHS && P.along) P.along[at] = q.along;
    if (WALK == SPLAT_WALK_DEPTHS && P.inverse) P.inverse[at] = q.inverse;
}

template <bool COUNTED>
__global__ void __launch_bounds__(RASTER_THREADS) raster_kernel(const __grid_constant__ raster_parameters P)
{
    __shared__ staged<SPLAT_WALK_COLOURS> warps[TILE_PATCHES];
    blend_patch<SPLAT_WALK_COLOURS, COUNTED>(P, P.tile_order[blockIdx.x], warps[threadIdx.x / 32]);
}

/* The same with depths, in the patches that they are asked for in. */
template <bool COUNTED>
__global__ void __launch_bounds__(RASTER_THREADS) raster_depth_kernel(const __grid_constant__ raster_parameters P)
{
    __shared__ union {
        staged<SPLAT_WALK_COLOURS> plain;
        staged<SPLAT_WALK_DEPTHS> depths;
    } warps[TILE_PATCHES];
    const uint32_t tile = P.tile_order[blockIdx.x], patch = threadIdx.x / 32;
    if (splat_patches_of(&P.patches, tile) >> patch & 1)
        blend_patch<SPLAT_WALK_DEPTHS, COUNTED>(P, tile, warps[patch].depths);
    else
        blend_patch<SPLAT_WALK_COLOURS, COUNTED>(P, tile, warps[patch].plain);
}

extern "C" splat_status splat_raster_cuda(splat_backend *backend, const struct splat_raster_args *args,
                                          splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    SPLAT_TRY(splat_cuda_join_coloured(cuda, error)); /* colours may have been written during bin */
    raster_parameters P = parameters_of(args->frame, NULL);
    const unsigned tiles = tiles_of_band(args->frame);
    set_depth(&P, args->depth);
    if (args->depth && P.blended)
        raster_depth_kernel<true><<<tiles, RASTER_THREADS, 0, cuda->stream>>>(P);
    else if (args->depth)
        raster_depth_kernel<false><<<tiles, RASTER_THREADS, 0, cuda->stream>>>(P);
    else if (P.blended)
        raster_kernel<true><<<tiles, RASTER_THREADS, 0, cuda->stream>>>(P);
    else
        raster_kernel<false><<<tiles, RASTER_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("raster");
    return SPLAT_OK;
}
