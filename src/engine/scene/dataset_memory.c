/* Scenes of photos in memory: what their caller gave, checked, as views of a source. */
#include "scene/dataset_memory.h"
#include "scene/dataset_parts.h"
#include "scene/dataset_source.h"

#include "base/file.h"
#include "base/options.h"
#include "io/picture/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GRAY 127

void splat_scene_photo_init_sized(splat_scene_photo *photo, size_t size)
{
    const splat_scene_photo defaults = {.channels = 3, .rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    splat_options_give(photo, size, &defaults, sizeof defaults);
}

void splat_scene_arrays_init_sized(splat_scene_arrays *arrays, size_t size)
{
    const splat_scene_arrays defaults = {0};
    splat_options_give(arrays, size, &defaults, sizeof defaults);
}

/* ---------------------------------------------------------------- checks */

#define FAIL(photo, ...) splat_fail_at(error, SPLAT_ERROR_ARGUMENT, (photo)->name, SPLAT_NO_OFFSET, __VA_ARGS__)

static splat_status check_picture(const splat_scene_photo *photo, splat_error *error)
{
    if (!photo->pixels) return FAIL(photo, "this photo has no pixels; give an array of them");
    if (photo->width < 1 || photo->height < 1 || photo->width > SPLAT_IMAGE_MAX_SIDE ||
        photo->height > SPLAT_IMAGE_MAX_SIDE)
        return FAIL(photo, "this photo has %d x %d pixels; each side must be 1 to %d", photo->width, photo->height,
                    SPLAT_IMAGE_MAX_SIDE);
    if (photo->channels != 3 && photo->channels != 4)
        return FAIL(photo, "this photo has %d channels; it must have 3 (RGB) or 4 (RGBA)", photo->channels);
    if (photo->camera_width < 0 || photo->camera_height < 0 || !photo->camera_width != !photo->camera_height)
        return FAIL(photo, "the camera of this photo has %d x %d pixels; give both sides, or 0 for the size of the "
                    "photo", photo->camera_width, photo->camera_height);
    return SPLAT_OK;
}

/* R R^T = 1 and det R = 1, to what 32-bit numbers that were multiplied a few times still hold. */
static bool is_rotation(const double r[9])
{
    const double tolerance = 1e-3;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double dot = r[3 * i] * r[3 * j] + r[3 * i + 1] * r[3 * j + 1] + r[3 * i + 2] * r[3 * j + 2];
            if (!(fabs(dot - (i == j)) <= tolerance)) return false;
        }
    return r[0] * (r[4] * r[8] - r[5] * r[7]) - r[1] * (r[3] * r[8] - r[5] * r[6]) +
               r[2] * (r[3] * r[7] - r[4] * r[6]) > 0;
}

static splat_status check_pose(const splat_scene_photo *photo, splat_error *error)
{
    if (!is_rotation(photo->rotation))
        return FAIL(photo, "the rotation of this photo is none: its rows must have length 1 and right angles, and "
                    "its determinant must be 1");
    for (int k = 0; k < 3; k++)
        if (!isfinite((float)photo->translation[k]))
            return FAIL(photo, "the translation of this photo is not finite: %g", photo->translation[k]);
    return SPLAT_OK;
}

