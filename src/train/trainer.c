/* One training step, top to bottom, and the state it needs. Method: Mip-Splatting (Yu et al., CVPR 2024) on 3D Gaussian
 * Splatting (Kerbl et al., SIGGRAPH 2023), as docs/method.md 6 to 11 says. */
#include "train/trainer.h"

#include "base/clock.h"
#include "train/rates.h"
#include "train/schedule.h"
#include "train/step.h"

#include <math.h>
#include <string.h>

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
    const float scale = sqrtf((float)n_views);
    *adam = (splat_adam){.moments = &t->moments,
                         .iteration = (uint32_t)iteration,
                         .rest_of_visible_only = t->options.sh_offload || t->options.moments_offload};
    for (int i = 0; i < t->model->tensors->n; i++) {
        adam->lr[i] = scale * splat_tensor_rate_at(&splat_gaussian_rates[i], o, t->scene->dataset.extent, iteration);
        adam->update[i] = true;
    }
    if (n_views == 1) skip_published(t, iteration, adam);
    for (int i = 0; i < t->model->tensors->n; i++) {
        if (adam->update[i]) t->adam_steps[i] += n_views;
        adam->correction1[i] = (float)(1.0 - pow(SPLAT_ADAM_BETA1, t->adam_steps[i]));
        adam->correction2[i] = (float)(1.0 - pow(SPLAT_ADAM_BETA2, t->adam_steps[i]));
    }
    /* Until the first band is active its gradients and moments are all zero: the step counts, but moves nothing. */
    if (t->model->gaussians.active_sh_degree == 0) adam->update[SPLAT_TENSOR_sh_rest] = false;
}

/* ---------------------------------------------------------------- the step */

splat_status splat_step_loss(splat_trainer *t, const splat_step_view *view, splat_loss_result *loss, splat_error *error)
{
    splat_backend *b = t->backend;
    struct splat_loss_args args = {.width = view->camera->width,
                                   .height = view->camera->height,
                                   .image = view->exposed ? view->exposed : t->model->frame.image,
                                   .photo_u8 = view->photo_resampled ? NULL : view->photo.rgb,
                                   .photo_f32 = view->photo_resampled,
                                   .mask = splat_step_mask(t, view),
                                   .kept = view->kept,
                                   .lambda_dssim = t->options.lambda_dssim,
                                   .grad_image = view->grad_image,
                                   .result = splat_backend_result_latency(b) == 0 ? loss : NULL,
                                   .frame = &t->model->frame};
    SPLAT_TRY(splat_exposures_apply(t, view, error));
    if (splat_shards_split(t))
        SPLAT_TRY(splat_shared_loss(&t->shards.view, &t->model->frame, &args, error));
    else
        SPLAT_TRY(splat_op_loss(b, &args, error));
    return splat_exposures_backward(t, view, error);
}

/* The loss, which must be finite before anything is updated, where it is known now. */
static splat_status measure_loss(splat_trainer *t, int iteration, const splat_step_view *view,
                                 splat_step_result *result, splat_error *error)
{
    splat_loss_result loss = {0};
    SPLAT_TRY(splat_step_loss(t, view, &loss, error));
    if (splat_backend_result_latency(t->backend) > 0) return SPLAT_OK;
    *result = (splat_step_result){.loss_l1 = loss.l1, .loss_ssim = loss.ssim};
    splat_step_scale_result(result, view->kept);
    return splat_step_check_loss(t, loss.loss, iteration, view->index, error);
}

splat_status splat_step_blend(splat_trainer *t, const splat_step_view *view, splat_error *error)
{
    splat_view_blend colors = {.max_instances = t->options.max_instances,
                               .colors = true,
                               .depth = splat_step_has_depths(&view->depths) ? &view->depths.blend : NULL,
                               .binned_mark = t->measures_stages ? splat_step_mark_number(t, SPLAT_MARK_BIN) : 0};
    SPLAT_TRY(splat_view_forward(t->backend, &t->model->frame, &colors, error));
    splat_shards_note_view(t);
    return splat_step_stamp(t, SPLAT_MARK_RASTER, error);
}

/* The Gaussians on the screen. Where ranks share the view, what each has goes to whose tiles it touches: from here on
 * the frame has what is seen in this rank's tiles, and *projected, which is the frame else, what its Gaussians left. */
static splat_status project(splat_trainer *t, splat_frame **projected, splat_error *error)
{
    splat_frame *frame = &t->model->frame;
    splat_shared_view *shared = &t->shards.view;
    SPLAT_TRY(splat_op_project(
        t->backend, &(struct splat_project_args){&t->model->gaussians, frame, .for_step = true}, error));
    *projected = splat_shards_split(t) ? &shared->projected : frame;
    if (!splat_shards_split(t)) return SPLAT_OK;
    SPLAT_TRY(splat_shared_begin(shared, frame, error));
    return splat_shared_send(shared, frame, error);
}

