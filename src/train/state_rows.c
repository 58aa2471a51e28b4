/* Rows of the state that others describe or point to: statistics, moments, and steps that are put off. */
#include "train/trainer.h"

#include <string.h>

const char *const splat_statistics_names[SPLAT_N_STATISTICS] = {"statistics.grad", "statistics.grad_abs",
                                                                "statistics.count"};

void splat_statistics_describe(splat_row_blocks *rows)
{
    rows->owner = SPLAT_OWNER_STATISTICS;
    for (int i = 0; i < SPLAT_N_STATISTICS; i++)
        splat_row_blocks_add(rows, splat_statistics_names[i], SPLAT_TYPE_FLOAT32, 1);
}

void splat_put_off_describe(splat_row_blocks *rows)
{
    rows->owner = SPLAT_OWNER_OPTIMIZER;
    splat_row_blocks_add(rows, "put_off", SPLAT_TYPE_UINT32, 1);
}

#define STEPS_WORDS ((uint32_t)(sizeof(splat_put_off_steps) / sizeof(uint32_t)))

uint32_t splat_put_off_words(const splat_train_options *o, uint32_t n)
{
    bool on_host = splat_place_of_harmonics(o) == SPLAT_ON_HOST || splat_place_of_moments(o) == SPLAT_ON_HOST;
    bool all_floats = o->sh_storage == SPLAT_SH_FLOAT32 && o->optimizer_storage == SPLAT_OPTIMIZER_FLOAT32;
    bool follows = splat_bound_follows(o) >> SPLAT_TENSOR_sh_rest & 1;
    return all_floats && !on_host && !follows && o->sh_degree > 0 ? n + STEPS_WORDS : 0;
}

/* What was put off has been made up for wherever storages change. */
static void refresh_put_off(splat_trainer *t)
{
    if (t->n_put_off && !splat_put_off_words(&t->options, 0)) {
        splat_row_blocks_resize(t->backend, &t->put_off_rows, t->n_put_off, 0, NULL);
        t->n_put_off = 0;
    }
    t->model->gaussians.put_off = t->n_put_off ? &t->put_off : NULL;
    if (!t->n_put_off) return;
    uint32_t *rows = t->put_off_rows.blocks[0].data;
    t->put_off = (splat_put_off){rows, (splat_put_off_steps *)(rows + t->n_put_off - STEPS_WORDS), t->moments.m.sh_rest,
                                 t->moments.v.sh_rest};
}

splat_status splat_trainer_catch_up(splat_trainer *t, splat_error *error)
{
    return splat_op_catch_up(t->backend, &(struct splat_catch_up_args){&t->model->gaussians}, error);
}

static void refresh_pointers(splat_trainer *t)
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

void splat_trainer_refresh_moments(splat_trainer *t)
{
    refresh_pointers(t);
    refresh_put_off(t);
}

splat_statistics splat_trainer_statistics(const splat_trainer *t)
{
    const splat_block *blocks = t->statistics.blocks;
    return (splat_statistics){blocks[0].data, blocks[1].data, blocks[2].data};
}
