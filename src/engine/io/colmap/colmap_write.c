/* Writes a COLMAP model in both encodings: what samples and tests need. Ids of points count from 1. */
#include "io/colmap/colmap_write.h"

#include "io/colmap/colmap.h"

#include "base/c_locale.h"
#include "base/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void put(FILE *stream, const void *value, size_t size)
{
    fwrite(value, 1, size, stream); /* errors stay in the stream until the commit */
}

static void put_u64(FILE *stream, uint64_t value)
{
    put(stream, &value, sizeof value);
}

/* In COLMAP's order; their number. */
static int list_parameters(const splat_colmap_camera *camera, double parameters[SPLAT_LENS_PARAMETERS])
{
    const splat_lens_form *form = splat_lens_form_get(camera->model_id);
    int n = 0;
    if (form->n_focals) {
        parameters[n++] = camera->fx;
        if (form->n_focals == 2) parameters[n++] = camera->fy;
        parameters[n++] = camera->cx;
        parameters[n++] = camera->cy;
    }
    memcpy(parameters + n, camera->coefficients, (size_t)form->n_coefficients * sizeof *parameters);
    return n + form->n_coefficients;
}

static void write_cameras(FILE *stream, const splat_colmap_model *model)
{
    put_u64(stream, model->n_cameras);
    for (size_t i = 0; i < model->n_cameras; i++) {
        const splat_colmap_camera *camera = &model->cameras[i];
        const int32_t model_id = camera->model_id;
        double parameters[SPLAT_LENS_PARAMETERS];
        int n = list_parameters(camera, parameters);
        put(stream, &camera->id, 4);
        put(stream, &model_id, 4);
        put_u64(stream, camera->width);
        put_u64(stream, camera->height);
        put(stream, parameters, (size_t)n * sizeof *parameters);
    }
}

static void write_cameras_text(FILE *stream, const splat_colmap_model *model)
{
    fprintf(stream, "# CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]\n");
    for (size_t i = 0; i < model->n_cameras; i++) {
        const splat_colmap_camera *camera = &model->cameras[i];
        double parameters[SPLAT_LENS_PARAMETERS];
        int n = list_parameters(camera, parameters);
        fprintf(stream, "%" PRIu32 " %s %" PRIu64 " %" PRIu64, camera->id, splat_lens_form_get(camera->model_id)->name,
                camera->width, camera->height);
        for (int k = 0; k < n; k++) fprintf(stream, " %.17g", parameters[k]);
        fprintf(stream, "\n");
    }
}

/* ---------------------------------------------------------------- tracks */

/* Calls for every place of an image, in the order of the points: their numbers in it count up. */
typedef void put_place(FILE *stream, const float place[2], uint64_t point_id);

static uint64_t count_places(const splat_colmap_model *model, uint32_t image_id)
{
    const splat_colmap_tracks *t = model->tracks;
    uint64_t n = 0;
    for (size_t k = 0; t && t->n && k < t->ends[t->n - 1]; k++) n += t->image_ids[k] == image_id;
    return n;
}

static void write_places(FILE *stream, const splat_colmap_model *model, uint32_t image_id, put_place *write)
{
    const splat_colmap_tracks *t = model->tracks;
    for (size_t i = 0, k = 0; t && i < t->n; i++)
        for (; k < t->ends[i]; k++)
            if (t->image_ids[k] == image_id) write(stream, t->places + 2 * k, i + 1);
}

static void put_place_binary(FILE *stream, const float place[2], uint64_t point_id)
{
    const double values[2] = {(double)place[0], (double)place[1]};
    put(stream, values, sizeof values);
    put_u64(stream, point_id);
}

static void put_place_text(FILE *stream, const float place[2], uint64_t point_id)
{
    fprintf(stream, "%.9g %.9g %" PRIu64 " ", (double)place[0], (double)place[1], point_id);
}

/* ---------------------------------------------------------------- images */

static void write_images(FILE *stream, const splat_colmap_model *model)
{
    put_u64(stream, model->n_images);
    for (size_t i = 0; i < model->n_images; i++) {
        const splat_colmap_image *image = &model->images[i];
        put(stream, &image->id, 4);
        put(stream, image->rotation, sizeof image->rotation);
        put(stream, image->translation, sizeof image->translation);
        put(stream, &image->camera_id, 4);
        put(stream, image->name, strlen(image->name) + 1);
        put_u64(stream, count_places(model, image->id));
        write_places(stream, model, image->id, put_place_binary);
    }
}

