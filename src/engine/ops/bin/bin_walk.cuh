/* bin on CUDA: which tiles a Gaussian meets, and how the Gaussians are spread over the lanes of a device. */
#ifndef SPLAT_OPS_BIN_WALK_CUH
#define SPLAT_OPS_BIN_WALK_CUH

#include "backend/cuda_backend.cuh"

#define WALK_THREADS 512
#define WALK_WARPS (WALK_THREADS / 32)
#define WALK_EACH 4 /* Gaussians of a lane at a time */
#define WALK_PER_MULTIPROCESSOR 3
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define WALK_RESIDENT 2 /* a multiprocessor of sm_75 has 1,024 threads */
#else
#define WALK_RESIDENT WALK_PER_MULTIPROCESSOR
#endif

struct bin_parameters {
    uint32_t n, tiles_x, capacity; /* n: Gaussians; capacity: room for instances */
    uint32_t row_begin, row_end;   /* the band */
    uint64_t n_view;       /* instances of the whole view where it is done in bands, else 0 */
    float widen;           /* half a pixel with ray jitter */
    float last_x, last_y;  /* of the picture */
    const float2 *mean2d;
    const float4 *conic;
    const float *depth;
    const ushort4 *rects;
    uint32_t range_rows;   /* rows of tiles that a block counts: those of one blockIdx.y */
    uint32_t *lengths;     /* [tiles of the band] of their lists */
    uint32_t *shares;      /* [blocks along x][tiles of the band] where the block's share of the list begins in it */
    uint64_t *keys;        /* [capacity] depth and visible index */
    uint32_t *tile_begin, *tile_order, *instances;
    splat_cuda_view_state *state;
};

/* The tiles of a row that the ellipse alpha >= 1/255 meets: it and the row's band are convex, so its x range there
 * decides (as AccuTile of Speedy-Splat does). All kernels must find the same tiles to the last bit, as one counts what
 * another writes; so what a compiler may or may not contract is written as it is meant, fmaf or __fmul_rn. */
struct tile_walk {
    float u, v, a, b, c, k, det, hx, hy;
    ushort4 rect;
    bool whole_rows; /* a needle too thin for float: every tile of its rectangle is taken */
};

__device__ __forceinline__ tile_walk no_tiles()
{
    tile_walk w;
    w.rect = make_ushort4(0, 0, 0, 0);
    return w;
}

__device__ __forceinline__ tile_walk walk_of(const bin_parameters &P, uint32_t id)
{
    tile_walk w;
    w.rect = P.rects[id];
    w.rect.y = (unsigned short)max((uint32_t)w.rect.y, P.row_begin);
    w.rect.w = (unsigned short)min((uint32_t)w.rect.w, P.row_end);
    if (w.rect.x >= w.rect.z || w.rect.y >= w.rect.w) return no_tiles();
    float4 q = P.conic[id];
    float k = 2.0f * (logf(255.0f * q.w) + 5e-5f);
    if (!(k > 0.0f)) return no_tiles(); /* too faint for any pixel */
    float2 m = P.mean2d[id];
    w.u = m.x, w.v = m.y, w.a = q.x, w.b = q.y, w.c = q.z;
    w.det = splat_determinant(q.x, q.y, q.z);
    float ratio = q.x * q.z / w.det;
    w.whole_rows = !(w.det > 0.0f && ratio < SPLAT_CULL_RATIO);
    w.k = k * fmaf(4e-6f, ratio, 1.001f);
    w.hx = sqrtf(w.k * q.z / w.det);
    w.hy = sqrtf(w.k * q.x / w.det);
    return w;
}

