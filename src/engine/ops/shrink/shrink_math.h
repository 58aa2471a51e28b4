/* A row of a storage from its floats, rounded to nearest: what shrink does on every backend, and checkpoints when they
 * are read into another storage. */
#ifndef SPLAT_OPS_SHRINK_MATH_H
#define SPLAT_OPS_SHRINK_MATH_H

#include "math/quantize.h"

/* The random bits that round both halves of a word, and both codes, to nearest. */
#define SPLAT_PAIR_NEAREST 0x80008000u

/* row: splat_half_row(channels) halves. */
SPLAT_MATH_INLINE void splat_half_row_encode(const float *values, uint32_t channels, uint16_t *row)
{
    for (uint32_t c = 0; c < channels; c++) row[c] = splat_half_encode(values[c], SPLAT_ROUND_NEAREST);
    if (channels & 1u) row[channels] = 0;
}

/* row: splat_moment_row_words(channels) words. */
SPLAT_MATH_INLINE void splat_moment_row_encode(const float *m, const float *v, uint32_t channels, uint32_t *row)
{
    float largest_m = 0, largest_v = 0;
    for (uint32_t c = 0; c < channels; c++) {
        float root = sqrtf(v[c]);
        largest_m = fabsf(m[c]) > largest_m ? fabsf(m[c]) : largest_m;
        largest_v = root > largest_v ? root : largest_v;
    }
    float scale_m = splat_row_scale(largest_m, SPLAT_ROW_LEAST_M);
    float scale_v = splat_row_scale(largest_v, SPLAT_ROW_LEAST_V);
    float inverse_m = splat_row_inverse(scale_m), inverse_v = splat_row_inverse(scale_v);
    row[0] = splat_bits_of_float(scale_m);
    row[1] = splat_bits_of_float(scale_v);
    uint8_t *codes = (uint8_t *)(row + 2);
    for (uint32_t c = 0; c < channels; c++) {
        codes[c] = (uint8_t)splat_row_encode_m(m[c], inverse_m, SPLAT_PAIR_NEAREST);
        codes[channels + c] = splat_row_encode_v(sqrtf(v[c]), inverse_v, SPLAT_PAIR_NEAREST);
    }
    for (uint32_t c = 2 * channels; c & 3u; c++) codes[c] = 0;
}

#endif
