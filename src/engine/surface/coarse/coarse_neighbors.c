/* Coarse training between the steps: pruning, once, and the nearest neighbours. */
#include "ops/knn/knn.h"
#include "surface/coarse/coarse_parts.h"
#include "train/density/density.h"
#include "train/ranks/shapes.h"
#include "train/ranks/shards.h"

splat_status splat_coarse_check_surface(const splat_trainer *t, const char *path, splat_error *error)
{
    uint32_t n = splat_shards_count(t);
    if (n > SPLAT_NEIGHBORS) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_NUMERIC, path, SPLAT_NO_OFFSET,
                         "%u Gaussians do not make a surface, which needs %d at least; was the splat trained on this "
                         "scene?",
                         n, SPLAT_NEIGHBORS + 1);
}

splat_status splat_coarse_search_neighbors(splat_trainer *t, int first, int last, splat_error *error)
{
    const splat_gaussians g = splat_shapes_gaussians(t);
    splat_extra_rows *rows = splat_shapes_extra_rows(t);
    bool is_known = rows->n_cached == g.n && g.n > 0, has_field = false, is_due = false;
    for (int i = first; i <= last; i++) {
        has_field = has_field || splat_coarse_has_field(&t->options, i);
        is_due = is_due || splat_coarse_searches_neighbors(&t->options, i);
    }
    if (!has_field || (is_known && !is_due)) return SPLAT_OK;
    SPLAT_TRY(splat_extra_rows_cache(rows, t->backend, g.n, error));
    struct splat_knn_args args = {.n = g.n, .points = g.p.means, .k = SPLAT_NEIGHBORS,
                                  .indices = splat_extra_rows_data(rows, SPLAT_COARSE_NEIGHBORS)};
    splat_status status = splat_op_knn(t->backend, &args, error);
    if (status == SPLAT_OK) return splat_shapes_keep_cached(t, error);
    splat_extra_rows_cache(rows, t->backend, 0, NULL);
    return status;
}

splat_status splat_coarse_after(splat_trainer *t, int iteration, splat_error *error)
{
    uint32_t old_n = t->model->gaussians.n;
    void *unused;
    if (!splat_coarse_prunes_after(&t->options, iteration)) return SPLAT_OK;
    SPLAT_TRY(splat_density_begin(t, 0, &unused, error));
    struct splat_density_prune_args args = {.min_opacity = t->options.coarse.prune_opacity};
    SPLAT_TRY(splat_density_prune(t, iteration, args, "prune_opacity", error));
    if (t->model->gaussians.n <= SPLAT_NEIGHBORS)
        return splat_fail(error, SPLAT_ERROR_NUMERIC,
                          "only %u of %u Gaussians are as opaque as `prune_opacity` asks (%g), and a surface needs %d: "
                          "train longer before or until `regularize_after`, or take a smaller `prune_opacity`",
                          t->model->gaussians.n, old_n, (double)t->options.coarse.prune_opacity, SPLAT_NEIGHBORS + 1);
    SPLAT_TRY(splat_coarse_trim(t, iteration, error));
    return splat_density_end(t, old_n, error);
}
