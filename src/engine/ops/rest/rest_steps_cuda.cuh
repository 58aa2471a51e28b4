/* Steps of Adam that rows of sh_rest lack, made up one after the other: those of one view (rest_deferred_cuda.cu), and
 * of several (rest_views_cuda.cu). */
#ifndef SPLAT_OPS_REST_STEPS_CUDA_CUH
#define SPLAT_OPS_REST_STEPS_CUDA_CUH

#include "ops/adam/adam_cuda.cuh"
#include "ops/project/project_cuda.cuh"
#include "ops/rest/rest_cuda.cuh"

/* Values on their way through the steps that they lack. Several at a time, as each step waits for a root and a
 * quotient: where many steps are lacking they are what the kernel takes. */
constexpr int IN_FLIGHT = 4;

struct flight {
    float p[IN_FLIGHT], m[IN_FLIGHT], v[IN_FLIGHT];
    uint32_t made[IN_FLIGHT]; /* steps; n_steps: none is lacking */
};

__device__ __forceinline__ unsigned warp_min(unsigned value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(0xffffffffu, value);
#else
    for (int offset = 16; offset > 0; offset /= 2) value = min(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
#endif
}

/* The slots of a step of several views (splat_deferred_rest). share: of a view in the gradient. */
struct rest_slots {
    float4 *gradient;
    const float *direction;
    uint32_t n;
    float share;
};

static inline rest_slots slots_of(const splat_deferred_rest *deferred, uint32_t n_views)
{
    const rest_slots slots = {(float4 *)deferred->gradient, deferred->direction, deferred->n_slots,
                              n_views ? 1.0f / (float)n_views : 0.0f};
    return slots;
}

/* The mean gradient of the step of row i that waits, of all bands, into `sum`, and that of the squares: of those slots
 * whose number is above `made`. false: none waits. */
template <int DEGREE>
__device__ __forceinline__ bool sum_slots(const rest_slots &slots, uint32_t i, uint32_t made, float *sum,
                                          float *squares)
{
    bool any = false;
    for (uint32_t slot = 0; slot < slots.n; slot++) {
        const size_t at = (size_t)i * slots.n + slot;
        const float4 g = slots.gradient[at];
        if (__float_as_uint(g.w) <= made) continue;
        const float *d = slots.direction + 3 * at;
        float b[16];
        sh_basis<DEGREE>(make_float3(d[0], d[1], d[2]), b);
        const float3 c = make_float3(slots.share * g.x, slots.share * g.y, slots.share * g.z);
        const float3 q = make_float3(c.x * g.x, c.y * g.y, c.z * g.z);
#pragma unroll
        for (uint32_t k = 1; k < (DEGREE + 1) * (DEGREE + 1); k++) {
            float *to = sum + 3 * (k - 1), *to_square = squares + 3 * (k - 1);
            const float b2 = b[k] * b[k];
            to[0] = __fmaf_rn(b[k], c.x, any ? to[0] : 0.0f);
            to[1] = __fmaf_rn(b[k], c.y, any ? to[1] : 0.0f);
            to[2] = __fmaf_rn(b[k], c.z, any ? to[2] : 0.0f);
            to_square[0] = __fmaf_rn(b2, q.x, any ? to_square[0] : 0.0f);
            to_square[1] = __fmaf_rn(b2, q.y, any ? to_square[1] : 0.0f);
            to_square[2] = __fmaf_rn(b2, q.z, any ? to_square[2] : 0.0f);
        }
        any = true;
    }
    return any;
}

__device__ __forceinline__ void empty_slots(const rest_slots &slots, uint32_t i)
{
    for (uint32_t slot = 0; slot < slots.n; slot++) slots.gradient[(size_t)i * slots.n + slot].w = 0.0f;
}

/* Without gradient: adam_value of zero. */
template <typename DECAY>
__device__ __forceinline__ void make_up(const float2 *steps, uint32_t n_steps, flight &f, const DECAY &decay)
{
    uint32_t first = n_steps;
#pragma unroll
    for (int j = 0; j < IN_FLIGHT; j++) first = min(first, f.made[j]);
    for (uint32_t k = warp_min(first); k < n_steps; k++) {
        const float2 step = steps[k];
        if (isnan(step.x)) continue;
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++) {
            if (k < f.made[j]) continue;
            f.m[j] = __fmul_rn(decay.beta1(), f.m[j]);
            f.v[j] = __fmul_rn(decay.beta2(), f.v[j]);
            f.p[j] = stepped(f.p[j], f.m[j], f.v[j], adam_rate{step.x, step.y});
        }
    }
}

