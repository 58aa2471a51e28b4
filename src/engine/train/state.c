/* Statistics and moments as others point to them, and the list of the state's arrays. */
#include "train/state.h"

#include "train/parts/part.h"

#include <string.h>

/* ---------------------------------------------------------------- statistics and moments */

const char *const splat_statistics_names[SPLAT_N_STATISTICS] = {"statistics.grad", "statistics.grad_abs",
                                                                "statistics.count"};

void splat_statistics_describe(splat_row_blocks *rows)
{
    rows->owner = SPLAT_OWNER_STATISTICS;
    for (int i = 0; i < SPLAT_N_STATISTICS; i++)
        splat_row_blocks_add(rows, splat_statistics_names[i], SPLAT_TYPE_FLOAT32, 1);
}

void splat_trainer_refresh_moments(splat_trainer *t)
{
    splat_moments *moments = &t->moments;
    memset(moments, 0, sizeof *moments);
    moments->storage = t->options.optimizer_storage;
    if (moments->storage == SPLAT_OPTIMIZER_FLOAT32) {
        moments->m = splat_row_blocks_tensors(&t->moment_blocks[0]);
        moments->v = splat_row_blocks_tensors(&t->moment_blocks[1]);
        return;
    }
    for (int i = 0; i < t->model->tensors->n; i++) moments->quantized[i] = t->moment_blocks[0].blocks[i].data;
}

splat_statistics splat_trainer_statistics(const splat_trainer *t)
{
    const splat_block *blocks = t->statistics.blocks;
    return (splat_statistics){blocks[0].data, blocks[1].data, blocks[2].data};
}

/* ---------------------------------------------------------------- the list of arrays */

/* As checkpoints call them; quantized numbers are words. */
static const char *const file_types[SPLAT_N_ELEMENT_TYPES] = {
    [SPLAT_TYPE_FLOAT32] = "F32",    [SPLAT_TYPE_FLOAT16] = "F16", [SPLAT_TYPE_QUANTIZED16] = "U32",
    [SPLAT_TYPE_QUANTIZED8] = "U32", [SPLAT_TYPE_UINT32] = "U32",
};

void splat_state_arrays_add(splat_state_array *arrays, int *n, const splat_row_blocks *rows, uint32_t n_rows)
{
    for (int i = 0; i < rows->n_arrays; i++)
        arrays[(*n)++] = (splat_state_array){.name = rows->names[i],
                                             .type = file_types[rows->blocks[i].type],
                                             .rows = n_rows,
                                             .words = rows->words[i],
                                             .device = rows->blocks[i].data};
}

static void add_extra(splat_state_array *arrays, int *n, const splat_extra_rows *extra, uint32_t n_rows)
{
    for (int i = 0; i < extra->n_arrays; i++) {
        const splat_extra_array *source = &extra->arrays[i];
        if (source->life == SPLAT_ROWS_SCRATCH) continue;
        arrays[(*n)++] =
            (splat_state_array){.name = source->name,
                                .type = source->is_index ? "U32" : "F32",
                                .is_index = source->is_index,
                                .rows = splat_extra_rows_count(extra, i, n_rows),
                                .words = source->words,
                                .device = splat_extra_rows_data(extra, i)};
    }
}

void splat_state_arrays_add_bound(splat_state_array *arrays, int *n, const splat_binding *binding,
                                  const uint32_t *rows, const splat_bound_state *bound)
{
    for (int i = 0; binding && i < binding->n_arrays; i++) {
        const splat_bound_array *source = &binding->arrays[i];
        splat_state_array array = {.name = source->name,
                                   .type = source->is_index ? "U32" : "F32",
                                   .is_index = source->is_index,
                                   .rows = rows[i],
                                   .words = source->words,
                                   .device = bound ? bound->arrays[i].data : NULL};
        if (source->is_derived) continue;
        arrays[(*n)++] = array;
        if (!source->m) continue;
        array.name = source->m;
        array.device = bound ? bound->m[i].data : NULL;
        arrays[(*n)++] = array;
        array.name = source->v;
        array.device = bound ? bound->v[i].data : NULL;
        arrays[(*n)++] = array;
    }
}

int splat_trainer_row_arrays(const splat_trainer *t, splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS])
{
    int n = 0;
    uint32_t rows = t->model->gaussians.n;
    splat_state_arrays_add(arrays, &n, &t->model->parameters, rows);
    for (int i = 0; i < 2; i++) splat_state_arrays_add(arrays, &n, &t->moment_blocks[i], rows);
    splat_state_arrays_add(arrays, &n, &t->statistics, t->n_statistics);
    add_extra(arrays, &n, &t->strategy_rows, rows);
    add_extra(arrays, &n, &t->regularizer_rows, rows);
    return n;
}

int splat_trainer_state_arrays(const splat_trainer *t, splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS])
{
    int n = splat_trainer_row_arrays(t, arrays);
    splat_state_arrays_add_bound(arrays, &n, t->options.binding, t->bound.rows, &t->bound);
    splat_parts_state_arrays(t, arrays, &n);
    return n;
}
