/* Pictures of what clients wish. */
#include "viewer/pictures.h"

#include "io/picture/image_read.h"
#include "io/picture/image_resize.h"
#include "io/picture/image_write.h"

#include "base/clock.h"
#include "io/picture/colormap.h"
#include "io/picture/image.h"
#include "math/camera.h"
#include "model/change.h"
#include "model/render.h"
#include "scene/scene.h"
#include "train/parts/exposure.h"
#include "train/ranks/pictures.h"
#include "train/ranks/shards.h"
#include "train/state.h"
#include "viewer/mesh_pictures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_SMALL 0.75 /* of the side of a picture that is made smaller at all */

/* ---------------------------------------------------------------- kinds */

static bool shows_colours(splat_viewer_kind kind)
{
    return kind == SPLAT_VIEWER_COLOR || kind == SPLAT_VIEWER_ERROR;
}

/* Reads a map in the model's frame into the pixels of a picture. */
static splat_status read_map(splat_model *model, const splat_camera *camera, splat_viewer_kind kind,
                             const splat_model_geometry *g, float *buffer, uint8_t *rgb, splat_error *error)
{
    const splat_frame *frame = &model->frame;
    const size_t n = splat_camera_pixels(camera), n_floats = kind == SPLAT_VIEWER_NORMAL ? 3 * n : n;
    const void *map = kind == SPLAT_VIEWER_DEPTH    ? (const void *)g->maps
                      : kind == SPLAT_VIEWER_NORMAL ? (const void *)(g->maps + n)
                      : kind == SPLAT_VIEWER_ALPHA  ? (const void *)frame->transmittance
                                                    : (const void *)frame->blended;
    SPLAT_TRY(splat_backend_download(model->backend, buffer, map, n_floats * sizeof *buffer, error));
    if (kind == SPLAT_VIEWER_DEPTH) splat_depth_heatmap(n, buffer, rgb);
    if (kind == SPLAT_VIEWER_DENSITY) splat_density_heatmap(camera->width, camera->height, (uint32_t *)buffer, rgb);
    for (size_t i = 0; kind == SPLAT_VIEWER_NORMAL && i < n; i++)
        for (size_t k = 0; k < 3; k++) rgb[3 * i + k] = splat_image_byte(0.5f + 0.5f * buffer[k * n + i]);
    for (size_t i = 0; kind == SPLAT_VIEWER_ALPHA && i < n; i++)
        memset(rgb + 3 * i, splat_image_byte(1.0f - buffer[i]), 3);
    return SPLAT_OK;
}

/* Into the model's frame, of the Gaussians that the wish shows; *undo: what brings the rest back. */
static splat_status draw(splat_viewer *viewer, splat_model *model, const float background[3],
                         const splat_viewer_wish *wish, const splat_camera *camera, splat_model_geometry *g,
                         splat_model_undo *undo, splat_error *error)
{
    const bool has_planes = !shows_colours(wish->kind), counted = wish->kind == SPLAT_VIEWER_DENSITY;
    splat_picture_order order = {.camera = *camera, .has_planes = has_planes, .counted = counted,
                         .change = {.has_box = wish->has_box, .scaling = wish->scaling}};
    memcpy(order.background, background, sizeof order.background);
    memcpy(order.change.low, wish->box.low, sizeof order.change.low);
    memcpy(order.change.high, wish->box.high, sizeof order.change.high);
    if (viewer->trainer && splat_shards_are_apart(viewer->trainer))
        return splat_shards_show(viewer->trainer, &order, g, error);
    SPLAT_TRY(splat_model_apply_change(model, &order.change, undo, error));
    if (has_planes) return splat_model_rasterize_geometry(model, &model->frame, camera, counted, true, g, error);
    return splat_model_rasterize(model, &model->frame, camera, background, false, error);
}

/* ---------------------------------------------------------------- a wish */

/* The photo of a view, as large as the camera. */
static splat_status read_photo(splat_scene *scene, int32_t view, const splat_camera *camera, uint8_t *rgb,
                               splat_error *error)
{
    const splat_camera *own = &scene->dataset.views[view].camera;
    splat_image image = {own->width, own->height, 3, malloc(3 * splat_camera_pixels(own))};
    splat_status status = image.pixels ? splat_scene_read_photo(scene, (size_t)view, image.pixels, error)
                                       : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a photo");
    if (status == SPLAT_OK && (own->width != camera->width || own->height != camera->height))
        status = splat_image_resize(&image, camera->width, camera->height, error);
    if (status == SPLAT_OK) memcpy(rgb, image.pixels, 3 * splat_camera_pixels(camera));
    splat_image_free(&image);
    return status;
}