static void write_images_text(FILE *stream, const splat_colmap_model *model)
{
    fprintf(stream, "# IMAGE_ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA_ID, NAME\n# X, Y, POINT3D_ID triples%s\n",
            model->tracks ? "" : " (none)");
    for (size_t i = 0; i < model->n_images; i++) {
        const splat_colmap_image *image = &model->images[i];
        const double *q = image->rotation, *t = image->translation;
        fprintf(stream, "%" PRIu32 " %.17g %.17g %.17g %.17g %.17g %.17g %.17g %" PRIu32 " %s\n", image->id, q[0],
                q[1], q[2], q[3], t[0], t[1], t[2], image->camera_id, image->name);
        write_places(stream, model, image->id, put_place_text);
        fprintf(stream, "\n");
    }
}

/* ---------------------------------------------------------------- points */

/* next[image id]: the number of its next place. */
typedef void put_view(FILE *stream, uint32_t image_id, uint32_t number);

static void put_view_binary(FILE *stream, uint32_t image_id, uint32_t number)
{
    put(stream, &image_id, 4);
    put(stream, &number, 4);
}

static void put_view_text(FILE *stream, uint32_t image_id, uint32_t number)
{
    fprintf(stream, " %" PRIu32 " %" PRIu32, image_id, number);
}

static void write_track(FILE *stream, const splat_colmap_tracks *t, size_t point, uint32_t *next, put_view *write)
{
    for (size_t k = point ? t->ends[point - 1] : 0; t && k < t->ends[point]; k++)
        write(stream, t->image_ids[k], next[t->image_ids[k]]++);
}

static size_t track_length(const splat_colmap_tracks *t, size_t point)
{
    return t ? t->ends[point] - (point ? t->ends[point - 1] : 0) : 0;
}

static void write_points(FILE *stream, const splat_colmap_model *model, uint32_t *next)
{
    const splat_colmap_tracks *t = model->tracks;
    put_u64(stream, model->n_points);
    for (size_t i = 0; i < model->n_points; i++) {
        const splat_point *point = &model->points[i];
        const double position[3] = {point->position[0], point->position[1], point->position[2]};
        const double error_pixels = t ? (double)t->errors[i] : 0;
        put_u64(stream, i + 1);
        put(stream, position, sizeof position);
        put(stream, point->color, 3);
        put(stream, &error_pixels, sizeof error_pixels);
        put_u64(stream, track_length(t, i));
        if (t) write_track(stream, t, i, next, put_view_binary);
    }
}

static void write_points_text(FILE *stream, const splat_colmap_model *model, uint32_t *next)
{
    const splat_colmap_tracks *t = model->tracks;
    fprintf(stream, "# POINT3D_ID, X, Y, Z, R, G, B, ERROR, TRACK[]\n");
    for (size_t i = 0; i < model->n_points; i++) {
        const splat_point *point = &model->points[i];
        fprintf(stream, "%zu %.9g %.9g %.9g %d %d %d %.9g", i + 1, (double)point->position[0],
                (double)point->position[1], (double)point->position[2], point->color[0], point->color[1],
                point->color[2], t ? (double)t->errors[i] : 0.0);
        if (t) write_track(stream, t, i, next, put_view_text);
        fprintf(stream, "\n");
    }
}

static void write_file(FILE *stream, const splat_colmap_model *model, int file, uint32_t *next)
{
    memset(next, 0, (model->n_images + 1) * sizeof *next);
    switch (file) {
    case 0: write_cameras(stream, model); break;
    case 1: write_images(stream, model); break;
    case 2: write_points(stream, model, next); break;
    case 3: write_cameras_text(stream, model); break;
    case 4: write_images_text(stream, model); break;
    case 5: write_points_text(stream, model, next); break;
    }
}

splat_status splat_colmap_write(const char *folder, const splat_colmap_model *model, splat_error *error)
{
    static const char *const names[] = {"cameras.bin", "images.bin", "points3D.bin",
                                        "cameras.txt", "images.txt", "points3D.txt"};
    splat_c_locale locale;
    uint32_t *next = calloc(model->n_images + 1, sizeof *next);
    splat_status status = SPLAT_OK;
    if (!next || !splat_c_locale_begin(&locale)) {
        free(next);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a model");
    }
    for (int i = 0; i < (int)(sizeof names / sizeof names[0]) && status == SPLAT_OK; i++) {
        splat_save save;
        char *path = splat_format("%s/%s", folder, names[i]);
        status = path ? splat_save_open(&save, path, error)
                      : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        if (status == SPLAT_OK) {
            write_file(save.stream, model, i, next);
            status = splat_save_commit(&save, error);
        }
        free(path);
    }
    splat_c_locale_end(&locale);
    free(next);
    return status;
}
