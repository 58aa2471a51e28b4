/* The sinks of project_backward on CUDA: what becomes of the gradients of a block of Gaussians, which lie in shared
 * memory. project_backward_cuda.cu makes the gradients. */
#ifndef SPLAT_OPS_PROJECT_SINKS_CUDA_CUH
#define SPLAT_OPS_PROJECT_SINKS_CUDA_CUH

#include "ops/adam/adam_rows_cuda.cuh"
#include "ops/project/project_cuda.cuh"

#include <cstddef>

#define BACKWARD_THREADS 128
#define BACKWARD_WARPS (BACKWARD_THREADS / 32)

struct backward_parameters {
    splat_projector projector;
    splat_gaussians g;
    const float *depth;
    const splat_grad2d *grad2d;
    splat_cuda_view_state *state;
    /* the source */
    splat_tensors extra_gradients; /* NULL: none */
    const float *grad_depth;       /* the same */
    float ahead[3];                /* the camera's axis */
    float opacity_pull, scale_pull;
    /* the sink */
    adam_tensor tensors[SPLAT_N_TENSORS];
    bool rest_of_visible_only;
    splat_tensors gradients, squares; /* NULL: not wanted; squares with `adds` */
    bool adds;
    bool has_statistics;
    splat_statistics statistics;
    float half_width, half_height;
    splat_rest_cache cache;
    splat_deferred_rest deferred;
    uint32_t slot;
    bool seen_only; /* unseen_kernel steps the unseen */
};

/* Gradients of a block's Gaussians. Those of sh_rest are basis x colour: only the factors are kept. */
struct block_gradients {
#define SPLAT_SMALL_TENSOR(name, channels) float name[(channels) * BACKWARD_THREADS];
#include "math/small_tensors.def"
#undef SPLAT_SMALL_TENSOR
    float basis[BASIS_STRIDE * BACKWARD_THREADS], colour[3 * BACKWARD_THREADS];
};

/* ---------------------------------------------------------------- small tensors, float32 */

/* The rows of a block that are stepped: all, or those whose bits are set. */
struct all_rows {
    template <int CHANNELS> __device__ __forceinline__ uint32_t of_quad(uint32_t) const { return 15u; }
    __device__ __forceinline__ bool has(uint32_t) const { return true; }
};

struct some_rows {
    const uint32_t *bits; /* [BACKWARD_WARPS], in shared memory */
    __device__ __forceinline__ bool has(uint32_t row) const { return bits[row / 32] >> row % 32 & 1u; }
    /* A bit for each of the values 4 quad to 4 quad + 3 of a tensor. */
    template <int CHANNELS> __device__ __forceinline__ uint32_t of_quad(uint32_t quad) const
    {
        uint32_t values = 0;
#pragma unroll
        for (uint32_t j = 0; j < 4; j++) values |= (uint32_t)has((4 * quad + j) / CHANNELS) << j;
        return values;
    }
};

/* Gradients of a block's rows by tensor, value and the value of the parameter: those in shared memory, or those of
 * rows that the view does not see. */