/* The arrays of sh_rest, and the steps put off. */
struct rest_arrays {
    float *p, *m, *v;
    uint32_t n_steps;
    int active_sh_degree;
};

/* The rows of the warp's `list`, rows of the model from `first` on. In shared memory, of the block's threads: tags, 2
 * made + waits; steps. gradient(thread, column) of the step that waits; keep(row, column, value): what is up to
 * date. */
template <int DEGREE, typename DECAY, typename GRADIENT, typename KEEP>
__device__ __forceinline__ void advance_rows(const rest_arrays &P, const uint32_t *tags, const float2 *steps,
                                             uint32_t first, const uint8_t *list, uint32_t n_rows, const DECAY &decay,
                                             const GRADIENT &gradient, const KEEP &keep)
{
    constexpr uint32_t channels = rest_channels(DEGREE);
    const uint32_t n_active = 3u * ((uint32_t)(P.active_sh_degree + 1) * (uint32_t)(P.active_sh_degree + 1) - 1u);
    const uint32_t warp = threadIdx.x / 32, count = n_rows * channels;
    for (uint32_t base = 0; base < count; base += IN_FLIGHT * 32) {
        flight f;
        bool lacks[IN_FLIGHT];
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++) {
            const uint32_t at = base + 32 * j + lane_index(), row = at < count ? list[at / channels] : 0;
            const uint32_t column = at % channels, made = tags[32 * warp + row] / 2;
            const size_t place = (size_t)(first + row) * channels + column;
            const bool active = at < count && column < n_active;
            lacks[j] = active && made < P.n_steps;
            f.made[j] = lacks[j] ? made : P.n_steps;
            if (active) f.p[j] = P.p[place];
            if (lacks[j]) {
                f.m[j] = P.m[place];
                f.v[j] = P.v[place];
            }
        }
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++) {
            const uint32_t at = base + 32 * j + lane_index(), column = at % channels;
            const uint32_t thread = 32 * warp + (lacks[j] ? list[at / channels] : 0);
            if (!lacks[j] || tags[thread] % 2 == 0) continue;
            const float2 step = steps[f.made[j]++];
            const auto g = gradient(thread, column);
            if (!isnan(step.x)) adam_value(&f.p[j], &f.m[j], &f.v[j], g, adam_rate{step.x, step.y}, decay);
        }
        make_up(steps, P.n_steps, f, decay);
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++) {
            const uint32_t at = base + 32 * j + lane_index(), column = at % channels;
            if (at >= count || column >= n_active) continue;
            const uint32_t row = list[at / channels];
            const size_t place = (size_t)(first + row) * channels + column;
            if (lacks[j]) {
                P.p[place] = f.p[j];
                P.m[place] = f.m[j];
                P.v[place] = f.v[j];
            }
            keep(row, column, f.p[j]);
        }
    }
    __syncwarp();
}

/* As op project: docs/method.md 4. One that is not finite is black. rest: a row in its storage. */
template <int DEGREE, bool HALF = false>
__device__ __forceinline__ void write_colour(float3 direction, const float *dc, const void *rest, int active_sh_degree,
                                             float *to, splat_cuda_view_state *state)
{
    const int n_basis = (active_sh_degree + 1) * (active_sh_degree + 1);
    float b[16];
    sh_basis<DEGREE>(direction, b);
    float3 rgb = colour_of<DEGREE, HALF>(dc, (const uint32_t *)rest, b, n_basis);
    if (!isfinite(rgb.x + rgb.y + rgb.z)) {
        atomicAdd(&state->n_degenerate, 1u);
        rgb = make_float3(0.0f, 0.0f, 0.0f);
    }
    to[0] = fmaxf(rgb.x, 0.0f);
    to[1] = fmaxf(rgb.y, 0.0f);
    to[2] = fmaxf(rgb.z, 0.0f);
}

#endif
