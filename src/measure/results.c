/* What an evaluated model leaves in its folder: results.json, per_view.json, pictures, a contact sheet. */
#include "base/file.h"
#include "base/options.h"
#include "io/picture/image.h"
#include "io/picture/text.h"
#include "math/camera.h"
#include "measure/evaluate.h"
#include "measure/results_json.h"
#include "splatsmith/observe.h"

#include <math.h>
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
        status = splat_results_json_write(model_path, method, mean, list.views, names, n, error);
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

/* ---------------------------------------------------------------- contact sheet */

#define SHEET_GAP 6
#define SHEET_GAIN 4.0f /* of the error picture */

/* A line of titles, then rows of (photo, render, error), each over a line with its name and figures; the sheet is
 * white between them. */
typedef struct sheet {
    int cell_width, cell_height, width, height;
    int scale;       /* of the font */
    int line_height; /* of a line of text, pixels */
    uint8_t *rgb;
} sheet;

static int sheet_left(const sheet *s, int column)
{
    return SHEET_GAP + column * (s->cell_width + SHEET_GAP);
}

/* Where a row of pictures begins; the line with its name lies below them. */
static int sheet_top(const sheet *s, size_t row)
{
    return SHEET_GAP + s->line_height + (int)row * (s->cell_height + s->line_height + SHEET_GAP);
}

static void write_line(sheet *s, int column, int top, const char *text)
{
    splat_text_draw(s->rgb, s->width, s->height, sheet_left(s, column), top + 2 * s->scale, s->scale, 40, text);
}

static void put_titles(sheet *s)
{
    static const char *const titles[] = {"photo", "render", "error x 4"};
    for (int column = 0; column < 3; column++) write_line(s, column, SHEET_GAP, titles[column]);
}

/* The name below the photo, the figures below the render. */
static void put_caption(sheet *s, size_t row, const char *name, const splat_metrics *metrics)
{
    char figures[96];
    int top = sheet_top(s, row) + s->cell_height;
    size_t room = (size_t)(s->cell_width / (SPLAT_TEXT_WIDTH * s->scale));
    snprintf(figures, sizeof figures, "PSNR %.2f dB  SSIM %.4f", metrics->psnr, metrics->ssim);
    /* The end of a name tells views apart. */
    write_line(s, 0, top, strlen(name) > room ? name + strlen(name) - room : name);
    write_line(s, 1, top, strlen(figures) > room ? figures + strlen("PSNR ") : figures);
}

static void put_row(sheet *s, size_t row, int width, int height, const uint8_t *photo, const float *render)
{
    size_t plane = (size_t)width * (size_t)height;
    int top = sheet_top(s, row);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < 3; c++) {
                size_t pixel = (size_t)y * (size_t)width + (size_t)x;
                float truth = (float)photo[3 * pixel + (size_t)c] / 255.0f, shown = render[(size_t)c * plane + pixel];
                uint8_t values[3] = {photo[3 * pixel + (size_t)c], splat_image_byte(shown),
                                     splat_image_byte(SHEET_GAIN * fabsf(truth - shown))};
                for (int column = 0; column < 3; column++) {
                    int left = sheet_left(s, column);
                    s->rgb[3 * ((size_t)(top + y) * (size_t)s->width + (size_t)(left + x)) + (size_t)c] =
                        values[column];
                }
            }
}

static splat_status sheet_row(splat_evaluator *evaluator, uint32_t index, float *render, sheet *s, size_t row,
                              splat_error *error)
{
    splat_backend *b = evaluator->model->context->backend;
    const splat_camera *camera = &evaluator->scene->dataset.views[index].camera;
    const uint8_t *photo;
    splat_metrics metrics;
    SPLAT_TRY(splat_evaluator_view(evaluator, index, false, &photo, &metrics, error));
    size_t bytes = 3 * splat_camera_pixels(camera) * sizeof(float);
    splat_status status = splat_backend_download(b, render, evaluator->model->frame.image, bytes, error);
    if (status == SPLAT_OK) {
        put_row(s, row, camera->width, camera->height, photo, render);
        put_caption(s, row, evaluator->scene->dataset.views[index].name, &metrics);
    }
    splat_image_cache_release(evaluator->scene->cache, index);
    return status;
}

splat_status splat_contact_sheet_write(splat_model *model, splat_scene *scene, size_t n_views, const char *path,
                                       splat_error *error)
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
    s.scale = widest < 800 ? 1 : widest / 400;
    s.line_height = (SPLAT_TEXT_HEIGHT + 4) * s.scale;
    s.height = sheet_top(&s, n_rows);
    size_t sheet_bytes = 3 * (size_t)s.width * (size_t)s.height;
    s.rgb = malloc(sheet_bytes);
    float *render = malloc(3 * (size_t)widest * (size_t)tallest * sizeof(float));
    splat_status status = s.rgb && render ? SPLAT_OK
                                          : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a contact sheet");

    splat_evaluator evaluator = splat_evaluator_make(model, scene, &(splat_view_job){0});
    if (status == SPLAT_OK) {
        memset(s.rgb, 255, sheet_bytes);
        put_titles(&s);
    }
    for (size_t row = 0; row < n_rows && status == SPLAT_OK; row++)
        status = sheet_row(&evaluator, indices[(2 * row + 1) * n / (2 * n_rows)], render, &s, row, error);
    if (status == SPLAT_OK) status = splat_folder_create_for(path, error);
    if (status == SPLAT_OK) status = splat_png_write(path, s.width, s.height, 3, 8, s.rgb, error);
    free(s.rgb);
    free(render);
    return status;
}
