/* Small storages of trained values: 16-bit spherical harmonics, and Adam's moments in 16 and 8 bits. Shared by C and
 * CUDA, bit for bit the same on both.
 *
 * Stores round stochastically, up with the probability of the part that is cut off: an update smaller than the
 * storage's step is kept on average, where rounding to nearest would lose it for ever (beta_2 = 0.999 changes v by less
 * than 16 bits can tell). What is kept on average is the value itself, for v too: rounding its root without bias would
 * raise v by the variance of the root at every store. The random bits are a hash of the value's index and the
 * iteration, so that a run repeats itself.
 * Zero decodes to exactly zero, and a value that a storage can hold is stored as it is: what has no gradient and no
 * momentum does not drift.
 *
 * No branches, so that loops over these functions vectorise. */
#ifndef SPLAT_MATH_QUANTIZE_H
#define SPLAT_MATH_QUANTIZE_H

#include "math/inline.h"

/* The finaliser of MurmurHash3 (Appleby, public domain). */
SPLAT_MATH_INLINE uint32_t splat_mix32(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ (x >> 16);
}

SPLAT_MATH_INLINE uint32_t splat_rounding_key(uint32_t tensor, uint32_t iteration)
{
    return splat_mix32(iteration * 0x9e3779b9u + tensor);
}

/* 32 random bits for value `index` of a tensor at an iteration; key = splat_rounding_key(tensor, iteration). */
SPLAT_MATH_INLINE uint32_t splat_rounding_bits(uint32_t key, uint64_t index)
{
    return splat_mix32((uint32_t)index ^ splat_mix32((uint32_t)(index >> 32) + key));
}

/* a b rounded once. CUDA compilers merge a product with the sum that follows, which rounds otherwise. */
SPLAT_MATH_INLINE float splat_rounded_product(float a, float b)
{
#ifdef __CUDA_ARCH__
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
}

/* ---------------------------------------------------------------- IEEE binary16 */

SPLAT_MATH_INLINE float splat_half_decode(uint16_t code)
{
    uint32_t sign = (uint32_t)(code & 0x8000u) << 16, rest = (uint32_t)(code & 0x7fffu) << 13;
    uint32_t normal = rest + (rest >= 0x0f800000u ? 0x70000000u : 0x38000000u); /* infinity and NaN, or a number */
    /* below 2^-14: (1 + mantissa) 2^-14 less 2^-14, exact */
    uint32_t small = splat_bits_of_float(splat_float_of_bits(rest + 0x38800000u) - splat_float_of_bits(0x38800000u));
    return splat_float_of_bits(sign | (rest < 0x00800000u ? small : normal));
}

/* random: 13 bits decide the rounding; SPLAT_ROUND_NEAREST instead rounds to nearest, ties away from zero. Finite
 * values beyond 65504 become 65504; what is not finite stays so, for density control to find. */
SPLAT_MATH_INLINE uint16_t splat_half_encode(float value, uint32_t random)
{
    uint32_t bits = splat_bits_of_float(value), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    uint32_t cut = random & 0x1fffu, low = rest < 0x38800000u ? rest : 0x38800000u; /* 2^-14 */
    uint32_t not_finite = rest > 0x7f800000u ? 0x7e00u : 0x7c00u;
    uint32_t normal = (rest + cut - 0x38000000u) >> 13;
    /* below 2^-14 in units of 2^-37, of which 2^13 are a step; the product is exact */
    uint32_t small = ((uint32_t)(int32_t)(splat_float_of_bits(low) * 137438953472.0f) + cut) >> 13;
    uint32_t code = rest < 0x38800000u ? small : normal;
    code = code < 0x7bffu ? code : 0x7bffu;
    code = rest < 0x7f800000u ? code : not_finite;
    return (uint16_t)(sign | code);
}

#define SPLAT_ROUND_NEAREST 0x1000u

/* Halves of a row of sh_rest: an even number, so that rows are whole words. */
SPLAT_MATH_INLINE uint32_t splat_half_row(uint32_t channels)
{
    return (channels + 1u) & ~1u;
}

/* ---------------------------------------------------------------- a pair of moments in one word
 *
 * Low half: m as the upper half of a float (8 bits of exponent, 7 of mantissa). High half: v, which has no sign, with 8
 * bits of each. Finite values stay finite. */

SPLAT_MATH_INLINE void splat_pair_decode(uint32_t code, float *m, float *v)
{
    *m = splat_float_of_bits(code << 16);
    *v = splat_float_of_bits((code & 0xffff0000u) >> 1);
}

