/* Rows of a checkpoint in another storage or SH degree than the trainer's. Rounding is to nearest: it happens once, not
 * every step. */
#include "run/checkpoint/convert.h"

#include "ops/shrink/shrink_math.h"
#include "train/ranks/host_rows.h"

#include <string.h>

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
    for (size_t i = 0; i < n; i++)
        splat_half_row_encode(values + i * channels, channels, halves + i * splat_half_row(channels));
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
            splat_moment_row_encode(m + i * channels, v + i * channels, channels, rows + i * words);
    else
        for (size_t i = 0; i < values; i++) rows[i] = splat_pair_encode(m[i], v[i], SPLAT_PAIR_NEAREST);
}

void splat_rows_cut(float *values, uint32_t from, uint32_t to, uint32_t n)
{
    for (size_t i = 1; i < n && to < from; i++) memmove(values + i * to, values + i * from, to * sizeof *values);
}

/* ---------------------------------------------------------------- into the arrays of the trainer */

splat_status splat_checkpoint_put(splat_trainer *t, const char *name, uint32_t first, uint32_t n,
                                  const void *rows, splat_error *error)
{
    splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS];
    int n_arrays = splat_trainer_state_arrays(t, arrays);
    for (int i = 0; i < n_arrays; i++) {
        if (strcmp(arrays[i].name, name) != 0 || arrays[i].rows == 0 || arrays[i].words == 0) continue;
        return splat_shards_write(t, i, first, n, rows, error);
    }
    return SPLAT_OK;
}

splat_status splat_checkpoint_put_rest(splat_trainer *t, uint32_t from, uint32_t first, uint32_t n, float *values,
                                       uint32_t *words, splat_error *error)
{
    uint32_t to = splat_sh_rest_floats(t->options.sh_degree);
    splat_rows_cut(values, from, to, n);
    splat_rest_encode(values, t->options.sh_storage, to, n, words);
    return splat_checkpoint_put(t, t->model->tensors->rows[SPLAT_TENSOR_sh_rest].name, first, n, words, error);
}

splat_status splat_checkpoint_put_moments(splat_trainer *t, int tensor, uint32_t from, uint32_t first, uint32_t n,
                                          float *m, float *v, uint32_t *words, splat_error *error)
{
    const splat_tensor_row *row = &t->model->tensors->rows[tensor];
    uint32_t to = splat_tensor_row_channels(row, t->options.sh_degree);
    splat_rows_cut(m, from, to, n);
    splat_rows_cut(v, from, to, n);
    if (t->options.optimizer_storage == SPLAT_OPTIMIZER_QUANTIZED) {
        splat_moments_encode(m, v, row->storage, to, n, words);
        return splat_checkpoint_put(t, row->mv, first, n, words, error);
    }
    SPLAT_TRY(splat_checkpoint_put(t, row->m, first, n, m, error));
    return splat_checkpoint_put(t, row->v, first, n, v, error);
}
