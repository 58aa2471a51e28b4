/* The memory of steps that are put off. */
#include "train/optimizer/deferred.h"

#define GRADIENT_WORDS 4
#define DIRECTION_WORDS 3

static bool is_float32(const splat_train_options *o)
{
    return o->sh_storage == SPLAT_SH_FLOAT32 && o->optimizer_storage == SPLAT_OPTIMIZER_FLOAT32;
}

bool splat_defers_rest(bool backend_can, const splat_train_options *o, uint32_t n_slots)
{
    return backend_can && o->sh_degree > 0 && (n_slots > 1 || is_float32(o)) &&
           splat_place_of_moments(o) == SPLAT_ON_DEVICE && !o->regularizer && !o->binding;
}

uint32_t splat_deferral_slots(const splat_train_options *o)
{
    return o->ranks ? (uint32_t)o->ranks->size : 1;
}

void splat_deferral_describe(splat_row_blocks *rows, uint32_t n_slots)
{
    rows->owner = SPLAT_OWNER_OPTIMIZER;
    splat_row_blocks_add(rows, "deferred.gradient", SPLAT_TYPE_FLOAT32, GRADIENT_WORDS * n_slots);
    splat_row_blocks_add(rows, "deferred.direction", SPLAT_TYPE_FLOAT32, DIRECTION_WORDS * n_slots);
    if (n_slots > 1) splat_row_blocks_add(rows, "deferred.made", SPLAT_TYPE_FLOAT32, 1); /* bits of a count */
}

uint32_t splat_deferral_rows(const splat_trainer *t, uint32_t n)
{
    return splat_defers_rest(t->backend->defers_rest, &t->options, splat_deferral_slots(&t->options)) ? n : 0;
}

splat_status splat_deferral_refresh(splat_trainer *t, uint32_t n_rows, splat_error *error)
{
    splat_deferral *d = &t->deferral;
    const uint32_t n_slots = splat_deferral_slots(&t->options);
    d->n_rows = n_rows;
    t->model->rest.deferred = NULL;
    if (n_rows == 0) return SPLAT_OK;
    SPLAT_TRY(splat_block_ensure(t->backend, &d->steps, "deferred.steps", SPLAT_OWNER_OPTIMIZER,
                                 SPLAT_MAX_DEFERRED * 2 * sizeof(float), error));
    d->rest = (splat_deferred_rest){.gradient = d->rows.blocks[0].data,
                                    .direction = d->rows.blocks[1].data,
                                    .steps = d->steps.data,
                                    .n_slots = n_slots,
                                    .made = n_slots > 1 ? d->rows.blocks[2].data : NULL,
                                    .at_once = n_slots > 1 && !is_float32(&t->options)};
    t->model->rest.deferred = &d->rest;
    return SPLAT_OK;
}

void splat_deferral_free(splat_deferral *deferral, splat_backend *backend)
{
    splat_row_blocks_free(backend, &deferral->rows);
    splat_block_free(backend, &deferral->steps);
}
