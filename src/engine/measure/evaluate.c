/* Renders a view and measures it. */
#include "measure/evaluate.h"

#include "base/clock.h"
#include "math/camera.h"
#include "measure/exposure_guess.h"
#include "measure/picture_metrics.h"
#include "model/render.h"


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

/* The picture in model->frame.image against its photo, which stays acquired if this succeeds. is_whole: with all
 * figures of the job, else without LPIPS and corrected colours. */
static splat_status measure_picture(splat_evaluator *e, uint32_t index, bool is_whole, const uint8_t **photo,
                                    splat_metrics *metrics, splat_error *error)
{
    splat_backend *b = e->model->context->backend;
    const splat_dataset_view *view = &e->scene->dataset.views[index];
    const splat_camera *camera = &view->camera;
    bool is_masked = splat_scene_measures_masked(e->scene, index);
    size_t n_bytes = is_masked ? splat_view_photo_bytes(view) : 3 * splat_camera_pixels(camera);
    uint32_t n_kept = 0;
    splat_lpips *no_lpips = NULL;
    SPLAT_TRY(splat_image_cache_acquire(e->scene->cache, index, photo, error));
    void *uploaded;
    splat_status status = SPLAT_OK;
    if (is_masked) status = splat_image_cache_count_kept(e->scene->cache, index, &n_kept, error);
    if (status == SPLAT_OK) status = splat_frame_take(b, &e->model->frame, n_bytes, &uploaded, error);
    if (status == SPLAT_OK) status = splat_backend_upload(b, uploaded, *photo, n_bytes, error);
    if (status == SPLAT_OK) {
        const splat_measured_picture picture = {
            .camera = camera, .image = e->model->frame.image, .photo = uploaded, .quantize = e->job.quantize,
            .mask = is_masked && n_kept ? splat_view_mask(view, uploaded) : NULL,
            .kept = (double)n_kept / (double)splat_camera_pixels(camera), .share = 1,
            .color_correct = is_whole && e->job.color_correct};
        status = splat_picture_measure(e->model->context, &picture, is_whole ? &e->job.lpips : &no_lpips, metrics,
                                       error);
        if (is_masked && !n_kept) metrics->n_views = 0;
    }
    if (status != SPLAT_OK) splat_image_cache_release(e->scene->cache, index);
    return status;
}

splat_status splat_evaluator_measure(splat_evaluator *e, uint32_t index, const uint8_t **photo, splat_metrics *metrics,
                                     splat_error *error)
{
    return measure_picture(e, index, true, photo, metrics, error);
}

/* The figures of a view as `photo` of a file is exposed; all 0 for NULL. */
static splat_status measure_exposed(splat_evaluator *e, uint32_t index, const splat_photo_exposure *photo,
                                    const splat_exposures *file, splat_metrics *metrics, splat_error *error)
{
    const splat_dataset_view *view = &e->scene->dataset.views[index];
    const uint8_t *pixels;
    double render_ms;
    *metrics = (splat_metrics){0};
    if (!photo) return SPLAT_OK;
    SPLAT_TRY(rasterize(e, &view->camera, false, &render_ms, error));
    SPLAT_TRY(splat_model_expose(e->model, &view->camera, file, photo, view->crop, error));
    SPLAT_TRY(measure_picture(e, index, false, &pixels, metrics, error));
    splat_image_cache_release(e->scene->cache, index);
    return SPLAT_OK;
}

/* Nothing where the scene tells no nearest depth of the photo. */
static splat_status measure_near(splat_evaluator *e, const splat_dataset_view *view, splat_model_light *light,
                                 bool *is_measured, splat_error *error)
{
    *light = (splat_model_light){0, 0};
    *is_measured = e->job.near_light && view->near_depth > 0;
    return *is_measured ? splat_model_near_light(e->model, &view->camera, view->near_depth, light, error) : SPLAT_OK;
}

splat_status splat_evaluator_view(splat_evaluator *e, uint32_t index, bool shown, const uint8_t **photo,
                                  splat_metrics *metrics, splat_error *error)
{
    const splat_dataset_view *view = &e->scene->dataset.views[index];
    const splat_photo_exposure *own = splat_exposures_find(&e->exposures, view->photo_name);
    const splat_photo_exposure *told = splat_exposures_find(&e->by_exif, view->photo_name);
    splat_photo_exposure guess;
    splat_metrics exposed, by_exif;
    splat_model_light light;
    double render_ms;
    bool has_near;
    bool is_guessed = splat_exposure_guess(&e->nearby, view->photo_name, &guess);
    SPLAT_TRY(measure_exposed(e, index, is_guessed ? &guess : NULL, &e->nearby, &exposed, error));
    SPLAT_TRY(measure_exposed(e, index, told, &e->by_exif, &by_exif, error));
    SPLAT_TRY(measure_near(e, view, &light, &has_near, error));
    SPLAT_TRY(rasterize(e, &view->camera, shown, &render_ms, error));
    SPLAT_TRY(splat_model_expose(e->model, &view->camera, &e->exposures, own, view->crop, error));
    SPLAT_TRY(splat_evaluator_measure(e, index, photo, metrics, error));
    metrics->render_ms = render_ms;
    metrics->is_exposed = e->nearby.n_photos > 0;
    metrics->exposed_psnr = exposed.psnr;
    metrics->exposed_ssim = exposed.ssim;
    metrics->is_exif_exposed = e->by_exif.n_photos > 0;
    metrics->exif_psnr = by_exif.psnr;
    metrics->exif_ssim = by_exif.ssim;
    metrics->n_near_views = has_near;
    metrics->near_light = light.near;
    metrics->all_light = light.all;
    return SPLAT_OK;
}

splat_status splat_evaluator_show(splat_evaluator *e, uint32_t index, size_t index_in_set, const float *render,
                                  const splat_metrics *metrics, bool *go_on, splat_error *error)
{
    const splat_dataset_view *view = &e->scene->dataset.views[index];
    const splat_view_info info = {view->name, view->is_test, view->camera};
    const uint8_t *photo;
    SPLAT_TRY(splat_image_cache_acquire(e->scene->cache, index, &photo, error));
    *go_on = e->job.visit(e->job.user, index_in_set, &info, render, photo, metrics);
    splat_image_cache_release(e->scene->cache, index);
    return SPLAT_OK;
}

splat_evaluator splat_evaluator_make(splat_model *model, splat_scene *scene, const splat_view_job *job)
{
    splat_evaluator evaluator = {.scene = scene, .model = model, .job = *job, .n_shown = SIZE_MAX};
    splat_scene_background(scene, evaluator.background);
    return evaluator;
}