/* Gradients on the screen, into *projected. */
static splat_status backward(splat_trainer *t, const splat_view_gradients *screen, splat_error *error)
{
    splat_frame *frame = &t->model->frame;
    if (splat_shards_split(t)) return splat_shared_return(&t->shards.view, frame, screen, error);
    return splat_view_backward(t->backend, frame, screen, error);
}

/* The losses beside that of the photo, when there are any: gradients that project_backward adds to its own. */
static splat_status regularize(splat_trainer *t, int iteration, const splat_step_view *view, splat_tensors *gradients,
                               bool *any, splat_error *error)
{
    const splat_regularizer *regularizer = t->options.regularizer;
    *any = false;
    return regularizer ? regularizer->step(t, iteration, view->index, gradients, any, error) : SPLAT_OK;
}

/* Adam's step of the tensors that are free: those that follow from something else stay, and have no moments. */
static splat_adam adam_of_free(const splat_trainer *t, const splat_adam *adam)
{
    splat_adam free_ones = *adam;
    for (int i = 0; i < t->model->tensors->n; i++)
        if (splat_bound_follows(&t->options) >> i & 1) free_ones.update[i] = false;
    return free_ones;
}

/* What Gaussians follow from is stepped, and they follow. A failure is halfway: the colours are stepped already. */
static splat_status step_bound(splat_trainer *t, const splat_adam *adam, const splat_tensors *gradients,
                               splat_error *error)
{
    const splat_binding *binding = t->options.binding;
    splat_status status = binding ? binding->step(t, adam, gradients, error) : SPLAT_OK;
    t->is_broken |= status != SPLAT_OK;
    return status;
}

/* Of the whole view; on an asynchronous backend replaced by what arrives later. */
static splat_status count(splat_trainer *t, splat_step_result *result, splat_error *error)
{
    const splat_frame *frame = &t->model->frame;
    splat_shared_counts counts = {frame->n_visible, frame->n_degenerate, frame->n_view_instances};
    if (splat_shards_split(t)) SPLAT_TRY(splat_shared_end(&t->shards.view, frame, &counts, error));
    result->n_visible = (uint32_t)counts.n_visible;
    result->n_degenerate = (uint32_t)counts.n_degenerate;
    result->n_instances = counts.n_instances;
    return SPLAT_OK;
}

static splat_status run_step(splat_trainer *t, int iteration, splat_step_view *view, splat_step_result *result,
                             splat_error *error)
{
    splat_backend *b = t->backend;
    splat_gaussians *gaussians = &t->model->gaussians;
    splat_frame *frame = &t->model->frame, *projected;
    const float n_all = (float)splat_shards_count(t);

    splat_tensors extra_gradients, bound_gradients;
    bool has_extra;

    SPLAT_TRY(splat_step_stamp(t, SPLAT_MARK_BEGIN, error));
    SPLAT_TRY(regularize(t, iteration, view, &extra_gradients, &has_extra, error));
    SPLAT_TRY(splat_model_begin_view(t->model, frame, view->camera, view->background, error));
    frame->hint = splat_trainer_hint(t, view->index);
    SPLAT_TRY(splat_step_stage_photo(t, iteration, view, error));
    SPLAT_TRY(splat_depths_stage(t, iteration, view, error));
    SPLAT_TRY(splat_step_stamp(t, SPLAT_MARK_DATA, error));

    SPLAT_TRY(project(t, &projected, error));
    SPLAT_TRY(splat_step_stamp(t, SPLAT_MARK_PROJECT, error));
    SPLAT_TRY(splat_step_blend(t, view, error));
    SPLAT_TRY(measure_loss(t, iteration, view, result, error));
    SPLAT_TRY(splat_step_ask_opacity(t, view, error));
    SPLAT_TRY(splat_depths_losses(t, view, error));
    SPLAT_TRY(splat_step_stamp(t, SPLAT_MARK_LOSS, error));
    const bool wants_statistics = t->strategy->wants_statistics(&t->options, iteration);
    const bool has_depths = splat_step_has_depths(&view->depths);
    splat_view_gradients screen = {.image = view->grad_image, .without_mean_abs = !wants_statistics,
                                   .alpha = view->depths.grad_alpha ? view->depths.grad_alpha : view->grad_alpha,
                                   .depth = has_depths ? &view->depths.blend : NULL};
    SPLAT_TRY(backward(t, &screen, error));
    SPLAT_TRY(splat_step_stamp(t, SPLAT_MARK_RASTER_BACKWARD, error));
    SPLAT_TRY(splat_bound_reserve(t, error));
    /* From here on nothing is allocated: a step that the memory limit stops has changed nothing. */

    splat_adam adam;
    splat_step_adam(t, iteration, 1, &adam);
    splat_adam adam_free = adam_of_free(t, &adam);
    splat_statistics statistics = splat_trainer_statistics(t);
    struct splat_project_backward_args step = {
        .gaussians = gaussians,
        .frame = projected,
        .adam = &adam_free,
        .statistics = wants_statistics ? &statistics : NULL,
        .statistics_mask = splat_step_mask(t, view),
        .gradients = splat_bound_gradients(t, &bound_gradients),
        .extra_gradients = has_extra ? &extra_gradients : NULL,
        .grad_depth = has_depths ? view->depths.blend.grad_depth : NULL,
        .opacity_pull = t->options.opacity_reg / n_all,
        .scale_pull = t->options.scale_reg / (3.0f * n_all)};
    SPLAT_TRY(splat_op_project_backward(b, &step, error));
    SPLAT_TRY(step_bound(t, &adam, &bound_gradients, error));
    SPLAT_TRY(splat_exposures_step(t, iteration, view, error));
    SPLAT_TRY(splat_step_stamp(t, SPLAT_MARK_PROJECT_BACKWARD, error));
    return count(t, result, error);
}

