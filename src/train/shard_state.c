/* What a trainer knows of the other ranks; what they cannot train with; and how they are told things. */
#include "distributed/device_exchange.h"
#include "train/depths.h"
#include "train/shard_link.h"

#include <string.h>

typedef struct refusal {
    bool is_asked;
    const char *what;
} refusal;

splat_status splat_shards_init(splat_trainer *t, splat_error *error)
{
    const splat_train_options *o = &t->options;
    const splat_dataset *dataset = &t->scene->dataset;
    const refusal refusals[] = {
        {o->regularizer != NULL, "the losses of coarse training"},
        {o->binding != NULL, "Gaussians that are bound to a mesh"},
        {o->exposure, "`exposure`"},
        {splat_depths_has_maps(o, dataset) || splat_depths_has_points(o, dataset),
         "known depth (`depths`, `sfm_depth`)"},
        {o->sh_offload, "`sh_offload`"},
        {o->moments_offload, "moments in host memory"},
        {o->max_instances > 0 || o->may_give_up || t->backend->memory.limit > 0, "a memory limit (`vram_limit`)"},
    };
    if (!o->ranks || o->ranks->size == 1) return SPLAT_OK;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if (refusals[i].is_asked)
            return splat_fail(error, SPLAT_ERROR_UNSUPPORTED,
                              "several ranks cannot train with %s; leave it out, or train with one", refusals[i].what);
    t->shards.comm = o->ranks;
    t->shards.is_whole = true;
    t->shards.piece_bytes = (size_t)16 << 20;
    SPLAT_TRY(splat_shards_share_photos(t, error));
    SPLAT_TRY(splat_device_join(o->ranks, t->backend, error));
    SPLAT_TRY(splat_batch_init(&t->shards.batch, o->ranks, t->backend, error)); /* evaluations deal views, too */
    if (!o->batch_views) {
        splat_shared_init(&t->shards.view, o->ranks, t->backend);
        return SPLAT_OK;
    }
    static const char *const names[SPLAT_N_TENSORS] = {
#define SPLAT_TENSOR(name, ...) "ranks.gradients." #name,
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    };
    t->shards.gradients.owner = SPLAT_OWNER_LISTS;
    const bool defers = splat_deferral_rows(t, 1) > 0; /* then sh_rest's wait elsewhere */
    for (int i = 0; i < SPLAT_N_TENSORS; i++)
        splat_row_blocks_add(&t->shards.gradients, names[i], SPLAT_TYPE_FLOAT32,
                             defers && i == SPLAT_TENSOR_sh_rest ? 0 : splat_tensor_channels(i, o->sh_degree));
    return splat_shard_views_init(t, error);
}

bool splat_shards_split(const splat_trainer *t)
{
    return t->shards.comm && !t->options.batch_views;
}

splat_trainer *splat_shards_sharer(splat_trainer *t)
{
    return t->shards.comm ? t : NULL;
}

bool splat_shards_leads(const splat_trainer *t)
{
    return t->shards.comm && t->shards.comm->rank == 0;
}

bool splat_shards_is_worker(const splat_trainer *t)
{
    return t->shards.comm && t->shards.comm->rank > 0;
}

bool splat_shards_are_apart(const splat_trainer *t)
{
    return t->shards.comm && !t->shards.is_whole;
}

uint32_t splat_shards_count(const splat_trainer *t)
{
    return splat_shards_are_apart(t) ? t->shards.n_all : t->model->gaussians.n;
}

void splat_shards_rows(const splat_trainer *t, uint32_t *first, uint32_t *stride)
{
    *first = splat_shards_are_apart(t) ? (uint32_t)t->shards.comm->rank : 0;
    *stride = splat_shards_are_apart(t) ? (uint32_t)t->shards.comm->size : 1;
}

void splat_order_make(const splat_trainer *t, splat_order_kind kind, splat_order *o)
{
    memset(o, 0, sizeof *o); /* its padding is sent, too */
    o->kind = kind;
    o->n_all = t->model ? splat_shards_count(t) : 0;
    o->iteration = t->iteration;
    o->last_density_control = t->last_density_control;
    memcpy(o->adam_steps, t->adam_steps, sizeof o->adam_steps);
    o->has_statistics = t->n_statistics > 0;
    o->measures_stages = t->measures_stages;
    o->active_sh_degree = t->model ? t->model->gaussians.active_sh_degree : 0;
}

splat_status splat_order_give(splat_trainer *t, splat_order *order, splat_error *error)
{
    return splat_comm_broadcast(t->shards.comm, 0, order, sizeof *order, error);
}

splat_status splat_shards_order(splat_trainer *t, splat_order_kind kind, splat_error *error)
{
    splat_order o;
    splat_order_make(t, kind, &o);
    return splat_order_give(t, &o, error);
}

splat_status splat_shards_fail(splat_trainer *t, splat_status status, const splat_error *error)
{
    if (status != SPLAT_OK && status != SPLAT_ERROR_RANK) splat_comm_fail(t->shards.comm, error);
    return status;
}

void splat_shards_free(splat_trainer *t)
{
    if (t->shards.comm && !splat_shards_is_worker(t)) splat_shards_order(t, SPLAT_ORDER_END, NULL);
    if (splat_shards_split(t)) splat_shared_free(&t->shards.view);
    if (t->shards.batch.comm) splat_batch_free(&t->shards.batch);
    splat_row_blocks_free(t->backend, &t->shards.gradients);
    splat_block_free(t->backend, &t->shards.staging);
    splat_shard_views_free(t);
}
