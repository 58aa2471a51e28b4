/* raster and raster_backward on CUDA. A warp owns PATCHES patches of 8x4 pixels of a tile, a pixel of each a lane, and
 * walks the tile's list for itself: no warp waits for another. Gaussians that cannot reach a patch are skipped there.
 * The backward pass goes from the end of the list and sums each Gaussian's gradient over the warp's pixels before it
 * touches memory. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/raster/raster.h"
}

#define TILE_PATCHES 8         /* of a tile: two across, four down */
#define FORWARD_PATCHES 1      /* of a warp; docs/performance.md has the other choices' times */
#define BACKWARD_PATCHES 1
#define PATCH_WIDTH 8
#define PATCH_HEIGHT 4
#define N_GRADS 10       /* floats of splat_grad2d */

static_assert(sizeof(splat_grad2d) == N_GRADS * sizeof(float), "the reduction writes splat_grad2d as ten floats");

struct raster_parameters {
    int width, height;
    uint32_t tiles_x;
    float widen;                   /* of a patch, for ray jitter */
    float background[3];
    const float *jitter;
    const uint32_t *instances, *tile_begin, *tile_order;
    const float2 *mean2d;
    const float4 *conic;
    const float *rgb;
    float *image, *transmittance;
    uint32_t *last;
    const float *grad_image;
    splat_grad2d *grad2d;
    const uint32_t *instance_slots; /* with slots */
    splat_grad2d *slots;
    const splat_cuda_step_state *state;
};

/* A Gaussian on its way from memory to the warp. */
struct fetched {
    float2 mean;
    float4 conic;
    float r, g, b;
    uint32_t id, position; /* position: 1-based place in the tile's list */
};

/* The survivors of a batch of 32 instances, close together, for every lane of the warp to read. */
struct staged {
    float4 geometry[32];   /* u, v, A, B */
    float4 appearance[32]; /* C, alpha0, r, g */
    float4 rest[32];       /* b; then as bits: visible index, position, patches that it reaches */
};

/* Instance `index` of the tile's list that begins at `begin`; a lane without one gets alpha0 = 0, which reaches
 * nothing. */
__device__ __forceinline__ fetched fetch(const raster_parameters &P, uint32_t begin, uint32_t index, bool exists)
{
    fetched f;
    f.conic = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (exists) {
        f.id = P.instances[begin + index];
        f.position = index + 1;
        f.mean = P.mean2d[f.id];
        f.conic = P.conic[f.id];
        f.r = P.rgb[3 * (size_t)f.id];
        f.g = P.rgb[3 * (size_t)f.id + 1];
        f.b = P.rgb[3 * (size_t)f.id + 2];
    }
    return f;
}

/* The pixels of a lane: one of each of the warp's patches, PATCH_WIDTH or PATCH_HEIGHT apart. */
struct lane_pixels {
    int x, y;              /* of the first patch */
    float left, top;       /* of the warp's first patch, widened for ray jitter */
};

__device__ __forceinline__ int patch_x(int k)
{
    return (k & 1) * PATCH_WIDTH;
}

__device__ __forceinline__ int patch_y(int k)
{
    return (k >> 1) * PATCH_HEIGHT;
}

