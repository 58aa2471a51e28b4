/* Code shared by COLMAP's two encodings: checks of their values, the search for repeated ids, messages. */
#include "io/colmap/colmap_parse.h"

#include "base/array.h"
#include "base/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SIDE 1000000u /* pixels of a camera; more is a corrupt file */

splat_status splat_colmap_fail(const splat_colmap_place *place, splat_status status, splat_error *error,
                               const char *format, ...)
{
    char message[sizeof error->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (place->line) return splat_fail_line(error, status, place->path, place->line, "%s", message);
    return splat_fail_at(error, status, place->path, place->offset, "%s", message);
}

splat_status splat_colmap_fail_memory(const char *path, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_MEMORY, path, SPLAT_NO_OFFSET, "no memory to read the file");
}

splat_status splat_colmap_check_model(int model_id, const char *unknown, uint32_t camera_id,
                                      const splat_lens_form **form, const splat_colmap_place *place,
                                      splat_error *error)
{
    *form = model_id >= 0 && model_id < SPLAT_LENS_NERFSTUDIO ? splat_lens_form_get(model_id) : NULL;
    if (*form) return SPLAT_OK;
    return splat_colmap_fail(place, SPLAT_ERROR_UNSUPPORTED, error,
                             "Colmap camera model not handled: camera %" PRIu32 " is %.80s, which is none of COLMAP's "
                             "models up to 4.1; run \"colmap image_undistorter\" and use the folder it writes",
                             camera_id, unknown);
}

static bool fits_float(double value)
{
    return isfinite((float)value);
}

static splat_status check_camera(const splat_colmap_camera *camera, bool has_focals, const splat_colmap_place *place,
                                 splat_error *error)
{
    if (camera->width < 1 || camera->height < 1 || camera->width > MAX_SIDE || camera->height > MAX_SIDE)
        return splat_colmap_fail(place, SPLAT_ERROR_FORMAT, error,
                                 "camera %" PRIu32 " has %" PRIu64 " x %" PRIu64 " pixels; each must be 1 to %u",
                                 camera->id, camera->width, camera->height, MAX_SIDE);
    if (!has_focals) return SPLAT_OK;
    if (!((float)camera->fx > 0) || !((float)camera->fy > 0) || !fits_float(camera->fx) || !fits_float(camera->fy))
        return splat_colmap_fail(place, SPLAT_ERROR_FORMAT, error,
                                 "camera %" PRIu32 " has the focal lengths %g, %g; they must be positive numbers",
                                 camera->id, camera->fx, camera->fy);
    if (!fits_float(camera->cx) || !fits_float(camera->cy))
        return splat_colmap_fail(place, SPLAT_ERROR_FORMAT, error,
                                 "camera %" PRIu32 " has the principal point %g, %g, which is not finite", camera->id,
                                 camera->cx, camera->cy);
    return SPLAT_OK;
}

splat_status splat_colmap_set_lens(splat_colmap_camera *camera, const splat_lens_form *form, const double *values,
                                   const splat_colmap_place *place, splat_error *error)
{
    int n = splat_lens_n_parameters(form), first = n - form->n_coefficients;
    camera->fx = camera->fy = camera->cx = camera->cy = 0;
    memset(camera->coefficients, 0, sizeof camera->coefficients);
    if (form->n_focals) {
        camera->fx = values[0];
        camera->fy = values[form->n_focals - 1];
        camera->cx = values[form->n_focals];
        camera->cy = values[form->n_focals + 1];
    }
    SPLAT_TRY(check_camera(camera, form->n_focals > 0, place, error));
    for (int i = first; i < n; i++) {
        if (!fits_float(values[i]))
            return splat_colmap_fail(place, SPLAT_ERROR_FORMAT, error,
                                     "camera %" PRIu32 " (%s) has the coefficient %g, which is not finite", camera->id,
                                     form->name, values[i]);
        camera->coefficients[i - first] = values[i];
    }
    return SPLAT_OK;
}

int splat_colmap_compare_cameras(const void *a, const void *b)
{
    uint32_t first = ((const splat_colmap_camera *)a)->id, second = ((const splat_colmap_camera *)b)->id;
    return (first > second) - (first < second);
}

const splat_colmap_camera *splat_colmap_find_camera(const splat_colmap_model *model, uint32_t id)
{
    const splat_colmap_camera wanted = {.id = id};
    return bsearch(&wanted, model->cameras, model->n_cameras, sizeof wanted, splat_colmap_compare_cameras);
}

