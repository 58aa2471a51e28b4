/* Rows of a checkpoint in another storage or SH degree than the trainer's. Rounding is to nearest: it happens once, not
 * every step. */
#include "run/checkpoint/checkpoint.h"

#include <math.h>
#include <string.h>

#define NEAREST 0x80008000u /* the random bits that round both halves of a word, and both codes, to nearest */

void splat_rest_decode(const void *rows, splat_sh_storage storage, uint32_t channels, uint32_t n, float *values)
{
    if (storage == SPLAT_SH_FLOAT32) {
        memcpy(values, rows, (size_t)n * channels * sizeof *values);
        return;
    }
    const uint16_t *halves = rows;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < channels; c++)
            values[i * channels + c] = splat_half_decode(halves[i * splat_half_row(channels) + c]);
}

void splat_rest_encode(const float *values, splat_sh_storage storage, uint32_t channels, uint32_t n, void *rows)
{
    if (storage == SPLAT_SH_FLOAT32) {
        memcpy(rows, values, (size_t)n * channels * sizeof *values);
        return;
    }
    uint16_t *halves = rows;
    memset(halves, 0, (size_t)n * splat_half_row(channels) * sizeof *halves);
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < channels; c++)
            halves[i * splat_half_row(channels) + c] =
                splat_half_encode(values[i * channels + c], SPLAT_ROUND_NEAREST);
}

/* ---------------------------------------------------------------- moments */

static void decode_row(const uint32_t *row, uint32_t channels, float *m, float *v)
{
    float scales[2];
    const uint8_t *codes = (const uint8_t *)(row + 2);
    memcpy(scales, row, sizeof scales);
    for (uint32_t c = 0; c < channels; c++) {
        m[c] = splat_row_decode_m((int8_t)codes[c], scales[0]);
        v[c] = splat_row_decode_v(codes[channels + c], scales[1]);
    }
}

static void encode_row(const float *m, const float *v, uint32_t channels, uint32_t *row)
{
    float scales[2] = {0, 0};
    uint8_t *codes = (uint8_t *)(row + 2);
    for (uint32_t c = 0; c < channels; c++) {
        if (fabsf(m[c]) > scales[0]) scales[0] = fabsf(m[c]);
        if (sqrtf(v[c]) > scales[1]) scales[1] = sqrtf(v[c]);
    }
    if (scales[0] < SPLAT_ROW_LEAST_M) scales[0] = 0;
    if (scales[1] < SPLAT_ROW_LEAST_V) scales[1] = 0;
    float inverse_m = scales[0] > 0 ? 1 / scales[0] : 0, inverse_v = scales[1] > 0 ? 1 / scales[1] : 0;
    memset(row, 0, splat_moment_row_words(channels) * sizeof *row);
    memcpy(row, scales, sizeof scales);
    for (uint32_t c = 0; c < channels; c++) {
        codes[c] = (uint8_t)splat_row_encode_m(m[c], inverse_m, NEAREST);
        codes[channels + c] = splat_row_encode_v(sqrtf(v[c]), inverse_v, NEAREST);
    }
}

void splat_moments_decode(const uint32_t *rows, splat_tensor_storage storage, uint32_t channels, uint32_t n, float *m,
                          float *v)
{
    size_t words = splat_moment_row_words(channels), values = (size_t)n * channels;
    if (storage == SPLAT_STORED_HARMONICS)
        for (size_t i = 0; i < n && channels; i++)
            decode_row(rows + i * words, channels, m + i * channels, v + i * channels);
    else
        for (size_t i = 0; i < values; i++) splat_pair_decode(rows[i], &m[i], &v[i]);
}

void splat_moments_encode(const float *m, const float *v, splat_tensor_storage storage, uint32_t channels, uint32_t n,
                          uint32_t *rows)
{
    size_t words = splat_moment_row_words(channels), values = (size_t)n * channels;
    if (storage == SPLAT_STORED_HARMONICS)
        for (size_t i = 0; i < n && channels; i++)
            encode_row(m + i * channels, v + i * channels, channels, rows + i * words);
    else
        for (size_t i = 0; i < values; i++) rows[i] = splat_pair_encode(m[i], v[i], NEAREST);
}

void splat_rows_cut(float *values, uint32_t from, uint32_t to, uint32_t n)
{
    for (size_t i = 1; i < n && to < from; i++) memmove(values + i * to, values + i * from, to * sizeof *values);
}
