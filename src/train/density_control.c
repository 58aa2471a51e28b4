/* Density control: clone, split, prune, cap, opacity reset, and the 3D filter that follows (docs/method.md 10, 4). */
#include "train/trainer.h"

#include "ops/densify/densify.h"
#include "train/schedule.h"

#include <string.h>

#define LARGE_SCALE 0.1f          /* of the extent: larger ones are pruned once opacities were reset */
#define RESET_OPACITY 0.01f

static const char *const m_names[SPLAT_N_TENSORS] = {
#define SPLAT_TENSOR(name, channels) "adam m " #name,
#include "ops/gaussians.def"
#undef SPLAT_TENSOR
};
static const char *const v_names[SPLAT_N_TENSORS] = {
#define SPLAT_TENSOR(name, channels) "adam v " #name,
#include "ops/gaussians.def"
#undef SPLAT_TENSOR
};
static const char *const statistics_names[3] = {"gradient sum", "absolute gradient sum", "view count"};

static splat_status resize_statistics(splat_trainer *t, uint32_t n, splat_error *error)
{
    for (int i = 0; i < 3; i++)
        SPLAT_TRY(splat_block_resize(t->backend, &t->statistics[i], statistics_names[i], SPLAT_OWNER_STATISTICS,
                                     (size_t)n * sizeof(float), error));
    return SPLAT_OK;
}

splat_status splat_trainer_resize(splat_trainer *t, uint32_t n, splat_error *error)
{
    splat_backend *b = t->backend;
    splat_gaussians *g = &t->model->gaussians;
    uint32_t old_n = g->n;
    /* Optimizer and statistics first: when one of them is refused, what grew goes back and the model never changed. */
    splat_status status = splat_tensor_blocks_resize(b, &t->m, m_names, SPLAT_OWNER_OPTIMIZER, old_n, n, g->sh_degree,
                                                     error);
    if (status == SPLAT_OK)
        status = splat_tensor_blocks_resize(b, &t->v, v_names, SPLAT_OWNER_OPTIMIZER, old_n, n, g->sh_degree, error);
    if (status == SPLAT_OK) status = resize_statistics(t, n, error);
    if (status == SPLAT_OK) status = splat_model_resize(t->model, n, error);
    if (status != SPLAT_OK) {
        splat_tensor_blocks_resize(b, &t->m, m_names, SPLAT_OWNER_OPTIMIZER, n, old_n, g->sh_degree, NULL);
        splat_tensor_blocks_resize(b, &t->v, v_names, SPLAT_OWNER_OPTIMIZER, n, old_n, g->sh_degree, NULL);
        resize_statistics(t, old_n, NULL);
        return status;
    }
    for (int i = 0; i < 3; i++)
        SPLAT_TRY(b->functions->zero(b, t->statistics[i].data, (size_t)n * sizeof(float), error));
    return SPLAT_OK;
}

/* Clones and splits what the statistics select; appends them. */
static splat_status grow(splat_trainer *t, int iteration, uint8_t *actions, uint32_t *n_actions, splat_error *error)
{
    splat_backend *b = t->backend;
    const splat_ops *ops = &b->functions->ops;
    splat_gaussians *g = &t->model->gaussians;
    splat_density_selection selection;
    splat_statistics statistics = {t->statistics[0].data, t->statistics[1].data, t->statistics[2].data};
    struct splat_density_select_args select = {
        g,       &statistics, t->options.densify_grad_threshold, t->options.percent_dense, t->scene->dataset.extent,
        actions, &selection};
    SPLAT_TRY(ops->density_select(b, &select, error));

    uint32_t old_n = g->n;
    uint64_t wanted = (uint64_t)old_n + selection.n_clone + 2ull * selection.n_split;
    *n_actions = 0;
    if (wanted == old_n) return SPLAT_OK;
    splat_error refused;
    if (wanted > UINT32_MAX / 2 || splat_trainer_resize(t, (uint32_t)wanted, &refused) != SPLAT_OK) {
        splat_log(t->context, SPLAT_LOG_WARNING,
                  "iteration %d: no room for %llu Gaussians; growth is refused, training goes on", iteration,
                  (unsigned long long)wanted);
        return SPLAT_OK;
    }
    g->n = old_n; /* the op wants the old count; the arrays have room for the new ones */
    struct splat_density_grow_args growth = {g,       &t->m.tensors,     &t->v.tensors,     actions, selection.n_clone,
                                             selection.n_split, t->options.seed, (uint32_t)iteration};
    splat_status status = ops->density_grow(b, &growth, error);
    g->n = (uint32_t)wanted;
    *n_actions = old_n;
    t->n_added += selection.n_clone + 2 * (size_t)selection.n_split;
    return status;
}

static splat_status prune(splat_trainer *t, int iteration, const uint8_t *actions, uint32_t n_actions,
                          splat_error *error)
{
    splat_backend *b = t->backend;
    splat_gaussians *g = &t->model->gaussians;
    splat_density_pruned pruned;
    size_t cap = t->options.target_gaussian_count;
    struct splat_density_prune_args args = {
        .gaussians = g,
        .m = &t->m.tensors,
        .v = &t->v.tensors,
        .actions = actions,
        .n_actions = n_actions,
        .min_opacity = t->options.min_opacity_threshold,
        .max_scale = splat_schedule_prunes_large(&t->options, iteration) ? LARGE_SCALE * t->scene->dataset.extent : 0,
        .target_count = cap < UINT32_MAX ? (uint32_t)cap : 0,
        .reorder = true,
        .result = &pruned};
    SPLAT_TRY(b->functions->ops.density_prune(b, &args, error));
    t->n_removed += g->n - pruned.n_kept;
    if (pruned.n_kept == 0)
        return splat_fail(error, SPLAT_ERROR_NUMERIC,
                          "density control at iteration %d removed every Gaussian; lower --min_opacity_threshold (%g)",
                          iteration, (double)t->options.min_opacity_threshold);
    return splat_trainer_resize(t, pruned.n_kept, error);
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

static splat_status densify(splat_trainer *t, int iteration, splat_error *error)
{
    splat_block actions = {0};
    uint32_t n_actions = 0, old_n = t->model->gaussians.n;
    splat_status status = splat_block_resize(t->backend, &actions, "density actions", SPLAT_OWNER_TRANSIENTS,
                                             t->model->gaussians.n, error);
    if (status == SPLAT_OK) status = grow(t, iteration, actions.data, &n_actions, error);
    if (status == SPLAT_OK) status = prune(t, iteration, actions.data, n_actions, error);
    splat_block_free(t->backend, &actions);
    scale_hints(t, old_n);
    return status;
}

splat_status splat_density_control_after(splat_trainer *t, int iteration, splat_error *error)
{
    bool densifies = splat_schedule_densifies_after(&t->options, iteration);
    if (densifies) {
        SPLAT_TRY(densify(t, iteration, error));
        SPLAT_TRY(splat_trainer_update_filter(t, error));
    }
    if (splat_schedule_resets_opacity_after(&t->options, iteration)) {
        struct splat_opacity_reset_args args = {&t->model->gaussians, RESET_OPACITY, t->m.tensors.opacities,
                                                t->v.tensors.opacities};
        SPLAT_TRY(t->backend->functions->ops.opacity_reset(t->backend, &args, error));
    }
    if (splat_schedule_filters_after(&t->options, iteration)) SPLAT_TRY(splat_trainer_update_filter(t, error));
    return SPLAT_OK;
}
