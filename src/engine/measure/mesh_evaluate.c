/* Draws a mesh in each view of a set, measures it twice, over all pixels and over those that it covers, and adds up. */
#include "measure/mesh_evaluate.h"

#include "backend/backend.h"
#include "base/clock.h"
#include "base/options.h"
#include "math/camera.h"
#include "measure/lpips/lpips.h"
#include "measure/picture_metrics.h"
#include "ops/loss/loss.h"

#include <stdlib.h>
#include <string.h>

splat_status splat_mesh_evaluator_open(splat_mesh_evaluator *e, splat_scene *scene, const char *mesh_path,
                                       const splat_view_job *job, const splat_mesh_draw_options *options,
                                       splat_error *error)
{
    splat_backend *b = scene->context->backend;
    int width, height;
    splat_scene_largest_view(scene, &width, &height);
    size_t n = (size_t)width * (size_t)height;
    *e = (splat_mesh_evaluator){.scene = scene, .job = *job};
    SPLAT_TRY(splat_measured_mesh_open(&e->measured, scene, mesh_path, options, error));
    e->render = malloc(3 * n * sizeof *e->render);
    e->coverage = malloc(n * sizeof *e->coverage);
    if (!e->render || !e->coverage)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a picture of %d x %d", width, height);
    SPLAT_TRY(splat_block_resize(b, &e->image, "mesh picture", SPLAT_OWNER_EVALUATION, 3 * n * sizeof(float), error));
    return splat_block_resize(b, &e->photo, "mesh photo", SPLAT_OWNER_EVALUATION, 4 * n, error); /* and its mask */
}

void splat_mesh_evaluator_close(splat_mesh_evaluator *e)
{
    splat_backend *b = e->scene->context->backend;
    if (e->job.lpips) splat_lpips_release(e->job.lpips); /* what a picture needed; the weights stay */
    splat_measured_mesh_close(&e->measured);
    splat_block_free(b, &e->image);
    splat_block_free(b, &e->photo);
    splat_region_free(b, &b->scratch); /* of the metrics; made again when a model needs it */
    free(e->render);
    free(e->coverage);
}

/* The mask of a photo in host memory, where it counts. */
static const uint8_t *mask_of(const splat_mesh_evaluator *e, uint32_t index, const uint8_t *photo)
{
    const splat_dataset_view *view = &e->scene->dataset.views[index];
    return splat_scene_measures_masked(e->scene, index) ? splat_view_mask(view, photo) : NULL;
}

/* The render where the mesh covers the pixel and the mask keeps it, else the photo. Returns how many pixels those
 * are. */
static size_t put_photo_around(splat_mesh_evaluator *e, const splat_camera *camera, const uint8_t *photo,
                               const uint8_t *mask)
{
    size_t n = splat_camera_pixels(camera), n_covered = 0;
    for (size_t i = 0; i < n; i++) {
        if (e->coverage[i] >= 1 && (!mask || mask[i] >= SPLAT_LOSS_KEPT)) {
            n_covered++;
            continue;
        }
        for (size_t c = 0; c < 3; c++) e->render[c * n + i] = (float)photo[3 * i + c] / 255.0f;
    }
    return n_covered;
}

/* e->render against the photo that is on the device; where `kept` is given, the mask behind it says which pixels
 * count. is_all: all pixels, not only those that the mesh covers; their colours are corrected if the job says so. */
static splat_status measure(splat_mesh_evaluator *e, const splat_camera *camera, bool is_all, double share,
                            const double *kept, splat_metrics *metrics, splat_error *error)
{
    splat_context *context = e->scene->context;
    const size_t n = splat_camera_pixels(camera);
    const uint8_t *photo = e->photo.data;
    const splat_measured_picture picture = {
        .camera = camera, .image = e->image.data, .photo = photo, .quantize = e->job.quantize, .share = share,
        .mask = kept ? photo + 3 * n : NULL, .kept = kept ? *kept : 1,
        .color_correct = is_all && e->job.color_correct};
    SPLAT_TRY(splat_backend_upload(context->backend, e->image.data, e->render, 3 * n * sizeof *e->render, error));
    return splat_picture_measure(context, &picture, &e->job.lpips, metrics, error);
}

