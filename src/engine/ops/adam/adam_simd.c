/* The kernels of adam_kernels.h: on floats, and on rows in small storages (math/quantize.h), which are decoded to
 * floats a few at a time, stepped, and encoded again, all in the first cache level. Compiled once a SIMD level. */
#include "ops/adam/adam_kernels.h"

#include "math/quantize.h"

#include <math.h>
#include <string.h>

/* Without gradients the moments shrink until they are denormal, which halves the speed of this loop on some CPUs and
 * costs far more on others. They are dropped before: what is lost stays below 1e-15 of a step (m), or below 1e-3 of
 * epsilon (v). */
static void SIMD(adam)(float *restrict parameters, float *restrict m, float *restrict v, splat_adam_gradient gradient,
                       size_t n, splat_adam_step step)
{
    const float *restrict mean = gradient.mean, *restrict square = gradient.square;
    for (size_t i = 0; i < n; i++) {
        float g = mean[i], share = 1.0f - step.beta2;
        float mi = step.beta1 * m[i] + (1.0f - step.beta1) * g;
        float vi = step.beta2 * v[i] + (square ? share * square[i] : share * g * g);
        mi = splat_choose(fabsf(mi) >= 1e-30f, mi, 0.0f);
        vi = splat_choose(vi >= 1e-37f, vi, 0.0f);
        m[i] = mi;
        v[i] = vi;
        parameters[i] -= step.step * mi / (sqrtf(vi * step.inverse_correction2) + step.epsilon);
    }
}

/* Rows that are decoded at a time: at most 720 values. */
#define PIECE 16
#define PIECE_VALUES (PIECE * 45)

/* bits[k] = splat_rounding_bits(key, index + k). The upper half of the index is hashed ahead: it changes at most
 * once. */
static void SIMD(rounding_bits)(uint32_t key, uint64_t index, size_t n, uint32_t *restrict bits)
{
    uint32_t low = (uint32_t)index, inner = splat_mix32((uint32_t)(index >> 32) + key);
    uint32_t next = splat_mix32((uint32_t)(index >> 32) + 1u + key);
    for (size_t k = 0; k < n; k++) {
        uint32_t at = low + (uint32_t)k;
        bits[k] = splat_mix32(at ^ (at < low ? next : inner));
    }
}

static void SIMD(decode_pairs)(const uint32_t *restrict codes, size_t n, float *restrict m, float *restrict v)
{
    for (size_t k = 0; k < n; k++) splat_pair_decode(codes[k], &m[k], &v[k]);
}

static void SIMD(encode_pairs)(const float *restrict m, const float *restrict v, const uint32_t *restrict bits,
                               size_t n, uint32_t *restrict codes)
{
    for (size_t k = 0; k < n; k++) codes[k] = splat_pair_encode(m[k], v[k], bits[k]);
}

/* Rows of bytes, taken apart: what belongs to each value, row after row, so that loops need not stop at the end of
 * each row. factors: scales on the way in, their inverses on the way out. */
typedef struct byte_rows {
    float factor_m[PIECE_VALUES], factor_v[PIECE_VALUES];
    int8_t codes_m[PIECE_VALUES];
    uint8_t codes_v[PIECE_VALUES];
} byte_rows;

static void SIMD(decode_rows)(const uint32_t *words, uint32_t n_rows, uint32_t channels, float *restrict m,
                              float *restrict v)
{
    byte_rows rows;
    for (uint32_t r = 0, at = 0; r < n_rows; r++, at += channels, words += splat_moment_row_words(channels)) {
        memcpy(rows.codes_m + at, words + 2, channels);
        memcpy(rows.codes_v + at, (const uint8_t *)(words + 2) + channels, channels);
        float scale_m = splat_float_of_bits(words[0]), scale_v = splat_float_of_bits(words[1]);
        for (uint32_t k = 0; k < channels; k++) rows.factor_m[at + k] = scale_m;
        for (uint32_t k = 0; k < channels; k++) rows.factor_v[at + k] = scale_v;
    }
    for (uint32_t k = 0; k < n_rows * channels; k++) m[k] = splat_row_decode_m(rows.codes_m[k], rows.factor_m[k]);
    for (uint32_t k = 0; k < n_rows * channels; k++) v[k] = splat_row_decode_v(rows.codes_v[k], rows.factor_v[k]);
}

