/* Adam on CUDA for one block of Gaussians, in each storage of moments and of sh_rest. project_backward_cuda.cu leaves
 * the gradients of the block in shared memory and calls this. */
#ifndef SPLAT_OPS_ADAM_CUDA_CUH
#define SPLAT_OPS_ADAM_CUDA_CUH

#include "ops/project/project_cuda.cuh"

#define BACKWARD_THREADS 128
#define BACKWARD_WARPS (BACKWARD_THREADS / 32)
#define BASIS_STRIDE 17 /* odd: a thread writes its sixteen values without bank conflicts */

struct backward_parameters {
    splat_projector projector;
    splat_gaussians g;
    const float *depth;
    const splat_grad2d *grad2d;
    float half_width, half_height;
    splat_tensors m, v;
    splat_tensors gradients, extra_gradients; /* NULL where not given */
    splat_tensors squares;                    /* with adds */
    const float *grad_depth;                  /* likewise */
    float ahead[3];                           /* the camera's axis */
    float opacity_pull, scale_pull;
    bool update[SPLAT_N_TENSORS];
    float step_size[SPLAT_N_TENSORS], inverse_root[SPLAT_N_TENSORS]; /* lr / correction1, 1 / sqrt(correction2) */
    bool has_statistics, rest_of_visible_only;
    bool adds; /* to gradients and squares */
    uint32_t slot;
    bool seen_only; /* with sh_rest put off: the unseen are stepped by another kernel */
    splat_statistics statistics;
    splat_deferred_rest deferred;
    splat_rest_cache cache;
    splat_cuda_view_state *state;
    uint32_t *quantized[SPLAT_N_TENSORS];
    uint32_t rounding_key[SPLAT_N_TENSORS];
};

/* Gradients of a block's Gaussians. Those of sh_rest are basis x colour: only the factors are kept. */
struct block_gradients {
    float means[3 * BACKWARD_THREADS], sh_dc[3 * BACKWARD_THREADS], opacities[BACKWARD_THREADS],
        scales[3 * BACKWARD_THREADS], rotations[4 * BACKWARD_THREADS];
    float basis[BASIS_STRIDE * BACKWARD_THREADS], colour[3 * BACKWARD_THREADS];
};

/* ---------------------------------------------------------------- rounding of small storages */

/* Random bits for values that lie side by side, from `index` on (splat_rounding_bits, whose inner hash they share). */
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

/* ---------------------------------------------------------------- small tensors */

/* Square root and quotient of a step, right to a few units of the 23rd bit. A root below 1e-19 becomes 0: such a v is
 * nothing beside the epsilon. */
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

/* How fast moments decay in a step: of one view constants, of several views as in so many. */
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

/* What moves the moments of a value: the gradient of one view, or the means of several views' gradients and of their
 * squares (project.h, batch_step). */
struct views_gradient {
    float mean, square;
};

__device__ __forceinline__ float mean_of(float g) { return g; }
__device__ __forceinline__ float mean_of(const views_gradient &g) { return g.mean; }
__device__ __forceinline__ float square_of(float g, float share) { return __fmul_rn(__fmul_rn(share, g), g); }
__device__ __forceinline__ float square_of(const views_gradient &g, float share) { return __fmul_rn(share, g.square); }

/* p minus the step that its moments ask for. */
__device__ __forceinline__ float stepped(float p, float m, float v, float step_size, float inverse_root)
{
    const float root = __fmaf_rn(quick_root(v), inverse_root, SPLAT_ADAM_EPSILON);
    return __fsub_rn(p, quick_quotient(__fmul_rn(step_size, m), root));
}

/* With its roundings said, so that a step that is put off has the same bits in every kernel. */
template <typename GRADIENT, typename DECAY = one_view>
__device__ __forceinline__ void adam_value(float *p, float *m, float *v, const GRADIENT &g, float step_size,
                                           float inverse_root, const DECAY &decay = DECAY())
{
    *m = __fmaf_rn(decay.beta1(), *m, __fmul_rn(1.0f - decay.beta1(), mean_of(g)));
    *v = __fmaf_rn(decay.beta2(), *v, square_of(g, 1.0f - decay.beta2()));
    *p = stepped(*p, *m, *v, step_size, inverse_root);
}