SPLAT_MATH_INLINE uint32_t splat_pair_encode(float m, float v, uint32_t random)
{
    uint32_t bits_m = splat_bits_of_float(m), rest_m = bits_m & 0x7fffffffu;
    uint32_t rest_v = splat_bits_of_float(v) & 0x7fffffffu;
    uint32_t low = (rest_m + (random & 0xffffu)) >> 16, high = (rest_v + (random >> 17)) >> 15;
    low = low < 0x7f7fu ? low : 0x7f7fu;
    high = high < 0xfeffu ? high : 0xfeffu;
    low = rest_m < 0x7f800000u ? low : rest_m > 0x7f800000u ? 0x7fc0u : 0x7f80u;
    high = rest_v < 0x7f800000u ? high : rest_v > 0x7f800000u ? 0xff80u : 0xff00u;
    return (bits_m >> 16 & 0x8000u) | low | high << 16;
}

/* ---------------------------------------------------------------- a row of moments in 8 bits
 *
 * For the channels of sh_rest of one Gaussian: two float scales (the largest |m| and the largest sqrt(v) of the row),
 * then a byte a channel for m, then a byte a channel for v, padded with zeros to whole words. Codes are quadratic: c
 * stands for m = scale (c / 127)^2 with the sign of c, and for sqrt(v) = scale (c / 255)^2, which keeps 2 to 4 digits
 * over a range of 1 : 60,000. */

#define SPLAT_ROW_M_MOST 127.0f
#define SPLAT_ROW_V_MOST 255.0f
/* Scales below are zero: no step would be moved by them. */
#define SPLAT_ROW_LEAST_M 1e-30f
#define SPLAT_ROW_LEAST_V 1e-18f

/* Words (uint32_t) of a row. */
SPLAT_MATH_INLINE uint32_t splat_moment_row_words(uint32_t channels)
{
    return channels ? 2u + (2u * channels + 3u) / 4u : 0u;
}

/* The scale that is stored for the largest value of a row: 0 when it is below `least`, and never infinite. */
SPLAT_MATH_INLINE float splat_row_scale(float largest, float least)
{
    return largest >= least ? splat_clamp(largest, least, 3.402823466e38f) : 0.0f;
}

/* The factor of values before they are encoded. */
SPLAT_MATH_INLINE float splat_row_inverse(float scale)
{
    return scale > 0.0f ? 1.0f / scale : 0.0f;
}

SPLAT_MATH_INLINE float splat_row_decode_m(int8_t code, float scale)
{
    float c = (float)code;
    return scale * (c * fabsf(c) * (1.0f / (SPLAT_ROW_M_MOST * SPLAT_ROW_M_MOST)));
}

/* v, not its root. */
SPLAT_MATH_INLINE float splat_row_decode_v(uint8_t code, float scale)
{
    float c = (float)code, root = scale * (c * c * (1.0f / (SPLAT_ROW_V_MOST * SPLAT_ROW_V_MOST)));
    return splat_rounded_product(root, root);
}

/* share = value / scale in units of the code's square: in [0, most^2]; NaN is the most. */
SPLAT_MATH_INLINE float splat_row_square(float share, float most)
{
    return splat_rounded_product(splat_clamp(share, 0.0f, 1.0f), most * most);
}

/* The largest c with c^2 <= x: a correctly rounded root reaches c only where x reaches c^2. */
SPLAT_MATH_INLINE float splat_row_below(float x)
{
    return (float)(int32_t)sqrtf(x);
}

/* inverse_scale: splat_row_inverse. Up from c to c + 1 with the probability of m's place between their values, which go
 * by c^2. Products below are exact where a sum follows them, so that merging them changes nothing. */
SPLAT_MATH_INLINE int8_t splat_row_encode_m(float m, float inverse_scale, uint32_t random)
{
    float x = splat_row_square(splat_rounded_product(fabsf(m), inverse_scale), SPLAT_ROW_M_MOST);
    float c = splat_row_below(x), share = (float)(int32_t)(random & 0xffffu) * (1.0f / 65536.0f);
    int32_t code = (int32_t)c + (x - c * c > splat_rounded_product(2.0f * c + 1.0f, share));
    return (int8_t)(m < 0.0f ? -code : code);
}

/* root = sqrt(v). Up with the probability of v's place between the values of v, which go by c^4. What is not zero never
 * becomes zero: m / sqrt(v) must stay finite and small. */
SPLAT_MATH_INLINE uint8_t splat_row_encode_v(float root, float inverse_scale, uint32_t random)
{
    float x = splat_row_square(splat_rounded_product(root, inverse_scale), SPLAT_ROW_V_MOST);
    float c = splat_row_below(x), share = (float)(int32_t)(random >> 16) * (1.0f / 65536.0f);
    float low = c * c, high = (c + 1.0f) * (c + 1.0f);
    float place = splat_rounded_product(x - low, x + low), step = splat_rounded_product(high - low, high + low);
    int32_t code = (int32_t)c + (place > splat_rounded_product(step, share));
    return (uint8_t)(code == 0 && x > 0.0f ? 1 : code);
}

#endif
