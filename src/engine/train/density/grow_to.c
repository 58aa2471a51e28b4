/* A model grown for measurements: Gaussians are split, whatever the statistics say. */
#include "ops/densify/densify.h"
#include "train/ranks/shard_link.h"

#include <stdlib.h>
#include <string.h>

/* Splits the first n_split Gaussians: n_split more. */
static splat_status split_first(splat_trainer *t, uint32_t n_split, uint8_t *host, splat_error *error)
{
    splat_backend *b = t->backend;
    splat_gaussians *g = &t->model->gaussians;
    splat_region *idle = &t->model->frame.region;
    uint32_t old_n = g->n;
    void *actions;
    memset(host, SPLAT_DENSITY_KEEP, old_n);
    memset(host, SPLAT_DENSITY_SPLIT, n_split);
    SPLAT_TRY(splat_region_reset(b, idle, error));
    SPLAT_TRY(splat_region_take(b, idle, old_n, &actions, error));
    SPLAT_TRY(splat_backend_upload(b, actions, host, old_n, error));
    SPLAT_TRY(splat_trainer_resize(t, old_n + 2 * n_split, error));
    g->n = old_n;
    struct splat_density_grow_args growth = {g, &t->moments, actions, 0, n_split, t->options.seed, old_n};
    SPLAT_TRY(splat_op_density_grow(b, &growth, error));
    g->n = old_n + 2 * n_split;
    splat_density_pruned pruned;
    struct splat_density_prune_args prune_args = {.gaussians = g,
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
    splat_trainer_forget_results(t);
    if (status == SPLAT_OK) status = splat_trainer_update_filter(t, error);
    return status == SPLAT_OK ? splat_shards_deal(t, error) : status;
}