/* Compares the rendered picture with the photo of the wish's view. */
static splat_status compare(splat_viewer *viewer, const splat_viewer_wish *wish, const splat_camera *camera,
                            float *buffer, uint8_t *rgb, splat_error *error)
{
    const size_t n = 3 * splat_camera_pixels(camera);
    uint8_t *photo = malloc(n);
    splat_status status = photo ? read_photo(viewer->scene, wish->view, camera, photo, error)
                                : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a photo");
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) buffer[i] = fminf(fmaxf(buffer[i], 0), 1);
    if (status == SPLAT_OK) splat_error_map(camera->width, camera->height, buffer, photo, rgb);
    free(photo);
    return status;
}

/* The picture in the model's frame as the photo of a view was exposed, where that is known. */
static splat_status expose(splat_viewer *viewer, splat_model *model, int32_t index, const splat_camera *camera,
                           splat_error *error)
{
    const splat_dataset_view *view = &viewer->scene->dataset.views[index];
    if (viewer->trainer) return splat_exposures_show(viewer->trainer, (size_t)index, camera, error);
    return splat_model_expose(model, camera, &viewer->exposures,
                              splat_exposures_find(&viewer->exposures, view->photo_name), view->crop, error);
}

/* Reads the rendered picture to the host; an error picture compares as the loss does. */
static splat_status read_kind(splat_viewer *viewer, splat_model *model, const splat_viewer_wish *wish,
                              const splat_camera *camera, const splat_model_geometry *g, float *buffer, uint8_t *rgb,
                              splat_error *error)
{
    const size_t bytes = 3 * splat_camera_pixels(camera) * sizeof *buffer;
    const bool is_error = wish->kind == SPLAT_VIEWER_ERROR;
    if (!shows_colours(wish->kind)) return read_map(model, camera, wish->kind, g, buffer, rgb, error);
    if (is_error) SPLAT_TRY(expose(viewer, model, wish->view, camera, error));
    SPLAT_TRY(splat_backend_download(model->backend, buffer, model->frame.image, bytes, error));
    return is_error ? compare(viewer, wish, camera, buffer, rgb, error) : SPLAT_OK;
}

static splat_status draw_mesh(splat_viewer *viewer, const float background[3], const splat_viewer_wish *wish,
                              const splat_camera *camera, float *buffer, uint8_t *rgb, splat_error *error)
{
    if (wish->kind != SPLAT_VIEWER_COLOR && wish->kind != SPLAT_VIEWER_ERROR)
        return splat_viewer_mesh_map(viewer->mesh, wish, camera, background, buffer, rgb, error);
    SPLAT_TRY(splat_viewer_mesh_colors(viewer->mesh, wish, camera, background, buffer, error));
    return wish->kind == SPLAT_VIEWER_ERROR ? compare(viewer, wish, camera, buffer, rgb, error) : SPLAT_OK;
}

static splat_status render_wish(splat_viewer *viewer, splat_model *model, const float background[3],
                                const splat_viewer_wish *wish, const splat_camera *camera, float *buffer, uint8_t *rgb,
                                splat_error *error)
{
    splat_model_undo undo = {.opacities = {0}};
    splat_model_geometry geometry;
    splat_error later;
    if (wish->kind == SPLAT_VIEWER_PHOTO) return read_photo(viewer->scene, wish->view, camera, rgb, error);
    if (!model) return draw_mesh(viewer, background, wish, camera, buffer, rgb, error);
    splat_status status = draw(viewer, model, background, wish, camera, &geometry, &undo, error);
    if (status == SPLAT_OK) status = read_kind(viewer, model, wish, camera, &geometry, buffer, rgb, error);
    if (splat_model_undo_change(model, &undo, &later) == SPLAT_OK) return status;
    if (error) *error = later;
    return later.status;
}

/* The camera of a view, no larger than was asked for. */
static splat_camera camera_of_view(const splat_scene *scene, const splat_viewer_wish *wish)
{
    const splat_camera *own = &scene->dataset.views[wish->view].camera;
    double x = (double)wish->camera.width / own->width, y = (double)wish->camera.height / own->height;
    double factor = fmin(x, y);
    return factor < 1 ? splat_viewer_scale_camera(own, factor) : *own;
}

