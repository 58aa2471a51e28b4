/* Pieces of a step: Adam's rates, the picture and its loss, what is reported. */
#include "train/step.h"

#include "base/clock.h"
#include "train/optimizer/rates.h"
#include "train/schedule.h"
#include "train/trainer.h"

#include <math.h>

int splat_step_iteration(const splat_trainer *t, const splat_step *s)
{
    return s->first + (t->shards.comm ? t->shards.comm->rank : 0);
}

/* ---------------------------------------------------------------- Adam's rates */

/* The published trainer makes no step at the last iteration, and loses some at others; what trains a splat on, and a
 * batch of views, makes all of them. */
static void skip_published(const splat_trainer *t, int iteration, splat_adam *adam)
{
    const bool updates = iteration < t->options.iterations || splat_schedule_continues_splat(&t->options);
    for (int i = 0; i < t->model->tensors->n && !updates; i++) adam->update[i] = false;
    if (t->strategy->updates) t->strategy->updates(t, iteration, adam);
}

void splat_step_adam(splat_trainer *t, int iteration, int n_views, splat_adam *adam)
{
    const splat_train_options *o = &t->options;
    const float scale = (float)n_views;
    *adam = (splat_adam){.moments = &t->moments,
                         .iteration = (uint32_t)iteration,
                         .rest_of_visible_only = t->options.sh_offload || t->options.moments_offload};
    for (int i = 0; i < t->model->tensors->n; i++) {
        adam->lr[i] = scale * splat_tensor_rate_at(&splat_gaussian_rates[i], o, t->scene->dataset.extent, iteration);
        adam->update[i] = true;
    }
    if (!t->shards.comm) skip_published(t, iteration, adam); /* nor in a batch of one view */
    for (int i = 0; i < t->model->tensors->n; i++) {
        if (adam->update[i]) t->adam_steps[i] += n_views;
        adam->correction1[i] = (float)(1.0 - pow(SPLAT_ADAM_BETA1, t->adam_steps[i]));
        adam->correction2[i] = (float)(1.0 - pow(SPLAT_ADAM_BETA2, t->adam_steps[i]));
    }
    /* Until the first band is active its gradients and moments are all zero: the step counts, but moves nothing. */
    if (t->model->gaussians.active_sh_degree == 0) adam->update[SPLAT_TENSOR_sh_rest] = false;
}

/* ---------------------------------------------------------------- the picture and its loss */

splat_status splat_step_blend(splat_trainer *t, const splat_step_view *view, splat_error *error)
{
    splat_view_blend colors = {.max_instances = t->options.max_instances,
                               .colors = true,
                               .depth = view->depth,
                               .binned_mark = t->measures_stages ? splat_step_mark_number(t, SPLAT_MARK_BIN) : 0};
    splat_step_note_mark(t, SPLAT_MARK_BIN);
    SPLAT_TRY(splat_view_forward(t->backend, &t->model->frame, &colors, error));
    return splat_step_stamp(t, SPLAT_MARK_RASTER, error);
}

splat_status splat_step_loss(splat_trainer *t, const splat_step_view *view, splat_loss_result *loss, splat_error *error)
{
    splat_backend *b = t->backend;
    float *image = view->exposed ? view->exposed : t->model->frame.image;
    struct splat_loss_args args = {.width = view->camera->width,
                                   .height = view->camera->height,
                                   .image = image,
                                   .photo_u8 = view->photo_resampled ? NULL : view->photo.rgb,
                                   .photo_f32 = view->photo_resampled,
                                   .mask = splat_step_mask(t, view),
                                   .kept = view->kept,
                                   .lambda_dssim = t->options.lambda_dssim,
                                   .grad_image = view->grad_image,
                                   .result = splat_backend_result_latency(b) == 0 ? loss : NULL,
                                   .frame = &t->model->frame};
    return splat_op_loss(b, &args, error);
}

/* ---------------------------------------------------------------- what it was */

void splat_step_tell(const splat_trainer *t, const splat_step_result *result, uint32_t view, int n_views,
                     double begin_seconds, splat_step_info *info)
{
    const float lambda = t->options.lambda_dssim;
    if (!info) return;
    *info = (splat_step_info){.iteration = t->iteration,
                              .loss = (float)((1 - lambda) * result->loss_l1 + lambda * (1 - result->loss_ssim)),
                              .l1 = (float)result->loss_l1,
                              .ssim = (float)result->loss_ssim,
                              .n_gaussians = splat_shards_count(t),
                              .n_visible = result->n_visible,
                              .n_instances = result->n_instances,
                              .n_degenerate = result->n_degenerate,
                              .active_sh_degree = t->model->gaussians.active_sh_degree,
                              .view_index = view,
                              .n_views = n_views,
                              .step_ms = 1e3 * (splat_clock_seconds() - begin_seconds),
                              .n_added = t->n_added,
                              .n_removed = t->n_removed,
                              .n_refused = t->n_refused};
}