struct view_gradients {
    const block_gradients &s;
    __device__ __forceinline__ float operator()(int t, uint32_t k, float) const
    {
#define SPLAT_SMALL_TENSOR(name, channels)                                                                             \
    if (t == SPLAT_TENSOR_##name) return s.name[k];
#include "math/small_tensors.def"
#undef SPLAT_SMALL_TENSOR
        return 0.0f;
    }
};

struct unseen_gradients {
    const backward_parameters &P;
    __device__ __forceinline__ float operator()(int t, uint32_t, float p) const
    {
        return pull_of(t == SPLAT_TENSOR_opacities ? P.opacity_pull : 0.0f,
                       t == SPLAT_TENSOR_scales ? P.scale_pull : 0.0f, p);
    }
};

/* The last block: value by value. */
template <int CHANNELS, typename GRADIENTS, typename ROWS>
__device__ __forceinline__ void update_floats(const backward_parameters &P, int t, const GRADIENTS &g,
                                              const ROWS &rows, uint32_t first, uint32_t n)
{
    const adam_tensor &T = P.tensors[t];
    size_t base = (size_t)first * CHANNELS;
    for (uint32_t k = threadIdx.x; T.update && k < n * CHANNELS; k += BACKWARD_THREADS)
        if (rows.has(k / CHANNELS))
            adam_value(T.p + base + k, T.m + base + k, T.v + base + k, g(t, k, T.p[base + k]), T.rate);
}

/* A whole block: the rows of a small tensor are CHANNELS quads for every four threads, at most one a thread. Returns
 * the bits of the values that are stepped; 0: the thread has none. */
template <int CHANNELS, typename ROWS>
__device__ __forceinline__ uint32_t load_own(const adam_tensor &T, const ROWS &rows, uint32_t first, adam_quad *q)
{
    const bool has = T.update && threadIdx.x < CHANNELS * BACKWARD_THREADS / 4;
    const uint32_t values = has ? rows.template of_quad<CHANNELS>(threadIdx.x) : 0;
    if (values) *q = load_quad(T, (size_t)first * CHANNELS + 4 * threadIdx.x);
    return values;
}

template <int CHANNELS, typename GRADIENTS>
__device__ __forceinline__ void step_own(const backward_parameters &P, int t, const GRADIENTS &g, uint32_t first,
                                         const adam_quad &q, uint32_t values)
{
    const uint32_t k = 4 * threadIdx.x;
    const float own[4] = {g(t, k, q.p.x), g(t, k + 1, q.p.y), g(t, k + 2, q.p.z), g(t, k + 3, q.p.w)};
    step_quad(P.tensors[t], (size_t)first * CHANNELS + k, q, own, values);
}

/* A whole block: the quads of two or three tensors are in flight at once. */
template <typename GRADIENTS, typename ROWS>
__device__ __forceinline__ void update_whole_block(const backward_parameters &P, const GRADIENTS &g, const ROWS &rows,
                                                   uint32_t first)
{
    enum { MEANS = SPLAT_TENSOR_means, DC = SPLAT_TENSOR_sh_dc, SCALES = SPLAT_TENSOR_scales };
    enum { ROTATIONS = SPLAT_TENSOR_rotations, OPACITIES = SPLAT_TENSOR_opacities };
    static_assert(SPLAT_N_TENSORS == 6, "a new tensor joins one of the two groups");
    adam_quad a, b, c;
    uint32_t own_a = load_own<3>(P.tensors[MEANS], rows, first, &a);
    uint32_t own_b = load_own<3>(P.tensors[DC], rows, first, &b);
    if (own_a) step_own<3>(P, MEANS, g, first, a, own_a);
    if (own_b) step_own<3>(P, DC, g, first, b, own_b);
    own_a = load_own<3>(P.tensors[SCALES], rows, first, &a);
    own_b = load_own<4>(P.tensors[ROTATIONS], rows, first, &b);
    const uint32_t own_c = load_own<1>(P.tensors[OPACITIES], rows, first, &c);
    if (own_a) step_own<3>(P, SCALES, g, first, a, own_a);
    if (own_b) step_own<4>(P, ROTATIONS, g, first, b, own_b);
    if (own_c) step_own<1>(P, OPACITIES, g, first, c, own_c);
}

/* Those of a block's n rows that are in `rows`. */
template <typename GRADIENTS, typename ROWS>
__device__ __forceinline__ void update_small_floats(const backward_parameters &P, const GRADIENTS &g, const ROWS &rows,
                                                    uint32_t first, uint32_t n)
{
    if (n == BACKWARD_THREADS) {
        update_whole_block(P, g, rows, first);
        return;
    }
#define SPLAT_SMALL_TENSOR(name, channels) update_floats<channels>(P, SPLAT_TENSOR_##name, g, rows, first, n);
#include "math/small_tensors.def"
#undef SPLAT_SMALL_TENSOR
}

/* ---------------------------------------------------------------- small tensors, quantized and wanted */

/* Quantized: a word of moments a value. */
template <int CHANNELS>
__device__ __forceinline__ void update_pairs(const adam_tensor &T, const float *shared, uint32_t first, uint32_t n)
{
    const uint32_t count = n * CHANNELS, quads = n == BACKWARD_THREADS ? count / 4 : 0;
    size_t base = (size_t)first * CHANNELS;
    if (T.update && threadIdx.x < quads) {
        size_t at = base + 4 * threadIdx.x;
        const float *g = shared + 4 * threadIdx.x;
        float4 q = *(const float4 *)(T.p + at);
        uint4 code = *(const uint4 *)(T.quantized + at);
        rounding r = rounding_from(T.rate.rounding_key, at);
        code.x = adam_pair(&q.x, code.x, g[0], T.rate, rounding_bits(r, 0));
        code.y = adam_pair(&q.y, code.y, g[1], T.rate, rounding_bits(r, 1));
        code.z = adam_pair(&q.z, code.z, g[2], T.rate, rounding_bits(r, 2));
        code.w = adam_pair(&q.w, code.w, g[3], T.rate, rounding_bits(r, 3));
        *(float4 *)(T.p + at) = q;
        *(uint4 *)(T.quantized + at) = code;
    }
    for (uint32_t k = 4 * quads + threadIdx.x; T.update && k < count; k += BACKWARD_THREADS)
        T.quantized[base + k] = adam_pair(T.p + base + k, T.quantized[base + k], shared[k], T.rate,
                                          splat_rounding_bits(T.rate.rounding_key, base + k));
}

/* Writes or adds a gradient. */
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

__device__ __forceinline__ void give_small_gradients(const backward_parameters &P, const block_gradients &s,
                                                     uint32_t first, uint32_t n)
{
#define SPLAT_SMALL_TENSOR(name, channels)                                                                             \
    for (uint32_t k = threadIdx.x; P.gradients.name && k < n * channels; k += BACKWARD_THREADS)                        \
        give_gradient(P, P.gradients.name, P.squares.name, (size_t)first * channels + k, s.name[k]);
#include "math/small_tensors.def"
#undef SPLAT_SMALL_TENSOR
}

template <bool QUANTIZED>
__device__ __forceinline__ void update_small_tensors(const backward_parameters &P, const block_gradients &s,
                                                     uint32_t first, uint32_t n)
{
    if constexpr (QUANTIZED) {
#define SPLAT_SMALL_TENSOR(name, channels) update_pairs<channels>(P.tensors[SPLAT_TENSOR_##name], s.name, first, n);
#include "math/small_tensors.def"
#undef SPLAT_SMALL_TENSOR
    } else {
        update_small_floats(P, view_gradients{s}, all_rows(), first, n);
    }
    give_small_gradients(P, s, first, n);
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
    const adam_tensor &T = P.tensors[SPLAT_TENSOR_sh_rest];
    const uint32_t n_active = 3 * ((P.g.active_sh_degree + 1) * (P.g.active_sh_degree + 1) - 1), count = n * channels;
    size_t base = (size_t)first * channels; /* a multiple of four: first is a multiple of BACKWARD_THREADS */
    const uint32_t quads = T.update ? count / 4 : 0;
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
            if (any[j]) q[j] = load_quad(T, base + 4 * at);
        }
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++)
            if (any[j]) step_quad(T, base + 4 * (k + j * BACKWARD_THREADS), q[j], g[j], 15u);
    }
    bool active;
    for (uint32_t k = 4 * (count / 4) + threadIdx.x; T.update && k < count; k += BACKWARD_THREADS)
        adam_value(T.p + base + k, T.m + base + k, T.v + base + k, rest_gradient<DEGREE>(s, k, n_active, &active),
                   T.rate);
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

