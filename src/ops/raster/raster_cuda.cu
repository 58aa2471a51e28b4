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
__global__ void __launch_bounds__(RASTER_THREADS) raster_kernel(const __grid_constant__ raster_parameters P)
{
    __shared__ staged<false> warps[TILE_PATCHES];
    staged<false> &s = warps[threadIdx.x / 32];
    const uint32_t tile = P.tile_order[blockIdx.x];
    lane_pixels p = pixels_of(P, tile, threadIdx.x / 32);
    tile_list list = list_of(P, tile);
    raster_pixel<COUNTED> q = {position_of(P, p, 0), 1.0f, 0.0f, 0.0f, 0.0f, 0, 0, !is_inside(P, p, 0)};
    walk_forward(P, list, p, q, s);
    if (!is_inside(P, p, 0)) return;
    size_t at = index_of(P, p, 0), plane = (size_t)P.width * P.height;
    P.image[at] = q.r + q.T * P.background[0];
    P.image[plane + at] = q.g + q.T * P.background[1];
    P.image[2 * plane + at] = q.b + q.T * P.background[2];
    P.transmittance[at] = q.T;
    P.last[at] = q.last;
    if (COUNTED) P.blended[at] = q.n_blended;
}

extern "C" splat_status splat_raster_cuda(splat_backend *backend, const struct splat_raster_args *args,
                                          splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    SPLAT_TRY(splat_cuda_join(cuda, error)); /* colours may have been written beside bin */
    const raster_parameters P = parameters_of(args->frame, NULL);
    const unsigned tiles = tiles_of_band(args->frame);
    if (P.blended)
        raster_kernel<true><<<tiles, RASTER_THREADS, 0, cuda->stream>>>(P);
    else
        raster_kernel<false><<<tiles, RASTER_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("raster");
    return SPLAT_OK;
}
