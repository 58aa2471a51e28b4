/* One training step, top to bottom, and the state it needs. Method: Mip-Splatting (Yu et al., CVPR 2024) on 3D Gaussian
 * Splatting (Kerbl et al., SIGGRAPH 2023), as docs/method.md 6 to 11 says. */
#include "train/trainer.h"

#include "base/clock.h"
#include "base/rng.h"
#include "ops/jitter/jitter.h"
#include "train/regularize.h"
#include "train/schedule.h"

#include <math.h>
#include <string.h>

#define HIGHRES_PROBABILITY 0.3f
#define HIGHRES_WIDTH 800
#define PREFETCH_VIEWS 4

/* ---------------------------------------------------------------- the view of a step */

typedef struct step_view {
    uint32_t index;            /* into the dataset's views */
    const splat_camera *camera;
    uint8_t *photo;            /* device */
    float *photo_resampled;    /* device; instead of the photo, or NULL */
    float *grad_image;         /* device, dL/dimage */
    float background[3];
} step_view;

static uint32_t training_view(splat_trainer *t, int iteration)
{
    const splat_dataset *dataset = &t->scene->dataset;
    uint32_t n = (uint32_t)dataset->n_train;
    uint32_t index =
        dataset->train[splat_schedule_view(t->options.seed, n, iteration, t->view_order, &t->view_order_epoch)];
    if (!t->options.sample_more_highres) return index;
    /* With probability 0.3 a uniform view at least 800 wide replaces the drawn one, which is consumed all the same. */
    splat_random4 r = splat_random(t->options.seed, SPLAT_STREAM_HIGHRES_VIEW, (uint32_t)iteration, 0);
    if (splat_uniform(r.x[0]) >= HIGHRES_PROBABILITY) return index;
    uint32_t n_wide = 0;
    for (uint32_t i = 0; i < n; i++) n_wide += dataset->views[dataset->train[i]].camera.width >= HIGHRES_WIDTH;
    if (!n_wide) return index;
    uint32_t wanted = (uint32_t)(((uint64_t)r.x[1] * n_wide) >> 32);
    for (uint32_t i = 0; i < n; i++)
        if (dataset->views[dataset->train[i]].camera.width >= HIGHRES_WIDTH && wanted-- == 0) return dataset->train[i];
    return index;
}

static bool is_on_device(const splat_trainer *t, uint32_t view)
{
    return t->photos.block.bytes && t->photos.loaded[view];
}

static void next_view(splat_trainer *t, int iteration, step_view *view)
{
    uint32_t n = (uint32_t)t->scene->dataset.n_train, first = (uint32_t)(iteration - 1);
    view->index = training_view(t, iteration);
    for (int ahead = 1; ahead <= PREFETCH_VIEWS && iteration + ahead <= t->options.iterations; ahead++) {
        if ((first + (uint32_t)ahead) / n != first / n) break; /* the next epoch's order is drawn when it begins */
        uint32_t later = training_view(t, iteration + ahead);
        if (!is_on_device(t, later)) splat_image_cache_prefetch(t->scene->cache, later);
    }
    view->camera = &t->scene->dataset.views[view->index].camera;
    view->photo_resampled = NULL;
    float base = t->options.white_background ? 1.0f : 0.0f;
    splat_random4 r = splat_random(t->options.seed, SPLAT_STREAM_BACKGROUND, (uint32_t)iteration, 0);
    for (int c = 0; c < 3; c++) view->background[c] = t->options.random_background ? splat_uniform(r.x[c]) : base;
}

/* The decoded photo into device memory: its place among the resident ones, or, ahead of the work in progress, one of
 * two blocks that the steps use in turn. */
static splat_status upload_photo(splat_trainer *t, step_view *view, int iteration, splat_error *error)
{
    splat_backend *b = t->backend;
    size_t bytes = 3 * (size_t)view->camera->width * (size_t)view->camera->height;
    bool resident = t->photos.block.bytes > 0;
    view->photo = resident ? (uint8_t *)t->photos.block.data + t->photos.offsets[view->index]
                           : t->photos.streamed[iteration % 2].data;
    if (is_on_device(t, view->index)) return SPLAT_OK;
    const uint8_t *decoded;
    SPLAT_TRY(splat_image_cache_acquire(t->scene->cache, view->index, &decoded, error));
    splat_status status = resident ? b->functions->upload(b, view->photo, decoded, bytes, error)
                                   : b->functions->upload_ahead(b, iteration % 2, view->photo, decoded, bytes, error);
    splat_image_cache_release(t->scene->cache, view->index);
    if (resident && status == SPLAT_OK) t->photos.loaded[view->index] = true;
    return status;
}

/* The photo, room for the gradient of the picture and, with ray jitter, the sampling offsets and the photo resampled
 * there. After the view has begun: buffers are the frame's. */