/* ---------------------------------------------------------------- sh_rest, by rows
 *
 * The parameters are in shared memory since the colours were computed: they are read once. */

template <int DEGREE, bool HALF, bool CACHED>
struct block_rows {
    uint32_t rest[BACKWARD_WARPS][32 * odd_words(rest_words(DEGREE, HALF))]; /* parameters, a row a lane */
    uint32_t slots[CACHED ? BACKWARD_WARPS : 1][32];                         /* of the cache, as warp_rows */
    uint8_t list[BACKWARD_WARPS][32];
};

/* Rows of sh_rest of the warp whose first Gaussian is `first`, and those of its moments: m and v, or both quantized. */
template <bool HALF, bool CACHED>
__device__ __forceinline__ warp_rows<CACHED> parameter_rows(const backward_parameters &P, const uint32_t *slots,
                                                            uint32_t first, uint32_t words)
{
    return warp_rows<CACHED>{(uint32_t *)rest_rows<HALF>(P.g), P.cache.rest, slots, first, words};
}

template <bool CACHED>
__device__ __forceinline__ warp_rows<CACHED> moment_rows(const backward_parameters &P, int which, uint32_t *home,
                                                         const uint32_t *slots, uint32_t first, uint32_t words)
{
    return warp_rows<CACHED>{home, P.cache.moments[which], slots, first, words};
}

