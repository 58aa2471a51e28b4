/* Rows of the state that others describe or point to: statistics and moments. */
#include "train/state.h"

#include <string.h>

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
