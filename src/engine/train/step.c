/* Pieces of a training step: its view and photo, Adam's rates, the picture and its loss, results, and times. trainer.c
 * puts them together. */
#include "train/step.h"

#include "base/clock.h"
#include "base/options.h"
#include "base/rng.h"
#include "math/camera.h"
#include "train/density/strategy.h"
#include "train/ranks/shards.h"
#include "train/ranks/way.h"
#include "train/schedule.h"
#include "train/state.h"

#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- the view */

#define HIGHRES_PROBABILITY 0.3f
#define HIGHRES_WIDTH 800
#define PREFETCH_VIEWS 4

static uint32_t training_view(splat_trainer *t, int iteration)
{
    const splat_dataset *dataset = &t->scene->dataset;
    uint32_t n = (uint32_t)dataset->n_train;
    const uint32_t epoch = t->view_order_epoch;
    splat_schedule_view(t->options.seed, n, iteration, t->view_order, &t->view_order_epoch);
    if (t->view_order_epoch != epoch) t->way->order_views(t);
    uint32_t index = dataset->train[t->view_order[(uint32_t)(iteration - 1) % n]];
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

/* The share of a view's pixels that its mask keeps in the loss. */
static splat_status kept_share(splat_trainer *t, uint32_t index, double *share, splat_error *error)
{
    const splat_dataset_view *view = &t->scene->dataset.views[index];
    uint32_t n_kept;
    *share = 1;
    if (!view->has_mask || t->scene->dataset.mask_mode == SPLAT_MASKS_ALPHA) return SPLAT_OK;
    SPLAT_TRY(splat_image_cache_count_kept(t->scene->cache, index, &n_kept, error));
    *share = (double)n_kept / (double)splat_camera_pixels(&view->camera);
    return SPLAT_OK;
}

/* Skips a view without unmasked pixels, unless masked pixels must become empty. */
static splat_status pass_over_empty(splat_trainer *t, splat_step_view *view, splat_error *error)
{
    const splat_dataset *dataset = &t->scene->dataset;
    size_t at = 0;
    SPLAT_TRY(kept_share(t, view->index, &view->kept, error));
    if (view->kept > 0 || dataset->mask_mode != SPLAT_MASKS_IGNORE) return SPLAT_OK;
    while (dataset->train[at] != view->index) at++;
    for (size_t n = 1; n < dataset->n_train && view->kept == 0; n++) {
        view->index = dataset->train[(at + n) % dataset->n_train];
        SPLAT_TRY(kept_share(t, view->index, &view->kept, error));
    }
    if (view->kept > 0) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the masks keep no pixel of any training photo: there is nothing to "
                      "train on; if black shall keep, say `invert_masks`");
}

const uint8_t *splat_step_mask(const splat_trainer *t, const splat_step_view *view)
{
    return t->scene->dataset.mask_mode == SPLAT_MASKS_ALPHA ? NULL : view->photo.mask;
}

splat_dropout splat_step_dropout(const splat_trainer *t, int iteration)
{
    splat_dropout dropout = {.share = splat_schedule_dropout(&t->options, t->scene->dataset.n_train, iteration),
                             .seed = t->options.seed,
                             .step = (uint32_t)iteration};
    splat_shards_rows(t, &dropout.first, &dropout.stride);
    return dropout;
}

splat_status splat_step_next_view(splat_trainer *t, int iteration, int stride, splat_step_view *view,
                                  splat_error *error)
{
    uint32_t n = (uint32_t)t->scene->dataset.n_train, first = (uint32_t)(iteration - 1);
    view->index = training_view(t, iteration);
    for (int k = 1; k <= PREFETCH_VIEWS && iteration + k * stride <= t->options.iterations; k++) {
        const int ahead = k * stride;
        if ((first + (uint32_t)ahead) / n != first / n) break; /* the next epoch's order is drawn when it begins */
        uint32_t later = training_view(t, iteration + ahead);
        if (!splat_photo_store_has(&t->photos, later)) splat_image_cache_prefetch(t->scene->cache, later);
    }
    SPLAT_TRY(pass_over_empty(t, view, error));
    view->camera = &t->scene->dataset.views[view->index].camera;
    splat_scene_background(t->scene, view->background);
    if (!t->options.random_background) return SPLAT_OK;
    splat_random4 r = splat_random(t->options.seed, SPLAT_STREAM_BACKGROUND, (uint32_t)iteration, 0);
    for (int c = 0; c < 3; c++) view->background[c] = splat_uniform(r.x[c]);
    return SPLAT_OK;
}

splat_view_hint splat_step_hint(const splat_trainer *t, uint32_t view)
{
    return t->n_waits ? (splat_view_hint){0} : t->hints[view];
}