/* Estimates the cost of a picture: seconds for its Gaussians, independent of its size, and for each pixel. False: no
 * picture was made yet. */
static bool estimate_cost(const splat_viewer *viewer, double *fixed, double *pixel)
{
    const double n_small = viewer->cost[0].pixels, n_full = viewer->cost[1].pixels;
    const double small = viewer->cost[0].seconds, full = viewer->cost[1].seconds;
    if (n_full == 0 && n_small == 0) return false;
    *pixel = n_full > 0 ? full / n_full : small / n_small;
    if (n_small > 0 && n_small < 0.7 * n_full && small < full) *pixel = (full - small) / (n_full - n_small);
    *fixed = n_full > 0 ? fmax(0, full - *pixel * n_full) : 0;
    return true;
}

/* The camera of a wish: full, or while it moves as small as its time asks for. Where the Gaussians alone take that time
 * a picture without pixels would not be much sooner: the pixels get half as much again. */
static splat_camera choose_camera(const splat_viewer *viewer, const splat_viewer_wish *wish)
{
    double fixed = 0, pixel = 0, factor = 0.25;
    if (wish->view >= 0) return camera_of_view(viewer->scene, wish);
    if (!wish->moving) return wish->camera;
    if (estimate_cost(viewer, &fixed, &pixel)) {
        const double n = (double)splat_camera_pixels(&wish->camera);
        factor = sqrt(fmax(viewer->moving_seconds - fixed, 0.5 * fixed) / (pixel * n));
        if (fixed + pixel * n > viewer->moving_seconds) factor = fmin(factor, LARGEST_SMALL);
    }
    factor = fmax(viewer->moving_smallest, floor(8 * factor) / 8); /* steps: sizes that wander look restless */
    return factor < 1 ? splat_viewer_scale_camera(&wish->camera, factor) : wish->camera;
}

static void note_cost(splat_viewer *viewer, const splat_viewer_wish *wish, double seconds, double pixels)
{
    const bool is_full = !wish->moving || pixels == (double)splat_camera_pixels(&wish->camera);
    if (wish->kind == SPLAT_VIEWER_PHOTO || wish->view >= 0) return;
    const double scale = viewer->cost[is_full].pixels > 0 ? pixels / viewer->cost[is_full].pixels : 1;
    const double before = viewer->cost[is_full].seconds * scale;
    viewer->cost[is_full].seconds = before > 0 ? 0.7 * before + 0.3 * seconds : seconds;
    viewer->cost[is_full].pixels = pixels;
}

splat_status splat_viewer_make(splat_viewer *viewer, splat_model *model, const float background[3],
                               const splat_viewer_job *job, splat_error *error)
{
    const splat_viewer_wish *wish = &job->wish;
    const bool is_there = model ? wish->kind != SPLAT_VIEWER_SHADED : splat_viewer_mesh_has(wish->kind);
    if (!is_there ||
        (wish->view >= 0 && (!viewer->scene || (size_t)wish->view >= viewer->scene->dataset.n_views))) {
        splat_viewer_deliver(viewer, job, (splat_viewer_image){0}); /* a page of another scene: it will know soon */
        return SPLAT_OK;
    }
    const splat_camera camera = choose_camera(viewer, wish);
    const size_t n = splat_camera_pixels(&camera);
    const double start = splat_clock_seconds();
    const bool is_color = wish->kind == SPLAT_VIEWER_COLOR; /* their bytes are made by the client's thread */
    splat_viewer_image image = {camera.width, camera.height, malloc(3 * n * sizeof(float)),
                                is_color ? NULL : malloc(3 * n)};
    splat_status status = image.planar && (image.rgb || is_color)
                              ? render_wish(viewer, model, background, wish, &camera, image.planar, image.rgb, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a picture of %d x %d",
                                           camera.width, camera.height);
    if (!is_color || status != SPLAT_OK) {
        free(image.planar);
        image.planar = NULL;
    }
    if (status != SPLAT_OK) {
        free(image.rgb);
        image.rgb = NULL;
    }
    note_cost(viewer, wish, splat_clock_seconds() - start, (double)n);
    splat_viewer_deliver(viewer, job, image);
    return status;
}
