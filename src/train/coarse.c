/* SuGaR's coarse training between the steps: pruning, the nearest neighbours, figures (docs/method.md, "Coarse
 * training"). Its losses are in regularize.c, its beginning in load_model.c, its times in schedule.c. */
#include "train/trainer.h"

#include "math/density.h"
#include "ops/knn/knn.h"
#include "train/regularize.h"
#include "train/schedule.h"

#include <math.h>

splat_status splat_trainer_check_surface(const splat_trainer *t, const char *path, splat_error *error)
{
    uint32_t n = t->model->gaussians.n;
    if (n > SPLAT_NEIGHBORS) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_NUMERIC, path, SPLAT_NO_OFFSET,
                         "%u Gaussians do not make a surface, which needs %d at least; was the splat trained on this "
                         "scene?",
                         n, SPLAT_NEIGHBORS + 1);
}

splat_status splat_trainer_search_neighbors(splat_trainer *t, int iteration, splat_error *error)
{
    const splat_gaussians *g = &t->model->gaussians;
    bool is_known = t->n_neighbors == g->n && g->n > 0;
    if (!splat_schedule_regularizes(&t->options, iteration)) return SPLAT_OK;
    if (is_known && !splat_schedule_searches_neighbors(&t->options, iteration)) return SPLAT_OK;
    SPLAT_TRY(splat_trainer_resize_neighbors(t, g->n, error));
    struct splat_knn_args args = {.n = g->n, .points = g->p.means, .k = SPLAT_NEIGHBORS,
                                  .indices = t->neighbors.blocks[0].data};
    splat_status status = t->backend->functions->ops.knn(t->backend, &args, error);
    if (status != SPLAT_OK) splat_trainer_resize_neighbors(t, 0, NULL);
    return status;
}

splat_status splat_trainer_coarse_losses(splat_trainer *t, splat_coarse_losses *losses, splat_error *error)
{
    double r[SPLAT_N_COARSE_RESULTS];
    *losses = (splat_coarse_losses){NAN, NAN, NAN, NAN, 0, 0};
    if (!t->coarse_results.data) return SPLAT_OK;
    SPLAT_TRY(t->backend->functions->download(t->backend, r, t->coarse_results.data, sizeof r, error));
    if (splat_schedule_has_entropy(&t->options, t->iteration)) losses->entropy = r[SPLAT_RESULT_ENTROPY];
    if (!splat_schedule_regularizes(&t->options, t->iteration)) return SPLAT_OK;
    losses->estimation = r[SPLAT_RESULT_FIELD];
    losses->normal = r[SPLAT_RESULT_FIELD + 1];
    losses->n_samples = (size_t)r[SPLAT_RESULT_FIELD + 2];
    losses->n_sampled_gaussians = (size_t)r[SPLAT_RESULT_FIELD + 3];
    if (t->options.coarse.regularization == SPLAT_REGULARIZE_DN_CONSISTENCY)
        losses->depth_normal = r[SPLAT_RESULT_DEPTH_NORMAL];
    return SPLAT_OK;
}
