/* One training step, top to bottom, and the state it needs. Method: Mip-Splatting (Yu et al., CVPR 2024) on 3D Gaussian
 * Splatting (Kerbl et al., SIGGRAPH 2023), as docs/method.md 6 to 11 says. */
#include "train/trainer.h"

#include "base/clock.h"
#include "train/schedule.h"
#include "train/step.h"

#include <string.h>

/* ---------------------------------------------------------------- the step */

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

/* Counts of the view. An asynchronous backend replaces them by those that arrive later. */
static void count(const splat_frame *frame, splat_step_result *result)
{
    result->n_visible = frame->n_visible;
    result->n_degenerate = frame->n_degenerate;
    result->n_instances = frame->n_view_instances;
}

static splat_status run_step(splat_trainer *t, int iteration, splat_step_view *view, splat_step_result *result,
                             splat_error *error)
{
    splat_backend *b = t->backend;
    splat_gaussians *gaussians = &t->model->gaussians;
    splat_frame *frame = &t->model->frame;
    const float n = (float)gaussians->n;

    splat_tensors extra_gradients, bound_gradients;
    bool has_extra;

    SPLAT_TRY(splat_step_stamp(t, SPLAT_MARK_BEGIN, error));
    SPLAT_TRY(splat_regularize(t, iteration, view->index, &extra_gradients, &has_extra, error));
    SPLAT_TRY(splat_model_begin_view(t->model, frame, view->camera, view->background, error));
    frame->hint = splat_trainer_hint(t, view->index);
    SPLAT_TRY(splat_step_stage_photo(t, iteration, view, error));
    SPLAT_TRY(splat_depths_stage(t, iteration, view, error));
    SPLAT_TRY(splat_step_stamp(t, SPLAT_MARK_DATA, error));

    SPLAT_TRY(splat_op_project(b, &(struct splat_project_args){gaussians, frame, .for_step = true}, error));
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
    SPLAT_TRY(splat_view_backward(b, frame, &screen, error));
    SPLAT_TRY(splat_step_stamp(t, SPLAT_MARK_RASTER_BACKWARD, error));
    SPLAT_TRY(splat_bound_reserve(t, error));
    /* From here on nothing is allocated: a step that the memory limit stops has changed nothing. */

    splat_adam adam;
    splat_step_adam(t, iteration, 1, &adam);
    splat_adam adam_free = adam_of_free(t, &adam);
    splat_statistics statistics = splat_trainer_statistics(t);
    struct splat_project_backward_args step = {
        .gaussians = gaussians,
        .frame = frame,
        .adam = &adam_free,
        .statistics = wants_statistics ? &statistics : NULL,
        .statistics_mask = splat_step_mask(t, view),
        .gradients = splat_bound_gradients(t, &bound_gradients),
        .extra_gradients = has_extra ? &extra_gradients : NULL,
        .grad_depth = has_depths ? view->depths.blend.grad_depth : NULL,
        .opacity_pull = t->options.opacity_reg / n,
        .scale_pull = t->options.scale_reg / (3.0f * n)};
    SPLAT_TRY(splat_op_project_backward(b, &step, error));
    SPLAT_TRY(step_bound(t, &adam, &bound_gradients, error));
    SPLAT_TRY(splat_exposures_step(t, iteration, view, error));
    SPLAT_TRY(splat_step_stamp(t, SPLAT_MARK_PROJECT_BACKWARD, error));
    count(frame, result);
    return SPLAT_OK;
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

static splat_status step(splat_trainer *t, splat_step_info *info, splat_error *error)
{
    double begin = splat_clock_seconds();
    int iteration = t->iteration + 1;
    splat_step_result result = {0};
    splat_step_view view;

    SPLAT_TRY(splat_density_control_after(t, iteration - 1, error));
    t->model->gaussians.active_sh_degree = splat_schedule_sh_degree(&t->options, iteration);
    splat_rest_cache_prepare(t);
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
        status = t->shards.comm ? splat_batch_step(t, info, &own) : step(t, info, &own);
    splat_shards_end_step(t, status, &own);
    if (status != SPLAT_OK) {
        if (error) *error = own;
        return status;
    }
    splat_shards_end_traffic(t);
    t->n_added = t->n_removed = t->n_refused = 0;
    return status;
}
