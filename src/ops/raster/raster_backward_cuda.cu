/* raster_backward and geometry_backward on CUDA: a reverse walk of the tile's list, a warp a patch of 8x4 pixels.
 *
 * A lane's pixel gives two numbers a Gaussian, dL/dalpha0 and alpha T; from them, the pixel's gradient and its position
 * all ten gradients follow. They are put into rows of shared memory, and after sixteen Gaussians the rows are read the
 * other way, two lanes a Gaussian: sums over pixels need no shuffles, and ten neighbouring floats a Gaussian reach
 * memory at once. docs/performance.md has what it was measured against. */
#include "ops/raster/walk_cuda.cuh"

/* A pixel on its way from the back. */
struct walk {
    float2 at;
    float T;                    /* transmittance after the entry in work */
    float behind;               /* colour behind it, weighted, times the gradient; background included */
    float red, green, blue;     /* dL/dimage */
    float fourth;               /* of geometry */
    uint32_t last;
};

/* ALPHA: colours with a gradient of the opacity, too. */
template <bool GEOMETRY, bool ALPHA>
__device__ __forceinline__ walk walk_from(const raster_parameters &P, const lane_pixels &p, int k)
{
    walk w = {position_of(P, p, k), 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0};
    if (!is_inside(P, p, k)) return w;
    size_t at = index_of(P, p, k), plane = (size_t)P.width * P.height;
    w.T = P.transmittance[at];
    w.red = P.grad_image[at];
    w.green = P.grad_image[plane + at];
    w.blue = P.grad_image[2 * plane + at];
    if (GEOMETRY) {
        w.fourth = P.grad_image[3 * plane + at];
        w.behind = P.grad_alpha ? -w.T * P.grad_alpha[at] : 0.0f; /* alpha is 1 - T */
    } else {
        w.behind = w.T * (P.background[0] * w.red + P.background[1] * w.green + P.background[2] * w.blue);
        if (ALPHA) w.behind -= w.T * P.grad_alpha[at];
    }
    w.last = P.last[at];
    return w;
}

/* 1 / x of an x between 0.01 and 1. */
__device__ __forceinline__ float quick_inverse(float x)
{
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(x) : "f"(x));
    return x;
}

/* Moves the walk in front of an entry that it blends; gives dL/dalpha0 and alpha T. */
template <bool GEOMETRY>
__device__ __forceinline__ float2 step_back(walk &w, float4 look, float blue, float fourth, float e, float alpha)
{
    float inverse = quick_inverse(1.0f - alpha);
    w.T *= inverse; /* before this entry */
    float weight = alpha * w.T, shade = look.z * w.red + look.w * w.green + blue * w.blue;
    if (GEOMETRY) shade += fourth * w.fourth;
    float grad_alpha0 = e * (w.T * shade - w.behind * inverse);
    w.behind += weight * shade;
    return make_float2(grad_alpha0, weight);
}

/* What the tenth gradient is: geometry's fourth channel, the absolute sums of colours, or nothing. */
enum tenth_sum { TENTH_NONE, TENTH_MEAN_ABS, TENTH_GEOMETRY };

/* What a lane has summed of its Gaussian. p stands for dL/dalpha0 of a pixel. The gradients of u and v are p (A dx +
 * B dy) and p (B dx + C dy): those of each pixel are needed for their absolute values only. */
struct sums {
    float x, y, abs_u, abs_v; /* p dx, p dy, and the absolute values of the gradients of u and v */
    float xx, xy, yy, p;      /* p dx^2, p dx dy, p dy^2, p */
    float r, g, b;
    float fourth; /* of geometry, which has no absolute values */
};

template <tenth_sum TENTH>
__device__ __forceinline__ void add_sample(sums &s, float a, float b, float c, float dx, float dy, float p,
                                           float weight, float red, float green, float blue, float fourth)
{
    float m = p * dx, n = p * dy;
    s.x += m;
    s.y += n;
    if (TENTH == TENTH_GEOMETRY) s.fourth += weight * fourth;
    if (TENTH == TENTH_MEAN_ABS) {
        s.abs_u += fabsf(a * m + b * n);
        s.abs_v += fabsf(b * m + c * n);
    }
    s.xx += m * dx;
    s.xy += m * dy;
    s.yy += n * dy;
    s.p += p;
    s.r += weight * red;
    s.g += weight * green;
    s.b += weight * blue;
}