splat_status splat_mesh_evaluator_view(splat_mesh_evaluator *e, uint32_t index, const uint8_t *photo,
                                       splat_metrics *metrics, splat_error *error)
{
    splat_backend *b = e->scene->context->backend;
    const splat_camera *camera = &e->scene->dataset.views[index].camera;
    const bool is_masked = mask_of(e, index, photo) != NULL;
    size_t n = splat_camera_pixels(camera);
    uint32_t n_kept = 0;
    double begin = splat_clock_seconds();
    SPLAT_TRY(
        splat_mesh_painter_draw(&e->measured.painter, camera, e->measured.background, e->render, e->coverage, error));
    double render_ms = 1000 * (splat_clock_seconds() - begin);
    if (is_masked) SPLAT_TRY(splat_image_cache_count_kept(e->scene->cache, index, &n_kept, error));
    SPLAT_TRY(splat_backend_upload(b, e->photo.data, photo, (is_masked ? 4 : 3) * n, error));
    const double kept = (double)n_kept / (double)n;
    SPLAT_TRY(measure(e, camera, true, 1, n_kept ? &kept : NULL, metrics, error));
    metrics->render_ms = render_ms;
    if (is_masked && !n_kept) metrics->n_views = 0;
    return splat_backend_download(b, e->render, e->image.data, 3 * n * sizeof *e->render, error);
}

/* metrics: of this view; n_views is 0 where no pixel is kept, covered.n_views where of those nothing is covered. */
static splat_status measure_view(splat_mesh_evaluator *e, uint32_t index, size_t index_in_set, const uint8_t *photo,
                                 splat_mesh_metrics *metrics, bool *go_on, splat_error *error)
{
    const splat_dataset_view *view = &e->scene->dataset.views[index];
    const splat_camera *camera = &view->camera;
    SPLAT_TRY(splat_mesh_evaluator_view(e, index, photo, &metrics->all, error));
    if (e->job.visit) {
        const splat_view_info info = {view->name, view->is_test, *camera};
        *go_on = e->job.visit(e->job.user, index_in_set, &info, e->render, photo, &metrics->all);
    }
    size_t n_covered = put_photo_around(e, camera, photo, mask_of(e, index, photo));
    double share = (double)n_covered / (double)splat_camera_pixels(camera);
    if (n_covered == 0) return SPLAT_OK;
    metrics->coverage = share / metrics->all.kept;
    return measure(e, camera, false, share, NULL, &metrics->covered, error);
}

static splat_status evaluate(splat_mesh_evaluator *e, splat_mesh_metrics *views, splat_mesh_metrics *mean,
                             size_t *n_done, splat_error *error)
{
    uint32_t storage[5];
    const uint32_t *indices;
    size_t n = splat_scene_view_set(e->scene, e->job.set, &indices, storage);
    bool go_on = true;
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < n && status == SPLAT_OK && go_on; i++) {
        splat_mesh_metrics one = {0};
        const uint8_t *photo;
        if (i + 1 < n) splat_image_cache_prefetch(e->scene->cache, indices[i + 1]);
        SPLAT_TRY(splat_image_cache_acquire(e->scene->cache, indices[i], &photo, error));
        status = measure_view(e, indices[i], i, photo, &one, &go_on, error);
        splat_image_cache_release(e->scene->cache, indices[i]);
        if (one.all.n_views) splat_metrics_add(&mean->all, &one.all); /* one that is wholly masked has no figures */
        if (one.covered.n_views) splat_metrics_add(&mean->covered, &one.covered);
        mean->coverage += one.coverage;
        if (views) views[i] = one;
        *n_done = i + 1;
    }
    mean->coverage /= mean->all.n_views ? (double)mean->all.n_views : 1;
    splat_metrics_divide(&mean->all);
    splat_metrics_divide(&mean->covered);
    if (!e->job.lpips) mean->all.lpips_net = mean->covered.lpips_net = NULL;
    return status;
}

splat_status splat_mesh_evaluate_views(splat_scene *scene, const char *mesh_path, const splat_view_job *job,
                                       const splat_mesh_draw_options *options, splat_mesh_metrics *views,
                                       splat_mesh_metrics *mean, size_t *n_done, splat_error *error)
{
    splat_mesh_evaluator e;
    splat_view_job own;
    *mean = (splat_mesh_metrics){0};
    *n_done = 0;
    splat_view_job_init(&own);
    SPLAT_TRY(splat_options_take(&own, job, "splat_view_job", error));
    splat_status status = splat_mesh_evaluator_open(&e, scene, mesh_path, &own, options, error);
    mean->textured = e.measured.painter.mips.n_pages > 0;
    if (status == SPLAT_OK) status = evaluate(&e, views, mean, n_done, error);
    splat_mesh_evaluator_close(&e);
    return status;
}

splat_status splat_mesh_evaluate(splat_scene *scene, const char *mesh_path, const splat_view_job *job,
                                 const splat_mesh_draw_options *options, splat_mesh_metrics *mean, splat_error *error)
{
    size_t n_done;
    return splat_mesh_evaluate_views(scene, mesh_path, job, options, NULL, mean, &n_done, error);
}
