/* Those who follow rank 0's orders. */
#include "measure/dealt_views.h"
#include "train/density/density.h"
#include "train/parts/depths.h"
#include "train/parts/dome.h"
#include "train/parts/exposure.h"
#include "train/ranks/host_rows.h"
#include "train/ranks/pictures.h"
#include "train/ranks/report.h"
#include "train/ranks/rows.h"
#include "train/resize.h"
#include "train/start.h"

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

static splat_status take_look(splat_trainer *t, const splat_run_look *look, splat_error *error)
{
    t->regularizer_constant = look->regularizer_constant;
    return splat_model_set_render_mode(t->model, look->render_mode, look->kernel_size, error);
}

/* *lpips: what this rank measures with, once it was sent. */
static splat_status follow(splat_trainer *t, const splat_order *o, splat_lpips **lpips, splat_error *error)
{
    switch (o->kind) {
    case SPLAT_ORDER_STEP:
        if (o->measures_stages != t->measures_stages) splat_trainer_measure_stages(t, o->measures_stages);
        return splat_trainer_step(t, NULL, error);
    case SPLAT_ORDER_GATHER: return splat_shard_rows_gather(t, o->n_all, error);
    case SPLAT_ORDER_DEAL: return take_deal(t, o, error);
    case SPLAT_ORDER_REPORT: return splat_shards_send_info(t, NULL, error);
    case SPLAT_ORDER_EVALUATE: return splat_dealt_views_serve(t, o, lpips, error);
    case SPLAT_ORDER_ROWS: return splat_shards_serve_rows(t, o, error);
    case SPLAT_ORDER_BEGIN: return splat_trainer_begin_rows(t, &o->beginning, error);
    case SPLAT_ORDER_BEGIN_AT:
        SPLAT_TRY(take_look(t, &o->look, error));
        return splat_trainer_begin_at(t, o->iteration, o->density_control_done, o->adam_steps, error);
    case SPLAT_ORDER_FILTER: return splat_density_update_filter(t, error);
    case SPLAT_ORDER_EXPOSURES: return splat_exposures_share(t, error);
    case SPLAT_ORDER_DOME: return splat_dome_share(t, error);
    case SPLAT_ORDER_DEPTHS: return splat_depths_serve_losses(t, error);
    case SPLAT_ORDER_SHOW: return splat_shards_serve_picture(t, o, error);
    case SPLAT_ORDER_SUMMARY: return splat_shards_serve_summary(t, o, error);
    case SPLAT_ORDER_END: break;
    }
    return SPLAT_OK;
}

/* Until rank 0 ends it. */
static splat_status follow_all(splat_trainer *t, splat_lpips **lpips, splat_error *error)
{
    splat_order o = {.kind = SPLAT_ORDER_STEP};
    for (;;) {
        SPLAT_TRY(splat_comm_broadcast(t->shards.comm, 0, &o, sizeof o, error));
        if (o.kind == SPLAT_ORDER_END) return SPLAT_OK;
        splat_status status = follow(t, &o, lpips, error);
        /* of a loss that is not finite rank 0 says what comes */
        if (status != SPLAT_OK && (status != SPLAT_ERROR_NUMERIC || o.kind != SPLAT_ORDER_STEP)) return status;
    }
}

splat_status splat_trainer_serve(splat_trainer *t, splat_error *error)
{
    splat_error own;
    splat_lpips *lpips = NULL;
    if (!splat_shards_is_worker(t))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "rank 0 gives orders and does not serve; the other ranks do");
    splat_status status = splat_shards_fail(t, follow_all(t, &lpips, &own), &own, error);
    splat_lpips_destroy(lpips);
    return status;
}