/* run_step; a step that failed does not count. */
static splat_status try_step(splat_trainer *t, int iteration, splat_step_view *view, splat_step_result *result,
                             splat_error *error)
{
    int kept[SPLAT_N_TENSORS], kept_exposures = t->exposures.steps;
    memcpy(kept, t->adam_steps, sizeof kept);
    splat_status status = run_step(t, iteration, view, result, error);
    if (status == SPLAT_OK) {
        t->iteration = iteration;
    } else {
        memcpy(t->adam_steps, kept, sizeof kept);
        t->exposures.steps = kept_exposures;
    }
    return status;
}

static void release_regions(splat_trainer *t)
{
    splat_region_free(t->backend, &t->model->frame.region);
    splat_region_free(t->backend, &t->backend->scratch);
}

/* try_step; what the limit refuses is asked for again: first without what working memory still holds of views and
 * counts before, then as long as there is something to give up for it. */
static splat_status make_step(splat_trainer *t, int iteration, splat_step_view *view, splat_step_result *result,
                              splat_error *error)
{
    splat_status status = try_step(t, iteration, view, result, error);
    for (bool gave = t->backend->memory.limit > 0; status == SPLAT_ERROR_MEMORY && gave;) {
        splat_error refused;
        release_regions(t);
        status = try_step(t, iteration, view, result, error);
        if (status != SPLAT_ERROR_MEMORY) break;
        release_regions(t);
        if (splat_give_up_next(t, &gave, &refused) != SPLAT_OK) break;
    }
    return status;
}

/* A view that needs more than the memory limit leaves does not end the training: its step is left out and reported. */
static splat_status leave_out(splat_trainer *t, const splat_error *refused, int iteration, const splat_step_view *view,
                              splat_error *error)
{
    if (refused->status != SPLAT_ERROR_MEMORY || !t->backend->memory.limit) {
        if (error) *error = *refused;
        return refused->status;
    }
    splat_log(t->context, SPLAT_LOG_WARNING, "iteration %d (view %s) is left out: %s", iteration,
              t->scene->dataset.views[view->index].name, refused->message);
    t->n_left_out++;
    t->has_posted = false; /* there is no result to wait for */
    t->iteration = iteration;
    return SPLAT_OK;
}

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

static splat_status step(splat_trainer *t, splat_step_info *info, splat_error *error)
{
    double begin = splat_clock_seconds();
    int iteration = t->iteration + 1;
    splat_step_result result = {0};
    splat_step_view view;

    SPLAT_TRY(splat_density_control_after(t, iteration - 1, error));
    t->model->gaussians.active_sh_degree = splat_schedule_sh_degree(&t->options, iteration);
    SPLAT_TRY(splat_step_next_view(t, iteration, 1, &view, error));
    splat_error refused;
    if (make_step(t, iteration, &view, &result, &refused) != SPLAT_OK) {
        SPLAT_TRY(leave_out(t, &refused, iteration, &view, error));
    } else {
        if (splat_backend_result_latency(t->backend) > 0)
            SPLAT_TRY(splat_step_exchange_results(t, iteration, &view, &result, error));
        SPLAT_TRY(splat_step_add_times(t, error)); /* a step that was left out did not set all marks */
    }
    splat_step_tell(t, &result, view.index, 1, begin, info);
    return SPLAT_OK;
}

splat_status splat_trainer_step(splat_trainer *t, splat_step_info *info, splat_error *error)
{
    splat_error own;
    splat_status status = splat_shards_begin_step(t, &own);
    splat_shards_begin_traffic(t);
    if (status == SPLAT_OK)
        status = t->options.batch_views && t->shards.comm ? splat_batch_step(t, info, &own) : step(t, info, &own);
    splat_shards_end_step(t, status, &own);
    if (status != SPLAT_OK) {
        if (error) *error = own;
        return status;
    }
    splat_shards_end_traffic(t);
    t->n_added = t->n_removed = t->n_refused = 0;
    return status;
}