static splat_status stage_photo(splat_trainer *t, step_view *view, int iteration, splat_error *error)
{
    splat_backend *b = t->backend;
    splat_frame *frame = &t->model->frame;
    size_t plane = (size_t)view->camera->width * (size_t)view->camera->height * sizeof(float);
    void *jitter, *resampled = NULL;
    SPLAT_TRY(upload_photo(t, view, iteration, error));
    SPLAT_TRY(splat_frame_take(b, frame, 3 * plane, (void **)&view->grad_image, error));
    if (!t->options.ray_jitter) return SPLAT_OK;
    SPLAT_TRY(splat_frame_take(b, frame, 2 * plane, &jitter, error));
    if (t->options.resample_gt_image) SPLAT_TRY(splat_frame_take(b, frame, 3 * plane, &resampled, error));
    frame->jitter = jitter;
    view->photo_resampled = resampled;
    struct splat_jitter_args args = {view->camera->width, view->camera->height, t->options.seed, (uint32_t)iteration,
                                     jitter,              view->photo,          resampled};
    return b->functions->ops.jitter(b, &args, error);
}

/* ---------------------------------------------------------------- Adam's rates */

static void adam_of_step(splat_trainer *t, int iteration, splat_adam *adam)
{
    const splat_train_options *o = &t->options;
    *adam = (splat_adam){.moments = &t->moments,
                         .iteration = (uint32_t)iteration,
                         .rest_of_visible_only = t->options.sh_offload};
    adam->lr[SPLAT_TENSOR_means] = splat_schedule_position_lr(o, t->scene->dataset.extent, iteration);
    adam->lr[SPLAT_TENSOR_sh_dc] = o->feature_lr;
    adam->lr[SPLAT_TENSOR_sh_rest] = o->feature_lr / 20.0f;
    adam->lr[SPLAT_TENSOR_opacities] = o->opacity_lr;
    adam->lr[SPLAT_TENSOR_scales] = o->scaling_lr;
    adam->lr[SPLAT_TENSOR_rotations] = o->rotation_lr;
    /* The published trainer replaces tensors in density control and opacity reset before it steps, which loses their
     * gradients: no step at densification, none of the opacities at a reset, and none at the last iteration. */
    bool last = iteration >= o->iterations && !splat_schedule_is_coarse(o); /* SuGaR makes all of its steps */
    bool any = !splat_schedule_densifies_after(o, iteration) && !last;
    for (int i = 0; i < SPLAT_N_TENSORS; i++) {
        adam->update[i] = any && !(i == SPLAT_TENSOR_opacities && splat_schedule_resets_opacity_after(o, iteration));
        if (adam->update[i]) t->adam_steps[i]++;
        adam->correction1[i] = (float)(1.0 - pow(SPLAT_ADAM_BETA1, t->adam_steps[i]));
        adam->correction2[i] = (float)(1.0 - pow(SPLAT_ADAM_BETA2, t->adam_steps[i]));
    }
    /* Until the first band is active its gradients and moments are all zero: the step counts, but moves nothing. */
    if (t->model->gaussians.active_sh_degree == 0) adam->update[SPLAT_TENSOR_sh_rest] = false;
}

/* ---------------------------------------------------------------- the step */

/* The step's stages, in order; each ends at the mark of its number. */
enum {
    MARK_BEGIN,
    MARK_DATA,
    MARK_PROJECT,
    MARK_BIN,
    MARK_RASTER,
    MARK_LOSS,
    MARK_RASTER_BACKWARD,
    MARK_PROJECT_BACKWARD,
    N_MARKS
};
#define MARKED_STEPS 4 /* sets of marks; a step's are read two steps later, when a device has long passed them */

/* Marks the end of a stage, when stages are measured. */
static splat_status stamp(splat_trainer *t, int mark, splat_error *error)
{
    if (!t->measures_stages) return SPLAT_OK;
    return t->backend->functions->stamp(t->backend, t->n_marked % MARKED_STEPS * N_MARKS + mark, error);
}

static splat_status add_stage_times(splat_trainer *t, splat_error *error)
{
    if (!t->measures_stages) return SPLAT_OK;
    double *const stages[] = {&t->times.data, &t->times.project,         &t->times.bin,             &t->times.raster,
                              &t->times.loss, &t->times.raster_backward, &t->times.project_backward};
    t->n_marked++;
    if (t->n_marked < 3) return SPLAT_OK;
    int first = (t->n_marked - 3) % MARKED_STEPS * N_MARKS;
    for (int i = 0; i < N_MARKS - 1; i++) {
        double ms;
        SPLAT_TRY(t->backend->functions->stamp_ms(t->backend, first + i, first + i + 1, &ms, error));
        *stages[i] += ms;
    }
    t->times.steps++;
    return SPLAT_OK;
}

