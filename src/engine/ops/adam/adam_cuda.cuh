/* Adam on CUDA: the step of one value, of four next to each other, and of one whose moments share a word. */
#ifndef SPLAT_OPS_ADAM_CUDA_CUH
#define SPLAT_OPS_ADAM_CUDA_CUH

#include "backend/cuda_backend.cuh"

extern "C" {
#include "math/gaussian.h"
#include "ops/adam/adam.h"
}

/* How fast a tensor moves: lr / correction1, 1 / sqrt(correction2), and the key of its rounding in small storages. */
struct adam_rate {
    float step_size, inverse_root;
    uint32_t rounding_key;
};

static inline adam_rate adam_rate_of(const splat_adam *adam, int t)
{
    return adam_rate{adam->lr[t] / adam->correction1[t], 1.0f / sqrtf(adam->correction2[t]),
                     splat_rounding_key((uint32_t)t, adam->iteration)};
}

/* A tensor with its moments, in float32 (m, v) or quantized, and its step. */
struct adam_tensor {
    float *p, *m, *v;
    uint32_t *quantized;
    adam_rate rate;
    bool update;
};

static inline void adam_tensors_of(const splat_gaussians *g, const splat_adam *adam,
                                   adam_tensor tensors[SPLAT_N_TENSORS])
{
    const splat_moments *moments = adam->moments;
#define SPLAT_TENSOR(name, ...)                                                                                        \
    tensors[SPLAT_TENSOR_##name] = adam_tensor{g->p.name,                                                              \
                                               moments->m.name,                                                        \
                                               moments->v.name,                                                        \
                                               moments->quantized[SPLAT_TENSOR_##name],                                \
                                               adam_rate_of(adam, SPLAT_TENSOR_##name),                                \
                                               adam->update[SPLAT_TENSOR_##name]};
#include "math/gaussians.def"
#undef SPLAT_TENSOR
}

/* ---------------------------------------------------------------- rounding of small storages */

/* Random bits for neighbouring values, from `index` on (splat_rounding_bits, whose inner hash they share). */
struct rounding {
    uint64_t index;
    uint32_t key, inner;
};

__device__ __forceinline__ rounding rounding_from(uint32_t key, uint64_t index)
{
    rounding r = {index, key, splat_mix32((uint32_t)(index >> 32) + key)};
    return r;
}

__device__ __forceinline__ uint32_t rounding_bits(const rounding &r, uint32_t offset)
{
    uint32_t low = (uint32_t)r.index + offset;
    if (low < offset) return splat_rounding_bits(r.key, r.index + offset); /* across 2^32 */
    return splat_mix32(low ^ r.inner);
}

/* ---------------------------------------------------------------- values */

/* Square root and quotient of a step, right to a few units of the 23rd bit. A root below 1e-19 becomes 0: such a v is
 * nothing next to the epsilon. */
__device__ __forceinline__ float quick_root(float x)
{
#ifdef __CUDA_ARCH__
    float root;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
    return root;
#else
    return sqrtf(x);
#endif
}

__device__ __forceinline__ float quick_quotient(float a, float b)
{
#ifdef __CUDA_ARCH__
    float quotient;
    asm("div.approx.ftz.f32 %0, %1, %2;" : "=f"(quotient) : "f"(a), "f"(b));
    return quotient;
#else
    return a / b;
#endif
}

/* The decay of moments in a step: constants for one view, that of as many steps for several views. */
struct one_view {
    __device__ __forceinline__ float beta1() const { return SPLAT_ADAM_BETA1; }
    __device__ __forceinline__ float beta2() const { return SPLAT_ADAM_BETA2; }
};

struct several_views {
    float b1, b2;
    __device__ __forceinline__ float beta1() const { return b1; }
    __device__ __forceinline__ float beta2() const { return b2; }
};

static inline several_views decay_of(uint32_t n_views)
{
    const several_views decay = {powf(SPLAT_ADAM_BETA1, (float)n_views), powf(SPLAT_ADAM_BETA2, (float)n_views)};
    return decay;
}

/* The gradient of a value after several views: the means of their gradients and of the squares (batch_step). After one
 * view a gradient is a float. */
struct views_gradient {
    float mean, square;
};

__device__ __forceinline__ float mean_of(float g) { return g; }
__device__ __forceinline__ float mean_of(const views_gradient &g) { return g.mean; }
__device__ __forceinline__ float square_of(float g, float share) { return __fmul_rn(__fmul_rn(share, g), g); }
__device__ __forceinline__ float square_of(const views_gradient &g, float share) { return __fmul_rn(share, g.square); }

/* p minus the step of its moments. */
__device__ __forceinline__ float stepped(float p, float m, float v, const adam_rate &rate)
{
    const float root = __fmaf_rn(quick_root(v), rate.inverse_root, SPLAT_ADAM_EPSILON);
    return __fsub_rn(p, quick_quotient(__fmul_rn(rate.step_size, m), root));
}

/* Each rounding is explicit: a step that is put off has the same bits in every kernel. */
template <typename GRADIENT, typename DECAY = one_view>
__device__ __forceinline__ void adam_value(float *p, float *m, float *v, const GRADIENT &g, const adam_rate &rate,
                                           const DECAY &decay = DECAY())
{
    *m = __fmaf_rn(decay.beta1(), *m, __fmul_rn(1.0f - decay.beta1(), mean_of(g)));
    *v = __fmaf_rn(decay.beta2(), *v, square_of(g, 1.0f - decay.beta2()));
    *p = stepped(*p, *m, *v, rate);
}

/* Four consecutive values of a tensor and of its moments, in registers. Several quads are in flight at once: the
 * bandwidth of the device needs it. */
struct adam_quad {
    float4 p, m, v;
};

__device__ __forceinline__ adam_quad load_quad(const adam_tensor &T, size_t at)
{
    adam_quad q;
    q.p = *(const float4 *)(T.p + at);
    q.m = *(const float4 *)(T.m + at);
    q.v = *(const float4 *)(T.v + at);
    return q;
}

__device__ __forceinline__ void store_values(float *to, float4 q, uint32_t values)
{
    if (values == 15u) {
        *(float4 *)to = q;
        return;
    }
    if (values & 1u) to[0] = q.x;
    if (values & 2u) to[1] = q.y;
    if (values & 4u) to[2] = q.z;
    if (values & 8u) to[3] = q.w;
}

/* Steps the values whose bits are set in `values`; the others may be stepped elsewhere at the same time. */
template <typename GRADIENT, typename DECAY = one_view>
__device__ __forceinline__ void step_quad(const adam_tensor &T, size_t at, adam_quad q, const GRADIENT g[4],
                                          uint32_t values, const DECAY &decay = DECAY())
{
    if (values & 1u) adam_value(&q.p.x, &q.m.x, &q.v.x, g[0], T.rate, decay);
    if (values & 2u) adam_value(&q.p.y, &q.m.y, &q.v.y, g[1], T.rate, decay);
    if (values & 4u) adam_value(&q.p.z, &q.m.z, &q.v.z, g[2], T.rate, decay);
    if (values & 8u) adam_value(&q.p.w, &q.m.w, &q.v.w, g[3], T.rate, decay);
    store_values(T.p + at, q.p, values);
    store_values(T.m + at, q.m, values);
    store_values(T.v + at, q.v, values);
}

/* A value whose moments are a pair in a word; returns the new pair. */
template <typename GRADIENT, typename DECAY = one_view>
__device__ __forceinline__ uint32_t adam_pair(float *p, uint32_t code, const GRADIENT &g, const adam_rate &rate,
                                              uint32_t random, const DECAY &decay = DECAY())
{
    float m, v;
    splat_pair_decode(code, &m, &v);
    adam_value(p, &m, &v, g, rate, decay);
    return splat_pair_encode(m, v, random);
}

/* The gradient of opacity_pull sigmoid(p) or of scale_pull exp(p), one of which is 0; 0 if it is not finite. */
__device__ __forceinline__ float pull_of(float opacity_pull, float scale_pull, float p)
{
    float pull = 0.0f;
    if (opacity_pull > 0.0f) {
        const float o = splat_sigmoid(p);
        pull = opacity_pull * (o * (1.0f - o));
    }
    if (scale_pull > 0.0f) pull = scale_pull * expf(p);
    return isfinite(pull) ? pull : 0.0f;
}

/* batch_rows_cuda.cu: op batch_step of sh_rest if it, or its moments, are in a small storage. */
splat_status splat_cuda_batch_rows(splat_cuda_backend *cuda, const struct splat_batch_step_args *args,
                                   splat_error *error);

#endif
