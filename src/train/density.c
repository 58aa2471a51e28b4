/* What density strategies and regularizers share to change the number of Gaussians. */
#include "train/density.h"

#include "backend/backend.h"

splat_status splat_density_begin(splat_trainer *t, size_t bytes, void **scratch, splat_error *error)
{
    splat_region *idle = &t->model->frame.region;
    SPLAT_TRY(splat_region_reset(t->backend, idle, error));
    SPLAT_TRY(splat_region_take(t->backend, idle, bytes, scratch, error));
    t->is_broken = true;
    return SPLAT_OK;
}

/* Views will have more instances as there are more Gaussians. */
static void scale_hints(splat_trainer *t, uint32_t old_n)
{
    double ratio = (double)t->model->gaussians.n / old_n;
    for (size_t i = 0; i < t->scene->dataset.n_views; i++) {
        t->hints[i].n_instances = (uint64_t)((double)t->hints[i].n_instances * ratio);
        t->hints[i].n_visible = (uint32_t)((double)t->hints[i].n_visible * ratio);
    }
}

void splat_density_end(splat_trainer *t, uint32_t old_n)
{
    scale_hints(t, old_n);
    splat_region_trim(t->backend, &t->model->frame.region);
    splat_region_trim(t->backend, &t->backend->scratch);
}

splat_status splat_density_prune(splat_trainer *t, int iteration, struct splat_density_prune_args args,
                                 const char *option, splat_error *error)
{
    splat_density_pruned pruned;
    splat_gaussians *g = &t->model->gaussians;
    args.gaussians = g;
    args.moments = &t->moments;
    args.reorder = true;
    args.result = &pruned;
    SPLAT_TRY(splat_op_density_prune(t->backend, &args, error));
    t->n_removed += g->n - pruned.n_kept;
    if (pruned.n_kept == 0)
        return splat_fail(error, SPLAT_ERROR_NUMERIC,
                          "pruning at iteration %d removed every Gaussian; lower `%s` (%g)", iteration, option,
                          (double)args.min_opacity);
    return splat_trainer_resize(t, pruned.n_kept, error);
}
