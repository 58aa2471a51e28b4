#include "train/evaluate.h"

#include "base/clock.h"
#include "ops/metrics/metrics.h"
#include "train/lpips.h"

#include <stdlib.h>
#include <string.h>

/* The render is in model->frame.image, clamped; the photo on the device. Where the picture is too small for the
 * network, or a memory limit leaves no room, LPIPS is given up and told: no reason to end a training. */
static splat_status measure_lpips(splat_evaluator *e, const splat_camera *camera, const uint8_t *photo,
                                  splat_metrics *metrics, splat_error *error)
{
    double taps[SPLAT_LPIPS_MAX_TAPS];
    splat_error refused;
    if (!e->lpips) return SPLAT_OK;
    splat_status status = splat_lpips_run(e->lpips, camera->width, camera->height, e->model->frame.image, photo, taps,
                                          &refused);
    if (status == SPLAT_ERROR_ARGUMENT || (status == SPLAT_ERROR_MEMORY && e->context->backend->memory.limit)) {
        splat_log(e->context, SPLAT_LOG_NOTICE, "LPIPS is not measured: %s", refused.message);
        splat_lpips_release(e->lpips);
        e->lpips = NULL;
        return SPLAT_OK;
    }
    if (status != SPLAT_OK) {
        if (error) *error = refused;
        return status;
    }
    for (int i = 0; i < e->lpips->n_taps; i++) metrics->lpips += taps[i];
    metrics->lpips_net = splat_lpips_label(e->lpips);
    return SPLAT_OK;
}

/* The picture into model->frame.image, its time, and the counts to the host when they are shown. */
static splat_status rasterize(splat_evaluator *e, const splat_camera *camera, bool shown, double *ms,
                              splat_error *error)
{
    splat_backend *b = e->context->backend;
    uint32_t *blended = NULL;
    double begin = splat_clock_seconds();
    if (shown && e->blended)
        SPLAT_TRY(splat_model_rasterize_counted(e->model, camera, e->background, &blended, error));
    else
        SPLAT_TRY(splat_model_rasterize(e->model, camera, e->background, error));
    SPLAT_TRY(b->functions->synchronize(b, error)); /* measuring the view would wait, too */
    *ms = 1000 * (splat_clock_seconds() - begin);
    if (!blended) return SPLAT_OK;
    size_t bytes = (size_t)camera->width * (size_t)camera->height * sizeof *blended;
    return b->functions->download(b, e->blended, blended, bytes, error);
}

splat_status splat_evaluator_view(splat_evaluator *e, uint32_t index, bool shown, const uint8_t **photo,
                                  splat_metrics *metrics, splat_error *error)
{
    splat_backend *b = e->context->backend;
    const splat_camera *camera = &e->scene->dataset.views[index].camera;
    size_t n_bytes = 3 * (size_t)camera->width * (size_t)camera->height;
    splat_metrics_result result;
    double render_ms;
    SPLAT_TRY(rasterize(e, camera, shown, &render_ms, error));
    SPLAT_TRY(splat_image_cache_acquire(e->scene->cache, index, photo, error));
    void *uploaded;
    splat_status status = splat_frame_take(b, &e->model->frame, n_bytes, &uploaded, error);
    if (status == SPLAT_OK) status = b->functions->upload(b, uploaded, *photo, n_bytes, error);
    if (status == SPLAT_OK) {
        struct splat_metrics_args args = {camera->width, camera->height, e->model->frame.image, uploaded,
                                          e->quantize,   &result};
        status = b->functions->ops.metrics(b, &args, error);
    }
    if (status == SPLAT_OK) {
        *metrics = (splat_metrics){.l1 = result.l1,
                                   .psnr = splat_psnr((result.mse[0] + result.mse[1] + result.mse[2]) / 3),
                                   .psnr_per_channel = (splat_psnr(result.mse[0]) + splat_psnr(result.mse[1]) +
                                                        splat_psnr(result.mse[2])) / 3,
                                   .ssim = result.ssim,
                                   .n_views = 1,
                                   .render_ms = render_ms};
        status = measure_lpips(e, camera, uploaded, metrics, error);
    }
    if (status != SPLAT_OK) splat_image_cache_release(e->scene->cache, index);
    return status;
}

