/* Renders each view of a set, measures it and adds up. */
#include "measure/evaluate.h"

#include "base/clock.h"
#include "base/options.h"
#include "math/camera.h"
#include "ops/metrics/metrics.h"
#include "measure/lpips/lpips.h"

#include <stdlib.h>
#include <string.h>

/* The render is in model->frame.image, clamped; the photo on the device. Where the picture is too small for the
 * network, or a memory limit leaves no room, LPIPS is given up and reported: no reason to end a training. */
static splat_status measure_lpips(splat_evaluator *e, const splat_camera *camera, const uint8_t *photo,
                                  splat_metrics *metrics, splat_error *error)
{
    double taps[SPLAT_LPIPS_MAX_TAPS];
    splat_error refused;
    if (!e->job.lpips) return SPLAT_OK;
    splat_status status = splat_lpips_run(e->job.lpips, camera->width, camera->height, e->model->frame.image, photo,
                                          taps, &refused);
    if (status == SPLAT_ERROR_ARGUMENT || (status == SPLAT_ERROR_MEMORY && e->model->context->backend->memory.limit)) {
        splat_log(e->model->context, SPLAT_LOG_NOTICE, "LPIPS is not measured: %s", refused.message);
        splat_lpips_release(e->job.lpips);
        e->job.lpips = NULL;
        return SPLAT_OK;
    }
    if (status != SPLAT_OK) {
        if (error) *error = refused;
        return status;
    }
    for (int i = 0; i < e->job.lpips->n_taps; i++) metrics->lpips += taps[i];
    metrics->lpips_net = splat_lpips_label(e->job.lpips);
    return SPLAT_OK;
}

/* The picture into model->frame.image, its time, and the counts to the host when they are shown. */
static splat_status rasterize(splat_evaluator *e, const splat_camera *camera, bool shown, double *ms,
                              splat_error *error)
{
    splat_backend *b = e->model->context->backend;
    splat_frame *frame = &e->model->frame;
    bool counted = shown && e->blended;
    double begin = splat_clock_seconds();
    SPLAT_TRY(splat_model_rasterize(e->model, frame, camera, e->background, counted, error));
    SPLAT_TRY(splat_backend_synchronize(b, error)); /* measuring the view would wait, too */
    *ms = 1000 * (splat_clock_seconds() - begin);
    if (!counted) return SPLAT_OK;
    size_t bytes = splat_camera_pixels(camera) * sizeof *frame->blended;
    return splat_backend_download(b, e->blended, frame->blended, bytes, error);
}

splat_status splat_evaluator_view(splat_evaluator *e, uint32_t index, bool shown, const uint8_t **photo,
                                  splat_metrics *metrics, splat_error *error)
{
    splat_backend *b = e->model->context->backend;
    const splat_camera *camera = &e->scene->dataset.views[index].camera;
    size_t n_bytes = 3 * splat_camera_pixels(camera);
    splat_metrics_result result;
    double render_ms;
    SPLAT_TRY(rasterize(e, camera, shown, &render_ms, error));
    SPLAT_TRY(splat_image_cache_acquire(e->scene->cache, index, photo, error));
    void *uploaded;
    splat_status status = splat_frame_take(b, &e->model->frame, n_bytes, &uploaded, error);
    if (status == SPLAT_OK) status = splat_backend_upload(b, uploaded, *photo, n_bytes, error);
    if (status == SPLAT_OK) {
        struct splat_metrics_args args = {camera->width, camera->height, e->model->frame.image, uploaded,
                                          e->job.quantize, &result};
        status = splat_op_metrics(b, &args, error);
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
                               splat_metrics *mean, bool *go_on, splat_error *error)
{
    const splat_dataset_view *view = &e->scene->dataset.views[index];
    const uint8_t *photo;
    splat_metrics metrics;
    bool shown = e->job.visit && index_in_set < e->n_shown;
    SPLAT_TRY(splat_evaluator_view(e, index, shown, &photo, &metrics, error));
    add(mean, &metrics);
    splat_status status = SPLAT_OK;
    if (shown) {
        splat_view_info info = {view->name, view->is_test, view->camera};
        size_t bytes = 3 * splat_camera_pixels(&view->camera) * sizeof(float);
        splat_backend *b = e->model->context->backend;
        status = splat_backend_download(b, render, e->model->frame.image, bytes, error);
        if (status == SPLAT_OK) *go_on = e->job.visit(e->job.user, index_in_set, &info, render, photo, &metrics);
    }
    splat_image_cache_release(e->scene->cache, index);
    return status;
}

splat_evaluator splat_evaluator_make(splat_model *model, splat_scene *scene, const splat_view_job *job)
{
    splat_evaluator evaluator = {.scene = scene, .model = model, .job = *job, .n_shown = SIZE_MAX};
    splat_scene_background(scene, evaluator.background);
    return evaluator;
}

splat_status splat_model_evaluate(splat_model *model, splat_scene *scene, const splat_view_job *job,
                                  splat_metrics *mean, splat_error *error)
{
    splat_view_job own;
    splat_view_job_init(&own);
    SPLAT_TRY(splat_options_take(&own, job, "splat_view_job", error));
    job = &own;
    splat_evaluator evaluator = splat_evaluator_make(model, scene, job);
    return splat_evaluator_run(&evaluator, mean, error);
}

splat_status splat_evaluator_run(splat_evaluator *e, splat_metrics *mean, splat_error *error)
{
    splat_scene *scene = e->scene;
    uint32_t storage[5];
    const uint32_t *indices;
    size_t n = splat_scene_view_set(scene, e->job.set, &indices, storage);
    memset(mean, 0, sizeof *mean);

    float *render = NULL;
    if (e->job.visit) {
        int width, height;
        splat_scene_largest_view(scene, &width, &height);
        render = malloc(3 * (size_t)width * (size_t)height * sizeof(float));
        if (!render) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a picture of %d x %d", width, height);
    }
    splat_status status = SPLAT_OK;
    bool go_on = true;
    for (size_t i = 0; i < n && status == SPLAT_OK && go_on; i++) {
        if (i + 1 < n) splat_image_cache_prefetch(scene->cache, indices[i + 1]);
        status = visit_view(e, indices[i], i, render, mean, &go_on, error);
    }
    divide(mean);
    if (e->job.lpips)
        splat_lpips_release(e->job.lpips); /* what a picture needed; the weights stay */
    else
        mean->lpips_net = NULL;
    free(render);
    return status;
}
