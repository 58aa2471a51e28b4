/* Density control of the rows that each rank has: whatever is asked of the whole model is asked of the sums. Each
 * rank has every R-th Gaussian, so that the parts are alike, and a part of a cap is as good as the cap. */
#include "train/ranks/shard_rows.h"

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

splat_status splat_shards_release(splat_trainer *t, splat_error *error)
{
    SPLAT_TRY(splat_backend_synchronize(t->backend, error));
    splat_region_free(t->backend, &t->model->frame.region);
    splat_region_free(t->backend, &t->backend->scratch);
    splat_batch_release(&t->shards.batch);
    return SPLAT_OK;
}

splat_status splat_shards_most(splat_trainer *t, uint64_t *value, splat_error *error)
{
    if (!splat_shards_are_apart(t)) return SPLAT_OK;
    return splat_comm_reduce_u64(t->shards.comm, SPLAT_COMM_MAX, value, 1, error);
}

splat_status splat_shards_agree(splat_trainer *t, splat_status own, splat_error *refused)
{
    return splat_shards_are_apart(t) ? splat_comm_agree(t->shards.comm, own, refused) : own;
}
