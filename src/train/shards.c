/* Rank 0's orders, and those who follow them. */
#include "train/shards.h"

#include "train/density.h"
#include "train/schedule.h"
#include "train/shard_rows.h"

#include <string.h>

/* ---------------------------------------------------------------- what several ranks can train with */

typedef struct refusal {
    bool is_asked;
    const char *what;
} refusal;

splat_status splat_shards_init(splat_trainer *t, splat_error *error)
{
    const splat_train_options *o = &t->options;
    const splat_dataset *dataset = &t->scene->dataset;
    const refusal refusals[] = {
        {strcmp(splat_backend_name(t->backend), "cpu") != 0, "a GPU (`backend cpu` can)"},
        {o->regularizer != NULL, "the losses of coarse training"},
        {o->binding != NULL, "Gaussians that are bound to a mesh"},
        {o->exposure, "`exposure`"},
        {splat_depths_has_maps(o, dataset) || splat_depths_has_points(o, dataset),
         "known depth (`depths`, `sfm_depth`)"},
        {o->sh_offload, "`sh_offload`"},
        {o->moments_offload, "`moments_offload`"},
        {o->max_instances > 0 || o->may_give_up || t->backend->memory.limit > 0, "a memory limit (`vram_limit`)"},
    };
    if (!o->ranks || o->ranks->size == 1) return SPLAT_OK;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if (refusals[i].is_asked)
            return splat_fail(error, SPLAT_ERROR_UNSUPPORTED,
                              "several ranks cannot train with %s; leave it out, or train with one", refusals[i].what);
    t->shards.comm = o->ranks;
    t->shards.is_whole = true;
    splat_shared_init(&t->shards.view, o->ranks, t->backend);
    return SPLAT_OK;
}

bool splat_shards_is_worker(const splat_trainer *t)
{
    return t->shards.comm && t->shards.comm->rank > 0;
}

static bool is_apart(const splat_trainer *t)
{
    return t->shards.comm && !t->shards.is_whole;
}

uint32_t splat_shards_count(const splat_trainer *t)
{
    return is_apart(t) ? t->shards.n_all : t->model->gaussians.n;
}

void splat_shards_rows(const splat_trainer *t, uint32_t *first, uint32_t *stride)
{
    *first = is_apart(t) ? (uint32_t)t->shards.comm->rank : 0;
    *stride = is_apart(t) ? (uint32_t)t->shards.comm->size : 1;
}

/* ---------------------------------------------------------------- orders */

typedef enum order_kind { ORDER_END, ORDER_STEP, ORDER_GATHER, ORDER_DEAL } order_kind;

typedef struct order {
    order_kind kind;
    uint32_t n_all;
    int iteration, last_density_control, adam_steps[SPLAT_N_TENSORS]; /* DEAL: of the state that is dealt */
    bool has_statistics;
} order;

static splat_status give_order(splat_trainer *t, order_kind kind, splat_error *error)
{
    order o;
    memset(&o, 0, sizeof o); /* its padding is sent, too */
    o.kind = kind;
    o.n_all = splat_shards_count(t);
    o.iteration = t->iteration;
    o.last_density_control = t->last_density_control;
    memcpy(o.adam_steps, t->adam_steps, sizeof o.adam_steps);
    o.has_statistics = t->n_statistics > 0;
    return splat_comm_broadcast(t->shards.comm, 0, &o, sizeof o, error);
}

/* What the others wait for does not come. */
static splat_status fail_all(splat_trainer *t, splat_status status, const splat_error *error)
{
    if (status != SPLAT_OK && status != SPLAT_ERROR_RANK) splat_comm_fail(t->shards.comm, error);
    return status;
}

splat_status splat_trainer_gather(splat_trainer *t, splat_error *error)
{
    splat_error own;
    if (!is_apart(t) || splat_shards_is_worker(t)) return SPLAT_OK;
    const uint32_t n = t->shards.n_all;
    SPLAT_TRY(give_order(t, ORDER_GATHER, error));
    splat_status status = fail_all(t, splat_shard_rows_gather(t, n, &own), &own);
    if (status == SPLAT_OK)
        t->shards.is_whole = true;
    else if (error)
        *error = own;
    return status;
}

static splat_status deal(splat_trainer *t, splat_error *error)
{
    splat_error own;
    const uint32_t n = t->model->gaussians.n;
    if (!t->shards.is_whole) return SPLAT_OK;
    SPLAT_TRY(give_order(t, ORDER_DEAL, error));
    splat_status status = fail_all(t, splat_shard_rows_deal(t, n, &own), &own);
    t->shards.is_whole = false;
    t->shards.n_all = n;
    if (status != SPLAT_OK && error) *error = own;
    return status;
}

static bool needs_whole_after(const splat_trainer *t, int iteration)
{
    bool changes = !t->strategy->changes_after || t->strategy->changes_after(t, iteration);
    return changes || splat_schedule_filters_after(&t->options, iteration);
}

splat_status splat_shards_begin_step(splat_trainer *t, splat_error *error)
{
    const int before = t->iteration;
    if (!t->shards.comm || t->shards.comm->rank > 0) return SPLAT_OK;
    if (t->last_density_control != before && needs_whole_after(t, before)) {
        SPLAT_TRY(splat_trainer_gather(t, error));
        SPLAT_TRY(splat_density_control_after(t, before, error));
    }
    SPLAT_TRY(deal(t, error));
    return give_order(t, ORDER_STEP, error);
}

/* All ranks find a loss that is not finite in the same step, and nothing has changed anywhere. */
void splat_shards_end_step(splat_trainer *t, splat_status status, const splat_error *error)
{
    if (t->shards.comm && status != SPLAT_ERROR_NUMERIC) fail_all(t, status, error);
}

void splat_shards_free(splat_trainer *t)
{
    if (t->shards.comm && !splat_shards_is_worker(t)) give_order(t, ORDER_END, NULL);
    if (t->shards.comm) splat_shared_free(&t->shards.view);
    splat_block_free(t->backend, &t->shards.staging);
}

/* ---------------------------------------------------------------- those who follow */

static splat_status take_deal(splat_trainer *t, const order *o, splat_error *error)
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

static splat_status follow(splat_trainer *t, const order *o, splat_error *error)
{
    switch (o->kind) {
    case ORDER_STEP: return splat_trainer_step(t, NULL, error);
    case ORDER_GATHER: return splat_shard_rows_gather(t, o->n_all, error);
    case ORDER_DEAL: return take_deal(t, o, error);
    case ORDER_END: break;
    }
    return SPLAT_OK;
}

splat_status splat_trainer_serve(splat_trainer *t, splat_error *error)
{
    order o = {.kind = ORDER_STEP};
    splat_error own;
    splat_status status = SPLAT_OK;
    if (!splat_shards_is_worker(t))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "rank 0 gives orders and does not serve; the other ranks do");
    while (status == SPLAT_OK) {
        status = splat_comm_broadcast(t->shards.comm, 0, &o, sizeof o, &own);
        if (status == SPLAT_OK && o.kind == ORDER_END) return SPLAT_OK;
        if (status == SPLAT_OK) status = follow(t, &o, &own);
        if (status == SPLAT_ERROR_NUMERIC && o.kind == ORDER_STEP) status = SPLAT_OK; /* rank 0 says what comes */
    }
    fail_all(t, status, &own);
    if (error) *error = own;
    return status;
}