static splat_status check_loss(const splat_trainer *t, double loss, int iteration, uint32_t view, splat_error *error)
{
    if (isfinite(loss)) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_NUMERIC,
                      "the loss is not finite at iteration %d (view %s); the model is as it was after the step before",
                      iteration, t->scene->dataset.views[view].name);
}

/* The gradient of the loss; on a synchronous backend also its value, which must be finite before anything is
 * updated. */
static splat_status step_loss(splat_trainer *t, int iteration, const step_view *view, splat_step_result *result,
                              splat_error *error)
{
    splat_backend *b = t->backend;
    bool waits = !b->functions->take_result;
    splat_loss_result loss = {0};
    struct splat_loss_args args = {.width = view->camera->width,
                                   .height = view->camera->height,
                                   .image = t->model->frame.image,
                                   .photo_u8 = view->photo_resampled ? NULL : view->photo,
                                   .photo_f32 = view->photo_resampled,
                                   .lambda_dssim = t->options.lambda_dssim,
                                   .grad_image = view->grad_image,
                                   .result = waits ? &loss : NULL};
    SPLAT_TRY(b->functions->ops.loss(b, &args, error));
    if (!waits) return SPLAT_OK;
    *result = (splat_step_result){.loss_l1 = loss.l1, .loss_ssim = loss.ssim};
    return check_loss(t, loss.loss, iteration, view->index, error);
}

/* bin and raster, band by band; one band unless max_instances bounds the lists. The marks of a view in bands count the
 * bin of all but the last band as raster. */
static splat_status rasterize(splat_trainer *t, splat_error *error)
{
    splat_backend *b = t->backend;
    const splat_ops *ops = &b->functions->ops;
    splat_frame *frame = &t->model->frame;
    t->n_bands = 0;
    t->n_instances = 0;
    for (; frame->row_begin < frame->tiles_y; frame->row_begin = frame->row_end) {
        t->band_begin[t->n_bands++] = frame->row_begin;
        SPLAT_TRY(ops->bin(b, &(struct splat_bin_args){frame}, error));
        if (t->n_bands == 1) SPLAT_TRY(stamp(t, MARK_BIN, error));
        SPLAT_TRY(ops->raster(b, &(struct splat_raster_args){frame}, error));
        t->n_instances += frame->n_instances;
    }
    return stamp(t, MARK_RASTER, error);
}

/* From the last band, whose lists are still there, to the first; the lists of the others are made again. */
static splat_status rasterize_backward(splat_trainer *t, const step_view *view, splat_error *error)
{
    splat_backend *b = t->backend;
    const splat_ops *ops = &b->functions->ops;
    splat_frame *frame = &t->model->frame;
    SPLAT_TRY(splat_frame_reserve_gradients(b, frame, t->n_bands > 1, error));
    for (uint32_t band = t->n_bands; band-- > 0;) {
        frame->row_begin = t->band_begin[band];
        if (band + 1 < t->n_bands) SPLAT_TRY(ops->bin(b, &(struct splat_bin_args){frame}, error));
        SPLAT_TRY(ops->raster_backward(b, &(struct splat_raster_backward_args){frame, view->grad_image}, error));
    }
    return SPLAT_OK;
}

