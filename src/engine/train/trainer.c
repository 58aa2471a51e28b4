/* A trainer: how it is made and ends, and its step, top to bottom. Method: Mip-Splatting (Yu et al., CVPR 2024) on 3D
 * Gaussian Splatting (Kerbl et al., SIGGRAPH 2023), as docs/method.md 6 to 11 says. Options add parts (parts/part.h) to
 * the view of a photo; a way (ranks/way.h) holds the calls that involve other ranks, and its version for one rank does
 * next to nothing. */
#include "base/clock.h"
#include "base/options.h"
#include "train/density/density.h"
#include "train/density/strategies.h"
#include "train/first_gaussians.h"
#include "train/memory/give_up.h"
#include "train/parts/bound_rows.h"
#include "train/parts/part.h"
#include "train/parts/regularizer.h"
#include "train/ranks/alone.h"
#include "train/ranks/join.h"
#include "train/ranks/shapes.h"
#include "train/ranks/shards.h"
#include "train/resize.h"
#include "train/rest_state.h"
#include "train/schedule.h"
#include "train/step.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- making and ending a trainer */

/* The order of views, what each needs, and their photos. */
static splat_status init_views(splat_trainer *t, splat_error *error)
{
    const splat_dataset *dataset = &t->scene->dataset;
    const bool sees_neighbors = splat_regularizer_neighbor_bytes(&t->options, 1 << 10) > 0;
    if (dataset->n_train == 0)
        return splat_fail(error, SPLAT_ERROR_FORMAT,
                          "the scene has no training views; hold fewer views out for testing");
    t->view_order = malloc(dataset->n_train * sizeof *t->view_order);
    t->hints = calloc(dataset->n_views, sizeof *t->hints);
    if (!t->view_order || !t->hints)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu views", dataset->n_views);
    splat_step_forget_results(t);
    return splat_photo_store_init(&t->photos, t->backend, dataset, t->options.photos_on_host, sees_neighbors, error);
}

/* The model and all arrays with a row for each Gaussian, without rows. */
static splat_status init_rows(splat_trainer *t, splat_error *error)
{
    const splat_train_options *o = &t->options;
    SPLAT_TRY(splat_model_create(t->context, o->sh_degree, o->sh_storage, splat_place_of_harmonics(o), &t->model,
                                 error));
    splat_row_blocks_describe_moments(t->moment_blocks, t->model->tensors, splat_bound_follows(o), o->sh_degree,
                                      o->optimizer_storage, splat_place_of_moments(o));
    splat_bound_init(t);
    SPLAT_TRY(splat_parts_init(t, t->parts, error));
    splat_give_up_init(t);
    splat_statistics_describe(&t->statistics);
    splat_deferral_describe(&t->deferral.rows, splat_deferral_slots(o));
    splat_extra_rows_init(&t->strategy_rows, t->strategy->arrays, t->strategy->n_arrays);
    if (o->regularizer)
        splat_extra_rows_init(&t->regularizer_rows, o->regularizer->arrays, o->regularizer->n_arrays);
    splat_shard_shapes_init(t);
    SPLAT_TRY(splat_model_set_render_mode(t->model, SPLAT_RENDER_MIP, o->kernel_size, error));
    t->model->has_filter_3d = !splat_schedule_continues_splat(o); /* that of the splat is fused */
    t->model->max_instances = o->max_instances;
    t->model->gaussians.active_sh_degree = 0;
    return SPLAT_OK;
}

static splat_status init(splat_trainer *t, splat_error *error)
{
    SPLAT_TRY(splat_train_options_check(&t->options, error));
    SPLAT_TRY(splat_shards_join(t, error));
    SPLAT_TRY(init_views(t, error));
    SPLAT_TRY(init_rows(t, error));
    return splat_trainer_make_first(t, error);
}

splat_status splat_trainer_create(splat_context *context, splat_scene *scene, const splat_train_options *options,
                                  splat_trainer **result, splat_error *error)
{
    *result = NULL;
    splat_train_options own;
    splat_train_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, options, "splat_train_options", error));
    options = &own;
    splat_trainer *t = calloc(1, sizeof *t);
    if (!t) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a trainer");
    t->context = context;
    t->backend = context->backend;
    t->scene = scene;
    t->options = *options;
    t->strategy = splat_strategy_of(options);
    t->way = &splat_way_alone;
    t->last_density_control = -1;
    splat_error refused;
    splat_status status = init(t, &refused);
    if (status != SPLAT_OK) {
        if (options->ranks) splat_comm_fail(options->ranks, &refused); /* the others wait for this one */
        if (error) *error = refused;
        splat_trainer_destroy(t);
        return status;
    }
    *result = t;
    return SPLAT_OK;
}