/* The rows of `mask` among the warp's 32, whose first Gaussian is `first`. */
template <int DEGREE, bool HALF, bool CACHED>
__device__ __forceinline__ void update_float_rows(const backward_parameters &P, const block_gradients &s,
                                                  uint32_t *rest, const uint32_t *slots, uint8_t *list, uint32_t first,
                                                  uint32_t mask)
{
    constexpr uint32_t WORDS = rest_words(DEGREE, HALF), STRIDE = odd_words(WORDS);
    constexpr uint32_t channels = rest_channels(DEGREE);
    const adam_tensor &T = P.tensors[SPLAT_TENSOR_sh_rest];
    const uint32_t n = list_rows(mask, list), warp_thread = threadIdx.x & ~31u;
    step_float_rows<DEGREE, HALF, CACHED>(
        T.rate, moment_rows<CACHED>(P, 0, (uint32_t *)T.m, slots, first, channels),
        moment_rows<CACHED>(P, 1, (uint32_t *)T.v, slots, first, channels),
        [&](uint32_t row, uint32_t column) {
            const uint32_t thread = warp_thread + row;
            return s.basis[BASIS_STRIDE * thread + column / 3 + 1] * s.colour[3 * thread + column % 3];
        },
        [&](uint32_t row) { return rest + row * STRIDE; }, first, list, n, one_view());
    write_rows<WORDS, STRIDE, false>(rest, parameter_rows<HALF, CACHED>(P, slots, first, WORDS), list, n);
}

/* moments: room for MOMENT_ROWS rows. */
template <int DEGREE, bool HALF, bool CACHED>
__device__ __forceinline__ void update_quantized_rows(const backward_parameters &P, const block_gradients &s,
                                                      uint32_t *rest, const uint32_t *slots, uint8_t *list,
                                                      uint32_t *moments, uint32_t first, uint32_t mask)
{
    constexpr uint32_t WORDS = rest_words(DEGREE, HALF), STRIDE = odd_words(WORDS);
    constexpr uint32_t MOMENTS = moment_words(DEGREE);
    const adam_tensor &T = P.tensors[SPLAT_TENSOR_sh_rest];
    const warp_rows<CACHED> parameters = parameter_rows<HALF, CACHED>(P, slots, first, WORDS);
    const warp_rows<CACHED> stored =
        moment_rows<CACHED>(P, 0, T.quantized, slots, first, MOMENTS);
    for (int part = 0; part < 32; part += MOMENT_ROWS) {
        uint32_t n = list_rows(mask & ((1u << MOMENT_ROWS) - 1u) << part, list);
        read_rows<MOMENTS, odd_words(MOMENTS), true>(moments, stored, list, n);
        /* Without momentum and gradient nothing changes, and nothing is written. */
        bool moves = false;
        if (lane_index() < n) {
            const uint32_t *words = moments + lane_index() * odd_words(MOMENTS);
            const float *g = s.colour + 3 * ((threadIdx.x & ~31u) + list[lane_index()]);
            moves = words[0] || words[1] || g[0] != 0.0f || g[1] != 0.0f || g[2] != 0.0f;
        }
        if (!__any_sync(0xffffffffu, moves)) continue;
        step_quantized_rows<DEGREE, HALF>(
            T.rate, moments,
            [&](uint32_t row, uint32_t k) {
                const uint32_t thread = (threadIdx.x & ~31u) + row;
                const float basis = s.basis[BASIS_STRIDE * thread + k + 1], *colour = s.colour + 3 * thread;
                return make_float3(basis * colour[0], basis * colour[1], basis * colour[2]);
            },
            [&](uint32_t row) { return rest + row * STRIDE; }, first, list, n, one_view());
        write_rows<MOMENTS, odd_words(MOMENTS), true>(moments, stored, list, n);
        write_rows<WORDS, STRIDE, false>(rest, parameters, list, n);
    }
}

