/* The walk of raster, geometry and their backward passes on CUDA: a warp owns patches of 8x4 pixels of a tile, a pixel
 * of each a lane, and goes through the tile's list for itself, so that no warp waits for another. 32 instances at a
 * time, each lane tests one against the patches; those that can reach them are staged in shared memory, where all lanes
 * read them, while the next 32 are on their way from memory. Forward, walk_forward says who blends, and an op what its
 * pixels gather; backward, reverse_list gives the batches.
 *
 * WALK: what is blended; planes are four channels a Gaussian, geometry's features, instead of the three of its colour.
 */
#ifndef SPLAT_OPS_WALK_CUDA_CUH
#define SPLAT_OPS_WALK_CUDA_CUH

#include "ops/raster/raster_parameters.cuh"

/* As splat_patches numbers them. */
#define TILE_PATCHES SPLAT_TILE_PATCHES
#define PATCH_WIDTH SPLAT_PATCH_WIDTH
#define PATCH_HEIGHT SPLAT_PATCH_HEIGHT

/* ---------------------------------------------------------------- pixels and patches */

/* The pixels of a lane: one of each of the warp's patches, PATCH_WIDTH or PATCH_HEIGHT apart. */
struct lane_pixels {
    int x, y;        /* of the first patch */
    float left, top; /* of the warp's first patch, widened for ray jitter */
};

__device__ __forceinline__ int patch_x(int k)
{
    return (k & 1) * PATCH_WIDTH;
}

__device__ __forceinline__ int patch_y(int k)
{
    return (k >> 1) * PATCH_HEIGHT;
}

/* The pixels of a warp whose first patch is number `first` of the tile. */
__device__ __forceinline__ lane_pixels pixels_of(const raster_parameters &P, uint32_t tile, int first)
{
    lane_pixels p;
    int lane = threadIdx.x & 31;
    int left = (int)(tile % P.tiles_x) * SPLAT_TILE + patch_x(first);
    int top = (int)(tile / P.tiles_x) * SPLAT_TILE + patch_y(first);
    p.x = left + (lane & (PATCH_WIDTH - 1));
    p.y = top + lane / PATCH_WIDTH;
    p.left = (float)left - P.widen;
    p.top = (float)top - P.widen;
    return p;
}

__device__ __forceinline__ bool is_inside(const raster_parameters &P, const lane_pixels &p, int k)
{
    return p.x + patch_x(k) < P.width && p.y + patch_y(k) < P.height;
}

__device__ __forceinline__ size_t index_of(const raster_parameters &P, const lane_pixels &p, int k)
{
    return (size_t)(p.y + patch_y(k)) * P.width + (p.x + patch_x(k));
}

/* Sampling position of the lane's pixel of patch k. */
__device__ __forceinline__ float2 position_of(const raster_parameters &P, const lane_pixels &p, int k)
{
    float2 position = make_float2((float)(p.x + patch_x(k)), (float)(p.y + patch_y(k)));
    if (P.jitter && is_inside(P, p, k)) {
        size_t at = index_of(P, p, k);
        position.x += P.jitter[at];
        position.y += P.jitter[(size_t)P.width * P.height + at];
    }
    return position;
}

/* ---------------------------------------------------------------- the list, 32 entries at a time */

/* A Gaussian on its way from memory to the warp. */
struct fetched {
    float2 mean;
    float4 conic;
    float r, g, b; /* or a plane's distance and its normal's x and y */
    float fourth;  /* of planes the normal's z, of depths z */
    uint32_t id, position; /* position: 1-based place in the tile's list */
};

/* The survivors of a batch of 32 instances, close together, for every lane of the warp to read. */
template <splat_walk WALK>
struct staged {
    float4 geometry[32];   /* u, v, A, B */
    float4 appearance[32]; /* C, alpha0, r, g */
    float4 rest[32];       /* b; then as bits: visible index, position, patches that it reaches */
    float fourth[WALK == SPLAT_WALK_PLANES ? 32 : 0];
    float2 depth[WALK == SPLAT_WALK_DEPTHS ? 32 : 0]; /* z, 1 / z */
};

/* The visible index at place `index` of the tile's list that begins at `begin`. It is asked for a batch before fetch
 * wants it: a warp stands still at a load whose address has not come. */
__device__ __forceinline__ uint32_t id_at(const raster_parameters &P, uint32_t begin, uint32_t index, bool exists)
{
    return exists ? P.instances[begin + index] : 0;
}

/* The Gaussian of visible index `id`, at place `index` of the list; a lane without one gets alpha0 = 0, which reaches
 * nothing. */