/* Four consecutive values of a tensor and of its moments, in registers: several of these are in flight at once, which
 * is what the bandwidth of the device needs. */
struct adam_quad {
    float4 p, m, v;
};

__device__ __forceinline__ adam_quad load_quad(const float *p, const float *m, const float *v, size_t at)
{
    adam_quad q;
    q.p = *(const float4 *)(p + at);
    q.m = *(const float4 *)(m + at);
    q.v = *(const float4 *)(v + at);
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

/* Of its values those whose bits are set in `values`: the others may be stepped elsewhere at the same time. */
template <typename GRADIENT, typename DECAY = one_view>
__device__ __forceinline__ void step_quad(float *p, float *m, float *v, size_t at, adam_quad q, const GRADIENT g[4],
                                          float step_size, float inverse_root, uint32_t values,
                                          const DECAY &decay = DECAY())
{
    if (values & 1u) adam_value(&q.p.x, &q.m.x, &q.v.x, g[0], step_size, inverse_root, decay);
    if (values & 2u) adam_value(&q.p.y, &q.m.y, &q.v.y, g[1], step_size, inverse_root, decay);
    if (values & 4u) adam_value(&q.p.z, &q.m.z, &q.v.z, g[2], step_size, inverse_root, decay);
    if (values & 8u) adam_value(&q.p.w, &q.m.w, &q.v.w, g[3], step_size, inverse_root, decay);
    store_values(p + at, q.p, values);
    store_values(m + at, q.m, values);
    store_values(v + at, q.v, values);
}

/* Which rows of a block are stepped: all, or those whose bits are set. */
struct all_rows {
    template <int CHANNELS> __device__ __forceinline__ uint32_t of_quad(uint32_t) const { return 15u; }
    __device__ __forceinline__ bool has(uint32_t) const { return true; }
};

struct some_rows {
    const uint32_t *bits; /* [BACKWARD_WARPS], in shared memory */
    __device__ __forceinline__ bool has(uint32_t row) const { return bits[row / 32] >> row % 32 & 1u; }
    /* Of values 4 quad to 4 quad + 3 of a tensor those that are of such a row. */
    template <int CHANNELS> __device__ __forceinline__ uint32_t of_quad(uint32_t quad) const
    {
        uint32_t values = 0;
#pragma unroll
        for (uint32_t j = 0; j < 4; j++) values |= (uint32_t)has((4 * quad + j) / CHANNELS) << j;
        return values;
    }
};

/* Gradients of a block's rows by tensor, value and the value of the parameter: those that were left in shared memory,
 * or those that a row has though the view does not see it. */
struct view_gradients {
    const block_gradients &s;
    __device__ __forceinline__ float operator()(int t, uint32_t k, float) const
    {
        return t == SPLAT_TENSOR_means       ? s.means[k]
               : t == SPLAT_TENSOR_sh_dc     ? s.sh_dc[k]
               : t == SPLAT_TENSOR_scales    ? s.scales[k]
               : t == SPLAT_TENSOR_opacities ? s.opacities[k]
                                             : s.rotations[k];
    }
};

/* The gradients of opacity_pull sum o and scale_pull sum s; 0 where they are not finite. */
__device__ __forceinline__ float opacity_pull_of(const backward_parameters &P, float logit)
{
    if (!(P.opacity_pull > 0.0f)) return 0.0f;
    const float o = splat_sigmoid(logit), pull = P.opacity_pull * (o * (1.0f - o));
    return isfinite(pull) ? pull : 0.0f;
}

__device__ __forceinline__ float scale_pull_of(const backward_parameters &P, float log_scale)
{
    if (!(P.scale_pull > 0.0f)) return 0.0f;
    const float pull = P.scale_pull * expf(log_scale);
    return isfinite(pull) ? pull : 0.0f;
}

struct unseen_gradients {
    const backward_parameters &P;
    __device__ __forceinline__ float operator()(int t, uint32_t, float p) const
    {
        return t == SPLAT_TENSOR_scales      ? scale_pull_of(P, p)
               : t == SPLAT_TENSOR_opacities ? opacity_pull_of(P, p)
                                             : 0.0f;
    }
};

/* float32: the last block of all, value by value. */
template <int CHANNELS, typename GRADIENTS, typename ROWS>
__device__ __forceinline__ void update_floats(const backward_parameters &P, int t, float *p, float *m, float *v,
                                              const GRADIENTS &g, const ROWS &rows, uint32_t first, uint32_t n)
{
    size_t base = (size_t)first * CHANNELS;
    for (uint32_t k = threadIdx.x; P.update[t] && k < n * CHANNELS; k += BACKWARD_THREADS)
        if (rows.has(k / CHANNELS))
            adam_value(p + base + k, m + base + k, v + base + k, g(t, k, p[base + k]), P.step_size[t],
                       P.inverse_root[t]);
}

/* float32: the rows of a small tensor of a whole block are CHANNELS quads for every four threads, at most one a thread.
 * Returns which of its values are stepped; 0: the thread has none. */
template <int CHANNELS, typename ROWS>
__device__ __forceinline__ uint32_t load_own(const backward_parameters &P, int t, const float *p, const float *m,
                                             const float *v, const ROWS &rows, uint32_t first, adam_quad *q)
{
    const bool has = P.update[t] && threadIdx.x < CHANNELS * BACKWARD_THREADS / 4;
    const uint32_t values = has ? rows.template of_quad<CHANNELS>(threadIdx.x) : 0;
    if (values) *q = load_quad(p, m, v, (size_t)first * CHANNELS + 4 * threadIdx.x);
    return values;
}

template <int CHANNELS, typename GRADIENTS>
__device__ __forceinline__ void step_own(const backward_parameters &P, int t, float *p, float *m, float *v,
                                         const GRADIENTS &g, uint32_t first, const adam_quad &q, uint32_t values)
{
    const uint32_t k = 4 * threadIdx.x;
    const float own[4] = {g(t, k, q.p.x), g(t, k + 1, q.p.y), g(t, k + 2, q.p.z), g(t, k + 3, q.p.w)};
    step_quad(p, m, v, (size_t)first * CHANNELS + k, q, own, P.step_size[t], P.inverse_root[t], values);
}

/* float32, a whole block: the quads of two or three tensors are in flight at once. */
template <typename GRADIENTS, typename ROWS>
__device__ __forceinline__ void update_whole_block(const backward_parameters &P, const GRADIENTS &g, const ROWS &rows,
                                                   uint32_t first)
{
    const splat_tensors &p = P.g.p, &m = P.m, &v = P.v;
    enum { MEANS = SPLAT_TENSOR_means, DC = SPLAT_TENSOR_sh_dc, SCALES = SPLAT_TENSOR_scales };
    enum { ROTATIONS = SPLAT_TENSOR_rotations, OPACITIES = SPLAT_TENSOR_opacities };
    adam_quad a, b, c;
    uint32_t own_a = load_own<3>(P, MEANS, p.means, m.means, v.means, rows, first, &a);
    uint32_t own_b = load_own<3>(P, DC, p.sh_dc, m.sh_dc, v.sh_dc, rows, first, &b);
    if (own_a) step_own<3>(P, MEANS, p.means, m.means, v.means, g, first, a, own_a);
    if (own_b) step_own<3>(P, DC, p.sh_dc, m.sh_dc, v.sh_dc, g, first, b, own_b);
    own_a = load_own<3>(P, SCALES, p.scales, m.scales, v.scales, rows, first, &a);
    own_b = load_own<4>(P, ROTATIONS, p.rotations, m.rotations, v.rotations, rows, first, &b);
    const uint32_t own_c = load_own<1>(P, OPACITIES, p.opacities, m.opacities, v.opacities, rows, first, &c);
    if (own_a) step_own<3>(P, SCALES, p.scales, m.scales, v.scales, g, first, a, own_a);
    if (own_b) step_own<4>(P, ROTATIONS, p.rotations, m.rotations, v.rotations, g, first, b, own_b);
    if (own_c) step_own<1>(P, OPACITIES, p.opacities, m.opacities, v.opacities, g, first, c, own_c);
}

/* float32, of a block's n rows those of `rows`. */
template <typename GRADIENTS, typename ROWS>
__device__ __forceinline__ void update_small_floats(const backward_parameters &P, const GRADIENTS &g, const ROWS &rows,
                                                    uint32_t first, uint32_t n)
{
    const splat_tensors &p = P.g.p, &m = P.m, &v = P.v;
    if (n == BACKWARD_THREADS) {
        update_whole_block(P, g, rows, first);
        return;
    }
    update_floats<3>(P, SPLAT_TENSOR_means, p.means, m.means, v.means, g, rows, first, n);
    update_floats<3>(P, SPLAT_TENSOR_sh_dc, p.sh_dc, m.sh_dc, v.sh_dc, g, rows, first, n);
    update_floats<1>(P, SPLAT_TENSOR_opacities, p.opacities, m.opacities, v.opacities, g, rows, first, n);
    update_floats<3>(P, SPLAT_TENSOR_scales, p.scales, m.scales, v.scales, g, rows, first, n);
    update_floats<4>(P, SPLAT_TENSOR_rotations, p.rotations, m.rotations, v.rotations, g, rows, first, n);
}

/* A value whose moments are a pair in a word; returns the new pair. */
template <typename GRADIENT, typename DECAY = one_view>
__device__ __forceinline__ uint32_t adam_pair(float *p, uint32_t code, const GRADIENT &g, float step_size,
                                              float inverse_root, uint32_t random, const DECAY &decay = DECAY())
{
    float m, v;
    splat_pair_decode(code, &m, &v);
    adam_value(p, &m, &v, g, step_size, inverse_root, decay);
    return splat_pair_encode(m, v, random);
}

/* Quantized: with a word of moments a value. */
template <int CHANNELS>
__device__ __forceinline__ void update_pairs(const backward_parameters &P, int t, float *p, const float *shared,
                                             uint32_t first, uint32_t n)
{
    const uint32_t count = n * CHANNELS, quads = n == BACKWARD_THREADS ? count / 4 : 0;
    size_t base = (size_t)first * CHANNELS;
    uint32_t *moments = P.quantized[t];
    float step_size = P.step_size[t], inverse_root = P.inverse_root[t];
    if (P.update[t] && threadIdx.x < quads) {
        size_t at = base + 4 * threadIdx.x;
        const float *g = shared + 4 * threadIdx.x;
        float4 q = *(const float4 *)(p + at);
        uint4 code = *(const uint4 *)(moments + at);
        rounding r = rounding_from(P.rounding_key[t], at);
        code.x = adam_pair(&q.x, code.x, g[0], step_size, inverse_root, rounding_bits(r, 0));
        code.y = adam_pair(&q.y, code.y, g[1], step_size, inverse_root, rounding_bits(r, 1));
        code.z = adam_pair(&q.z, code.z, g[2], step_size, inverse_root, rounding_bits(r, 2));
        code.w = adam_pair(&q.w, code.w, g[3], step_size, inverse_root, rounding_bits(r, 3));
        *(float4 *)(p + at) = q;
        *(uint4 *)(moments + at) = code;
    }
    for (uint32_t k = 4 * quads + threadIdx.x; P.update[t] && k < count; k += BACKWARD_THREADS)
        moments[base + k] = adam_pair(p + base + k, moments[base + k], shared[k], step_size, inverse_root,
                                      splat_rounding_bits(P.rounding_key[t], base + k));
}

/* To who asked for them. */
__device__ __forceinline__ void give_gradient(const backward_parameters &P, float *gradients, float *squares,
                                              size_t at, float g)
{
    if (!P.adds) {
        gradients[at] = g;
    } else if (g != 0.0f) { /* rows that the view does not see are not even read */
        gradients[at] += g;
        squares[at] = __fmaf_rn(g, g, squares[at]);
    }
}

template <int CHANNELS>
__device__ __forceinline__ void give_gradients(const backward_parameters &P, float *gradients, float *squares,
                                               const float *shared, uint32_t first, uint32_t n)
{
    for (uint32_t k = threadIdx.x; gradients && k < n * CHANNELS; k += BACKWARD_THREADS)
        give_gradient(P, gradients, squares, (size_t)first * CHANNELS + k, shared[k]);
}

/* ---------------------------------------------------------------- sh_rest, all float32 */

/* The gradient of value k of the block's sh_rest rows; *active: the band is evaluated. */
template <int DEGREE>
__device__ __forceinline__ float rest_gradient(const block_gradients &s, uint32_t k, uint32_t n_active, bool *active)
{
    constexpr uint32_t channels = DEGREE == 0 ? 1
                                              : 3 * ((DEGREE + 1) * (DEGREE + 1) - 1); /* 1: never divided by zero */
    uint32_t row = k / channels, column = k % channels;
    *active = column < n_active;
    return *active ? s.basis[BASIS_STRIDE * row + column / 3 + 1] * s.colour[3 * row + column % 3] : 0.0f;
}

/* sh_rest. Bands above the active degree have neither gradient nor moments: quads that lie in them are not touched. */
template <int DEGREE>
__device__ __forceinline__ void update_rest(const backward_parameters &P, const block_gradients &s, uint32_t first,
                                            uint32_t n)
{
    if (DEGREE == 0) return;
    constexpr uint32_t channels = 3 * ((DEGREE + 1) * (DEGREE + 1) - 1);
    constexpr int IN_FLIGHT = 2;
    const int t = SPLAT_TENSOR_sh_rest;
    const uint32_t n_active = 3 * ((P.g.active_sh_degree + 1) * (P.g.active_sh_degree + 1) - 1), count = n * channels;
    float *p = P.g.p.sh_rest, *m = P.m.sh_rest, *v = P.v.sh_rest;
    float step_size = P.step_size[t], inverse_root = P.inverse_root[t];
    size_t base = (size_t)first * channels; /* a multiple of four: first is a multiple of BACKWARD_THREADS */
    const uint32_t quads = P.update[t] ? count / 4 : 0;
    for (uint32_t k = threadIdx.x; k < quads; k += IN_FLIGHT * BACKWARD_THREADS) {
        adam_quad q[IN_FLIGHT];
        float g[IN_FLIGHT][4];
        bool any[IN_FLIGHT];
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++) {
            uint32_t at = k + j * BACKWARD_THREADS;
            any[j] = false;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                bool active = false;
                g[j][i] = at < quads ? rest_gradient<DEGREE>(s, 4 * at + i, n_active, &active) : 0.0f;
                any[j] = any[j] || active;
            }
            if (any[j]) q[j] = load_quad(p, m, v, base + 4 * at);
        }
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++)
            if (any[j])
                step_quad(p, m, v, base + 4 * (k + j * BACKWARD_THREADS), q[j], g[j], step_size, inverse_root, 15u);
    }
    bool active;
    for (uint32_t k = 4 * (count / 4) + threadIdx.x; P.update[t] && k < count; k += BACKWARD_THREADS)
        adam_value(p + base + k, m + base + k, v + base + k, rest_gradient<DEGREE>(s, k, n_active, &active), step_size,
                   inverse_root);
}

template <int DEGREE>
__device__ __forceinline__ void give_rest_gradients(const backward_parameters &P, const block_gradients &s,
                                                    uint32_t first, uint32_t n)
{
    const uint32_t n_active = rest_channels(P.g.active_sh_degree), count = n * rest_channels(DEGREE);
    const size_t base = (size_t)first * rest_channels(DEGREE);
    bool active;
#pragma unroll 1 /* of tests, and of batches */
    for (uint32_t k = threadIdx.x; k < count; k += BACKWARD_THREADS)
        give_gradient(P, P.gradients.sh_rest, P.squares.sh_rest, base + k,
                      rest_gradient<DEGREE>(s, k, n_active, &active));
}

/* batch_rows_cuda.cu: op batch_step of sh_rest where it, or its moments, are in a small storage. */
splat_status splat_cuda_batch_rows(splat_cuda_backend *cuda, const struct splat_batch_step_args *args,
                                   splat_error *error);

#endif