void splat_trainer_destroy(splat_trainer *t)
{
    if (!t) return;
    splat_backend *b = t->backend;
    splat_shards_leave(t);
    splat_shard_shapes_free(t);
    splat_model_destroy(t->model);
    for (int i = 0; i < 2; i++) splat_row_blocks_free(b, &t->moment_blocks[i]);
    splat_row_blocks_free(b, &t->statistics);
    splat_deferral_free(&t->deferral, b);
    splat_rest_cache_free(t);
    splat_bound_free(t);
    splat_parts_free(t, t->parts);
    splat_extra_rows_free(&t->strategy_rows, b);
    splat_extra_rows_free(&t->regularizer_rows, b);
    splat_block_free(b, &t->regularizer_results);
    splat_block_free(b, &t->regularizer_maps);
    splat_photo_store_free(&t->photos, b);
    free(t->view_order);
    free(t->hints);
    free(t);
}

/* ---------------------------------------------------------------- one view */

/* Frames, the photo, and the room that parts need. */
static splat_status stage(splat_trainer *t, splat_step *s, splat_error *error)
{
    SPLAT_TRY(t->way->begin(t, s, error));
    SPLAT_TRY(splat_parts_begin(t, s, error));
    if (s->has_view) {
        SPLAT_TRY(splat_step_stage_photo(t, &s->view, error));
        SPLAT_TRY(splat_parts_stage(t, s->iteration, &s->view, error));
    }
    return splat_step_stamp(t, SPLAT_MARK_DATA, error);
}

static splat_status project(splat_trainer *t, splat_step *s, splat_error *error)
{
    SPLAT_TRY(stage(t, s, error));
    SPLAT_TRY(t->way->project(t, s, error));
    return splat_step_stamp(t, SPLAT_MARK_PROJECT, error);
}

/* The picture, its losses, and their gradients in the picture. loss: known now on a synchronous backend only. */
static splat_status blend(splat_trainer *t, splat_step *s, double *loss, splat_error *error)
{
    splat_loss_result result = {0};
    *loss = 0;
    if (!s->has_view) return SPLAT_OK;
    SPLAT_TRY(splat_step_blend(t, &s->view, error));
    SPLAT_TRY(splat_parts_picture(t, &s->view, error));
    SPLAT_TRY(splat_step_loss(t, &s->view, &result, error));
    SPLAT_TRY(splat_parts_loss(t, &s->view, error));
    *loss = result.loss;
    s->result = (splat_step_result){.loss_l1 = result.l1,
                                    .loss_ssim = result.ssim,
                                    .n_visible = t->model->frame.n_visible,
                                    .n_instances = t->model->frame.n_view_instances};
    splat_step_scale_result(&s->result, s->view.kept);
    return SPLAT_OK;
}

/* Gradients on the screen. */
static splat_status backward(splat_trainer *t, splat_step *s, splat_error *error)
{
    const splat_view_gradients screen = {.image = s->view.grad_image,
                                         .without_mean_abs = !s->wants_statistics,
                                         .alpha = s->view.grad_alpha,
                                         .depth = s->view.depth};
    if (s->has_view) SPLAT_TRY(splat_parts_backward(t, &s->view, error));
    SPLAT_TRY(t->way->reserve(t, error));
    if (s->has_view) SPLAT_TRY(splat_view_backward(t->backend, &t->model->frame, &screen, error));
    return splat_step_stamp(t, SPLAT_MARK_RASTER_BACKWARD, error);
}

/* ---------------------------------------------------------------- the step */

/* From the views to the gradients of the Gaussians on the screen. A step that a memory limit stops on the way has
 * changed nothing. */
static splat_status find_gradients(splat_trainer *t, splat_step *s, splat_error *error)
{
    double loss;
    SPLAT_TRY(splat_step_stamp(t, SPLAT_MARK_BEGIN, error));
    SPLAT_TRY(t->way->regularize(t, s, error));
    SPLAT_TRY(t->way->agree(t, project(t, s, error), error));
    SPLAT_TRY(t->way->send(t, s, error));
    SPLAT_TRY(t->way->agree(t, blend(t, s, &loss, error), error));
    SPLAT_TRY(t->way->check_loss(t, s, loss, error));
    SPLAT_TRY(splat_step_stamp(t, SPLAT_MARK_LOSS, error));
    SPLAT_TRY(t->way->agree(t, backward(t, s, error), error));
    return t->way->give_back(t, s, error);
}

/* find_gradients; what the limit refuses is asked for again: first without what working memory still holds of views and
 * counts before, then as long as there is something to give up for it. */
static splat_status find_within_limit(splat_trainer *t, splat_step *s, splat_error *error)
{
    splat_status status = find_gradients(t, s, error);
    for (bool gave = t->way->may_ask_again(t); status == SPLAT_ERROR_MEMORY && gave;) {
        splat_error refused;
        SPLAT_TRY(t->way->release(t, error));
        status = find_gradients(t, s, error);
        if (status != SPLAT_ERROR_MEMORY) break;
        SPLAT_TRY(t->way->release(t, error));
        const splat_status given = splat_give_up_next(t, &gave, &refused);
        if (given != SPLAT_OK && error) *error = refused;
        SPLAT_TRY(given);
    }
    return status;
}