template <splat_walk WALK>
__device__ __forceinline__ fetched fetch(const raster_parameters &P, uint32_t id, uint32_t index, bool exists)
{
    fetched f;
    f.conic = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (exists) {
        f.id = id;
        f.position = index + 1;
        f.mean = P.mean2d[f.id];
        f.conic = P.conic[f.id];
        if (WALK == SPLAT_WALK_PLANES) {
            const float4 feature = P.features[f.id];
            f.r = feature.x;
            f.g = feature.y;
            f.b = feature.z;
            f.fourth = feature.w;
        } else {
            f.r = P.rgb[3 * (size_t)f.id];
            f.g = P.rgb[3 * (size_t)f.id + 1];
            f.b = P.rgb[3 * (size_t)f.id + 2];
        }
        if (WALK == SPLAT_WALK_DEPTHS) f.fourth = P.depth[f.id];
    }
    return f;
}

/* Which of the warp's patches the Gaussian can reach, a bit each. The least of a convex quadratic over a rectangle lies
 * at the centre if it is inside, else on one of the two edges that face it. Widened, as bin does, by what rounding can
 * do to the power of a needle; nothing is claimed of the thinnest. */
template <int PATCHES>
__device__ __forceinline__ unsigned reached_patches(const raster_parameters &P, const lane_pixels &p, const fetched &f)
{
    float a = f.conic.x, b = f.conic.y, c = f.conic.z;
    float det = splat_determinant(a, b, c), ratio = __fdividef(a * c, det);
    float reach = 2.0f * (__logf(255.0f * f.conic.w) + 1e-4f) * (1.001f + 4e-6f * ratio) * 1.0001f + 1e-4f;
    float along_x = __fdividef(-b, a), along_y = __fdividef(-b, c);
    bool claimed = det > 0.0f && ratio < SPLAT_CULL_RATIO;
    unsigned bits = 0;
    if (!(f.conic.w > 0.0f)) return 0;
#pragma unroll
    for (int k = 0; k < PATCHES; k++) {
        float ax = p.left + patch_x(k) - f.mean.x, bx = ax + (PATCH_WIDTH - 1) + 2.0f * P.widen;
        float ay = p.top + patch_y(k) - f.mean.y, by = ay + (PATCH_HEIGHT - 1) + 2.0f * P.widen;
        float ex = fminf(fmaxf(0.0f, ax), bx), fy = fminf(fmaxf(0.0f, ay), by); /* nearest point of the rectangle */
        float ey = fminf(fmaxf(along_y * ex, ay), by);                           /* along the vertical edge */
        float fx = fminf(fmaxf(along_x * fy, ax), bx);                           /* along the horizontal edge */
        float qe = a * ex * ex + 2.0f * b * ex * ey + c * ey * ey;
        float qf = a * fx * fx + 2.0f * b * fx * fy + c * fy * fy;
        if (!claimed || !(fminf(qe, qf) > reach)) bits |= 1u << k;
    }
    return bits;
}

/* Keeps the Gaussians of the warp's lanes that reach a patch, in their order; returns how many there are. */
template <splat_walk WALK>
__device__ __forceinline__ int stage(staged<WALK> &s, const fetched &f, unsigned patches)
{
    unsigned mask = __ballot_sync(0xffffffffu, patches != 0), below = (1u << (threadIdx.x & 31)) - 1;
    __syncwarp(); /* the last batch has been read */
    if (patches) {
        int slot = __popc(mask & below);
        s.geometry[slot] = make_float4(f.mean.x, f.mean.y, f.conic.x, f.conic.y);
        s.appearance[slot] = make_float4(f.conic.z, f.conic.w, f.r, f.g);
        s.rest[slot] = make_float4(f.b, __uint_as_float(f.id), __uint_as_float(f.position), __uint_as_float(patches));
        if constexpr (WALK == SPLAT_WALK_PLANES) s.fourth[slot] = f.fourth;
        if constexpr (WALK == SPLAT_WALK_DEPTHS) s.depth[slot] = make_float2(f.fourth, 1.0f / f.fourth);
    }
    __syncwarp();
    return __popc(mask);
}

/* The tile's list from the front; empty when the view's instances did not fit. */
struct tile_list {
    uint32_t begin, n; /* instances */
};

__device__ __forceinline__ tile_list list_of(const raster_parameters &P, uint32_t tile)
{
    tile_list list = {P.tile_begin[tile], P.tile_begin[tile + 1] - P.tile_begin[tile]};
    if (P.state->overflow) list.n = 0;
    return list;
}

/* The tile's list from entry `last` (1-based) to its front, in batches of 32 that end there; the first of the list may
 * be a short one. */