/* The warp's Gaussians whose rows of sh_rest are stepped, or only read. */
__device__ __forceinline__ uint32_t rows_in_use(const backward_parameters &P, uint32_t i)
{
    const bool all = P.tensors[SPLAT_TENSOR_sh_rest].update && !P.rest_of_visible_only;
    return __ballot_sync(0xffffffffu, i < P.g.n && (all || P.depth[i] > 0.0f));
}

/* ---------------------------------------------------------------- sh_rest, put off */

/* Keeps the factors of the gradient of a Gaussian that was seen, as row `at` of the gradients and directions. */
__device__ __forceinline__ void defer_rest(const backward_parameters &P, uint32_t i, const block_gradients &s,
                                           size_t at, uint32_t tag)
{
    if (i >= P.g.n || !(P.depth[i] > 0.0f)) return;
    const float *mean = P.g.p.means + 3 * (size_t)i, *colour = s.colour + 3 * threadIdx.x;
    float inverse_distance;
    const float3 d = direction_of(P.projector, mean[0], mean[1], mean[2], &inverse_distance);
    float *direction = P.deferred.direction + 3 * at;
    direction[0] = d.x;
    direction[1] = d.y;
    direction[2] = d.z;
    ((float4 *)P.deferred.gradient)[at] = make_float4(colour[0], colour[1], colour[2], __uint_as_float(tag));
}

/* A bit for each of a block's rows whose thread has `mine`, for all threads to read; false: none has. */
__device__ __forceinline__ bool list_of_block(bool mine, uint32_t bits[BACKWARD_WARPS])
{
    const uint32_t own = __ballot_sync(0xffffffffu, mine);
    if (lane_index() == 0) bits[threadIdx.x / 32] = own;
    return __syncthreads_or(mine);
}

/* ---------------------------------------------------------------- sinks */

/* The use of gradients. STEP, ROWS and CACHED step all tensors, and write or add gradients; sh_rest is float32
 * (STEP), or in another storage, or only its visible rows are stepped (ROWS), and some of them lie in a cache (CACHED).
 * DEFER steps the small tensors and defers the step of sh_rest. VIEW adds gradients for a step of several views, and
 * keeps those of sh_rest in the view's slot. */
enum sink_kind { STEP, ROWS, CACHED, DEFER, VIEW };

template <int DEGREE, bool QUANTIZED>
__device__ __forceinline__ void step_block(const backward_parameters &P, const block_gradients &s, uint32_t first,
                                           uint32_t n)
{
    update_small_tensors<QUANTIZED>(P, s, first, n);
    update_rest<DEGREE>(P, s, first, n);
    if (DEGREE > 0 && P.gradients.sh_rest) give_rest_gradients<DEGREE>(P, s, first, n);
}

