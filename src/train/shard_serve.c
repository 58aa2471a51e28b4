/* Those who follow rank 0's orders. */
#include "train/shard_link.h"
#include "train/shard_rows.h"

#include <string.h>

static splat_status take_deal(splat_trainer *t, const splat_order *o, splat_error *error)
{
    const uint32_t n = splat_shard_count(o->n_all, t->shards.comm->rank, t->shards.comm->size);
    SPLAT_TRY(splat_trainer_resize_state(t, n, o->has_statistics, error));
    t->iteration = o->iteration;
    t->last_density_control = o->last_density_control;
    memcpy(t->adam_steps, o->adam_steps, sizeof t->adam_steps);
    t->shards.is_whole = false;
    t->shards.n_all = o->n_all;
    return splat_shard_rows_deal(t, o->n_all, error);
}

static splat_status follow(splat_trainer *t, const splat_order *o, splat_error *error)
{
    switch (o->kind) {
    case SPLAT_ORDER_STEP:
        if (o->measures_stages != t->measures_stages) splat_trainer_measure_stages(t, o->measures_stages);
        return splat_trainer_step(t, NULL, error);
    case SPLAT_ORDER_GATHER: return splat_shard_rows_gather(t, o->n_all, error);
    case SPLAT_ORDER_DEAL: return take_deal(t, o, error);
    case SPLAT_ORDER_REPORT: return splat_shards_send_info(t, NULL, error);
    case SPLAT_ORDER_END: break;
    }
    return SPLAT_OK;
}

splat_status splat_trainer_serve(splat_trainer *t, splat_error *error)
{
    splat_order o = {.kind = SPLAT_ORDER_STEP};
    splat_error own;
    splat_status status = SPLAT_OK;
    if (!splat_shards_is_worker(t))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "rank 0 gives orders and does not serve; the other ranks do");
    while (status == SPLAT_OK) {
        status = splat_comm_broadcast(t->shards.comm, 0, &o, sizeof o, &own);
        if (status == SPLAT_OK && o.kind == SPLAT_ORDER_END) return SPLAT_OK;
        if (status == SPLAT_OK) status = follow(t, &o, &own);
        if (status == SPLAT_ERROR_NUMERIC && o.kind == SPLAT_ORDER_STEP) status = SPLAT_OK; /* rank 0 says what comes */
    }
    splat_shards_fail(t, status, &own);
    if (error) *error = own;
    return status;
}