/* The ten floats of splat_grad2d. */
template <tenth_sum TENTH>
__device__ __forceinline__ void finish_sums(const raster_parameters &P, const sums &s, float a, float b, float c,
                                            float alpha0, float v[N_GRADS])
{
    v[0] = -alpha0 * (a * s.x + b * s.y);
    v[1] = -alpha0 * (b * s.x + c * s.y);
    v[2] = -0.5f * alpha0 * s.xx;
    v[3] = -alpha0 * s.xy;
    v[4] = -0.5f * alpha0 * s.yy;
    v[5] = s.p;
    v[6] = s.r;
    v[7] = s.g;
    v[8] = s.b;
    v[9] = 0.0f;
    if (TENTH == TENTH_GEOMETRY) v[9] = s.fourth;
    if (TENTH == TENTH_MEAN_ABS) v[9] = 0.5f * alpha0 * (P.width * s.abs_u + P.height * s.abs_v);
}

#define ROW_WARPS 4 /* of a block: half a tile */
#define ROWS 16     /* Gaussians whose samples wait to be summed */

/* A warp's pixels, and rows of samples: written a pixel a lane, read a Gaussian a lane. */
template <bool GEOMETRY>
struct row_buffer {
    float2 samples[ROWS][33]; /* dL/dalpha0, alpha T; the odd width keeps the lanes off each other's banks */
    float4 geometry[ROWS];    /* u, v, A, B */
    float4 look[ROWS];        /* C, alpha0, visible index */
    float4 grad[32];          /* dL/dimage, y of the position */
    float x[32];
    float fourth[GEOMETRY ? 32 : 0]; /* dL/dmap of the fourth channel */
};

/* Adds the first n rows to the gradients: two lanes a row, each with every other pixel. */
template <tenth_sum TENTH>
__device__ __forceinline__ void add_rows(const raster_parameters &P, row_buffer<TENTH == TENTH_GEOMETRY> &rows, int n)
{
    constexpr bool GEOMETRY = TENTH == TENTH_GEOMETRY;
    constexpr uint32_t N_SUMS = TENTH == TENTH_NONE ? N_GRADS - 1 : N_GRADS; /* that are not zero by themselves */
    const unsigned all = 0xffffffffu;
    const int lane = threadIdx.x & 31, row = lane % ROWS, half = lane / ROWS;
    float v[N_GRADS];
    __syncwarp();
    sums s = {};
    float4 geometry = make_float4(0.0f, 0.0f, 0.0f, 0.0f), look = geometry;
    if (row < n) {
        geometry = rows.geometry[row];
        look = rows.look[row];
#pragma unroll 4
        for (int i = 0; i < 16; i++) {
            const int pixel = 2 * i + half;
            const float2 sample = rows.samples[row][pixel];
            const float4 grad = rows.grad[pixel];
            add_sample<TENTH>(s, geometry.z, geometry.w, look.x, geometry.x - rows.x[pixel], geometry.y - grad.w,
                              sample.x, sample.y, grad.x, grad.y, grad.z, GEOMETRY ? rows.fourth[pixel] : 0.0f);
        }
    }
    finish_sums<TENTH>(P, s, geometry.z, geometry.w, look.x, look.y, v);
    float sum[N_GRADS / 2]; /* of the row: values 0 to 4 in the first half, 5 to 9 in the second */
#pragma unroll
    for (int i = 0; i < N_GRADS / 2; i++) {
        float keep = half ? v[5 + i] : v[i], give = half ? v[i] : v[5 + i];
        sum[i] = keep + __shfl_xor_sync(all, give, 16); /* also: all have read the samples */
    }
    __syncwarp();
    float *flat_sums = (float *)rows.samples;
#pragma unroll
    for (int i = 0; i < N_GRADS / 2; i++) flat_sums[row * N_GRADS + half * 5 + i] = sum[i];
    __syncwarp();
#pragma unroll
    for (int i = 0; i < ROWS * N_GRADS / 32; i++) {
        const uint32_t flat = i * 32 + lane, owner = flat / N_GRADS;
        const uint32_t value = flat - owner * N_GRADS;
        if ((int)owner < n && value < N_SUMS)
            atomicAdd((float *)&P.grad2d[__float_as_uint(rows.look[owner].z)] + value, flat_sums[flat]);
    }
    __syncwarp();
}

