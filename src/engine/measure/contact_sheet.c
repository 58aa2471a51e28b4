/* Contact sheets: a line of titles, then rows of three pictures of a view, each over a line with its name and figures;
 * the sheet is white between them. */
#include "measure/contact_sheet.h"

#include "io/picture/image_write.h"

#include "backend/backend.h"
#include "base/file.h"
#include "io/picture/text.h"
#include "math/camera.h"
#include "measure/evaluate.h"
#include "measure/mesh_evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SHEET_GAP 6
#define SHEET_CELL 240 /* smaller pictures are enlarged by a whole number, up to this size */
#define SHEET_GAIN 4.0f /* of the error picture */
#define SHEET_QUALITY 90 /* of a JPEG */

typedef struct sheet {
    splat_scene *scene;
    const uint32_t *indices; /* of the views to choose from */
    size_t n_indices, n_rows;
    int zoom;        /* pixels of the sheet to a pixel of a picture, along each side */
    int cell_width, cell_height, width, height;
    int scale;       /* of the font */
    int line_height; /* of a line of text, pixels */
    uint8_t *rgb;
    float *render;   /* room for the largest view, [3][height][width] */
} sheet;

static int sheet_left(const sheet *s, int column)
{
    return SHEET_GAP + column * (s->cell_width + SHEET_GAP);
}

/* The top of a row of pictures; the line with its name lies below them. */
static int sheet_top(const sheet *s, size_t row)
{
    return SHEET_GAP + s->line_height + (int)row * (s->cell_height + s->line_height + SHEET_GAP);
}

static void write_line(sheet *s, int column, int top, const char *text)
{
    splat_text_draw(s->rgb, s->width, s->height, sheet_left(s, column), top + 2 * s->scale, s->scale, 40, text);
}

static void put_titles(sheet *s, const char *const titles[3])
{
    for (int column = 0; column < 3; column++) write_line(s, column, SHEET_GAP, titles[column]);
}

static void put_name(sheet *s, size_t row, const char *name)
{
    size_t room = (size_t)(s->cell_width / (SPLAT_TEXT_WIDTH * s->scale));
    /* The end of a name tells views apart. */
    write_line(s, 0, sheet_top(s, row) + s->cell_height, strlen(name) > room ? name + strlen(name) - room : name);
}

static void put_figures(sheet *s, size_t row, int column, const splat_metrics *metrics)
{
    char figures[96];
    size_t room = (size_t)(s->cell_width / (SPLAT_TEXT_WIDTH * s->scale));
    snprintf(figures, sizeof figures, "PSNR %.2f dB  SSIM %.4f", metrics->psnr, metrics->ssim);
    write_line(s, column, sheet_top(s, row) + s->cell_height,
               strlen(figures) > room ? figures + strlen("PSNR ") : figures);
}

/* A channel of a pixel of a picture, whose upper left corner lies at x, y. */
static void put_pixel(sheet *s, size_t x, size_t y, size_t channel, uint8_t value)
{
    for (size_t row = y; row < y + (size_t)s->zoom; row++)
        for (size_t column = x; column < x + (size_t)s->zoom; column++)
            s->rgb[3 * (row * (size_t)s->width + column) + channel] = value;
}

/* Draws the picture of a cell: the photo, the render, or their difference. */
static void put_picture(sheet *s, size_t row, int column, const splat_camera *camera, const uint8_t *photo,
                        const float *render)
{
    size_t width = (size_t)camera->width, plane = splat_camera_pixels(camera), zoom = (size_t)s->zoom;
    size_t left = (size_t)sheet_left(s, column), top = (size_t)sheet_top(s, row);
    for (size_t i = 0; i < plane; i++)
        for (size_t c = 0; c < 3; c++) {
            float truth = photo ? (float)photo[3 * i + c] / 255.0f : 0.0f;
            float shown = render ? render[c * plane + i] : 0.0f;
            put_pixel(s, left + i % width * zoom, top + i / width * zoom, c,
                      splat_image_byte(!render ? truth : !photo ? shown : SHEET_GAIN * fabsf(truth - shown)));
        }
}