/* Gaussians and parts make their step. One that failed does not count. */
static splat_status update(splat_trainer *t, splat_step *s, splat_error *error)
{
    int kept[SPLAT_N_TENSORS];
    memcpy(kept, t->adam_steps, sizeof kept);
    splat_status status = t->way->update(t, s, error);
    if (status != SPLAT_OK) {
        memcpy(t->adam_steps, kept, sizeof kept);
        return status;
    }
    status = splat_parts_update(t, s, error);
    t->is_broken |= status != SPLAT_OK; /* the Gaussians have made theirs */
    SPLAT_TRY(status);
    t->iteration = s->last;
    return splat_step_stamp(t, SPLAT_MARK_PROJECT_BACKWARD, error);
}

/* Iterations before the last of a step move Gaussians by themselves alone; all others end a step. */
static splat_status control_amid(splat_trainer *t, const splat_step *s, splat_error *error)
{
    for (int iteration = s->first; iteration < s->last; iteration++)
        SPLAT_TRY(splat_density_control_after(t, iteration, error));
    return SPLAT_OK;
}

/* A step that needs more than the memory limit leaves does not end the training: it is left out and reported. */
static splat_status leave_out(splat_trainer *t, const splat_step *s, const splat_error *refused, splat_error *error)
{
    const char *name = t->scene->dataset.views[s->views[0]].name;
    if (refused->status != SPLAT_ERROR_MEMORY || !t->way->may_ask_again(t)) {
        if (error) *error = *refused;
        return refused->status;
    }
    if (s->first == s->last)
        splat_log(t->context, SPLAT_LOG_WARNING, "iteration %d (view %s) is left out: %s", s->first, name,
                  refused->message);
    else
        splat_log(t->context, SPLAT_LOG_WARNING, "iterations %d to %d (view %s and others) are left out: %s", s->first,
                  s->last, name, refused->message);
    t->n_left_out += (size_t)s->n_views;
    t->has_posted = false; /* there is no result to wait for */
    t->shards.views.n_before = 0;
    t->iteration = s->last;
    return control_amid(t, s, error);
}

/* Results of the step, or on an asynchronous backend of the step before. */
static splat_status finish(splat_trainer *t, splat_step *s, splat_step_result *mean, splat_error *error)
{
    splat_status found = SPLAT_OK;
    SPLAT_TRY(control_amid(t, s, error));
    s->result.n_degenerate = (uint32_t)s->n_degenerate;
    if (s->has_view && splat_backend_result_latency(t->backend) > 0)
        found = splat_step_exchange_results(t, s->iteration, &s->view, &s->result, error);
    if (found != SPLAT_OK && found != SPLAT_ERROR_NUMERIC) return found;
    SPLAT_TRY(t->way->report(t, s, found, mean, error));
    return splat_step_add_times(t, error); /* a step that was left out did not set all marks */
}

static splat_status step(splat_trainer *t, splat_step_info *info, splat_error *error)
{
    const double begin = splat_clock_seconds();
    splat_step s = {.n_views = 0};
    splat_step_result mean = {0};
    splat_error refused;

    SPLAT_TRY(splat_density_control_after(t, t->iteration, error));
    t->model->gaussians.active_sh_degree = splat_schedule_sh_degree(&t->options, t->iteration + 1);
    splat_rest_cache_prepare(t);
    SPLAT_TRY(t->way->choose(t, &s, error));
    s.wants_statistics = t->strategy->wants_statistics(&t->options, s.last);
    if (find_within_limit(t, &s, &refused) != SPLAT_OK) {
        SPLAT_TRY(leave_out(t, &s, &refused, error));
    } else {
        SPLAT_TRY(update(t, &s, error));
        SPLAT_TRY(finish(t, &s, &mean, error));
    }
    splat_step_tell(t, &mean, s.views[0], s.n_views, begin, info);
    return SPLAT_OK;
}

splat_status splat_trainer_step(splat_trainer *t, splat_step_info *info, splat_error *error)
{
    splat_step_info given;
    splat_error own;
    splat_step_info_init(&given);
    if (info) SPLAT_TRY(splat_options_take(&given, info, "splat_step_info", error));
    splat_status status = t->way->open(t, &own);
    if (status == SPLAT_OK) status = step(t, info, &own);
    t->way->close(t, status, &own);
    if (status != SPLAT_OK) {
        if (error) *error = own;
        return status;
    }
    t->n_added = t->n_removed = t->n_refused = 0;
    return status;
}

/* ---------------------------------------------------------------- what others ask */

splat_model *splat_trainer_get_model(splat_trainer *t)
{
    return t->model;
}

int splat_trainer_get_iteration(const splat_trainer *t)
{
    return t->iteration;
}

void splat_trainer_request_stop(splat_trainer *t)
{
    t->stop_requested = 1;
    if (t->shards.comm) splat_comm_interrupt(t->shards.comm);
}

void splat_trainer_request_save(splat_trainer *t)
{
    t->save_requested = 1;
}
