/* raster_backward and geometry_backward on CUDA: a reverse walk of the tile's list, a warp a patch of 8x4 pixels.
 *
 * A lane's pixel gives two numbers a Gaussian, dL/dalpha0 and alpha T; from them, the pixel's gradient and its position
 * all ten gradients follow. They are put into rows of shared memory, and after sixteen Gaussians the rows are read the
 * other way, two lanes a Gaussian: sums over pixels need no shuffles, and ten neighbouring floats a Gaussian reach
 * memory at once. docs/lab/gpu-step.md has the measurements. */
#include "ops/raster/fixed_sums_cuda.cuh"
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

/* ALPHA: colours with a gradient of the opacity, too, where there is one. */
template <splat_walk WALK, bool ALPHA>
__device__ __forceinline__ walk walk_from(const raster_parameters &P, const lane_pixels &p, int k)
{
    walk w = {position_of(P, p, k), 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0};
    if (!is_inside(P, p, k)) return w;
    size_t at = index_of(P, p, k), plane = (size_t)P.width * P.height;
    w.T = P.transmittance[at];
    w.red = P.grad_image[at];
    w.green = P.grad_image[plane + at];
    w.blue = P.grad_image[2 * plane + at];
    if (WALK == SPLAT_WALK_PLANES) {
        w.fourth = P.grad_image[3 * plane + at];
        w.behind = P.grad_alpha ? -w.T * P.grad_alpha[at] : 0.0f; /* alpha is 1 - T */
    } else {
        w.behind = w.T * (P.background[0] * w.red + P.background[1] * w.green + P.background[2] * w.blue);
        if (ALPHA && P.grad_alpha) w.behind -= w.T * P.grad_alpha[at];
    }
    w.last = P.last[at];
    return w;
}

/* dL/dS and dL/dQ of the lane's pixel. */
__device__ __forceinline__ float2 depth_gradient_of(const raster_parameters &P, const lane_pixels &p)
{
    if (!is_inside(P, p, 0)) return make_float2(0.0f, 0.0f);
    const size_t at = index_of(P, p, 0);
    return make_float2(P.grad_along ? P.grad_along[at] : 0.0f, P.grad_inverse ? P.grad_inverse[at] : 0.0f);
}

/* 1 / x of an x between 0.01 and 1. */
__device__ __forceinline__ float quick_inverse(float x)
{
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(x) : "f"(x));
    return x;
}

/* Moves the walk in front of an entry that it blends; gives dL/dalpha0 and alpha T. of_depth: what depth adds to
 * its shade. */
template <splat_walk WALK>
__device__ __forceinline__ float2 step_back(walk &w, float4 look, float blue, float fourth, float of_depth, float e,
                                            float alpha)
{
    float inverse = quick_inverse(1.0f - alpha);
    w.T *= inverse; /* before this entry */
    float weight = alpha * w.T, shade = look.z * w.red + look.w * w.green + blue * w.blue;
    if (WALK == SPLAT_WALK_PLANES) shade += fourth * w.fourth;
    if (WALK == SPLAT_WALK_DEPTHS) shade += of_depth;
    float grad_alpha0 = e * (w.T * shade - w.behind * inverse);
    w.behind += weight * shade;
    return make_float2(grad_alpha0, weight);
}

/* The meaning of the tenth gradient: geometry's fourth channel, the absolute sums of colours, or nothing. */
enum tenth_sum { TENTH_NONE, TENTH_MEAN_ABS, TENTH_GEOMETRY };

/* The sums of a lane for its Gaussian. p stands for dL/dalpha0 of a pixel. The gradients of u and v are p (A dx +
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
#define BOUNDS_THREADS 256

/* A warp's pixels, and rows of samples: written a pixel a lane, read a Gaussian a lane. */
template <splat_walk WALK>
struct row_buffer {
    float2 samples[ROWS][33]; /* dL/dalpha0, alpha T; the odd width keeps the lanes off each other's banks */
    float4 geometry[ROWS];    /* u, v, A, B */
    float4 look[ROWS];        /* C, alpha0, visible index; of depths 1 / z */
    float4 grad[32];          /* dL/dimage, y of the position */
    float x[32];
    float fourth[WALK == SPLAT_WALK_PLANES ? 32 : 0]; /* dL/dmap of the fourth channel */
    float2 depth[WALK == SPLAT_WALK_DEPTHS ? 32 : 0]; /* dL/dS, dL/dQ */
};

__device__ __forceinline__ void add_to(float *to, float value)
{
    atomicAdd(to, value);
}

__device__ __forceinline__ void add_to(unsigned long long *to, long long value)
{
    atomicAdd(to, (unsigned long long)value);
}

