/* What an evaluated model leaves in its folder: results.json, per_view.json, pictures, a contact sheet. */
#include "base/file.h"
#include "io/image.h"
#include "io/model_folder.h"
#include "train/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- results.json, per_view.json */

typedef struct result_list {
    splat_metrics *views;
    char (*names)[16];
    size_t n, capacity;
    splat_view_function visit;
    void *user;
} result_list;

static bool collect_result(void *user, size_t index_in_set, const splat_view_info *view, const float *render,
                           const uint8_t *photo, const splat_metrics *metrics)
{
    result_list *list = user;
    if (list->n < list->capacity) {
        snprintf(list->names[list->n], sizeof list->names[0], "%05zu.png", index_in_set);
        list->views[list->n++] = *metrics;
    }
    return !list->visit || list->visit(list->user, index_in_set, view, render, photo, metrics);
}

splat_status splat_write_results(splat_context *context, splat_scene *scene, splat_model *model, const char *model_path,
                                 int iteration, bool white_background, splat_view_function visit, void *user,
                                 splat_metrics *mean, splat_error *error)
{
    size_t n = scene->dataset.n_test;
    if (n == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the scene has no test views to measure; train with --eval");
    result_list list = {.capacity = n, .visit = visit, .user = user};
    list.views = calloc(n, sizeof *list.views);
    list.names = calloc(n, sizeof *list.names);
    const char **names = calloc(n, sizeof *names);
    splat_status status = list.views && list.names && names
                              ? SPLAT_OK
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu results", n);
    if (status == SPLAT_OK)
        status = splat_evaluate(context, scene, model, SPLAT_VIEWS_TEST, true, white_background, collect_result, &list,
                                mean, error);
    if (status == SPLAT_OK && list.n < n)
        status = splat_fail(error, SPLAT_ERROR_STOPPED, "stopped after %zu of %zu views; no results were written",
                            list.n, n);
    if (status == SPLAT_OK) {
        char method[32];
        snprintf(method, sizeof method, "ours_%d", iteration);
        for (size_t i = 0; i < n; i++) names[i] = list.names[i];
        status = splat_results_write(model_path, method, mean, list.views, names, n, error);
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
    splat_view_function visit;
    void *user;
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
    return !w->visit || w->visit(w->user, index_in_set, view, render, photo, metrics);
}

splat_status splat_render_views(splat_context *context, splat_scene *scene, splat_model *model, splat_view_set set,
                                const char *model_path, int iteration, int resolution, bool white_background,
                                splat_view_function visit, void *user, splat_error *error)
{
    const char *name = set == SPLAT_VIEWS_TEST ? "test" : "train";
    int width, height;
    splat_scene_largest_view(scene, &width, &height);
    picture_writer w = {.visit = visit, .user = user, .error = error};
    w.renders = splat_format("%s/%s/ours_%d/test_preds_%d", model_path, name, iteration, resolution);
    w.photos = splat_format("%s/%s/ours_%d/gt_%d", model_path, name, iteration, resolution);
    w.rgb = malloc(3 * (size_t)width * (size_t)height + 1);
    splat_status status = w.renders && w.photos && w.rgb
                              ? SPLAT_OK
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for pictures");
    if (status == SPLAT_OK) status = splat_folder_create(w.renders, error);
    if (status == SPLAT_OK) status = splat_folder_create(w.photos, error);
    splat_metrics mean;
    if (status == SPLAT_OK)
        status = splat_evaluate(context, scene, model, set, false, white_background, write_pictures, &w, &mean, error);
    if (status == SPLAT_OK) status = w.status;
    free(w.renders);
    free(w.photos);
    free(w.rgb);
    return status;
}

/* ---------------------------------------------------------------- contact sheet */

#define SHEET_GAP 6
#define SHEET_GAIN 4.0f /* of the error picture */

/* Rows of (photo, render, error); the sheet is white between them. */
typedef struct sheet {
    int cell_width, cell_height, width, height;
    uint8_t *rgb;
} sheet;

static void put_row(sheet *s, size_t row, int width, int height, const uint8_t *photo, const float *render)
{
    size_t plane = (size_t)width * (size_t)height;
    int top = SHEET_GAP + (int)row * (s->cell_height + SHEET_GAP);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < 3; c++) {
                size_t pixel = (size_t)y * (size_t)width + (size_t)x;
                float truth = (float)photo[3 * pixel + (size_t)c] / 255.0f, shown = render[(size_t)c * plane + pixel];
                uint8_t values[3] = {photo[3 * pixel + (size_t)c], splat_image_byte(shown),
                                     splat_image_byte(SHEET_GAIN * fabsf(truth - shown))};
                for (int column = 0; column < 3; column++) {
                    int left = SHEET_GAP + column * (s->cell_width + SHEET_GAP);
                    s->rgb[3 * ((size_t)(top + y) * (size_t)s->width + (size_t)(left + x)) + (size_t)c] =
                        values[column];
                }
            }
}

static splat_status sheet_row(splat_evaluator *evaluator, uint32_t index, float *render, sheet *s, size_t row,
                              splat_error *error)
{
    splat_backend *b = evaluator->context->backend;
    const splat_camera *camera = &evaluator->scene->dataset.views[index].camera;
    const uint8_t *photo;
    splat_metrics metrics;
    SPLAT_TRY(splat_evaluator_view(evaluator, index, false, &photo, &metrics, error));
    size_t bytes = 3 * (size_t)camera->width * (size_t)camera->height * sizeof(float);
    splat_status status = b->functions->download(b, render, evaluator->model->frame.image, bytes, error);
    if (status == SPLAT_OK) put_row(s, row, camera->width, camera->height, photo, render);
    splat_image_cache_release(evaluator->scene->cache, index);
    return status;
}

splat_status splat_write_contact_sheet(splat_context *context, splat_scene *scene, splat_model *model, size_t n_views,
                                       const char *path, bool white_background, splat_error *error)
{
    const splat_dataset *dataset = &scene->dataset;
    bool has_test = dataset->n_test > 0;
    const uint32_t *indices = has_test ? dataset->test : dataset->train;
    size_t n = has_test ? dataset->n_test : dataset->n_train;
    size_t n_rows = n_views < n ? n_views : n;
    if (n_rows == 0) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a contact sheet needs at least one view");

    sheet s = {0};
    int widest = 0, tallest = 0;
    for (size_t i = 0; i < n; i++) {
        const splat_camera *camera = &dataset->views[indices[i]].camera;
        widest = camera->width > widest ? camera->width : widest;
        tallest = camera->height > tallest ? camera->height : tallest;
    }
    s.cell_width = widest;
    s.cell_height = tallest;
    s.width = SHEET_GAP + 3 * (widest + SHEET_GAP);
    s.height = SHEET_GAP + (int)n_rows * (tallest + SHEET_GAP);
    size_t sheet_bytes = 3 * (size_t)s.width * (size_t)s.height;
    s.rgb = malloc(sheet_bytes);
    float *render = malloc(3 * (size_t)widest * (size_t)tallest * sizeof(float));
    splat_status status = s.rgb && render ? SPLAT_OK
                                          : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a contact sheet");

    splat_evaluator evaluator = splat_evaluator_make(context, scene, model, false, white_background);
    evaluator.lpips = NULL;
    if (status == SPLAT_OK) memset(s.rgb, 255, sheet_bytes);
    for (size_t row = 0; row < n_rows && status == SPLAT_OK; row++)
        status = sheet_row(&evaluator, indices[(2 * row + 1) * n / (2 * n_rows)], render, &s, row, error);
    if (status == SPLAT_OK) status = splat_folder_create_for(path, error);
    if (status == SPLAT_OK) status = splat_png_write(path, s.width, s.height, 3, 8, s.rgb, error);
    free(s.rgb);
    free(render);
    return status;
}