static void add(splat_metrics *sum, const splat_metrics *one)
{
    sum->l1 += one->l1;
    sum->psnr += one->psnr;
    sum->psnr_per_channel += one->psnr_per_channel;
    sum->ssim += one->ssim;
    sum->lpips += one->lpips;
    sum->render_ms += one->render_ms;
    sum->lpips_net = one->lpips_net;
    sum->n_views++;
}

static void divide(splat_metrics *sum)
{
    double n = sum->n_views ? (double)sum->n_views : 1;
    sum->l1 /= n;
    sum->psnr /= n;
    sum->psnr_per_channel /= n;
    sum->ssim /= n;
    sum->lpips /= n;
    sum->render_ms /= n;
}

/* One view: measured, added, shown. *go_on is what the visitor says. */
static splat_status visit_view(splat_evaluator *e, uint32_t index, size_t index_in_set, float *render,
                               splat_view_function visit, void *user, splat_metrics *mean, bool *go_on,
                               splat_error *error)
{
    const splat_dataset_view *view = &e->scene->dataset.views[index];
    const uint8_t *photo;
    splat_metrics metrics;
    bool shown = visit && index_in_set < e->n_shown;
    SPLAT_TRY(splat_evaluator_view(e, index, shown, &photo, &metrics, error));
    add(mean, &metrics);
    splat_status status = SPLAT_OK;
    if (shown) {
        splat_view_info info = {view->name, view->is_test, view->camera};
        size_t bytes = 3 * (size_t)view->camera.width * (size_t)view->camera.height * sizeof(float);
        splat_backend *b = e->context->backend;
        status = b->functions->download(b, render, e->model->frame.image, bytes, error);
        if (status == SPLAT_OK) *go_on = visit(user, index_in_set, &info, render, photo, &metrics);
    }
    splat_image_cache_release(e->scene->cache, index);
    return status;
}

splat_evaluator splat_evaluator_make(splat_context *context, splat_scene *scene, splat_model *model, bool quantize,
                                     bool white_background)
{
    float base = white_background ? 1.0f : 0.0f;
    return (splat_evaluator){context,          scene,          model,    quantize,
                             {base, base, base}, context->lpips, SIZE_MAX, NULL};
}

splat_status splat_evaluate(splat_context *context, splat_scene *scene, splat_model *model, splat_view_set set,
                            bool quantize, bool white_background, splat_view_function visit, void *user,
                            splat_metrics *mean, splat_error *error)
{
    splat_evaluator evaluator = splat_evaluator_make(context, scene, model, quantize, white_background);
    return splat_evaluator_run(&evaluator, set, visit, user, mean, error);
}

splat_status splat_evaluator_run(splat_evaluator *e, splat_view_set set, splat_view_function visit, void *user,
                                 splat_metrics *mean, splat_error *error)
{
    splat_scene *scene = e->scene;
    uint32_t storage[5];
    const uint32_t *indices;
    size_t n = splat_scene_view_set(scene, set, &indices, storage);
    memset(mean, 0, sizeof *mean);

    float *render = NULL;
    if (visit) {
        int width, height;
        splat_scene_largest_view(scene, &width, &height);
        render = malloc(3 * (size_t)width * (size_t)height * sizeof(float));
        if (!render) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a picture of %d x %d", width, height);
    }
    splat_status status = SPLAT_OK;
    bool go_on = true;
    for (size_t i = 0; i < n && status == SPLAT_OK && go_on; i++) {
        if (i + 1 < n) splat_image_cache_prefetch(scene->cache, indices[i + 1]);
        status = visit_view(e, indices[i], i, render, visit, user, mean, &go_on, error);
    }
    divide(mean);
    if (e->lpips)
        splat_lpips_release(e->lpips); /* what a picture needed; the weights stay */
    else
        mean->lpips_net = NULL;
    free(render);
    return status;
}