/* The model and its parameters, in the fields of the view. */
static splat_status take_lens(const splat_scene_photo *photo, splat_source_view *view, splat_error *error)
{
    const char *name = photo->camera_model ? photo->camera_model : "PINHOLE";
    const double *values = photo->parameters;
    int model = splat_lens_find(name);
    if (model < 0)
        return FAIL(photo, "the camera_model of this photo is \"%.80s\", which is none of COLMAP's models: PINHOLE, "
                    "OPENCV, OPENCV_FISHEYE, ...", name);
    const splat_lens_form *form = splat_lens_form_get(model);
    int n = splat_lens_n_parameters(form);
    for (int i = 0; i < n; i++)
        if (!isfinite((float)values[i]) || (i < form->n_focals && !((float)values[i] > 0)))
            return FAIL(photo, "parameter %d of the camera of this photo (%s) is %g; focal lengths must be above 0, "
                        "and all must be finite", i, name, values[i]);
    view->model = (splat_lens_model)model;
    if (form->n_focals) {
        view->fx = values[0];
        view->fy = values[form->n_focals - 1];
        view->cx = values[form->n_focals];
        view->cy = values[form->n_focals + 1];
    }
    memcpy(view->coefficients, values + n - form->n_coefficients, (size_t)form->n_coefficients * sizeof *values);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- photos */

static splat_status take_view(const splat_scene_photo *photo, splat_source_view *view, splat_error *error)
{
    if (!photo->name || !*photo->name || !splat_name_is_inside(photo->name))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a photo has the name \"%.200s\"; it must be that of a file, "
                          "without \"..\" and a leading \"/\"", photo->name ? photo->name : "");
    SPLAT_TRY(check_picture(photo, error));
    SPLAT_TRY(check_pose(photo, error));
    SPLAT_TRY(take_lens(photo, view, error));
    view->path = strdup(photo->name);
    if (!view->path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    view->relative = view->path;
    memcpy(view->rotation, photo->rotation, sizeof view->rotation);
    memcpy(view->translation, photo->translation, sizeof view->translation);
    view->width = photo->camera_width ? photo->camera_width : photo->width;
    view->height = photo->camera_height ? photo->camera_height : photo->height;
    view->is_test = photo->is_test;
    return SPLAT_OK;
}

/* Photo i of the caller, by the size of the caller's struct. */
static splat_status copy_photo(const splat_scene_arrays *arrays, size_t i, splat_scene_photo *photo,
                               splat_error *error)
{
    size_t stride = arrays->photos->size;
    const char *at = (const char *)arrays->photos + i * stride;
    splat_scene_photo_init(photo);
    if (i > 0 && memcmp(at, &stride, sizeof stride) != 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "photo %zu of a splat_scene_arrays says another size than the "
                          "first; begin each with splat_scene_photo_init", i);
    return splat_options_take(photo, at, "splat_scene_photo", error);
}

splat_status splat_source_from_memory(const splat_scene_arrays *arrays, const splat_scene_options *options,
                                      splat_scene_photo **photos, splat_source *source, splat_error *error)
{
    size_t n = arrays->n_photos;
    *source = (splat_source){.format = "memory", .in_memory = arrays};
    if (n == 0 || !arrays->photos)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a scene in memory needs photos; there are none");
    source->views = calloc(n, sizeof *source->views);
    *photos = calloc(n, sizeof **photos);
    splat_status status = SPLAT_OK;
    if (!source->views || !*photos)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu views", n);
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
        splat_scene_photo *photo = &(*photos)[i];
        splat_source_view *view = &source->views[source->n_views++];
        status = copy_photo(arrays, i, photo, error);
        if (status == SPLAT_OK) status = take_view(photo, view, error);
        view->in_memory = photo;
        source->has_split |= options->eval && photo->is_test;
        photo->name = photo->camera_model = NULL; /* the caller's, and not needed any more */
    }
    if (status == SPLAT_OK) status = splat_source_sort(source, error);
    if (status != SPLAT_OK) splat_source_free(source);
    return status;
}

/* ---------------------------------------------------------------- points */

splat_status splat_source_memory_points(const splat_scene_arrays *arrays, splat_point **points, size_t *n,
                                        splat_error *error)
{
    if (arrays->n_points && !arrays->points)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a scene in memory has %zu points, but points is NULL",
                          arrays->n_points);
    *points = calloc(arrays->n_points + 1, sizeof **points); /* zero padding: the same bytes every time */
    if (!*points) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu points", arrays->n_points);
    *n = arrays->n_points;
    for (size_t i = 0; i < arrays->n_points; i++)
        for (size_t k = 0; k < 3; k++) {
            float value = arrays->points[3 * i + k];
            if (!isfinite(value))
                return splat_fail(error, SPLAT_ERROR_ARGUMENT, "point %zu of the scene is not finite; leave it away",
                                  i);
            (*points)[i].position[k] = value;
            (*points)[i].color[k] = arrays->colors ? arrays->colors[3 * i + k] : GRAY;
        }
    return SPLAT_OK;
}