template <int PATCHES>
__device__ __forceinline__ lane_pixels pixels_of(const raster_parameters &P, uint32_t tile)
{
    lane_pixels p;
    int first = (int)(threadIdx.x / 32) * PATCHES, lane = threadIdx.x & 31;
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
__device__ __forceinline__ int stage(staged &s, const fetched &f, unsigned patches)
{
    unsigned mask = __ballot_sync(0xffffffffu, patches != 0), below = (1u << (threadIdx.x & 31)) - 1;
    __syncwarp(); /* the last batch has been read */
    if (patches) {
        int slot = __popc(mask & below);
        s.geometry[slot] = make_float4(f.mean.x, f.mean.y, f.conic.x, f.conic.y);
        s.appearance[slot] = make_float4(f.conic.z, f.conic.w, f.r, f.g);
        s.rest[slot] = make_float4(f.b, __uint_as_float(f.id), __uint_as_float(f.position), __uint_as_float(patches));
    }
    __syncwarp();
    return __popc(mask);
}

/* alpha of a sample, and e^power; false: skipped. The same for both passes. */
__device__ __forceinline__ bool alpha_of(float4 g, float c, float alpha0, float2 at, float *dx, float *dy, float *e,
                                         float *alpha)
{
    *dx = g.x - at.x;
    *dy = g.y - at.y;
    float power = -0.5f * (g.z * *dx * *dx + c * *dy * *dy) - g.w * *dx * *dy;
    *e = __expf(power);
    *alpha = fminf(SPLAT_ALPHA_MAX, alpha0 * *e);
    return power <= 0.0f && *alpha >= SPLAT_ALPHA_MIN;
}

/* A pixel on its way from the front. */
struct blend {
    float2 at;
    float T, r, g, b;
    uint32_t last;
    bool done;
};

template <int PATCHES>
__global__ void __launch_bounds__(32 * TILE_PATCHES / PATCHES)
    raster_kernel(const __grid_constant__ raster_parameters P)
{
    __shared__ staged warps[TILE_PATCHES / PATCHES];
    staged &s = warps[threadIdx.x / 32];
    const uint32_t tile = P.tile_order[blockIdx.x];
    lane_pixels p = pixels_of<PATCHES>(P, tile);
    uint32_t begin = P.tile_begin[tile], n = P.tile_begin[tile + 1] - begin, lane = threadIdx.x & 31;
    if (P.state->overflow) n = 0;
    blend pixels[PATCHES];
    bool done = true;
#pragma unroll
    for (int k = 0; k < PATCHES; k++) {
        pixels[k] = {position_of(P, p, k), 1.0f, 0.0f, 0.0f, 0.0f, 0, !is_inside(P, p, k)};
        done = done && pixels[k].done;
    }
    fetched next = fetch(P, begin, lane, lane < n);
    for (uint32_t base = 0; base < n && !__all_sync(0xffffffffu, done); base += 32) {
        fetched now = next;
        next = fetch(P, begin, base + 32 + lane, base + 32 + lane < n); /* on its way while this batch is blended */
        int n_staged = stage(s, now, reached_patches<PATCHES>(P, p, now));
        for (int i = 0; i < n_staged; i++) {
            float4 geometry = s.geometry[i], look = s.appearance[i], rest = s.rest[i];
#pragma unroll
            for (int k = 0; k < PATCHES; k++) {
                blend &q = pixels[k];
                float dx, dy, e, alpha;
                if (!(__float_as_uint(rest.w) >> k & 1)) continue;
                if (q.done || !alpha_of(geometry, look.x, look.y, q.at, &dx, &dy, &e, &alpha)) continue;
                float after = q.T * (1.0f - alpha), weight = alpha * q.T;
                q.done = after < SPLAT_TRANSMITTANCE_MIN;
                if (q.done) continue;
                q.r += look.z * weight;
                q.g += look.w * weight;
                q.b += rest.x * weight;
                q.T = after;
                q.last = __float_as_uint(rest.z);
            }
        }
        done = true;
#pragma unroll
        for (int k = 0; k < PATCHES; k++) done = done && pixels[k].done;
    }
#pragma unroll
    for (int k = 0; k < PATCHES; k++) {
        const blend &q = pixels[k];
        if (!is_inside(P, p, k)) continue;
        size_t at = index_of(P, p, k), plane = (size_t)P.width * P.height;
        P.image[at] = q.r + q.T * P.background[0];
        P.image[plane + at] = q.g + q.T * P.background[1];
        P.image[2 * plane + at] = q.b + q.T * P.background[2];
        P.transmittance[at] = q.T;
        P.last[at] = q.last;
    }
}

/* Sums ten values over the warp with twelve shuffles: at each step a lane keeps half of its values and gives the other
 * half away. Afterwards lane holds, in value[0], the sum number `index` (see index_of_lane). */
__device__ __forceinline__ float warp_sum_ten(float v[N_GRADS], int lane)
{
    const unsigned all = 0xffffffffu;
    bool high = lane & 16;
    float a[6];
#pragma unroll
    for (int i = 0; i < 5; i++) {
        float keep = high ? v[5 + i] : v[i], give = high ? v[i] : v[5 + i];
        a[i] = keep + __shfl_xor_sync(all, give, 16);
    }
    a[5] = 0.0f;
    high = lane & 8;
    float b[4];
#pragma unroll
    for (int i = 0; i < 3; i++) {
        float keep = high ? a[3 + i] : a[i], give = high ? a[i] : a[3 + i];
        b[i] = keep + __shfl_xor_sync(all, give, 8);
    }
    b[3] = 0.0f;
    high = lane & 4;
    float c[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float keep = high ? b[2 + i] : b[i], give = high ? b[i] : b[2 + i];
        c[i] = keep + __shfl_xor_sync(all, give, 4);
    }
    high = lane & 2;
    float keep = high ? c[1] : c[0], give = high ? c[0] : c[1];
    float d = keep + __shfl_xor_sync(all, give, 2);
    return d + __shfl_xor_sync(all, d, 1);
}

/* Which of the ten sums a lane ends with; N_GRADS: none (or a duplicate). */
__device__ __forceinline__ int index_of_lane(int lane)
{
    int within = ((lane & 8) ? 3 : 0) + ((lane & 4) ? 2 : 0) + ((lane & 2) ? 1 : 0);
    bool real = !(lane & 1) && !((lane & 4) && (lane & 2)) && within < 5;
    return real ? within + ((lane & 16) ? 5 : 0) : N_GRADS;
}

/* A pixel on its way from the back. */
struct walk {
    float2 at;
    float T;                    /* transmittance after the entry in work */
    float behind;               /* colour behind it, weighted, times the gradient; background included */
    float red, green, blue;     /* dL/dimage */
    uint32_t last;
};

__device__ __forceinline__ walk walk_from(const raster_parameters &P, const lane_pixels &p, int k)
{
    walk w = {position_of(P, p, k), 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0};
    if (!is_inside(P, p, k)) return w;
    size_t at = index_of(P, p, k), plane = (size_t)P.width * P.height;
    w.T = P.transmittance[at];
    w.red = P.grad_image[at];
    w.green = P.grad_image[plane + at];
    w.blue = P.grad_image[2 * plane + at];
    w.behind = w.T * (P.background[0] * w.red + P.background[1] * w.green + P.background[2] * w.blue);
    w.last = P.last[at];
    return w;
}

/* One Gaussian at one pixel: moves the walk in front of it and adds the ten gradients. */
__device__ __forceinline__ void blend_backward(const raster_parameters &P, walk &w, float4 geometry, float4 look,
                                               float blue, float dx, float dy, float e, float alpha, float v[N_GRADS])
{
    float inverse = __fdividef(1.0f, 1.0f - alpha);
    w.T *= inverse; /* before this entry */
    float weight = alpha * w.T, shade = look.z * w.red + look.w * w.green + blue * w.blue;
    float grad_alpha0 = e * (w.T * shade - w.behind * inverse), grad_power = look.y * grad_alpha0;
    w.behind += weight * shade;
    float gu = grad_power * (-geometry.z * dx - geometry.w * dy), gv = grad_power * (-look.x * dy - geometry.w * dx);
    v[0] += gu;
    v[1] += gv;
    v[2] += fabsf(0.5f * P.width * gu) + fabsf(0.5f * P.height * gv);
    v[3] -= 0.5f * grad_power * dx * dx;
    v[4] -= grad_power * dx * dy;
    v[5] -= 0.5f * grad_power * dy * dy;
    v[6] += grad_alpha0;
    v[7] += weight * w.red;
    v[8] += weight * w.green;
    v[9] += weight * w.blue;
}

/* SLOTS: the sums of the tile (one warp, PATCHES = TILE_PATCHES) go to the instance's slot instead of being added to
 * the Gaussian's: fixed order, no atomics. */
template <int PATCHES, bool SLOTS>
__global__ void __launch_bounds__(32 * TILE_PATCHES / PATCHES)
    raster_backward_kernel(const __grid_constant__ raster_parameters P)
{
    __shared__ staged warps[TILE_PATCHES / PATCHES];
    if (P.state->overflow || P.state->not_finite) return;
    staged &s = warps[threadIdx.x / 32];
    const uint32_t tile = P.tile_order[blockIdx.x];
    lane_pixels p = pixels_of<PATCHES>(P, tile);
    uint32_t begin = P.tile_begin[tile], last = 0;
    int lane = threadIdx.x & 31, my_index = index_of_lane(lane);
    walk pixels[PATCHES];
#pragma unroll
    for (int k = 0; k < PATCHES; k++) {
        pixels[k] = walk_from(P, p, k);
        last = max(last, pixels[k].last);
    }
    uint32_t warp_last = splat_warp_max_u32(last);

    /* The list up to warp_last in batches of 32 that end there; the first of the list may be a short one. */
    int base = (int)warp_last - 32;
    fetched next = fetch(P, begin, (uint32_t)(base + lane), base + lane >= 0 && warp_last > 0);
    for (; base > -32; base -= 32) {
        fetched now = next;
        int before = base - 32 + lane;
        next = fetch(P, begin, (uint32_t)before, before >= 0);
        int n_staged = stage(s, now, reached_patches<PATCHES>(P, p, now));
        for (int i = n_staged - 1; i >= 0; i--) {
            float4 geometry = s.geometry[i], look = s.appearance[i], rest = s.rest[i];
            float v[N_GRADS] = {0.0f};
            bool any = false;
#pragma unroll
            for (int k = 0; k < PATCHES; k++) {
                walk &w = pixels[k];
                float dx, dy, e, alpha;
                if (!(__float_as_uint(rest.w) >> k & 1)) continue;
                if (__float_as_uint(rest.z) > w.last || !alpha_of(geometry, look.x, look.y, w.at, &dx, &dy, &e, &alpha))
                    continue;
                blend_backward(P, w, geometry, look, rest.x, dx, dy, e, alpha, v);
                any = true;
            }
            if (!__any_sync(0xffffffffu, any)) continue;
            float sum = warp_sum_ten(v, lane);
            if (my_index >= N_GRADS) continue;
            if (SLOTS)
                ((float *)&P.slots[P.instance_slots[begin + __float_as_uint(rest.z) - 1]])[my_index] = sum;
            else
                atomicAdd((float *)&P.grad2d[__float_as_uint(rest.y)] + my_index, sum);
        }
    }
}

/* The slots of one Gaussian are contiguous: ten lanes of a thread each would be wasteful, a thread a value is enough.
 */
__global__ void __launch_bounds__(256)
    sum_slots_kernel(const splat_grad2d *slots, const uint64_t *offsets, const uint32_t *order,
                     const splat_cuda_step_state *state, splat_grad2d *grad2d)
{
    uint64_t thread = (uint64_t)blockIdx.x * 256 + threadIdx.x;
    uint32_t j = (uint32_t)(thread / N_GRADS), value = (uint32_t)(thread % N_GRADS);
    if (state->overflow || j >= state->n_listed) return;
    float sum = 0.0f;
    for (uint64_t slot = offsets[j]; slot < offsets[j + 1]; slot++) sum += ((const float *)&slots[slot])[value];
    ((float *)&grad2d[order[j]])[value] = sum;
}

static raster_parameters parameters_of(splat_cuda_backend *cuda, const splat_frame *frame, const float *grad_image)
{
    raster_parameters P;
    P.width = frame->camera.width;
    P.height = frame->camera.height;
    P.tiles_x = frame->tiles_x;
    P.widen = frame->jitter ? 0.5f : 0.0f;
    for (int c = 0; c < 3; c++) P.background[c] = frame->background[c];
    P.jitter = frame->jitter;
    P.instances = frame->instances;
    P.tile_begin = frame->tile_begin;
    P.tile_order = cuda->tile_order;
    P.mean2d = (const float2 *)frame->mean2d;
    P.conic = (const float4 *)frame->conic;
    P.rgb = frame->rgb;
    P.image = frame->image;
    P.transmittance = frame->transmittance;
    P.last = frame->last;
    P.grad_image = grad_image;
    P.grad2d = frame->grad2d;
    P.instance_slots = frame->instance_slots;
    P.slots = NULL;
    P.state = cuda->state;
    return P;
}

extern "C" splat_status splat_raster_cuda(splat_backend *backend, const struct splat_raster_args *args,
                                          splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const unsigned tiles = args->frame->tiles_x * args->frame->tiles_y;
    raster_kernel<FORWARD_PATCHES><<<tiles, 32 * TILE_PATCHES / FORWARD_PATCHES, 0, cuda->stream>>>(
        parameters_of(cuda, args->frame, NULL));
    CUDA_LAUNCHED("raster");
    return SPLAT_OK;
}

/* One warp a tile, a slot an instance, then the sum of each Gaussian's slots in their order. */
static splat_status backward_in_order(splat_cuda_backend *cuda, splat_frame *frame, raster_parameters P, unsigned tiles,
                                      splat_error *error)
{
    size_t bytes = (size_t)cuda->n_slots * sizeof *P.slots;
    /* what bin sorted in is free again */
    SPLAT_TRY(
        splat_block_ensure(&cuda->base, &frame->block_scratch, "gradient slots", SPLAT_OWNER_TRANSIENTS, bytes, error));
    P.slots = (splat_grad2d *)frame->block_scratch.data;
    CUDA_TRY("clear gradients", cudaMemsetAsync(P.slots, 0, bytes, cuda->stream));
    raster_backward_kernel<TILE_PATCHES, true><<<tiles, 32, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("raster_backward");
    sum_slots_kernel<<<splat_cuda_blocks((uint64_t)cuda->n_order * N_GRADS, 256), 256, 0, cuda->stream>>>(
        P.slots, cuda->offsets, cuda->order, cuda->state, frame->grad2d);
    CUDA_LAUNCHED("sum of slots");
    return SPLAT_OK;
}

extern "C" splat_status splat_raster_backward_cuda(splat_backend *backend,
                                                   const struct splat_raster_backward_args *args, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    splat_frame *frame = args->frame;
    const unsigned tiles = frame->tiles_x * frame->tiles_y;
    CUDA_TRY("clear gradients",
             cudaMemsetAsync(frame->grad2d, 0, (size_t)frame->n_visible * sizeof *frame->grad2d, cuda->stream));
    raster_parameters P = parameters_of(cuda, frame, args->grad_image);
    if (cuda->deterministic && frame->n_visible) return backward_in_order(cuda, frame, P, tiles, error);
    raster_backward_kernel<BACKWARD_PATCHES, false>
        <<<tiles, 32 * TILE_PATCHES / BACKWARD_PATCHES, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("raster_backward");
    return SPLAT_OK;
}
