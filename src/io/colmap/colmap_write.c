/* Writes a COLMAP model in both encodings, without tracks: what samples and tests need. Ids of points count from 1. */
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
        put_u64(stream, 0); /* no 2D points */
    }
}

static void write_images_text(FILE *stream, const splat_colmap_model *model)
{
    fprintf(stream, "# IMAGE_ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA_ID, NAME\n# X, Y, POINT3D_ID triples (none)\n");
    for (size_t i = 0; i < model->n_images; i++) {
        const splat_colmap_image *image = &model->images[i];
        const double *q = image->rotation, *t = image->translation;
        fprintf(stream, "%" PRIu32 " %.17g %.17g %.17g %.17g %.17g %.17g %.17g %" PRIu32 " %s\n\n", image->id, q[0],
                q[1], q[2], q[3], t[0], t[1], t[2], image->camera_id, image->name);
    }
}

static void write_points(FILE *stream, const splat_colmap_model *model)
{
    const double unknown_error = 0;
    put_u64(stream, model->n_points);
    for (size_t i = 0; i < model->n_points; i++) {
        const splat_point *point = &model->points[i];
        const double position[3] = {point->position[0], point->position[1], point->position[2]};
        put_u64(stream, i + 1);
        put(stream, position, sizeof position);
        put(stream, point->color, 3);
        put(stream, &unknown_error, sizeof unknown_error);
        put_u64(stream, 0); /* no track */
    }
}

static void write_points_text(FILE *stream, const splat_colmap_model *model)
{
    fprintf(stream, "# POINT3D_ID, X, Y, Z, R, G, B, ERROR, TRACK[]\n");
    for (size_t i = 0; i < model->n_points; i++) {
        const splat_point *point = &model->points[i];
        fprintf(stream, "%zu %.9g %.9g %.9g %d %d %d 0\n", i + 1, (double)point->position[0],
                (double)point->position[1], (double)point->position[2], point->color[0], point->color[1],
                point->color[2]);
    }
}

splat_status splat_colmap_write(const char *folder, const splat_colmap_model *model, splat_error *error)
{
    static const struct {
        const char *name;
        void (*write)(FILE *stream, const splat_colmap_model *model);
    } files[] = {{"cameras.bin", write_cameras},     {"images.bin", write_images},
                 {"points3D.bin", write_points},     {"cameras.txt", write_cameras_text},
                 {"images.txt", write_images_text},  {"points3D.txt", write_points_text}};
    splat_c_locale locale;
    if (!splat_c_locale_begin(&locale)) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a locale");
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < sizeof files / sizeof files[0] && status == SPLAT_OK; i++) {
        splat_save save;
        char *path = splat_format("%s/%s", folder, files[i].name);
        status = path ? splat_save_open(&save, path, error)
                      : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        if (status == SPLAT_OK) {
            files[i].write(save.stream, model);
            status = splat_save_commit(&save, error);
        }
        free(path);
    }
    splat_c_locale_end(&locale);
    return status;
}
