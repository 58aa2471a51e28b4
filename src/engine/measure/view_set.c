/* The views of a set, one after the other or dealt over ranks. */
#include "measure/view_set.h"

#include "base/options.h"
#include "math/camera.h"
#include "measure/dealt_views.h"
#include "measure/exposure_exif.h"
#include "measure/exposure_guess.h"
#include "measure/lpips/lpips.h"
#include "measure/picture_metrics.h"

#include <stdlib.h>
#include <string.h>

/* One view: measured, added, shown. *go_on is what the visitor says. */
static splat_status visit_view(splat_evaluator *e, uint32_t index, size_t index_in_set, float *render,
                               splat_metrics *mean, bool *go_on, splat_error *error)
{
    const splat_dataset_view *view = &e->scene->dataset.views[index];
    const uint8_t *photo;
    splat_metrics metrics;
    bool shown = e->job.visit && index_in_set < e->n_shown;
    SPLAT_TRY(splat_evaluator_view(e, index, shown, &photo, &metrics, error));
    if (metrics.n_views) splat_metrics_add(mean, &metrics); /* a view that is wholly masked has no figures */
    splat_status status = SPLAT_OK;
    if (shown) {
        size_t bytes = 3 * splat_camera_pixels(&view->camera) * sizeof(float);
        splat_backend *b = e->model->context->backend;
        status = splat_backend_download(b, render, e->model->frame.image, bytes, error);
        if (status == SPLAT_OK) status = splat_evaluator_show(e, index, index_in_set, render, &metrics, go_on, error);
    }
    splat_image_cache_release(e->scene->cache, index);
    return status;
}

/* One after the other, all by this model. */
static splat_status visit_views(splat_evaluator *e, const uint32_t *indices, size_t n, float *render,
                                splat_metrics *mean, splat_error *error)
{
    bool go_on = true;
    for (size_t i = 0; i < n && go_on; i++) {
        if (i + 1 < n) splat_image_cache_prefetch(e->scene->cache, indices[i + 1]);
        SPLAT_TRY(visit_view(e, indices[i], i, render, mean, &go_on, error));
    }
    return SPLAT_OK;
}

/* e->by_exif; and e->nearby, if exposures follow each other and every view of the set has one before or after it. */
static splat_status read_nearby(splat_evaluator *e, const uint32_t *indices, size_t n, splat_error *error)
{
    splat_photo_exposure guess;
    if (!e->job.nearby_exposures) return SPLAT_OK;
    SPLAT_TRY(splat_exposures_read(e->job.nearby_exposures, &e->nearby, error));
    SPLAT_TRY(splat_exposures_by_exif(&e->nearby, &e->scene->dataset, indices, n, &e->by_exif, error));
    bool good = splat_exposures_follow(&e->nearby);
    for (size_t i = 0; i < n && good; i++) {
        const splat_dataset_view *view = &e->scene->dataset.views[indices[i]];
        good = splat_exposure_guess(&e->nearby, view->photo_name, &guess) &&
               guess.camera + (size_t)view->crop < e->nearby.n_cameras;
    }
    if (!good) splat_exposures_file_free(&e->nearby);
    return SPLAT_OK;
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
    splat_status status = e->job.exposures ? splat_exposures_read(e->job.exposures, &e->exposures, error) : SPLAT_OK;
    if (status == SPLAT_OK) status = read_nearby(e, indices, n, error);
    if (status == SPLAT_OK && e->trainer)
        status = splat_dealt_views_run(e, indices, n, render, mean, error);
    else if (status == SPLAT_OK)
        status = visit_views(e, indices, n, render, mean, error);
    splat_exposures_file_free(&e->exposures);
    splat_exposures_file_free(&e->nearby);
    splat_exposures_file_free(&e->by_exif);
    splat_metrics_divide(mean);
    if (e->job.lpips)
        splat_lpips_release(e->job.lpips); /* what a picture needed; the weights stay */
    else
        mean->lpips_net = NULL;
    free(render);
    return status;
}

/* ---------------------------------------------------------------- the public face */

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

/* Measures with all Gaussians at rank 0 where only one rank can do it. */
splat_status splat_trainer_evaluate(splat_trainer *t, const splat_view_job *job, splat_metrics *mean,
                                    splat_error *error)
{
    splat_view_job own;
    splat_view_job_init(&own);
    SPLAT_TRY(splat_options_take(&own, job, "splat_view_job", error));
    splat_evaluator evaluator = splat_evaluator_make(t->model, t->scene, &own);
    if (own.exposures || own.nearby_exposures)
        SPLAT_TRY(splat_trainer_gather(t, error));
    else
        evaluator.trainer = splat_shards_sharer(t);
    return splat_evaluator_run(&evaluator, mean, error);
}
