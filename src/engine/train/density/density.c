/* Density control after an iteration, what strategies and regularizers share to change the number of Gaussians, and a
 * model that grows for measurements. */
#include "train/density/density.h"

#include "backend/backend.h"
#include "model/rest.h"
#include "ops/clear_space/clear_space.h"
#include "ops/filter3d/filter3d.h"
#include "train/density/strategy.h"
#include "train/memory/give_up.h"
#include "train/parts/regularizer.h"
#include "train/ranks/rows.h"
#include "train/ranks/shards.h"
#include "train/resize.h"
#include "train/rest_state.h"
#include "train/schedule.h"
#include "train/step.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- after an iteration */

splat_status splat_density_check_points(const splat_train_options *o, const char *strategy, splat_error *error)
{
    if (!o->regularizer && !o->binding) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                      "the density strategy '%s' trains from points; coarse training and refinement keep their "
                      "Gaussians", strategy);
}

splat_status splat_density_update_filter(splat_trainer *t, splat_error *error)
{
    const splat_gaussians *g = &t->model->gaussians;
    struct splat_filter3d_args args = {.n = g->n,
                                       .means = g->p.means,
                                       .cameras = t->scene->train_cameras,
                                       .n_cameras = (uint32_t)t->scene->dataset.n_train,
                                       .filter_3d = g->filter_3d};
    float here = 0;
    if (!splat_shards_are_apart(t)) return splat_op_filter3d(t->backend, &args, error);
    args.largest = &here;
    SPLAT_TRY(splat_op_filter3d(t->backend, &args, error));
    args.largest = NULL;
    args.least = here;
    SPLAT_TRY(splat_shards_largest(t, &args.least, error));
    return args.least > here ? splat_op_filter3d(t->backend, &args, error) : SPLAT_OK;
}

/* Gaussians in front of the scene become invisible before the strategy removes or moves those that are
 * (docs/method.md 10.2). */
static splat_status clear_space(splat_trainer *t, int iteration, splat_error *error)
{
    const struct splat_clear_space_args args = {.gaussians = &t->model->gaussians,
                                                .cameras = t->scene->train_cameras,
                                                .near_depths = t->scene->train_near_depths,
                                                .n_cameras = (uint32_t)t->scene->dataset.n_train};
    const bool changes = !t->strategy->changes_after || t->strategy->changes_after(t, iteration);
    if (!t->options.free_space || t->options.regularizer || t->options.binding || iteration < 1) return SPLAT_OK;
    if (!changes && !splat_schedule_filters_after(&t->options, iteration)) return SPLAT_OK;
    t->is_broken = true;
    return splat_op_clear_space(t->backend, &args, error);
}