/* The sums of the first n rows, N_GRADS each, of which N_SUMS count: neighbouring lanes add neighbouring sums. */
template <uint32_t N_SUMS, typename TO, typename SUM>
__device__ __forceinline__ void add_flat(TO *to, const SUM *flat, const float4 *look, int n)
{
    __syncwarp();
#pragma unroll
    for (int i = 0; i < ROWS * N_GRADS / 32; i++) {
        const uint32_t at = i * 32 + (threadIdx.x & 31), owner = at / N_GRADS, value = at - owner * N_GRADS;
        if ((int)owner < n && value < N_SUMS)
            add_to(&to[(size_t)__float_as_uint(look[owner].z) * N_GRADS + value], flat[at]);
    }
    __syncwarp();
}

/* dL/dz of a patch. */
template <bool FIXED>
__device__ __forceinline__ void add_depth(const raster_parameters &P, uint32_t v, float sum)
{
    if constexpr (FIXED) {
        add_to(&P.fixed_depth[v], to_fixed(P, sum, fixed_unit_of_depth(P)));
        if (!isfinite(sum)) P.grad_depth[v] = NAN;
    } else {
        add_to(&P.grad_depth[v], sum);
    }
}

/* The same of the first n rows, in a loop of its own: next to the other sums there are no registers left. */
template <bool FIXED>
__device__ __forceinline__ void add_depth_rows(const raster_parameters &P, const row_buffer<SPLAT_WALK_DEPTHS> &rows,
                                               int n)
{
    const int lane = threadIdx.x & 31, row = lane % ROWS, half = lane / ROWS;
    float along = 0.0f, inverse = 0.0f;
#pragma unroll 4
    for (int i = 0; i < 16 && row < n; i++) {
        const float weight = rows.samples[row][2 * i + half].y;
        const float2 gradient = rows.depth[2 * i + half];
        along += weight * gradient.x;
        inverse += weight * gradient.y;
    }
    along += __shfl_xor_sync(0xffffffffu, along, 16);
    inverse += __shfl_xor_sync(0xffffffffu, inverse, 16);
    if (row >= n || half) return;
    const float4 look = rows.look[row];
    const float sum = along - look.w * look.w * inverse;
    if (sum != 0.0f) add_depth<FIXED>(P, __float_as_uint(look.z), sum);
}

/* Adds the first n rows to the gradients: two lanes a row, each with every other pixel. FIXED: to the sums in fixed
 * point; a sum that is not finite goes to the gradients, and no order makes another of it. */
template <splat_walk WALK, tenth_sum TENTH, bool FIXED>
__device__ __forceinline__ void add_rows(const raster_parameters &P, row_buffer<WALK> &rows, int n)
{
    constexpr bool GEOMETRY = WALK == SPLAT_WALK_PLANES;
    constexpr uint32_t N_SUMS = TENTH == TENTH_NONE ? N_GRADS - 1 : N_GRADS; /* that are not zero by themselves */
    const unsigned all = 0xffffffffu;
    const int lane = threadIdx.x & 31, row = lane % ROWS, half = lane / ROWS;
    float v[N_GRADS];
    __syncwarp();
    if constexpr (WALK == SPLAT_WALK_DEPTHS) add_depth_rows<FIXED>(P, rows, n);
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
            float fourth = 0.0f;
            if constexpr (GEOMETRY) fourth = rows.fourth[pixel];
            add_sample<TENTH>(s, geometry.z, geometry.w, look.x, geometry.x - rows.x[pixel], geometry.y - grad.w,
                              sample.x, sample.y, grad.x, grad.y, grad.z, fourth);
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
    if constexpr (FIXED) {
        int unit[N_GRADS / 2];
        fixed_units(fixed_exponents_of(P), P, GEOMETRY, half, geometry.z, geometry.w, look.x, unit);
        long long *flat = (long long *)rows.samples;
#pragma unroll
        for (int i = 0; i < N_GRADS / 2; i++) {
            flat[row * N_GRADS + half * 5 + i] = to_fixed(P, sum[i], unit[i]);
            if (row < n && !isfinite(sum[i])) ((float *)&P.grad2d[__float_as_uint(look.z)])[half * 5 + i] = NAN;
        }
        add_flat<N_SUMS>(P.fixed_sums, flat, rows.look, n);
    } else {
        float *flat = (float *)rows.samples;
#pragma unroll
        for (int i = 0; i < N_GRADS / 2; i++) flat[row * N_GRADS + half * 5 + i] = sum[i];
        add_flat<N_SUMS>((float *)P.grad2d, flat, rows.look, n);
    }
}

