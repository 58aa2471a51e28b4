/* Adam on CUDA for rows of sh_rest that are not float32 throughout, or of which only some are touched: a warp steps
 * the rows of its own 32 Gaussians. project_backward_cuda.cu calls this after one view, batch_rows_cuda.cu after
 * several. */
#ifndef SPLAT_OPS_ADAM_ROWS_CUDA_CUH
#define SPLAT_OPS_ADAM_ROWS_CUDA_CUH

#include "ops/adam/adam_cuda.cuh"
#include "ops/rest/rest_rows_cuda.cuh"

#define MOMENT_ROWS 16 /* rows of quantized moments that a warp holds at a time */

template <bool HALF>
__device__ __forceinline__ float load_rest(const uint32_t *row, uint32_t k)
{
    return HALF ? half_value(((const uint16_t *)row)[k]) : __uint_as_float(row[k]);
}

template <bool HALF>
__device__ __forceinline__ void store_rest(uint32_t *row, uint32_t k, float value, uint32_t random)
{
    if (HALF)
        ((uint16_t *)row)[k] = splat_half_encode(value, random);
    else
        row[k] = __float_as_uint(value);
}

/* The listed rows of a warp whose first Gaussian is `first`, with moments in float32. gradient(row, column); rest(row):
 * where its parameters lie. */
template <int DEGREE, bool HALF, bool CACHED, typename GRADIENT, typename REST, typename DECAY>
__device__ __forceinline__ void step_float_rows(const adam_rate &rate, const warp_rows<CACHED> &m_rows,
                                                const warp_rows<CACHED> &v_rows, const GRADIENT &gradient,
                                                const REST &rest, uint32_t first, const uint8_t *list, uint32_t n,
                                                const DECAY &decay)
{
    constexpr uint32_t channels = rest_channels(DEGREE);
    constexpr int IN_FLIGHT = 4;
    const uint32_t count = n * channels, key = rate.rounding_key + 1;
    for (uint32_t k = lane_index(); k < count; k += IN_FLIGHT * 32) {
        float m[IN_FLIGHT], v[IN_FLIGHT];
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++) {
            uint32_t at = k + 32 * j;
            if (at >= count) continue;
            m[j] = __uint_as_float(m_rows(list[at / channels])[at % channels]);
            v[j] = __uint_as_float(v_rows(list[at / channels])[at % channels]);
        }
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++) {
            uint32_t at = k + 32 * j;
            if (at >= count) continue;
            uint32_t row = list[at / channels], column = at % channels;
            size_t place = (size_t)(first + row) * channels + column;
            float p = load_rest<HALF>(rest(row), column);
            adam_value(&p, &m[j], &v[j], gradient(row, column), rate, decay);
            store_rest<HALF>(rest(row), column, p, HALF ? splat_rounding_bits(key, place) : 0);
            m_rows(row)[column] = __float_as_uint(m[j]);
            v_rows(row)[column] = __float_as_uint(v[j]);
        }
    }
}

/* The largest of each GROUP lanes, in each of them; no value is negative. */
template <int GROUP>
__device__ __forceinline__ float group_max(float value)
{
#pragma unroll
    for (int offset = GROUP / 2; offset > 0; offset /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

/* The gradients of the three channels of a coefficient. */
struct views_gradient3 {
    float3 mean, square;
};

__device__ __forceinline__ float channel_of(const float3 &g, int c) { return c == 0 ? g.x : c == 1 ? g.y : g.z; }
__device__ __forceinline__ views_gradient channel_of(const views_gradient3 &g, int c)
{
    return views_gradient{channel_of(g.mean, c), channel_of(g.square, c)};
}

/* The same with moments in 8 bits (math/quantize.h), n rows of them packed in shared memory: a lane has the three
 * channels of one coefficient, and several rows fit into the warp. gradient(row, k): that of coefficient k. */
template <int DEGREE, bool HALF, typename GRADIENT, typename REST, typename DECAY>
__device__ __forceinline__ void step_quantized_rows(const adam_rate &rate, uint32_t *moments, const GRADIENT &gradient,
                                                    const REST &rest, uint32_t first, const uint8_t *list, uint32_t n,
                                                    const DECAY &decay)
{
    constexpr uint32_t channels = rest_channels(DEGREE);
    constexpr uint32_t GROUP = DEGREE == 3 ? 16 : DEGREE == 2 ? 8 : 4, MOMENTS = odd_words(moment_words(DEGREE));
    const uint32_t k = lane_index() % GROUP;
    for (uint32_t j = lane_index() / GROUP; j - lane_index() / GROUP < n; j += 32 / GROUP) {
        const bool mine = j < n && 3 * k < channels;
        const uint32_t row = list[j < n ? j : 0];
        const uint64_t index = (uint64_t)(first + row) * channels + 3 * k;
        uint32_t *words = moments + (j < n ? j : 0) * MOMENTS;
        uint8_t *codes = (uint8_t *)(words + 2) + 3 * k; /* of m; those of v follow all of m */
        float m[3] = {0.0f, 0.0f, 0.0f}, root[3] = {0.0f, 0.0f, 0.0f};
        if (mine) {
            const float scale_m = __uint_as_float(words[0]), scale_v = __uint_as_float(words[1]);
            const auto g3 = gradient(row, k);
            const rounding random = rounding_from(rate.rounding_key + 1, index);
#pragma unroll
            for (int c = 0; c < 3; c++) {
                const auto g = channel_of(g3, c);
                float v = splat_row_decode_v(codes[channels + c], scale_v);
                m[c] = decay.beta1() * splat_row_decode_m((int8_t)codes[c], scale_m) +
                       (1.0f - decay.beta1()) * mean_of(g);
                v = decay.beta2() * v + square_of(g, 1.0f - decay.beta2());
                root[c] = quick_root(v);
                float step = quick_quotient(rate.step_size * m[c], root[c] * rate.inverse_root + SPLAT_ADAM_EPSILON);
                float p = load_rest<HALF>(rest(row), 3 * k + c) - step;
                store_rest<HALF>(rest(row), 3 * k + c, p, HALF ? rounding_bits(random, c) : 0);
            }
        }
        float scale_m = group_max<GROUP>(fmaxf(fabsf(m[0]), fmaxf(fabsf(m[1]), fabsf(m[2]))));
        float scale_v = group_max<GROUP>(fmaxf(root[0], fmaxf(root[1], root[2])));
        scale_m = splat_row_scale(scale_m, SPLAT_ROW_LEAST_M);
        scale_v = splat_row_scale(scale_v, SPLAT_ROW_LEAST_V);
        __syncwarp(); /* the old scales were read */
        if (mine) {
            const float inverse_m = splat_row_inverse(scale_m), inverse_v = splat_row_inverse(scale_v);
            const rounding random = rounding_from(rate.rounding_key, index);
            if (k == 0) {
                words[0] = __float_as_uint(scale_m);
                words[1] = __float_as_uint(scale_v);
            }
#pragma unroll
            for (int c = 0; c < 3; c++) {
                uint32_t bits = rounding_bits(random, c);
                codes[c] = (uint8_t)splat_row_encode_m(m[c], inverse_m, bits);
                codes[channels + c] = splat_row_encode_v(root[c], inverse_v, bits);
            }
        }
    }
}

#endif
