/* The view of a step: which, on what background, and its photo. */
#include "math/camera.h"
#include "train/step.h"

#include "base/rng.h"
#include "train/schedule.h"
#include "train/trainer.h"

#define HIGHRES_PROBABILITY 0.3f
#define HIGHRES_WIDTH 800
#define PREFETCH_VIEWS 4

static uint32_t training_view(splat_trainer *t, int iteration)
{
    const splat_dataset *dataset = &t->scene->dataset;
    uint32_t n = (uint32_t)dataset->n_train;
    const uint32_t epoch = t->view_order_epoch;
    splat_schedule_view(t->options.seed, n, iteration, t->view_order, &t->view_order_epoch);
    if (t->view_order_epoch != epoch) splat_shard_views_order(t);
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

/* Where nothing of a view is kept there is nothing to learn from it, unless that nothing shall be there is learnt. */
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

splat_status splat_step_stage_photo(splat_trainer *t, splat_step_view *view, splat_error *error)
{
    const size_t n_pixels = splat_camera_pixels(view->camera);
    view->photo_resampled = view->exposed = view->grad_alpha = NULL;
    view->depth = NULL;
    SPLAT_TRY(splat_photo_store_fetch(&t->photos, t->backend, t->scene, view->index, splat_trainer_photo_turn(t),
                                      &view->photo, error));
    t->n_staged++;
    return splat_frame_take(t->backend, &t->model->frame, splat_step_gradient_bytes(n_pixels),
                            (void **)&view->grad_image, error);
}