static splat_status run_step(splat_trainer *t, int iteration, step_view *view, splat_step_result *result,
                             splat_error *error)
{
    splat_backend *b = t->backend;
    const splat_ops *ops = &b->functions->ops;
    splat_gaussians *gaussians = &t->model->gaussians;
    splat_frame *frame = &t->model->frame;

    splat_tensors regular;
    bool is_regular;

    SPLAT_TRY(stamp(t, MARK_BEGIN, error));
    SPLAT_TRY(splat_regularize(t, iteration, view->index, &regular, &is_regular, error)); /* coarse training's losses */
    SPLAT_TRY(splat_model_begin_view(t->model, view->camera, view->background, error));
    frame->n_instances_hint = t->hints[view->index].n_instances;
    frame->n_visible_hint = t->hints[view->index].n_visible;
    SPLAT_TRY(stage_photo(t, view, iteration, error));
    SPLAT_TRY(stamp(t, MARK_DATA, error));

    SPLAT_TRY(ops->project(b, &(struct splat_project_args){gaussians, frame}, error));
    SPLAT_TRY(stamp(t, MARK_PROJECT, error));
    SPLAT_TRY(rasterize(t, error));
    SPLAT_TRY(step_loss(t, iteration, view, result, error));
    SPLAT_TRY(stamp(t, MARK_LOSS, error));
    SPLAT_TRY(rasterize_backward(t, view, error));
    SPLAT_TRY(stamp(t, MARK_RASTER_BACKWARD, error));
    /* From here on nothing is allocated: a step that the memory limit stops has changed nothing. */

    splat_adam adam;
    adam_of_step(t, iteration, &adam);
    splat_statistics statistics = splat_trainer_statistics(t);
    struct splat_project_backward_args backward = {
        .gaussians = gaussians,
        .frame = frame,
        .adam = &adam,
        .statistics = splat_schedule_collects_statistics(&t->options, iteration) ? &statistics : NULL,
        .added = is_regular ? &regular : NULL};
    SPLAT_TRY(ops->project_backward(b, &backward, error));
    SPLAT_TRY(stamp(t, MARK_PROJECT_BACKWARD, error));
    result->n_visible = frame->n_visible; /* on an asynchronous backend replaced by what arrives later */
    result->n_degenerate = frame->n_degenerate;
    result->n_instances = t->n_instances;
    return SPLAT_OK;
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

/* An asynchronous backend: posts this step's result and takes that of the step before (zeros at the first). */
static splat_status exchange_results(splat_trainer *t, int iteration, const step_view *view, splat_step_result *result,
                                     splat_error *error)
{
    splat_backend *b = t->backend;
    size_t n_values = 3 * (size_t)view->camera->width * (size_t)view->camera->height;
    SPLAT_TRY(b->functions->post_result(b, iteration % SPLAT_RESULT_SLOTS, n_values, error));
    uint32_t earlier = t->posted_view;
    bool had_posted = t->has_posted;
    t->posted_view = view->index;
    t->has_posted = true;
    if (!had_posted) return SPLAT_OK;
    SPLAT_TRY(b->functions->take_result(b, (iteration - 1) % SPLAT_RESULT_SLOTS, result, error));
    if (result->overflow) expect_growth(t, &t->hints[earlier], result);
    remember(&t->hints[earlier], result);
    if (result->overflow)
        splat_log(t->context, SPLAT_LOG_NOTICE, "iteration %d needed room for %llu instances and was left out",
                  iteration - 1, (unsigned long long)result->n_instances);
    return check_loss(t, result->loss_l1 + result->loss_ssim, iteration - 1, earlier, error);
}

/* run_step; a step that failed has not counted. */
static splat_status try_step(splat_trainer *t, int iteration, step_view *view, splat_step_result *result,
                             splat_error *error)
{
    int kept[SPLAT_N_TENSORS];
    memcpy(kept, t->adam_steps, sizeof kept);
    splat_status status = run_step(t, iteration, view, result, error);
    if (status == SPLAT_OK)
        t->iteration = iteration;
    else
        memcpy(t->adam_steps, kept, sizeof kept);
    return status;
}

/* A view that needs more than the memory limit leaves does not end the training: its step is left out and told. */
static splat_status leave_out(splat_trainer *t, const splat_error *refused, int iteration, const step_view *view,
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

splat_status splat_trainer_step(splat_trainer *t, splat_step_info *info, splat_error *error)
{
    double begin = splat_clock_seconds();
    int iteration = t->iteration + 1;
    splat_step_result result = {0};
    step_view view;

    SPLAT_TRY(splat_density_control_after(t, iteration - 1, error));
    t->model->gaussians.active_sh_degree = splat_schedule_sh_degree(&t->options, iteration);
    next_view(t, iteration, &view);
    splat_error refused;
    if (try_step(t, iteration, &view, &result, &refused) != SPLAT_OK) {
        SPLAT_TRY(leave_out(t, &refused, iteration, &view, error));
    } else {
        if (t->backend->functions->take_result)
            SPLAT_TRY(exchange_results(t, iteration, &view, &result, error));
        SPLAT_TRY(add_stage_times(t, error)); /* a step that was left out has not set all marks */
    }
    if (info) {
        float lambda = t->options.lambda_dssim;
        *info = (splat_step_info){.iteration = iteration,
                                  .loss = (float)((1 - lambda) * result.loss_l1 + lambda * (1 - result.loss_ssim)),
                                  .l1 = (float)result.loss_l1,
                                  .ssim = (float)result.loss_ssim,
                                  .n_gaussians = t->model->gaussians.n,
                                  .n_visible = result.n_visible,
                                  .n_instances = result.n_instances,
                                  .n_degenerate = result.n_degenerate,
                                  .active_sh_degree = t->model->gaussians.active_sh_degree,
                                  .view_index = view.index,
                                  .step_ms = 1e3 * (splat_clock_seconds() - begin),
                                  .n_added = t->n_added,
                                  .n_removed = t->n_removed,
                                  .n_refused = t->n_refused};
    }
    t->n_added = t->n_removed = t->n_refused = 0;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- measuring */

void splat_trainer_measure_stages(splat_trainer *t, bool on)
{
    t->measures_stages = on;
    t->n_marked = 0;
    memset(&t->times, 0, sizeof t->times);
}

void splat_trainer_stage_times(splat_trainer *t, splat_stage_times *times)
{
    *times = t->times;
    memset(&t->times, 0, sizeof t->times);
}