struct reverse_list {
    uint32_t begin;
    int base;         /* index of the first entry of `next`, negative in a short batch */
    fetched next;     /* the lane's entry of the batch to be staged */
    uint32_t next_id; /* ... of the batch before that */
};

template <splat_walk WALK>
__device__ __forceinline__ reverse_list list_from(const raster_parameters &P, uint32_t begin, uint32_t last)
{
    const int base = (int)last - 32, index = base + (int)(threadIdx.x & 31);
    const bool exists = index >= 0 && last > 0;
    const uint32_t id = id_at(P, begin, (uint32_t)index, exists);
    const uint32_t next_id = id_at(P, begin, (uint32_t)(index - 32), index >= 32);
    return {begin, base, fetch<WALK>(P, id, (uint32_t)index, exists), next_id};
}

__device__ __forceinline__ bool has_batch(const reverse_list &list)
{
    return list.base > -32;
}

/* Stages the batch that has come and asks for the one before it; returns how many entries can reach the patches. */
template <int PATCHES, splat_walk WALK>
__device__ __forceinline__ int stage_before(const raster_parameters &P, const lane_pixels &p, reverse_list &list,
                                            staged<WALK> &s)
{
    const fetched now = list.next;
    list.base -= 32;
    const int index = list.base + (int)(threadIdx.x & 31);
    list.next = fetch<WALK>(P, list.next_id, (uint32_t)index, index >= 0);
    list.next_id = id_at(P, list.begin, (uint32_t)(index - 32), index >= 32);
    return stage(s, now, reached_patches<PATCHES>(P, p, now));
}

/* ---------------------------------------------------------------- blending */

/* alpha of a sample, and e^power; false: skipped. The same for both passes. The fast forms of exp and 1/x leave out
 * only the care for results far below any that blends. */
__device__ __forceinline__ bool alpha_of(float4 g, float c, float alpha0, float2 at, float *dx, float *dy, float *e,
                                         float *alpha)
{
    *dx = g.x - at.x;
    *dy = g.y - at.y;
    float power = -0.5f * (g.z * *dx * *dx + c * *dy * *dy) - g.w * *dx * *dy;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(*e) : "f"(power * 1.4426950408889634f));
    *alpha = fminf(SPLAT_ALPHA_MAX, alpha0 * *e);
    return power <= 0.0f && *alpha >= SPLAT_ALPHA_MIN;
}

/* Blends the tile's list from the front into the lane's pixel q, until no pixel of the warp lets light through. A pixel
 * has `at`, T, `last` and `done`; an overload of add_entry(pixel &, float4 channels, float weight, float T_after,
 * uint32_t visible) says what it gathers of an entry; it may set `done`. With depths also one of
 * add_depth(pixel &, float2 z_and_inverse, float weight). */
template <splat_walk WALK, typename PIXEL>
__device__ __forceinline__ void walk_forward(const raster_parameters &P, const tile_list &list, const lane_pixels &p,
                                             PIXEL &q, staged<WALK> &s)
{
    const uint32_t lane = threadIdx.x & 31;
    const uint32_t first_id = id_at(P, list.begin, lane, lane < list.n);
    uint32_t next_id = id_at(P, list.begin, lane + 32, lane + 32 < list.n);
    fetched next = fetch<WALK>(P, first_id, lane, lane < list.n);
    for (uint32_t base = 0; base < list.n && !__all_sync(0xffffffffu, q.done); base += 32) {
        fetched now = next;
        const uint32_t ahead = base + 32 + lane; /* on its way while this batch is blended */
        next = fetch<WALK>(P, next_id, ahead, ahead < list.n);
        next_id = id_at(P, list.begin, ahead + 32, ahead + 32 < list.n);
        int n_staged = stage(s, now, reached_patches<1>(P, p, now));
        for (int i = 0; i < n_staged; i++) {
            float4 look = s.appearance[i];
            float dx, dy, e, alpha;
            /* of pixels that are done, too: a branch less */
            const bool meets = alpha_of(s.geometry[i], look.x, look.y, q.at, &dx, &dy, &e, &alpha);
            if (q.done || !meets) continue;
            float after = q.T * (1.0f - alpha), weight = alpha * q.T;
            q.done = after < SPLAT_TRANSMITTANCE_MIN;
            if (q.done) continue;
            float4 rest = s.rest[i];
            float fourth = 0.0f;
            if constexpr (WALK == SPLAT_WALK_PLANES) fourth = s.fourth[i];
            add_entry(q, make_float4(look.z, look.w, rest.x, fourth), weight, after, __float_as_uint(rest.y));
            if constexpr (WALK == SPLAT_WALK_DEPTHS) add_depth(q, s.depth[i], weight);
            q.T = after;
            q.last = __float_as_uint(rest.z);
        }
    }
}

#endif