static splat_status open_sheet(sheet *s, splat_scene *scene, size_t n_views, splat_error *error)
{
    const splat_dataset *dataset = &scene->dataset;
    bool has_test = dataset->n_test > 0;
    *s = (sheet){.scene = scene};
    s->indices = has_test ? dataset->test : dataset->train;
    s->n_indices = has_test ? dataset->n_test : dataset->n_train;
    s->n_rows = n_views < s->n_indices ? n_views : s->n_indices;
    if (s->n_rows == 0) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a contact sheet needs at least one view");
    for (size_t i = 0; i < s->n_indices; i++) {
        const splat_camera *camera = &dataset->views[s->indices[i]].camera;
        s->cell_width = camera->width > s->cell_width ? camera->width : s->cell_width;
        s->cell_height = camera->height > s->cell_height ? camera->height : s->cell_height;
    }
    s->render = malloc(3 * (size_t)s->cell_width * (size_t)s->cell_height * sizeof *s->render);
    const int larger = s->cell_width > s->cell_height ? s->cell_width : s->cell_height;
    s->zoom = larger < SHEET_CELL ? SHEET_CELL / larger : 1;
    s->cell_width *= s->zoom;
    s->cell_height *= s->zoom;
    s->width = SHEET_GAP + 3 * (s->cell_width + SHEET_GAP);
    s->scale = s->cell_width < 800 ? 1 : s->cell_width / 400;
    s->line_height = (SPLAT_TEXT_HEIGHT + 4) * s->scale;
    s->height = sheet_top(s, s->n_rows);
    size_t sheet_bytes = 3 * (size_t)s->width * (size_t)s->height;
    s->rgb = malloc(sheet_bytes);
    if (!s->rgb || !s->render) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a contact sheet");
    memset(s->rgb, 255, sheet_bytes);
    return SPLAT_OK;
}

static bool is_jpeg(const char *path)
{
    const char *end = strrchr(splat_basename(path), '.');
    return end && (strcasecmp(end, ".jpg") == 0 || strcasecmp(end, ".jpeg") == 0);
}

static splat_status save_sheet(const sheet *s, const char *path, splat_error *error)
{
    uint8_t *data;
    size_t size;
    SPLAT_TRY(splat_folder_create_for(path, error));
    if (!is_jpeg(path)) return splat_png_write(path, s->width, s->height, 3, 8, s->rgb, error);
    SPLAT_TRY(splat_jpeg_encode(path, s->width, s->height, s->rgb, SHEET_QUALITY, &data, &size, error));
    splat_status status = splat_file_write(path, data, size, error);
    free(data);
    return status;
}

static void close_sheet(sheet *s)
{
    free(s->rgb);
    free(s->render);
}

/* The views of the rows are evenly spread. */
static uint32_t view_of(const sheet *s, size_t row)
{
    return s->indices[(2 * row + 1) * s->n_indices / (2 * s->n_rows)];
}

/* ---------------------------------------------------------------- of a splat */

/* Renders into s->render. The photo stays acquired. */
static splat_status render_splat(sheet *s, splat_evaluator *evaluator, uint32_t index, const uint8_t **photo,
                                 splat_metrics *metrics, splat_error *error)
{
    splat_backend *b = evaluator->model->context->backend;
    SPLAT_TRY(splat_evaluator_view(evaluator, index, false, photo, metrics, error));
    size_t bytes = 3 * splat_camera_pixels(&s->scene->dataset.views[index].camera) * sizeof *s->render;
    splat_status status = splat_backend_download(b, s->render, evaluator->model->frame.image, bytes, error);
    if (status != SPLAT_OK) splat_image_cache_release(s->scene->cache, index);
    return status;
}

