/* Rank 0's orders: everybody's rows come together, and are dealt again. */
#include "train/density/density.h"
#include "train/schedule.h"
#include "train/ranks/shard_link.h"
#include "train/ranks/shard_rows.h"

splat_status splat_trainer_gather(splat_trainer *t, splat_error *error)
{
    splat_error own;
    if (!splat_shards_are_apart(t) || splat_shards_is_worker(t)) return SPLAT_OK;
    const uint32_t n = t->shards.n_all;
    SPLAT_TRY(splat_shards_order(t, SPLAT_ORDER_GATHER, error));
    SPLAT_TRY(splat_shards_fail(t, splat_shard_rows_gather(t, n, &own), &own, error));
    t->shards.is_whole = true;
    return SPLAT_OK;
}

splat_status splat_shards_deal(splat_trainer *t, splat_error *error)
{
    splat_error own;
    const uint32_t n = t->model->gaussians.n;
    if (!t->shards.is_whole) return SPLAT_OK;
    SPLAT_TRY(splat_shards_check_count(t, n, error));
    SPLAT_TRY(splat_shards_order(t, SPLAT_ORDER_DEAL, error));
    splat_status status = splat_shards_fail(t, splat_shard_rows_deal(t, n, &own), &own, error);
    t->shards.is_whole = false;
    t->shards.n_all = n;
    return status;
}

static bool regularizer_changes_after(const splat_trainer *t, int iteration)
{
    const splat_regularizer *regularizer = t->options.regularizer;
    return regularizer && regularizer->changes_after && regularizer->changes_after(&t->options, iteration);
}

static bool concerns_all_after(const splat_trainer *t, int iteration)
{
    bool changes = !t->strategy->changes_after || t->strategy->changes_after(t, iteration);
    return changes || regularizer_changes_after(t, iteration) || splat_schedule_filters_after(&t->options, iteration);
}

/* With rows of its own, or with all at rank 0: what masked pixels alone show is looked for in views of the whole
 * model, as is what a regularizer removes. */
static bool is_done_apart(const splat_trainer *t, int iteration)
{
    return !splat_density_prunes_masked_after(&t->options, &t->scene->dataset, iteration) &&
           !regularizer_changes_after(t, iteration);
}

int splat_shards_batch_end(const splat_trainer *t, int iteration)
{
    const int most = iteration + t->shards.comm->size;
    int end = iteration + 1;
    while (end < most && end < t->options.iterations && end % 100 != 0 && !concerns_all_after(t, end)) end++;
    return end;
}

splat_status splat_shards_begin_step(splat_trainer *t, splat_error *error)
{
    const int before = t->iteration;
    if (!t->shards.comm || t->shards.comm->rank > 0) return SPLAT_OK;
    if (t->last_density_control != before && concerns_all_after(t, before) && !is_done_apart(t, before)) {
        SPLAT_TRY(splat_trainer_gather(t, error));
        SPLAT_TRY(splat_density_control_after(t, before, error));
    }
    SPLAT_TRY(splat_shards_deal(t, error));
    return splat_shards_order(t, SPLAT_ORDER_STEP, error);
}

/* All ranks find a loss that is not finite in the same step, and nothing has changed anywhere. */
void splat_shards_end_step(splat_trainer *t, splat_status status, const splat_error *error)
{
    if (t->shards.comm && status != SPLAT_ERROR_NUMERIC) splat_shards_fail(t, status, error, NULL);
}
