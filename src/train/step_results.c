/* What a step tells the host: on a backend that works ahead its result comes one step late, and says how much room the
 * view will need. */
#include "train/step.h"

#include "train/trainer.h"

#include <math.h>

splat_status splat_step_check_loss(const splat_trainer *t, double loss, int iteration, uint32_t view,
                                   splat_error *error)
{
    if (isfinite(loss)) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_NUMERIC,
                      "the loss is not finite at iteration %d (view %s); the model is as it was after the step before",
                      iteration, t->scene->dataset.views[view].name);
}

void splat_step_scale_result(splat_step_result *result, double kept)
{
    if (kept == 1 || kept == 0) return;
    result->loss_l1 /= kept;
    result->loss_ssim /= kept;
}

/* A count that fell (after an opacity reset) comes back soon: the hint falls by a tenth a visit. */
static void remember(splat_view_hint *hint, const splat_step_result *result)
{
    uint64_t n_instances = hint->n_instances - hint->n_instances / 10;
    uint32_t n_visible = hint->n_visible - hint->n_visible / 10;
    hint->n_instances = result->n_instances > n_instances ? result->n_instances : n_instances;
    hint->n_visible = result->n_visible > n_visible ? result->n_visible : n_visible;
}

/* A view that outgrew its room tells of the others: where all Gaussians grow at once, as after a prune, each would be
 * left out once. Their rooms grow as its count did, at most twofold; those that did not need it fall again. */
static void expect_growth(splat_trainer *t, const splat_view_hint *hint, const splat_step_result *result)
{
    if (!hint->n_instances || result->n_instances <= hint->n_instances) return;
    double growth = fmin((double)result->n_instances / (double)hint->n_instances, 2);
    for (size_t i = 0; i < t->scene->dataset.n_views; i++)
        t->hints[i].n_instances = (uint64_t)((double)t->hints[i].n_instances * growth);
}

/* More than half of what a hint leaves room for: where a view grew so much since it was last seen, as in the first
 * epochs, another may have outgrown its room, and its step would be left out. */
static bool grows_fast(const splat_view_hint *hint, const splat_step_result *result)
{
    return hint->n_instances && result->n_instances > hint->n_instances + hint->n_instances / 8;
}

splat_status splat_step_exchange_results(splat_trainer *t, int iteration, const splat_step_view *view,
                                         splat_step_result *result, splat_error *error)
{
    splat_backend *b = t->backend;
    SPLAT_TRY(splat_backend_post_result(b, &t->model->frame, t->n_posted % SPLAT_RESULT_SLOTS, error));
    uint32_t earlier = t->posted_view;
    const int posted_iteration = t->posted_iteration, posted = t->n_posted++ - 1;
    double kept = t->posted_kept;
    bool had_posted = t->has_posted;
    t->posted_view = view->index;
    t->posted_kept = view->kept;
    t->posted_iteration = iteration;
    t->has_posted = true;
    if (had_posted) SPLAT_TRY(splat_backend_take_result(b, posted % SPLAT_RESULT_SLOTS, result, error));
    if (!had_posted) return SPLAT_OK;
    splat_step_scale_result(result, kept);
    t->n_waits -= t->n_waits > 0;
    if (grows_fast(&t->hints[earlier], result)) t->n_waits = t->scene->dataset.n_train;
    if (result->overflow) expect_growth(t, &t->hints[earlier], result);
    remember(&t->hints[earlier], result);
    if (result->overflow)
        splat_log(t->context, SPLAT_LOG_NOTICE, "iteration %d needed room for %llu instances and was left out",
                  posted_iteration, (unsigned long long)result->n_instances);
    return splat_step_check_loss(t, result->loss_l1 + result->loss_ssim, posted_iteration, earlier, error);
}