/* The pixels of a warp. */
template <splat_walk WALK, tenth_sum TENTH, bool ALPHA, bool FIXED>
__device__ __forceinline__ void patch_backward(const raster_parameters &P, uint32_t tile, int patch, staged<WALK> &s,
                                               row_buffer<WALK> &rows)
{
    const int lane = threadIdx.x & 31;
    const uint32_t begin = P.tile_begin[tile];
    lane_pixels p = pixels_of(P, tile, patch);
    walk w = walk_from<WALK, ALPHA>(P, p, 0);
    uint32_t warp_last = splat_warp_max_u32(w.last);
    rows.x[lane] = w.at.x;
    rows.grad[lane] = make_float4(w.red, w.green, w.blue, w.at.y);
    if constexpr (WALK == SPLAT_WALK_PLANES) rows.fourth[lane] = w.fourth;
    if constexpr (WALK == SPLAT_WALK_DEPTHS) rows.depth[lane] = depth_gradient_of(P, p);
    int n_rows = 0;
    reverse_list list = list_from<WALK>(P, begin, warp_last);
    while (has_batch(list)) {
        int n_staged = stage_before<1>(P, p, list, s);
        for (int i = n_staged - 1; i >= 0; i--) {
            float4 geometry = s.geometry[i], look = s.appearance[i], rest = s.rest[i];
            float dx, dy, e, alpha, fourth = 0.0f, of_depth = 0.0f, inverse = 0.0f;
            bool blends = alpha_of(geometry, look.x, look.y, w.at, &dx, &dy, &e, &alpha) &&
                          __float_as_uint(rest.z) <= w.last;
            if (!__any_sync(0xffffffffu, blends)) continue;
            if constexpr (WALK == SPLAT_WALK_PLANES) fourth = s.fourth[i];
            if constexpr (WALK == SPLAT_WALK_DEPTHS) {
                const float2 depth = s.depth[i], asked = rows.depth[lane];
                of_depth = depth.x * asked.x + depth.y * asked.y;
                inverse = depth.y;
            }
            rows.samples[n_rows][lane] = blends ? step_back<WALK>(w, look, rest.x, fourth, of_depth, e, alpha)
                                                : make_float2(0.0f, 0.0f);
            if (lane == 0) {
                rows.geometry[n_rows] = geometry;
                rows.look[n_rows] = make_float4(look.x, look.y, rest.y, inverse);
            }
            if (++n_rows < ROWS) continue;
            add_rows<WALK, TENTH, FIXED>(P, rows, ROWS);
            n_rows = 0;
        }
    }
    if (n_rows) add_rows<WALK, TENTH, FIXED>(P, rows, n_rows);
}

/* A block has half a tile's patches; this is the warp's. */
__device__ __forceinline__ int patch_of_warp(void)
{
    return (int)(blockIdx.x % (TILE_PATCHES / ROW_WARPS)) * ROW_WARPS + (int)(threadIdx.x / 32);
}

template <tenth_sum TENTH, bool ALPHA, bool FIXED>
__global__ void __launch_bounds__(32 * ROW_WARPS, TENTH == TENTH_GEOMETRY ? 6 : 7)
    rows_backward_kernel(const __grid_constant__ raster_parameters P)
{
    constexpr splat_walk WALK = TENTH == TENTH_GEOMETRY ? SPLAT_WALK_PLANES : SPLAT_WALK_COLOURS;
    __shared__ staged<WALK> warps[ROW_WARPS];
    __shared__ row_buffer<WALK> buffers[ROW_WARPS];
    if (P.state->overflow || P.state->not_finite) return;
    const uint32_t tile = P.tile_order[blockIdx.x / (TILE_PATCHES / ROW_WARPS)];
    patch_backward<WALK, TENTH, ALPHA, FIXED>(P, tile, patch_of_warp(), warps[threadIdx.x / 32],
                                              buffers[threadIdx.x / 32]);
}