/* Reads the rows of sh_rest that the block needs, and returns the thread's row. */
template <int DEGREE, bool HALF, bool CACHED>
__device__ __forceinline__ const uint32_t *fetch_rows(const backward_parameters &P,
                                                      block_rows<DEGREE, HALF, CACHED> &rows, uint32_t first,
                                                      uint32_t n)
{
    constexpr uint32_t WORDS = rest_words(DEGREE, HALF), STRIDE = odd_words(WORDS);
    const uint32_t warp = threadIdx.x / 32, *slots = rows.slots[CACHED ? warp : 0];
    if constexpr (CACHED) rows.slots[warp][lane_index()] = threadIdx.x < n ? P.cache.slot[first + threadIdx.x] : 0;
    if (P.tensors[SPLAT_TENSOR_sh_rest].update || P.g.active_sh_degree > 0) {
        const uint32_t n_rows = list_rows(rows_in_use(P, first + threadIdx.x), rows.list[warp]);
        read_rows<WORDS, STRIDE, false>(rows.rest[warp],
                                        parameter_rows<HALF, CACHED>(P, slots, first + 32 * warp, WORDS),
                                        rows.list[warp], n_rows);
    }
    return rows.rest[warp] + lane_index() * STRIDE;
}

template <int DEGREE, bool HALF, bool QUANTIZED, bool CACHED>
__device__ __forceinline__ void step_rows(const backward_parameters &P, block_gradients &s,
                                          block_rows<DEGREE, HALF, CACHED> &rows, uint32_t first, uint32_t n)
{
    constexpr uint32_t ROOM = MOMENT_ROWS * odd_words(moment_words(DEGREE));
    const uint32_t warp = threadIdx.x / 32, *slots = rows.slots[CACHED ? warp : 0];
    update_small_tensors<QUANTIZED>(P, s, first, n);
    if (P.gradients.sh_rest) give_rest_gradients<DEGREE>(P, s, first, n);
    if (!P.tensors[SPLAT_TENSOR_sh_rest].update) return;
    __syncthreads(); /* the small tensors' gradients make room for moments */
    static_assert(BACKWARD_WARPS * ROOM * sizeof(uint32_t) <= offsetof(block_gradients, basis), "no room");
    const uint32_t in_use = rows_in_use(P, first + threadIdx.x);
    if constexpr (QUANTIZED)
        update_quantized_rows<DEGREE, HALF, CACHED>(P, s, rows.rest[warp], slots, rows.list[warp],
                                                    (uint32_t *)&s + warp * ROOM, first + 32 * warp, in_use);
    else
        update_float_rows<DEGREE, HALF, CACHED>(P, s, rows.rest[warp], slots, rows.list[warp], first + 32 * warp,
                                                in_use);
}

__device__ __forceinline__ void note_step(const backward_parameters &P, bool left_out)
{
    const adam_rate &rate = P.tensors[SPLAT_TENSOR_sh_rest].rate;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        ((float2 *)P.deferred.steps)[P.deferred.n_steps] =
            left_out ? make_float2(NAN, NAN) : make_float2(rate.step_size, rate.inverse_root);
}

/* bits: of the rows that are stepped; another kernel steps the others. */
__device__ __forceinline__ void defer_block(const backward_parameters &P, const block_gradients &s,
                                            const uint32_t *bits, uint32_t first, uint32_t n)
{
    defer_rest(P, first + threadIdx.x, s, first + threadIdx.x, 2 * P.deferred.n_steps + 1);
    __syncthreads(); /* the means are as they were seen */
    update_small_floats(P, view_gradients{s}, some_rows{bits}, first, n);
    give_small_gradients(P, s, first, n);
}

__device__ __forceinline__ void keep_block(const backward_parameters &P, const block_gradients &s, uint32_t first,
                                           uint32_t n)
{
    const size_t slot = (size_t)(first + threadIdx.x) * P.deferred.n_slots + P.slot;
    defer_rest(P, first + threadIdx.x, s, slot, P.deferred.n_steps + 1);
    give_small_gradients(P, s, first, n);
}

#endif
