/* bin on CUDA: which tiles a Gaussian meets, and how the Gaussians are spread over the lanes of a device. */
#ifndef SPLAT_OPS_BIN_WALK_CUH
#define SPLAT_OPS_BIN_WALK_CUH

#include "backend/cuda_backend.cuh"

#define WALK_THREADS 512
#define WALK_WARPS (WALK_THREADS / 32)
#define WALK_EACH 5 /* Gaussians of a thread at a time, at most; odd, so that threads are in different banks */
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
    uint32_t *row_counts;  /* [blocks] where the rows of a block begin in `rows`, and before them the count of all */
    uint32_t *rows;        /* [capacity] the spans of the rows that count found, for emit; NULL: emit finds them again.
                              The list of instances, which is written later, lends its memory */
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
    const float4 q = P.conic[id]; /* all are asked for at once */
    const float2 m = P.mean2d[id];
    w.rect = P.rects[id];
    w.rect.y = (unsigned short)max((uint32_t)w.rect.y, P.row_begin);
    w.rect.w = (unsigned short)min((uint32_t)w.rect.w, P.row_end);
    if (w.rect.x >= w.rect.z || w.rect.y >= w.rect.w) return no_tiles();
    float k = 2.0f * (logf(255.0f * q.w) + 5e-5f);
    if (!(k > 0.0f)) return no_tiles(); /* too faint for any pixel */
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

/* The sum of all threads of the block that come before; *total: of all. sums: [WALK_WARPS], shared; the block meets. */
__device__ __forceinline__ uint32_t exclusive_block_sum(uint32_t value, uint32_t *sums, uint32_t *total)
{
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x & 31, in_warp = inclusive_warp_sum(value);
    if (lane == 31) sums[warp] = in_warp;
    __syncthreads();
    const uint32_t of_warps = inclusive_warp_sum(lane < WALK_WARPS ? sums[lane] : 0);
    *total = __shfl_sync(0xffffffffu, of_warps, WALK_WARPS - 1);
    return __shfl_sync(0xffffffffu, of_warps, warp) - sums[warp] + in_warp - value;
}

/* The spans of the rows: count finds them and keeps them for emit, where there is room. */
enum walk_spans { SPANS_FOUND, SPANS_KEPT };

/* Calls take(v, y, span) for the rows of tiles begin to end of the Gaussians that this block has. The block takes up to
 * WALK_THREADS * WALK_EACH at a time, 32 neighbours from each of many places of the model, and spreads their rows over
 * its threads: most Gaussians of a model are not in the picture, of those that are most have a row or two and some have
 * all, and neighbours resemble each other. Every launch with as many blocks gives them the same Gaussians, and finds
 * the same rows in the same order. */
template <walk_spans SPANS, typename TAKE>
__device__ __forceinline__ void walk_rows(const bin_parameters &P, uint32_t begin, uint32_t end, TAKE take)
{
    __shared__ uint32_t ends[WALK_THREADS * WALK_EACH]; /* inclusive sums of the rows */
    __shared__ uint16_t bottoms[WALK_THREADS * WALK_EACH];
    __shared__ uint32_t sums[WALK_WARPS], kept_at;
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x & 31, n_groups = (P.n + 31) / 32; /* n < 2^31 */
    const uint32_t block = blockIdx.y * gridDim.x + blockIdx.x, stride = WALK_WARPS * gridDim.x;
    uint32_t from = P.rows && SPANS == SPANS_KEPT ? P.row_counts[1 + block] : 0; /* of the rows of the first round */
    for (uint64_t round = 0; round * (WALK_EACH * stride) < n_groups; round++) {
        const uint64_t first = round * (WALK_EACH * stride) + warp * gridDim.x + blockIdx.x; /* group of the warp */
        ushort4 rects[WALK_EACH];
        uint32_t own = 0, n_rows;
#pragma unroll
        for (int i = 0; i < WALK_EACH; i++) {
            const uint64_t v = 32 * (first + i * (uint64_t)stride) + lane;
            rects[i] = v < P.n ? P.rects[v] : make_ushort4(0, 0, 0, 0);
        }
#pragma unroll
        for (int i = 0; i < WALK_EACH; i++) {
            const uint32_t top = max((uint32_t)rects[i].y, begin), bottom = min((uint32_t)rects[i].w, end);
            own += rects[i].x < rects[i].z && top < bottom ? bottom - top : 0;
        }
        uint32_t at_end = exclusive_block_sum(own, sums, &n_rows);
#pragma unroll
        for (int i = 0; i < WALK_EACH; i++) {
            const uint32_t top = max((uint32_t)rects[i].y, begin), bottom = min((uint32_t)rects[i].w, end);
            at_end += rects[i].x < rects[i].z && top < bottom ? bottom - top : 0;
            ends[WALK_EACH * threadIdx.x + i] = at_end;
            bottoms[WALK_EACH * threadIdx.x + i] = (uint16_t)bottom;
        }
        if (SPANS == SPANS_FOUND && P.rows && round == 0 && threadIdx.x == 0) {
            kept_at = atomicAdd(&P.row_counts[0], n_rows);
            P.row_counts[1 + block] = kept_at;
        }
        __syncthreads();
        if (SPANS == SPANS_FOUND && P.rows && round == 0) from = kept_at;
        for (uint32_t row = threadIdx.x; row < n_rows; row += WALK_THREADS) {
            uint32_t at = 0; /* how many ended before this row */
#pragma unroll
            for (uint32_t step = 2048; step > 0; step /= 2)
                if (at + step <= WALK_THREADS * WALK_EACH && ends[at + step - 1] <= row) at += step;
            const uint32_t thread = at / WALK_EACH, item = at - thread * WALK_EACH;
            const uint32_t group = (uint32_t)first + (thread / 32 - warp) * gridDim.x + item * stride;
            const uint32_t v = 32 * group + (thread & 31), y = bottoms[at] - (ends[at] - row);
            const bool is_kept = P.rows && round == 0 && row < P.capacity && from < P.capacity - row;
            int2 span;
            if (SPANS == SPANS_KEPT && is_kept) {
                const uint32_t kept = P.rows[from + row];
                span = make_int2(kept & 0xffff, kept >> 16);
            } else {
                const tile_walk w = walk_of(P, v);
                span = w.rect.x < w.rect.z ? row_span(P, w, (int)y) : make_int2(0, 0);
                if (SPANS == SPANS_FOUND && is_kept) P.rows[from + row] = (uint32_t)span.x | (uint32_t)span.y << 16;
            }
            if (span.x < span.y) take(v, y, span);
        }
        __syncthreads(); /* before the next round writes */
    }
}

#endif