/* The same with depths, in the patches that they are asked for in. */
template <tenth_sum TENTH, bool FIXED>
__global__ void __launch_bounds__(32 * ROW_WARPS, TENTH == TENTH_MEAN_ABS && !FIXED ? 6 : 7)
    rows_depth_backward_kernel(const __grid_constant__ raster_parameters P)
{
    __shared__ union {
        staged<SPLAT_WALK_COLOURS> plain;
        staged<SPLAT_WALK_DEPTHS> depths;
    } warps[ROW_WARPS];
    __shared__ union {
        row_buffer<SPLAT_WALK_COLOURS> plain;
        row_buffer<SPLAT_WALK_DEPTHS> depths;
    } buffers[ROW_WARPS];
    if (P.state->overflow || P.state->not_finite) return;
    const uint32_t tile = P.tile_order[blockIdx.x / (TILE_PATCHES / ROW_WARPS)];
    const int patch = patch_of_warp(), warp = threadIdx.x / 32;
    if (splat_patches_of(&P.patches, tile) >> patch & 1)
        patch_backward<SPLAT_WALK_DEPTHS, TENTH, true, FIXED>(P, tile, patch, warps[warp].depths,
                                                              buffers[warp].depths);
    else
        patch_backward<SPLAT_WALK_COLOURS, TENTH, true, FIXED>(P, tile, patch, warps[warp].plain,
                                                               buffers[warp].plain);
}

/* ---------------------------------------------------------------- deterministic: sums in fixed point */

__device__ __forceinline__ void raise_to(uint32_t *bound, float value)
{
    const uint32_t most = splat_warp_max_u32(__float_as_uint(value));
    if ((threadIdx.x & 31) == 0) atomicMax(bound, most);
}

/* Computes fixed_bounds over the band's pixels and the visible Gaussians. */
template <bool GEOMETRY, bool ALPHA>
__global__ void __launch_bounds__(BOUNDS_THREADS)
    bounds_kernel(const __grid_constant__ raster_parameters P, const float *depth, uint32_t n, size_t begin, size_t end)
{
    constexpr int channels = GEOMETRY ? 4 : 3;
    const size_t plane = (size_t)P.width * P.height, first = (size_t)blockIdx.x * BOUNDS_THREADS + threadIdx.x;
    const size_t stride = (size_t)gridDim.x * BOUNDS_THREADS;
    float gradient = 0.0f, fourth = 0.0f, alpha = 0.0f, colour = 0.0f;
    float along = 0.0f, inverse = 0.0f, farthest = 0.0f, per_nearest = 0.0f;
    for (size_t at = begin + first; at < end; at += stride) {
        float sum = 0.0f;
        for (int c = 0; c < channels; c++) sum += fabsf(P.grad_image[c * plane + at]);
        gradient = fmaxf(gradient, sum);
        if (GEOMETRY) fourth = fmaxf(fourth, fabsf(P.grad_image[3 * plane + at]));
        if ((GEOMETRY || ALPHA) && P.grad_alpha) alpha = fmaxf(alpha, fabsf(P.grad_alpha[at]));
        if (ALPHA && P.grad_along) along = fmaxf(along, fabsf(P.grad_along[at]));
        if (ALPHA && P.grad_inverse) inverse = fmaxf(inverse, fabsf(P.grad_inverse[at]));
    }
    for (size_t i = first; i < n; i += stride) {
        if (!(depth[i] > 0.0f)) continue;
        farthest = fmaxf(farthest, depth[i]);
        per_nearest = fmaxf(per_nearest, 1.0f / depth[i]);
        for (int c = 0; c < channels; c++)
            colour = fmaxf(colour, fabsf(GEOMETRY ? ((const float *)P.features)[4 * i + c] : P.rgb[3 * i + c]));
    }
    for (int c = 0; c < 3 && !GEOMETRY; c++) colour = fmaxf(colour, fabsf(P.background[c]));
    raise_to(&P.bounds->gradient, gradient);
    raise_to(&P.bounds->fourth, fourth);
    raise_to(&P.bounds->alpha, alpha);
    raise_to(&P.bounds->colour, colour);
    if (!ALPHA || !P.grad_depth) return;
    raise_to(&P.bounds->along, along);
    raise_to(&P.bounds->inverse, inverse);
    raise_to(&P.bounds->farthest, farthest);
    raise_to(&P.bounds->per_nearest, per_nearest);
}

/* Adds the sums to the gradients, where another band may have added before; a thread a sum. */
template <bool GEOMETRY>
__global__ void __launch_bounds__(BOUNDS_THREADS)
    finish_fixed_kernel(const __grid_constant__ raster_parameters P, const float *depth, uint32_t n)
{
    const uint64_t thread = (uint64_t)blockIdx.x * BOUNDS_THREADS + threadIdx.x;
    const uint32_t v = (uint32_t)(thread / N_GRADS), value = (uint32_t)(thread % N_GRADS);
    if (v >= n || !(depth[v] > 0.0f)) return;
    if (value == 0 && P.fixed_depth && P.fixed_depth[v])
        P.grad_depth[v] += __fmul_rn(__ll2float_rn((long long)P.fixed_depth[v]), power_of_two(fixed_unit_of_depth(P)));
    const long long sum = (long long)P.fixed_sums[thread];
    if (sum == 0) return;
    const float4 conic = P.conic[v];
    int unit[N_GRADS / 2], mine = 0;
    fixed_units(fixed_exponents_of(P), P, GEOMETRY, value >= N_GRADS / 2, conic.x, conic.y, conic.z, unit);
#pragma unroll
    for (uint32_t i = 0; i < N_GRADS / 2; i++) mine = value % (N_GRADS / 2) == i ? unit[i] : mine;
    ((float *)&P.grad2d[v])[value] += __fmul_rn(__ll2float_rn(sum), power_of_two(mine));
}

