/* Into the trainer's arrays, converted to its storage: what both kinds of checkpoint end in. */
#include "run/checkpoint/checkpoint.h"

#include "train/schedule.h"

#include <string.h>

splat_status splat_checkpoint_put(const splat_trainer *t, const char *name, uint32_t first, uint32_t n,
                                  const void *rows, splat_error *error)
{
    splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS];
    int n_arrays = splat_trainer_state_arrays(t, arrays);
    for (int i = 0; i < n_arrays; i++) {
        size_t row = 4 * (size_t)arrays[i].words;
        if (strcmp(arrays[i].name, name) != 0 || arrays[i].rows == 0 || row == 0) continue;
        SPLAT_TRY(splat_backend_upload(t->backend, (char *)arrays[i].device + first * row, rows, n * row, error));
        return splat_backend_synchronize(t->backend, error);
    }
    return SPLAT_OK;
}

splat_status splat_checkpoint_put_rest(const splat_trainer *t, uint32_t from, uint32_t first, uint32_t n, float *values,
                                       uint32_t *words, splat_error *error)
{
    uint32_t to = splat_sh_rest_floats(t->options.sh_degree);
    splat_rows_cut(values, from, to, n);
    splat_rest_encode(values, t->options.sh_storage, to, n, words);
    return splat_checkpoint_put(t, t->model->tensors->rows[SPLAT_TENSOR_sh_rest].name, first, n, words, error);
}

splat_status splat_checkpoint_put_moments(const splat_trainer *t, int tensor, uint32_t from, uint32_t first, uint32_t n,
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

void splat_trainer_begin_at(splat_trainer *t, int iteration, bool density_control_done,
                            const int adam_steps[SPLAT_N_TENSORS])
{
    t->iteration = iteration;
    t->last_density_control = density_control_done ? iteration : -1;
    memcpy(t->adam_steps, adam_steps, sizeof t->adam_steps);
    t->model->gaussians.active_sh_degree = splat_schedule_sh_degree(&t->options, iteration);
    t->n_added = t->n_removed = t->n_refused = 0;
    t->shards.is_whole = true; /* until the next step deals its rows */
    t->is_broken = false;
    splat_trainer_forget_results(t);
}
