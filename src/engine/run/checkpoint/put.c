/* Into the trainer's arrays, converted to its storage: what both kinds of checkpoint end in. */
#include "run/checkpoint/convert.h"
#include "run/checkpoint/put.h"

#include "train/ranks/host_rows.h"

#include <string.h>

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