/* The scales of a row, also to its first two words. */
static void SIMD(scale_row)(const float *restrict m, const float *restrict v, uint32_t n, uint32_t *restrict words,
                            float *restrict factor_m, float *restrict factor_v)
{
    uint32_t most_m = 0, most_v = 0; /* floats that are not negative are in the order of their bits */
    for (uint32_t k = 0; k < n; k++) {
        uint32_t bits_m = splat_bits_of_float(m[k]) & 0x7fffffffu, bits_v = splat_bits_of_float(v[k]);
        most_m = bits_m > most_m ? bits_m : most_m;
        most_v = bits_v > most_v ? bits_v : most_v;
    }
    float scale_m = splat_row_scale(splat_float_of_bits(most_m), SPLAT_ROW_LEAST_M);
    float scale_v = splat_row_scale(sqrtf(splat_float_of_bits(most_v)), SPLAT_ROW_LEAST_V);
    float inverse_m = splat_row_inverse(scale_m), inverse_v = splat_row_inverse(scale_v);
    words[0] = splat_bits_of_float(scale_m);
    words[1] = splat_bits_of_float(scale_v);
    for (uint32_t k = 0; k < n; k++) factor_m[k] = inverse_m;
    for (uint32_t k = 0; k < n; k++) factor_v[k] = inverse_v;
}

/* The padding of the rows stays as it is: zero. */
static void SIMD(encode_rows)(const float *restrict m, const float *restrict v, const uint32_t *restrict bits,
                              uint32_t n_rows, uint32_t channels, uint32_t *words)
{
    byte_rows rows;
    const uint32_t row_words = splat_moment_row_words(channels), n = n_rows * channels;
    for (uint32_t r = 0, at = 0; r < n_rows; r++, at += channels)
        SIMD(scale_row)(m + at, v + at, channels, words + r * row_words, rows.factor_m + at, rows.factor_v + at);
    for (uint32_t k = 0; k < n; k++) rows.codes_m[k] = splat_row_encode_m(m[k], rows.factor_m[k], bits[k]);
    for (uint32_t k = 0; k < n; k++) rows.codes_v[k] = splat_row_encode_v(sqrtf(v[k]), rows.factor_v[k], bits[k]);
    for (uint32_t r = 0, at = 0; r < n_rows; r++, at += channels, words += row_words) {
        memcpy(words + 2, rows.codes_m + at, channels);
        memcpy((uint8_t *)(words + 2) + channels, rows.codes_v + at, channels);
    }
}

static void SIMD(decode_halves)(const uint16_t *restrict codes, uint32_t n, float *restrict values)
{
    for (uint32_t k = 0; k < n; k++) values[k] = splat_half_decode(codes[k]);
}

static void SIMD(encode_halves)(const float *restrict values, const uint32_t *restrict bits, uint32_t n,
                                uint16_t *restrict codes)
{
    for (uint32_t k = 0; k < n; k++) codes[k] = splat_half_encode(values[k], bits[k]);
}

/* One piece: n rows from row `first` of rows. */
static void SIMD(adam_piece)(const splat_stored_rows *rows, splat_adam_gradient gradient, uint32_t first, uint32_t n,
                             splat_adam_step step, uint32_t key)
{
    const uint32_t channels = rows->channels, half_row = splat_half_row(channels);
    const uint32_t row_words = splat_moment_row_words(channels);
    const size_t from = (size_t)first * channels, n_values = (size_t)n * channels;
    float p_values[PIECE_VALUES], m_values[PIECE_VALUES], v_values[PIECE_VALUES];
    uint32_t bits[PIECE_VALUES];
    float *p = rows->parameters ? rows->parameters + from : p_values;
    float *m = rows->m ? rows->m + from : m_values, *v = rows->v ? rows->v + from : v_values;
    uint32_t *codes = rows->m ? NULL : rows->quantized + (rows->rows_in_bytes ? (size_t)first * row_words : from);
    uint16_t *halves = rows->parameters ? NULL : rows->half + (size_t)first * half_row;

    for (uint32_t r = 0; halves && r < n; r++) SIMD(decode_halves)(halves + r * half_row, channels, p + r * channels);
    if (codes && !rows->rows_in_bytes) SIMD(decode_pairs)(codes, n_values, m, v);
    if (codes && rows->rows_in_bytes) SIMD(decode_rows)(codes, n, channels, m, v);

    SIMD(adam)(p, m, v, splat_adam_gradient_at(gradient, from), n_values, step);

    if (codes) SIMD(rounding_bits)(key, rows->index + from, n_values, bits);
    if (codes && !rows->rows_in_bytes) SIMD(encode_pairs)(m, v, bits, n_values, codes);
    if (codes && rows->rows_in_bytes) SIMD(encode_rows)(m, v, bits, n, channels, codes);
    if (halves) SIMD(rounding_bits)(key + 1u, rows->index + from, n_values, bits);
    for (uint32_t r = 0; halves && r < n; r++)
        SIMD(encode_halves)(p + r * channels, bits + r * channels, channels, halves + r * half_row);
}

static void SIMD(adam_stored)(const splat_stored_rows *rows, splat_adam_gradient gradient, uint32_t n,
                              splat_adam_step step, uint32_t key)
{
    for (uint32_t first = 0; first < n; first += PIECE)
        SIMD(adam_piece)(rows, gradient, first, n - first < PIECE ? n - first : PIECE, step, key);
}

const splat_adam_kernels SIMD(splat_adam_kernels) = {.adam = SIMD(adam), .adam_stored = SIMD(adam_stored)};