int splat_step_photo_turn(const splat_trainer *t)
{
    return t->n_staged % 2;
}

size_t splat_step_gradient_bytes(size_t n_pixels)
{
    return 3 * n_pixels * sizeof(float);
}

splat_status splat_step_stage_photo(splat_trainer *t, splat_step_view *view, splat_error *error)
{
    const size_t n_pixels = splat_camera_pixels(view->camera);
    view->photo_resampled = view->exposed = view->grad_alpha = NULL;
    view->depth = NULL;
    SPLAT_TRY(splat_photo_store_fetch(&t->photos, t->backend, t->scene, view->index, splat_step_photo_turn(t),
                                      &view->photo, error));
    t->n_staged++;
    return splat_frame_take(t->backend, &t->model->frame, splat_step_gradient_bytes(n_pixels),
                            (void **)&view->grad_image, error);
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
    const splat_step_info step = {.iteration = t->iteration,
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
    splat_options_give(info, info->size, &step, sizeof step);
}

void splat_step_info_init_sized(splat_step_info *info, size_t size)
{
    const splat_step_info nothing = {0};
    splat_options_give(info, size, &nothing, sizeof nothing);
}

/* ---------------------------------------------------------------- results */

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

#define N_WAITING_EPOCHS 2 /* at the start: in the first nothing is known, in the second all views have grown */

void splat_step_forget_results(splat_trainer *t)
{
    t->has_posted = false;
    t->n_waits = N_WAITING_EPOCHS * t->scene->dataset.n_train;
    memset(t->hints, 0, t->scene->dataset.n_views * sizeof *t->hints);
}

/* ---------------------------------------------------------------- times */

int splat_step_mark_number(const splat_trainer *t, splat_step_mark mark)
{
    return t->n_marked % SPLAT_MARKED_STEPS * SPLAT_N_MARKS + (int)mark;
}

void splat_step_note_mark(splat_trainer *t, splat_step_mark mark)
{
    unsigned *set = &t->marks_set[t->n_marked % SPLAT_MARKED_STEPS];
    if (mark == SPLAT_MARK_BEGIN) *set = 0;
    *set |= 1u << mark;
}

splat_status splat_step_stamp(splat_trainer *t, splat_step_mark mark, splat_error *error)
{
    if (!t->measures_stages) return SPLAT_OK;
    splat_step_note_mark(t, mark);
    return splat_backend_stamp(t->backend, splat_step_mark_number(t, mark), error);
}

static double *stage_of(splat_stage_times *times, splat_step_mark mark)
{
    double *const stages[SPLAT_N_MARKS] = {[SPLAT_MARK_DATA] = &times->data,
                                           [SPLAT_MARK_PROJECT] = &times->project,
                                           [SPLAT_MARK_SEND] = &times->send,
                                           [SPLAT_MARK_BIN] = &times->bin,
                                           [SPLAT_MARK_RASTER] = &times->raster,
                                           [SPLAT_MARK_LOSS] = &times->loss,
                                           [SPLAT_MARK_RASTER_BACKWARD] = &times->raster_backward,
                                           [SPLAT_MARK_SEND_BACK] = &times->send_back,
                                           [SPLAT_MARK_PROJECT_BACKWARD] = &times->project_backward};
    return stages[mark];
}

splat_status splat_step_add_times(splat_trainer *t, splat_error *error)
{
    splat_stage_times *of_rank = &t->shards.work.stages;
    if (!t->measures_stages) return SPLAT_OK;
    t->n_marked++;
    if (t->n_marked < 3) return SPLAT_OK;
    const int set = (t->n_marked - 3) % SPLAT_MARKED_STEPS, first = set * SPLAT_N_MARKS;
    for (int before = SPLAT_MARK_BEGIN, mark = before + 1; mark < SPLAT_N_MARKS; mark++) {
        double ms;
        if (!(t->marks_set[set] >> mark & 1)) continue;
        SPLAT_TRY(splat_backend_stamp_ms(t->backend, first + before, first + mark, &ms, error));
        *stage_of(&t->times, mark) += ms;
        *stage_of(of_rank, mark) += ms;
        before = mark;
    }
    t->times.steps++;
    of_rank->steps++;
    return SPLAT_OK;
}

void splat_trainer_measure_stages(splat_trainer *t, bool on)
{
    t->measures_stages = on;
    t->n_marked = 0;
    memset(&t->times, 0, sizeof t->times);
}

void splat_trainer_take_stage_times(splat_trainer *t, splat_stage_times *times)
{
    *times = t->times;
    memset(&t->times, 0, sizeof t->times);
}