/* Half-open tile columns of row y. */
__device__ __forceinline__ int2 row_span(const bin_parameters &P, const tile_walk &w, int y)
{
    if (w.whole_rows) return make_int2(w.rect.x, w.rect.z);
    float low = fmaxf((float)(y * SPLAT_TILE) - w.v - P.widen - 0.01f, -w.hy);
    float bottom = fminf((float)(y * SPLAT_TILE + SPLAT_TILE - 1), P.last_y); /* the last tiles may be short */
    float high = fminf(bottom - w.v + P.widen + 0.01f, w.hy);
    if (!(low <= high)) return make_int2(0, 0);
    float turn = -w.b / w.c * w.hx; /* dy of the rightmost point; the leftmost is opposite */
    float right = fminf(fmaxf(turn, low), high), left = fminf(fmaxf(-turn, low), high);
    float ak = __fmul_rn(w.a, w.k);
    float x1 = fmaf(-w.b, right, sqrtf(fmaxf(fmaf(-w.det * right, right, ak), 0.0f))) / w.a;
    float x0 = fmaf(-w.b, left, -sqrtf(fmaxf(fmaf(-w.det * left, left, ak), 0.0f))) / w.a;
    x0 = w.u + x0 - P.widen - 0.01f;
    x1 = w.u + x1 + P.widen + 0.01f;
    if (x0 > P.last_x) return make_int2(0, 0);
    int first = max((int)w.rect.x, (int)ceilf((x0 - (SPLAT_TILE - 1)) / SPLAT_TILE));
    int last = min((int)w.rect.z, (int)floorf(x1 / SPLAT_TILE) + 1);
    return make_int2(first, max(first, last));
}

__device__ __forceinline__ uint32_t inclusive_warp_sum(uint32_t value)
{
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
        uint32_t other = __shfl_up_sync(0xffffffffu, value, offset);
        if ((int)(threadIdx.x & 31) >= offset) value += other;
    }
    return value;
}

/* Calls take(v, y, span) for the rows of tiles begin to end of the Gaussians that this block has. A warp takes
 * some at a time, and spreads their rows over its lanes: most Gaussians of a model are not in the picture, and of those
 * that are most have a row or two and some have all. Every launch with as many blocks gives them the same Gaussians. */
template <typename TAKE>
__device__ __forceinline__ void walk_rows(const bin_parameters &P, uint32_t begin, uint32_t end, TAKE take)
{
    __shared__ uint32_t all_ids[WALK_WARPS][32 * WALK_EACH], all_ends[WALK_WARPS][32 * WALK_EACH];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    uint32_t *ids = all_ids[warp], *ends = all_ends[warp]; /* of those with a row; ends: inclusive sums of the rows */
    for (uint64_t batch = warp * gridDim.x + blockIdx.x; batch * (32 * WALK_EACH) < P.n;
         batch += WALK_WARPS * gridDim.x) {
        const uint64_t first = batch * (32 * WALK_EACH) + lane;
        ushort4 rects[WALK_EACH];
#pragma unroll
        for (int i = 0; i < WALK_EACH; i++)
            rects[i] = first + 32 * i < P.n ? P.rects[first + 32 * i] : make_ushort4(0, 0, 0, 0);
        uint32_t n_ids = 0, n_rows = 0;
#pragma unroll
        for (int i = 0; i < WALK_EACH; i++) {
            const uint32_t top = max((uint32_t)rects[i].y, begin), bottom = min((uint32_t)rects[i].w, end);
            const bool some = rects[i].x < rects[i].z && top < bottom;
            const uint32_t sum = n_rows + inclusive_warp_sum(some ? bottom - top : 0);
            const unsigned lanes = __ballot_sync(0xffffffffu, some);
            if (some) {
                uint32_t at = n_ids + __popc(lanes & ((1u << lane) - 1));
                ids[at] = (uint32_t)first + 32 * i;
                ends[at] = sum;
            }
            n_ids += __popc(lanes);
            n_rows = __shfl_sync(0xffffffffu, sum, 31);
        }
        __syncwarp();
        for (uint32_t row = lane; row < n_rows; row += 32) {
            uint32_t at = 0; /* how many ended before this row */
#pragma unroll
            for (uint32_t step = 32 * WALK_EACH / 2; step > 0; step /= 2)
                if (at + step <= n_ids && ends[at + step - 1] <= row) at += step;
            const uint32_t v = ids[at];
            const tile_walk w = walk_of(P, v);
            const uint32_t y = min((uint32_t)P.rects[v].w, end) - (ends[at] - row);
            const int2 span = w.rect.x < w.rect.z ? row_span(P, w, (int)y) : make_int2(0, 0);
            if (span.x < span.y) take(v, y, span);
        }
        __syncwarp();
    }
}

#endif
