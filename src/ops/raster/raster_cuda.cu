/* raster on CUDA: a warp a patch of 8x4 pixels, which walks the tile's list for itself, so that no warp waits for
 * another; Gaussians that cannot reach the patch are skipped. */
#include "ops/raster/raster_cuda.cuh"

#define RASTER_THREADS (32 * TILE_PATCHES)

/* A pixel on its way from the front. */
struct blend {
    float2 at;
    float T, r, g, b;
    uint32_t last, n_blended;
    bool done;
};

template <bool COUNTED>
__global__ void __launch_bounds__(RASTER_THREADS) raster_kernel(const __grid_constant__ raster_parameters P)
{
    __shared__ staged warps[TILE_PATCHES];
    staged &s = warps[threadIdx.x / 32];
    const uint32_t tile = P.tile_order[blockIdx.x], lane = threadIdx.x & 31;
    lane_pixels p = pixels_of(P, tile, threadIdx.x / 32);
    uint32_t begin = P.tile_begin[tile], n = P.tile_begin[tile + 1] - begin;
    if (P.state->overflow) n = 0;
    blend q = {position_of(P, p, 0), 1.0f, 0.0f, 0.0f, 0.0f, 0, 0, !is_inside(P, p, 0)};
    fetched next = fetch(P, begin, lane, lane < n);
    for (uint32_t base = 0; base < n && !__all_sync(0xffffffffu, q.done); base += 32) {
        fetched now = next;
        next = fetch(P, begin, base + 32 + lane, base + 32 + lane < n); /* on its way while this batch is blended */
        int n_staged = stage(s, now, reached_patches<1>(P, p, now));
        for (int i = 0; i < n_staged; i++) {
            float4 look = s.appearance[i];
            float dx, dy, e, alpha;
            if (q.done || !alpha_of(s.geometry[i], look.x, look.y, q.at, &dx, &dy, &e, &alpha)) continue;
            float after = q.T * (1.0f - alpha), weight = alpha * q.T;
            q.done = after < SPLAT_TRANSMITTANCE_MIN;
            if (q.done) continue;
            float4 rest = s.rest[i];
            q.r += look.z * weight;
            q.g += look.w * weight;
            q.b += rest.x * weight;
            q.T = after;
            q.last = __float_as_uint(rest.z);
            if (COUNTED) q.n_blended++;
        }
    }
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
    const raster_parameters P = parameters_of(cuda, args->frame, NULL);
    const unsigned tiles = tiles_of_band(args->frame);
    if (P.blended)
        raster_kernel<true><<<tiles, RASTER_THREADS, 0, cuda->stream>>>(P);
    else
        raster_kernel<false><<<tiles, RASTER_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("raster");
    return SPLAT_OK;
}