template <tenth_sum TENTH, bool ALPHA>
__global__ void __launch_bounds__(32 * ROW_WARPS, TENTH == TENTH_GEOMETRY ? 6 : 7)
    rows_backward_kernel(const __grid_constant__ raster_parameters P)
{
    constexpr bool GEOMETRY = TENTH == TENTH_GEOMETRY;
    __shared__ staged<GEOMETRY> warps[ROW_WARPS];
    __shared__ row_buffer<GEOMETRY> buffers[ROW_WARPS];
    if (P.state->overflow || P.state->not_finite) return;
    staged<GEOMETRY> &s = warps[threadIdx.x / 32];
    row_buffer<GEOMETRY> &rows = buffers[threadIdx.x / 32];
    const int per_tile = TILE_PATCHES / ROW_WARPS, lane = threadIdx.x & 31;
    const uint32_t tile = P.tile_order[blockIdx.x / per_tile], begin = P.tile_begin[tile];
    const int patch = (int)(blockIdx.x % per_tile) * ROW_WARPS + (int)(threadIdx.x / 32);
    lane_pixels p = pixels_of(P, tile, patch);
    walk w = walk_from<GEOMETRY, ALPHA>(P, p, 0);
    uint32_t warp_last = splat_warp_max_u32(w.last);
    rows.x[lane] = w.at.x;
    rows.grad[lane] = make_float4(w.red, w.green, w.blue, w.at.y);
    if (GEOMETRY) rows.fourth[lane] = w.fourth;
    int n_rows = 0;
    reverse_list list = list_from<GEOMETRY>(P, begin, warp_last);
    while (has_batch(list)) {
        int n_staged = stage_before<1>(P, p, list, s);
        for (int i = n_staged - 1; i >= 0; i--) {
            float4 geometry = s.geometry[i], look = s.appearance[i], rest = s.rest[i];
            float dx, dy, e, alpha;
            bool blends = alpha_of(geometry, look.x, look.y, w.at, &dx, &dy, &e, &alpha) &&
                          __float_as_uint(rest.z) <= w.last;
            if (!__any_sync(0xffffffffu, blends)) continue;
            rows.samples[n_rows][lane] =
                blends ? step_back<GEOMETRY>(w, look, rest.x, GEOMETRY ? s.fourth[i] : 0.0f, e, alpha)
                       : make_float2(0.0f, 0.0f);
            if (lane == 0) {
                rows.geometry[n_rows] = geometry;
                rows.look[n_rows] = make_float4(look.x, look.y, rest.y, 0.0f);
            }
            if (++n_rows < ROWS) continue;
            add_rows<TENTH>(P, rows, ROWS);
            n_rows = 0;
        }
    }
    if (n_rows) add_rows<TENTH>(P, rows, n_rows);
}

/* ---------------------------------------------------------------- deterministic: fixed order, no atomics */

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

/* Several warps a tile, a pixel of each of its patches a lane: a warp's sum of an instance goes to a slot of its own,
 * those of an instance side by side. Fewer patches a warp are faster and take more slots. */
#define SLOT_PATCHES (TILE_PATCHES / SPLAT_RASTER_SLOTS)
static_assert(SLOT_PATCHES >= 2 && SLOT_PATCHES % 2 == 0, "a warp's patches are whole rows of two");
template <tenth_sum TENTH, bool ALPHA>
__global__ void __launch_bounds__(32) slots_backward_kernel(const __grid_constant__ raster_parameters P)
{
    constexpr bool GEOMETRY = TENTH == TENTH_GEOMETRY;
    __shared__ staged<GEOMETRY> s;
    if (P.state->overflow || P.state->not_finite) return;
    const uint32_t tile = P.tile_order[blockIdx.x / SPLAT_RASTER_SLOTS], part = blockIdx.x % SPLAT_RASTER_SLOTS;
    lane_pixels p = pixels_of(P, tile, (int)part * SLOT_PATCHES);
    uint32_t begin = P.tile_begin[tile], last = 0;
    int lane = threadIdx.x & 31, my_index = index_of_lane(lane);
    walk pixels[SLOT_PATCHES];
#pragma unroll
    for (int k = 0; k < SLOT_PATCHES; k++) {
        pixels[k] = walk_from<GEOMETRY, ALPHA>(P, p, k);
        last = max(last, pixels[k].last);
    }
    uint32_t warp_last = splat_warp_max_u32(last);

    reverse_list list = list_from<GEOMETRY>(P, begin, warp_last);
    while (has_batch(list)) {
        int n_staged = stage_before<SLOT_PATCHES>(P, p, list, s);
        for (int i = n_staged - 1; i >= 0; i--) {
            float4 geometry = s.geometry[i], look = s.appearance[i], rest = s.rest[i];
            sums total = {};
            bool any = false;
#pragma unroll
            for (int k = 0; k < SLOT_PATCHES; k++) {
                walk &w = pixels[k];
                float dx, dy, e, alpha;
                if (!(__float_as_uint(rest.w) >> k & 1)) continue;
                if (__float_as_uint(rest.z) > w.last || !alpha_of(geometry, look.x, look.y, w.at, &dx, &dy, &e, &alpha))
                    continue;
                float2 sample = step_back<GEOMETRY>(w, look, rest.x, GEOMETRY ? s.fourth[i] : 0.0f, e, alpha);
                add_sample<TENTH>(total, geometry.z, geometry.w, look.x, dx, dy, sample.x, sample.y, w.red, w.green,
                                  w.blue, w.fourth);
                any = true;
            }
            if (!__any_sync(0xffffffffu, any)) continue;
            float v[N_GRADS];
            finish_sums<TENTH>(P, total, geometry.z, geometry.w, look.x, look.y, v);
            float sum = warp_sum_ten(v, lane);
            if (my_index >= N_GRADS) continue;
            uint32_t slot = P.instance_slots[begin + __float_as_uint(rest.z) - 1];
            ((float *)&P.slots[(size_t)slot * SPLAT_RASTER_SLOTS + part])[my_index] = sum;
        }
    }
}

