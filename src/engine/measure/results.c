/* Writes the results of a model to its folder: results.json, per_view.json, pictures. */
#include "measure/results.h"

#include "io/picture/image_write.h"

#include "base/file.h"
#include "base/options.h"
#include "math/camera.h"
#include "measure/evaluate.h"
#include "measure/results_json.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- results.json, per_view.json */

typedef struct result_list {
    splat_metrics *views;
    char (*names)[16];
    size_t n, capacity;
    const splat_view_job *job;
} result_list;

static bool collect_result(void *user, size_t index_in_set, const splat_view_info *view, const float *render,
                           const uint8_t *photo, const splat_metrics *metrics)
{
    result_list *list = user;
    if (list->n < list->capacity) {
        snprintf(list->names[list->n], sizeof list->names[0], "%05zu.png", index_in_set);
        list->views[list->n++] = *metrics;
    }
    return !list->job->visit || list->job->visit(list->job->user, index_in_set, view, render, photo, metrics);
}

/* Before the views are rendered. */
static splat_status check_results(const char *model_path, splat_error *error)
{
    char *path = splat_format("%s/results.json", model_path);
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_save_check(path, error);
    free(path);
    return status;
}

splat_status splat_results_write(splat_model *model, splat_scene *scene, const splat_view_job *job,
                                 const char *model_path, int iteration, const char *variant, splat_metrics *mean,
                                 splat_error *error)
{
    splat_view_job own;
    splat_view_job_init(&own);
    SPLAT_TRY(splat_options_take(&own, job, "splat_view_job", error));
    job = &own;
    uint32_t storage[5];
    const uint32_t *indices;
    size_t n = splat_scene_view_set(scene, job->set, &indices, storage);
    if (n == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the scene has no %s views to measure",
                          splat_view_set_name(job->set));
    SPLAT_TRY(check_results(model_path, error));
    result_list list = {.capacity = n, .job = job};
    splat_view_job collecting = *job;
    collecting.visit = collect_result;
    collecting.user = &list;
    list.views = calloc(n, sizeof *list.views);
    list.names = calloc(n, sizeof *list.names);
    const char **names = calloc(n, sizeof *names);
    splat_status status = list.views && list.names && names
                              ? SPLAT_OK
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu results", n);
    if (status == SPLAT_OK) status = splat_model_evaluate(model, scene, &collecting, mean, error);
    if (status == SPLAT_OK && list.n < n)
        status = splat_fail(error, SPLAT_ERROR_STOPPED, "stopped after %zu of %zu views; no results were written",
                            list.n, n);
    if (status == SPLAT_OK) {
        char method[96];
        snprintf(method, sizeof method, "ours_%d%s%s", iteration, variant ? "_" : "", variant ? variant : "");
        for (size_t i = 0; i < n; i++) names[i] = list.names[i];
        char *name = splat_results_json_name(scene->context, model_path, method, n);
        status = name ? splat_results_json_write(model_path, name, mean, list.views, names, n, error)
                      : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a name");
        free(name);
    }
    free(list.views);
    free(list.names);
    free(names);
    return status;
}

/* ---------------------------------------------------------------- pictures of a set */

typedef struct picture_writer {
    char *renders, *photos;
    uint8_t *rgb;
    const splat_view_job *job;
    splat_status status;
    splat_error *error;
} picture_writer;

static splat_status write_picture(const char *folder, size_t index, int width, int height, const uint8_t *rgb,
                                  splat_error *error)
{
    char *path = splat_format("%s/%05zu.png", folder, index);
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_png_write(path, width, height, 3, 8, rgb, error);
    free(path);
    return status;
}

static bool write_pictures(void *user, size_t index_in_set, const splat_view_info *view, const float *render,
                           const uint8_t *photo, const splat_metrics *metrics)
{
    picture_writer *w = user;
    int width = view->camera.width, height = view->camera.height;
    splat_image_from_planar(render, width, height, w->rgb);
    w->status = write_picture(w->renders, index_in_set, width, height, w->rgb, w->error);
    if (w->status == SPLAT_OK) w->status = write_picture(w->photos, index_in_set, width, height, photo, w->error);
    if (w->status != SPLAT_OK) return false;
    return !w->job->visit || w->job->visit(w->job->user, index_in_set, view, render, photo, metrics);
}

splat_status splat_renders_write(splat_model *model, splat_scene *scene, const splat_view_job *job, const char *folder,
                                 int iteration, splat_error *error)
{
    splat_view_job own;
    splat_view_job_init(&own);
    SPLAT_TRY(splat_options_take(&own, job, "splat_view_job", error));
    job = &own;
    const char *set = splat_view_set_name(job->set);
    int width, height, resolution = scene->options.resolution;
    splat_scene_largest_view(scene, &width, &height);
    picture_writer w = {.job = job, .error = error};
    splat_view_job writing = *job;
    writing.visit = write_pictures;
    writing.user = &w;
    w.renders = splat_format("%s/%s/ours_%d/test_preds_%d", folder, set, iteration, resolution);
    w.photos = splat_format("%s/%s/ours_%d/gt_%d", folder, set, iteration, resolution);
    w.rgb = malloc(3 * (size_t)width * (size_t)height + 1);
    splat_status status = w.renders && w.photos && w.rgb
                              ? SPLAT_OK
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for pictures");
    if (status == SPLAT_OK) status = splat_folder_create(w.renders, error);
    if (status == SPLAT_OK) status = splat_folder_create(w.photos, error);
    splat_metrics mean;
    if (status == SPLAT_OK) status = splat_model_evaluate(model, scene, &writing, &mean, error);
    if (status == SPLAT_OK) status = w.status;
    free(w.renders);
    free(w.photos);
    free(w.rgb);
    return status;
}