static int log2_above(size_t n)
{
    int bits = 0;
    while ((size_t)1 << bits < n) bits++;
    return bits;
}

/* With depths ALPHA is true. */
template <tenth_sum TENTH, bool ALPHA, bool FIXED>
static void rows_backward(const raster_parameters &P, unsigned tiles, cudaStream_t stream)
{
    const unsigned blocks = tiles * (TILE_PATCHES / ROW_WARPS);
    if constexpr (TENTH != TENTH_GEOMETRY && ALPHA) {
        if (P.grad_depth) {
            rows_depth_backward_kernel<TENTH, FIXED><<<blocks, 32 * ROW_WARPS, 0, stream>>>(P);
            return;
        }
    }
    rows_backward_kernel<TENTH, ALPHA, FIXED><<<blocks, 32 * ROW_WARPS, 0, stream>>>(P);
}

template <tenth_sum TENTH, bool ALPHA>
static splat_status backward_fixed(splat_cuda_backend *cuda, const splat_frame *frame, raster_parameters P,
                                   splat_error *error)
{
    constexpr bool GEOMETRY = TENTH == TENTH_GEOMETRY;
    const uint32_t n = frame->n_visible;
    const size_t bytes = splat_raster_fixed_bytes(n) + (P.grad_depth ? splat_raster_fixed_depth_bytes(n) : 0);
    const size_t row = (size_t)frame->camera.width * SPLAT_TILE;
    const size_t pixels = (size_t)frame->camera.width * frame->camera.height, end = row * frame->row_end;
    const unsigned tiles = tiles_of_band(frame), blocks = 4 * (unsigned)cuda->n_multiprocessors;
    void *data;
    SPLAT_TRY(splat_scratch_take(&cuda->base, bytes, &data, error));
    P.bounds = (fixed_bounds *)data;
    P.fixed_sums = (unsigned long long *)(P.bounds + 1);
    if (P.grad_depth) P.fixed_depth = P.fixed_sums + (size_t)n * N_GRADS;
    P.fixed_bits = 62 - log2_above((size_t)tiles * TILE_PATCHES);
    CUDA_TRY("clear gradients", cudaMemsetAsync(data, 0, bytes, cuda->stream));
    bounds_kernel<GEOMETRY, ALPHA><<<blocks, BOUNDS_THREADS, 0, cuda->stream>>>(
        P, frame->depth, n, row * frame->row_begin, end < pixels ? end : pixels);
    CUDA_LAUNCHED("bounds of gradients");
    rows_backward<TENTH, ALPHA, true>(P, tiles, cuda->stream);
    CUDA_LAUNCHED("raster_backward");
    finish_fixed_kernel<GEOMETRY>
        <<<splat_cuda_blocks((uint64_t)n * N_GRADS, BOUNDS_THREADS), BOUNDS_THREADS, 0, cuda->stream>>>(
            P, frame->depth, n);
    CUDA_LAUNCHED("sums of gradients");
    return SPLAT_OK;
}

template <tenth_sum TENTH, bool ALPHA>
static splat_status backward(splat_cuda_backend *cuda, const splat_frame *frame, const raster_parameters &P,
                             splat_error *error)
{
    const unsigned tiles = tiles_of_band(frame);
    if (cuda->base.deterministic && frame->n_visible) return backward_fixed<TENTH, ALPHA>(cuda, frame, P, error);
    rows_backward<TENTH, ALPHA, false>(P, tiles, cuda->stream);
    CUDA_LAUNCHED("raster_backward");
    return SPLAT_OK;
}

extern "C" splat_status splat_raster_backward_cuda(splat_backend *backend,
                                                   const struct splat_raster_backward_args *args, splat_error *error)
{
    raster_parameters P = parameters_of(args->frame, args->grad_image);
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    P.grad_alpha = args->grad_alpha;
    set_depth(&P, args->depth);
    SPLAT_TRY(splat_cuda_mark_blended(cuda, error));
    if (P.grad_alpha || P.grad_depth)
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