/* The slots of one Gaussian are contiguous; a thread sums one of its ten values. */
__global__ void __launch_bounds__(256)
    sum_slots_kernel(const splat_grad2d *slots, const uint32_t *slot_begin, uint32_t n_visible,
                     const splat_cuda_view_state *state, splat_grad2d *grad2d)
{
    uint64_t thread = (uint64_t)blockIdx.x * 256 + threadIdx.x;
    uint32_t v = (uint32_t)(thread / N_GRADS), value = (uint32_t)(thread % N_GRADS);
    if (state->overflow || v >= n_visible || slot_begin[v] == slot_begin[v + 1]) return;
    float sum = 0.0f;
    const uint64_t end = (uint64_t)slot_begin[v + 1] * SPLAT_RASTER_SLOTS;
    for (uint64_t slot = (uint64_t)slot_begin[v] * SPLAT_RASTER_SLOTS; slot < end; slot++)
        sum += ((const float *)&slots[slot])[value];
    ((float *)&grad2d[v])[value] += sum; /* another band may have added to it */
}

/* The slots of the instances, then the sum of each Gaussian's slots in their order. */
template <tenth_sum TENTH, bool ALPHA>
static splat_status backward_in_order(splat_cuda_backend *cuda, const splat_frame *frame, raster_parameters P,
                                      splat_error *error)
{
    size_t bytes = (size_t)frame->n_slots * SPLAT_RASTER_SLOTS * sizeof *P.slots;
    SPLAT_TRY(splat_scratch_take(&cuda->base, bytes, (void **)&P.slots, error));
    CUDA_TRY("clear gradients", cudaMemsetAsync(P.slots, 0, bytes, cuda->stream));
    slots_backward_kernel<TENTH, ALPHA><<<tiles_of_band(frame) * SPLAT_RASTER_SLOTS, 32, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("raster_backward");
    sum_slots_kernel<<<splat_cuda_blocks((uint64_t)frame->n_visible * N_GRADS, 256), 256, 0, cuda->stream>>>(
        P.slots, frame->slot_begin, frame->n_visible, P.state, P.grad2d);
    CUDA_LAUNCHED("sum of slots");
    return SPLAT_OK;
}

template <tenth_sum TENTH, bool ALPHA>
static splat_status backward(splat_cuda_backend *cuda, const splat_frame *frame, const raster_parameters &P,
                             splat_error *error)
{
    const unsigned tiles = tiles_of_band(frame);
    if (cuda->base.deterministic && frame->n_slots) return backward_in_order<TENTH, ALPHA>(cuda, frame, P, error);
    rows_backward_kernel<TENTH, ALPHA><<<tiles * (TILE_PATCHES / ROW_WARPS), 32 * ROW_WARPS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("raster_backward");
    return SPLAT_OK;
}

extern "C" splat_status splat_raster_backward_cuda(splat_backend *backend,
                                                   const struct splat_raster_backward_args *args, splat_error *error)
{
    raster_parameters P = parameters_of(args->frame, args->grad_image);
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    P.grad_alpha = args->grad_alpha;
    if (P.grad_alpha)
        return args->without_mean_abs ? backward<TENTH_NONE, true>(cuda, args->frame, P, error)
                                      : backward<TENTH_MEAN_ABS, true>(cuda, args->frame, P, error);
    return args->without_mean_abs ? backward<TENTH_NONE, false>(cuda, args->frame, P, error)
                                  : backward<TENTH_MEAN_ABS, false>(cuda, args->frame, P, error);
}

extern "C" splat_status splat_geometry_backward_cuda(splat_backend *backend,
                                                     const struct splat_geometry_backward_args *args,
                                                     splat_error *error)
{
    raster_parameters P = parameters_of(args->frame, args->grad_maps);
    P.features = (const float4 *)args->features;
    P.grad_alpha = args->grad_alpha;
    P.grad2d = args->gradients;
    return backward<TENTH_GEOMETRY, false>(splat_cuda_of(backend), args->frame, P, error);
}