splat_status splat_density_control_after(splat_trainer *t, int iteration, splat_error *error)
{
    const splat_regularizer *regularizer = t->options.regularizer;
    if (t->last_density_control == iteration) return SPLAT_OK;
    SPLAT_TRY(clear_space(t, iteration, error));
    SPLAT_TRY(t->strategy->after(t, iteration, error));
    if (regularizer && regularizer->after) SPLAT_TRY(regularizer->after(t, iteration, error));
    splat_trainer_drop_statistics(t, iteration);
    if (splat_schedule_filters_after(&t->options, iteration)) SPLAT_TRY(splat_density_update_filter(t, error));
    t->last_density_control = iteration;
    t->is_broken = false;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the number of Gaussians */

splat_status splat_density_begin(splat_trainer *t, size_t bytes, void **scratch, splat_error *error)
{
    splat_region *idle = &t->model->frame.region;
    SPLAT_TRY(splat_rest_cache_resize(t, t->model->gaussians.n, error));
    SPLAT_TRY(splat_region_reset(t->backend, idle, error));
    SPLAT_TRY(splat_region_take(t->backend, idle, bytes, scratch, error));
    t->is_broken = true;
    return SPLAT_OK;
}

/* Views may have filled what the limit left. Where the new rows need it, it is theirs: what a run gives up does not
 * depend on the views that it happened to have. No more than is missing goes back, for the next view takes it again
 * granule by granule; everything only where storages change, which takes memory that is not counted here. */
static void release_regions(splat_trainer *t, uint32_t n, size_t work, bool all)
{
    const splat_memory *memory = &t->backend->memory;
    splat_region *frame = &t->model->frame.region, *scratch = &t->backend->scratch;
    const size_t granule = t->backend->granularity, there = scratch->block.reserved;
    size_t needed = memory->device.reserved + splat_trainer_growth_bytes(t, n);
    if (!memory->limit) return;
    if (needed > memory->limit || all) {
        splat_batch_release(&t->shards.batch); /* of several ranks: other views, and rows on their way */
        needed = memory->device.reserved + splat_trainer_growth_bytes(t, n);
    }
    if (work > there) needed += work - there + granule;
    if (needed > memory->limit && !all) {
        size_t missing = needed - memory->limit, given = splat_region_give_back(t->backend, frame, 0, missing);
        missing -= given < missing ? given : missing;
        given = splat_region_give_back(t->backend, scratch, work, missing);
        all = given < missing;
    }
    if (!all) return;
    splat_region_release(t->backend, frame);
    splat_region_release(t->backend, scratch);
}

static splat_status reserve_work(splat_trainer *t, size_t bytes, splat_error *error)
{
    void *unused;
    SPLAT_TRY(splat_scratch_reset(t->backend, error));
    SPLAT_TRY(splat_scratch_take(t->backend, bytes, &unused, error));
    return splat_scratch_reset(t->backend, error);
}

/* Asks for work, then rows, on all ranks: if one has no memory, none gets it, and the rows do not change. */
static splat_status try_room(splat_trainer *t, size_t work, uint32_t n, splat_error *error)
{
    const uint32_t old_n = t->model->gaussians.n;
    const bool counted = t->n_statistics > 0, counts = t->strategy->wants_statistics(&t->options, t->iteration);
    splat_status own = reserve_work(t, work, error);
    if (own == SPLAT_OK) own = splat_trainer_resize_state(t, n, counts, error);
    const splat_status all = splat_shards_agree(t, own, error);
    if (all == SPLAT_OK) return splat_trainer_zero_statistics(t, error);
    if (own == SPLAT_OK) splat_trainer_resize_state(t, old_n, counted, NULL); /* fewer: cannot fail */
    return all;
}

splat_status splat_density_make_room(splat_trainer *t, uint64_t n, uint64_t n_after, splat_error *error)
{
    bool on_device = t->backend->device_bytes > 0, is_due;
    size_t work = t->strategy->work_bytes ? t->strategy->work_bytes(on_device, (size_t)n) : 0;
    SPLAT_TRY(splat_scratch_reset(t->backend, error));
    SPLAT_TRY(splat_give_up_is_due(t, (size_t)n_after, &is_due, error));
    if (n > t->model->gaussians.n) release_regions(t, (uint32_t)n, work, is_due);
    SPLAT_TRY(splat_give_up_for(t, (size_t)n_after, error));
    splat_status status = try_room(t, work, (uint32_t)n, error);
    for (bool gave = true; status == SPLAT_ERROR_MEMORY && gave;) {
        splat_error refused;
        if (splat_give_up_next(t, &gave, &refused) != SPLAT_OK) break;
        if (gave) status = try_room(t, work, (uint32_t)n, error);
    }
    return status;
}

/* Views will have more instances as there are more Gaussians. */
static void scale_hints(splat_trainer *t, uint32_t old_n)
{
    double ratio = old_n ? (double)t->model->gaussians.n / old_n : 1;
    for (size_t i = 0; i < t->scene->dataset.n_views; i++) {
        t->hints[i].n_instances = (uint64_t)((double)t->hints[i].n_instances * ratio);
        t->hints[i].n_visible = (uint32_t)((double)t->hints[i].n_visible * ratio);
    }
}

splat_status splat_density_end(splat_trainer *t, uint32_t old_n, splat_error *error)
{
    SPLAT_TRY(splat_shards_level(t, error));
    scale_hints(t, old_n);
    splat_region_trim(t->backend, &t->model->frame.region);
    splat_region_trim(t->backend, &t->backend->scratch);
    return SPLAT_OK;
}

splat_status splat_density_prune(splat_trainer *t, int iteration, struct splat_density_prune_args args,
                                 const char *option, splat_error *error)
{
    splat_density_pruned pruned;
    splat_rest_rows rows;
    SPLAT_TRY(splat_rest_open(t->model, SPLAT_REST_MOVE, &rows, error));
    if (args.target_count) args.target_count = splat_shards_part(t, args.target_count);
    args.gaussians = &rows.gaussians;
    args.rest = rows.state;
    args.moments = &t->moments;
    args.reorder = true;
    args.result = &pruned;
    args.spare = splat_region_rest(&t->model->frame.region, &args.spare_bytes);
    if (!t->caching.rows.n_slots) args.spare_block = &t->caching.block;
    SPLAT_TRY(splat_op_density_prune(t->backend, &args, error));
    uint64_t left[] = {pruned.n_kept, pruned.n_kept == 0};
    t->n_removed += rows.gaussians.n - pruned.n_kept;
    SPLAT_TRY(splat_shards_sum(t, left, 2, error));
    if (left[0] == 0)
        return splat_fail(error, SPLAT_ERROR_NUMERIC,
                          "pruning at iteration %d removed every Gaussian; lower `%s` (%g)", iteration, option,
                          (double)args.min_opacity);
    if (left[1] > 0) /* exchanges of rows take for granted that all have some */
        return splat_fail(error, SPLAT_ERROR_NUMERIC,
                          "pruning at iteration %d left %llu Gaussians, and a rank without any; train with fewer ranks",
                          iteration, (unsigned long long)left[0]);
    bool *expects_growth = &t->backend->memory.expects_growth;
    *expects_growth = t->strategy->wants_statistics(&t->options, iteration + t->options.densification_interval);
    splat_status status = splat_trainer_resize(t, pruned.n_kept, error);
    *expects_growth = false;
    return status;
}

splat_status splat_density_prune_alone(splat_trainer *t, int iteration, struct splat_density_prune_args args,
                                       const char *option, splat_error *error)
{
    uint32_t old_n = t->model->gaussians.n;
    splat_error refused;
    void *unused;
    splat_memory_update_limit(t->backend);
    SPLAT_TRY(splat_density_begin(t, 0, &unused, error));
    splat_status status = splat_density_make_room(t, old_n, old_n, &refused);
    if (status == SPLAT_OK) {
        SPLAT_TRY(splat_density_prune(t, iteration, args, option, error));
    } else if (status == SPLAT_ERROR_MEMORY) {
        splat_log(t->context, SPLAT_LOG_WARNING, "iteration %d: no room to remove what is nearly transparent, training "
                  "goes on: %s", iteration, refused.message);
    } else {
        if (error) *error = refused;
        return status;
    }
    return splat_density_end(t, old_n, error);
}

/* ---------------------------------------------------------------- growth for measurements */

/* Splits the first n_split Gaussians: n_split more. */
static splat_status split_first(splat_trainer *t, uint32_t n_split, uint8_t *host, splat_error *error)
{
    splat_backend *b = t->backend;
    splat_region *idle = &t->model->frame.region;
    splat_rest_rows rows;
    const uint32_t old_n = t->model->gaussians.n;
    void *actions;
    memset(host, SPLAT_DENSITY_KEEP, old_n);
    memset(host, SPLAT_DENSITY_SPLIT, n_split);
    SPLAT_TRY(splat_region_reset(b, idle, error));
    SPLAT_TRY(splat_region_take(b, idle, old_n, &actions, error));
    SPLAT_TRY(splat_backend_upload(b, actions, host, old_n, error));
    SPLAT_TRY(splat_trainer_resize(t, old_n + 2 * n_split, error));
    SPLAT_TRY(splat_rest_open(t->model, SPLAT_REST_MOVE, &rows, error));
    rows.gaussians.n = old_n; /* the op wants the old count; the arrays have room for the new ones */
    const struct splat_density_grow_args growth = {.gaussians = &rows.gaussians,
                                                   .moments = &t->moments,
                                                   .actions = actions,
                                                   .n_split = n_split,
                                                   .seed = t->options.seed,
                                                   .step = old_n,
                                                   .rest = rows.state};
    SPLAT_TRY(splat_op_density_grow(b, &growth, error));
    rows.gaussians.n = old_n + 2 * n_split;
    splat_density_pruned pruned;
    struct splat_density_prune_args prune_args = {.gaussians = &rows.gaussians,
                                                  .rest = rows.state,
                                                  .moments = &t->moments,
                                                  .actions = actions,
                                                  .n_actions = old_n,
                                                  .reorder = true,
                                                  .result = &pruned};
    SPLAT_TRY(splat_op_density_prune(b, &prune_args, error));
    if (pruned.n_kept <= old_n)
        return splat_fail(error, SPLAT_ERROR_NUMERIC, "the model cannot grow: its Gaussians are not finite");
    return splat_trainer_resize(t, pruned.n_kept, error);
}

splat_status splat_trainer_grow_to(splat_trainer *t, size_t n, splat_error *error)
{
    if (n > UINT32_MAX / 2) return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "%zu Gaussians are more than 2^31", n);
    splat_status status = splat_trainer_gather(t, error); /* the same splat with any number of ranks */
    while (status == SPLAT_OK && t->model->gaussians.n < n) {
        /* An eighth at a time: the split ones exist twice for a moment. */
        size_t now = t->model->gaussians.n, wanted = n - now, most = now / 8 + 1;
        uint8_t *host = malloc(now);
        if (!host) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu Gaussians", now);
        status = split_first(t, (uint32_t)(wanted < most ? wanted : most), host, error);
        free(host);
    }
    splat_step_forget_results(t);
    if (status == SPLAT_OK) status = splat_density_update_filter(t, error);
    return status == SPLAT_OK ? splat_shards_deal(t, error) : status;
}
