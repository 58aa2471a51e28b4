/* The Gaussians of a rank, the agreements of all ranks, and orders. Each rank has every R-th Gaussian, so that the
 * parts are similar, and a part of a cap is as good as the cap. */
#include "train/ranks/shards.h"

#include <string.h>

/* ---------------------------------------------------------------- which Gaussians are here */

uint32_t splat_shard_count(uint32_t n, int rank, int size)
{
    return n > (uint32_t)rank ? (n - (uint32_t)rank - 1) / (uint32_t)size + 1 : 0;
}

splat_trainer *splat_shards_sharer(splat_trainer *t)
{
    return t->shards.comm ? t : NULL;
}

bool splat_shards_leads(const splat_trainer *t)
{
    return t->shards.comm && t->shards.comm->rank == 0;
}

bool splat_shards_is_stopped(const splat_trainer *t)
{
    return t->stop_requested || (splat_shards_leads(t) && splat_comm_is_interrupted(t->shards.comm));
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
uint32_t splat_shards_part(const splat_trainer *t, uint64_t n)
{
    const uint32_t all = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
    return splat_shards_are_apart(t) ? splat_shard_count(all, t->shards.comm->rank, t->shards.comm->size) : all;
}

splat_status splat_shards_check_count(const splat_trainer *t, size_t n, splat_error *error)
{
    if (!t->shards.comm || n >= (size_t)t->shards.comm->size) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_NUMERIC, "%zu Gaussians cannot be dealt to %d ranks; train with fewer", n,
                      t->shards.comm->size);
}

uint64_t splat_shards_seed(const splat_trainer *t)
{
    return t->options.seed + (splat_shards_are_apart(t) ? (uint64_t)t->shards.comm->rank << 32 : 0);
}
splat_status splat_shards_release(splat_trainer *t, splat_error *error)
{
    SPLAT_TRY(splat_backend_synchronize(t->backend, error));
    splat_region_free(t->backend, &t->model->frame.region);
    splat_region_free(t->backend, &t->backend->scratch);
    splat_batch_release(&t->shards.batch);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the same on all ranks */

splat_status splat_shards_sum(splat_trainer *t, uint64_t *values, size_t n, splat_error *error)
{
    if (!splat_shards_are_apart(t)) return SPLAT_OK;
    return splat_comm_reduce_u64(t->shards.comm, SPLAT_COMM_SUM, values, n, error);
}

splat_status splat_shards_largest(splat_trainer *t, float *value, splat_error *error)
{
    double largest = (double)*value;
    if (!splat_shards_are_apart(t)) return SPLAT_OK;
    SPLAT_TRY(splat_comm_reduce_f64(t->shards.comm, SPLAT_COMM_MAX, &largest, 1, error));
    *value = (float)largest;
    return SPLAT_OK;
}

splat_status splat_shards_most(splat_trainer *t, uint64_t *value, splat_error *error)
{
    if (!splat_shards_are_apart(t)) return SPLAT_OK;
    return splat_comm_reduce_u64(t->shards.comm, SPLAT_COMM_MAX, value, 1, error);
}

splat_status splat_shards_agree(splat_trainer *t, splat_status local, splat_error *refused)
{
    return splat_shards_are_apart(t) ? splat_comm_agree(t->shards.comm, local, refused) : local;
}

/* ---------------------------------------------------------------- orders of rank 0 */

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
    o->look = (splat_run_look){t->model ? t->model->render_mode : SPLAT_RENDER_MIP,
                               t->model ? t->model->kernel_size : 0, t->regularizer_constant};
}

splat_status splat_order_give(const splat_trainer *t, splat_order *order, splat_error *error)
{
    return splat_comm_broadcast(t->shards.comm, 0, order, sizeof *order, error);
}

splat_status splat_shards_order(const splat_trainer *t, splat_order_kind kind, splat_error *error)
{
    splat_order o;
    splat_order_make(t, kind, &o);
    return splat_order_give(t, &o, error);
}

splat_status splat_shards_fail(const splat_trainer *t, splat_status status, const splat_error *local,
                               splat_error *error)
{
    if (status == SPLAT_OK) return status;
    if (t->shards.comm && status != SPLAT_ERROR_RANK) splat_comm_fail(t->shards.comm, local);
    if (error) *error = *local;
    return status;
}