static splat_status splat_row(sheet *s, splat_evaluator *evaluator, size_t row, splat_error *error)
{
    uint32_t index = view_of(s, row);
    const splat_dataset_view *view = &s->scene->dataset.views[index];
    const uint8_t *photo;
    splat_metrics metrics;
    SPLAT_TRY(render_splat(s, evaluator, index, &photo, &metrics, error));
    put_picture(s, row, 0, &view->camera, photo, NULL);
    put_picture(s, row, 1, &view->camera, NULL, s->render);
    put_picture(s, row, 2, &view->camera, photo, s->render);
    put_name(s, row, view->name);
    put_figures(s, row, 1, &metrics);
    splat_image_cache_release(s->scene->cache, index);
    return SPLAT_OK;
}

splat_status splat_contact_sheet_write(splat_model *model, splat_scene *scene, size_t n_views, const char *path,
                                       splat_error *error)
{
    static const char *const titles[3] = {"photo", "render", "error x 4"};
    sheet s;
    splat_evaluator evaluator = splat_evaluator_make(model, scene, &(splat_view_job){0});
    splat_status status = open_sheet(&s, scene, n_views, error);
    if (status == SPLAT_OK) put_titles(&s, titles);
    for (size_t row = 0; row < s.n_rows && status == SPLAT_OK; row++)
        status = splat_row(&s, &evaluator, row, error);
    if (status == SPLAT_OK) status = save_sheet(&s, path, error);
    close_sheet(&s);
    return status;
}

/* ---------------------------------------------------------------- of a mesh */

/* model NULL: the error of the mesh in place of the splat. */
static splat_status mesh_row(sheet *s, splat_mesh_evaluator *mesh, splat_evaluator *splat, size_t row,
                             splat_error *error)
{
    uint32_t index = view_of(s, row);
    const splat_dataset_view *view = &s->scene->dataset.views[index];
    const uint8_t *photo;
    splat_metrics metrics;
    SPLAT_TRY(splat_image_cache_acquire(s->scene->cache, index, &photo, error));
    splat_status status = splat_mesh_evaluator_view(mesh, index, photo, &metrics, error);
    if (status == SPLAT_OK) {
        put_picture(s, row, 0, &view->camera, photo, NULL);
        put_picture(s, row, 1, &view->camera, NULL, mesh->render);
        if (!splat) put_picture(s, row, 2, &view->camera, photo, mesh->render);
        put_name(s, row, view->name);
        put_figures(s, row, 1, &metrics);
    }
    splat_image_cache_release(s->scene->cache, index);
    if (status != SPLAT_OK || !splat) return status;
    SPLAT_TRY(render_splat(s, splat, index, &photo, &metrics, error));
    put_picture(s, row, 2, &view->camera, NULL, s->render);
    put_figures(s, row, 2, &metrics);
    splat_image_cache_release(s->scene->cache, index);
    return SPLAT_OK;
}

splat_status splat_mesh_contact_sheet_write(splat_scene *scene, const char *mesh_path,
                                            const splat_mesh_draw_options *options, splat_model *model, size_t n_views,
                                            const char *path, splat_error *error)
{
    const char *const titles[3] = {"photo", "mesh", model ? "splat" : "error x 4"};
    const splat_view_job job = {.quantize = false};
    sheet s = {0};
    splat_mesh_evaluator mesh;
    splat_evaluator splat = {0};
    if (model) splat = splat_evaluator_make(model, scene, &job);
    splat_status status = splat_mesh_evaluator_open(&mesh, scene, mesh_path, &job, options, error);
    if (status == SPLAT_OK) status = open_sheet(&s, scene, n_views, error);
    if (status == SPLAT_OK) put_titles(&s, titles);
    for (size_t row = 0; row < s.n_rows && status == SPLAT_OK; row++)
        status = mesh_row(&s, &mesh, model ? &splat : NULL, row, error);
    if (status == SPLAT_OK) status = save_sheet(&s, path, error);
    close_sheet(&s);
    splat_mesh_evaluator_close(&mesh);
    return status;
}