splat_status splat_colmap_check_image(const splat_colmap_model *model, const splat_colmap_image *image,
                                      const splat_colmap_place *place, splat_error *error)
{
    const double *q = image->rotation, *t = image->translation;
    double length2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    if (!isfinite(length2) || length2 < 1e-12)
        return splat_colmap_fail(place, SPLAT_ERROR_FORMAT, error,
                                 "image %" PRIu32 " has the quaternion %g %g %g %g, which is no rotation", image->id,
                                 q[0], q[1], q[2], q[3]);
    if (!fits_float(t[0]) || !fits_float(t[1]) || !fits_float(t[2]))
        return splat_colmap_fail(place, SPLAT_ERROR_FORMAT, error,
                                 "image %" PRIu32 " has the translation %g %g %g, which is not finite", image->id, t[0],
                                 t[1], t[2]);
    if (!*image->name)
        return splat_colmap_fail(place, SPLAT_ERROR_FORMAT, error, "image %" PRIu32 " has no file name", image->id);
    if (!splat_name_is_inside(image->name))
        return splat_colmap_fail(place, SPLAT_ERROR_FORMAT, error,
                                 "image %" PRIu32 " has the name \"%.200s\", which leaves the folder of the photos; "
                                 "names must be relative, with forward slashes and without \"..\"", image->id,
                                 image->name);
    if (!splat_colmap_find_camera(model, image->camera_id))
        return splat_colmap_fail(place, SPLAT_ERROR_FORMAT, error,
                                 "image %" PRIu32 " (%.200s) uses camera %" PRIu32 ", which the model does not have",
                                 image->id, image->name, image->camera_id);
    return SPLAT_OK;
}

splat_status splat_colmap_set_point(splat_point *point, const double position[3], const uint8_t color[3],
                                    const splat_colmap_place *place, splat_error *error)
{
    for (int k = 0; k < 3; k++) {
        point->position[k] = (float)position[k];
        point->color[k] = color[k];
    }
    if (isfinite(point->position[0]) && isfinite(point->position[1]) && isfinite(point->position[2])) return SPLAT_OK;
    return splat_colmap_fail(place, SPLAT_ERROR_FORMAT, error, "the point %g %g %g is not finite", position[0],
                             position[1], position[2]);
}

splat_status splat_colmap_tracks_begin(splat_colmap_tracks *tracks, double error_pixels,
                                       const splat_colmap_place *place, splat_error *error)
{
    size_t room = tracks->capacity_points;
    void *errors = splat_array_grow(tracks->errors, &room, tracks->n, sizeof *tracks->errors);
    if (errors) tracks->errors = errors;
    void *ends = errors ? splat_array_grow(tracks->ends, &tracks->capacity_points, tracks->n, sizeof *tracks->ends)
                        : NULL;
    if (!ends) return splat_colmap_fail_memory(place->path, error);
    tracks->ends = ends;
    tracks->errors[tracks->n] = error_pixels > 0 && fits_float(error_pixels) ? (float)error_pixels : 0;
    tracks->ends[tracks->n] = tracks->n ? tracks->ends[tracks->n - 1] : 0;
    tracks->n++;
    return SPLAT_OK;
}

splat_status splat_colmap_tracks_add(splat_colmap_tracks *tracks, uint32_t image_id, const splat_colmap_place *place,
                                     splat_error *error)
{
    size_t *end = &tracks->ends[tracks->n - 1];
    void *grown = splat_array_grow(tracks->image_ids, &tracks->capacity_ids, *end, sizeof *tracks->image_ids);
    if (!grown) return splat_colmap_fail_memory(place->path, error);
    tracks->image_ids = grown;
    tracks->image_ids[(*end)++] = image_id;
    return SPLAT_OK;
}

void splat_colmap_tracks_free(splat_colmap_tracks *tracks)
{
    free(tracks->errors);
    free(tracks->ends);
    free(tracks->image_ids);
    free(tracks->places);
    *tracks = (splat_colmap_tracks){0};
}

splat_status splat_colmap_ids_add(splat_colmap_ids *ids, uint32_t id, const splat_colmap_place *place,
                                  splat_error *error)
{
    void *grown = splat_array_grow(ids->items, &ids->capacity, ids->n, sizeof *ids->items);
    if (!grown) return splat_colmap_fail_memory(place->path, error);
    ids->items = grown;
    ids->items[ids->n++] = (struct splat_colmap_id){id, place->line ? place->line : place->offset};
    return SPLAT_OK;
}

static int compare_ids(const void *a, const void *b)
{
    const struct splat_colmap_id *first = a, *second = b;
    if (first->id != second->id) return first->id < second->id ? -1 : 1;
    return (first->where > second->where) - (first->where < second->where);
}

splat_status splat_colmap_ids_finish(splat_colmap_ids *ids, const char *what, const char *path, bool is_text,
                                     splat_status status, splat_error *error)
{
    if (ids->n) qsort(ids->items, ids->n, sizeof *ids->items, compare_ids);
    for (size_t i = 1; i < ids->n && status == SPLAT_OK; i++) {
        if (ids->items[i].id != ids->items[i - 1].id) continue;
        uint64_t where = ids->items[i].where;
        splat_colmap_place place = {path, is_text ? SPLAT_NO_OFFSET : where, is_text ? where : 0};
        status = splat_colmap_fail(&place, SPLAT_ERROR_FORMAT, error, "the %s id %" PRIu32 " comes twice", what,
                                   ids->items[i].id);
    }
    free(ids->items);
    *ids = (splat_colmap_ids){0};
    return status;
}
