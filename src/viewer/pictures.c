/* Pictures of what clients wish. */
#include "viewer/pictures.h"

#include "base/clock.h"
#include "io/picture/colormap.h"
#include "io/picture/image.h"
#include "math/camera.h"
#include "model/expose.h"
#include "model/model.h"
#include "scene/scene.h"
#include "train/trainer.h"
#include "viewer/mesh_pictures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_SMALL 0.75 /* of the side of a picture that is made smaller at all */

/* ---------------------------------------------------------------- kinds */

static splat_status render_map(splat_model *model, const splat_camera *camera, splat_viewer_kind kind, float *buffer,
                               uint8_t *rgb, splat_error *error)
{
    const size_t n = splat_camera_pixels(camera);
    splat_geometry_maps maps = {0};
    if (kind == SPLAT_VIEWER_DEPTH) maps.depth = buffer;
    if (kind == SPLAT_VIEWER_NORMAL) maps.normal = buffer;
    if (kind == SPLAT_VIEWER_ALPHA) maps.alpha = buffer;
    if (kind == SPLAT_VIEWER_DENSITY) maps.blended = (uint32_t *)buffer;
    SPLAT_TRY(splat_model_render_geometry(model, camera, &maps, error));
    if (kind == SPLAT_VIEWER_DEPTH) splat_depth_heatmap(n, buffer, rgb);
    if (kind == SPLAT_VIEWER_DENSITY) splat_density_heatmap(camera->width, camera->height, maps.blended, rgb);
    for (size_t i = 0; kind == SPLAT_VIEWER_NORMAL && i < n; i++)
        for (size_t k = 0; k < 3; k++) rgb[3 * i + k] = splat_image_byte(0.5f + 0.5f * buffer[k * n + i]);
    for (size_t i = 0; kind == SPLAT_VIEWER_ALPHA && i < n; i++) memset(rgb + 3 * i, splat_image_byte(buffer[i]), 3);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- other Gaussians for one picture */

/* Parameters that are other ones for a picture, and were put aside for it; zero: none are. */
typedef struct aside {
    float *on_device, *kept, *shown;
    size_t bytes;
} aside;

static void forget(aside *a)
{
    free(a->kept);
    free(a->shown);
    *a = (aside){0};
}

/* Copies n floats of the device. */
static splat_status put_aside(splat_model *model, float *on_device, size_t n, aside *a, splat_error *error)
{
    const size_t bytes = n * sizeof(float);
    *a = (aside){on_device, malloc(bytes + 1), malloc(bytes + 1), bytes};
    splat_status status = a->kept && a->shown
                              ? splat_backend_download(model->backend, a->kept, on_device, bytes, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu other parameters", n);
    if (status != SPLAT_OK) forget(a);
    return status;
}

static splat_status show(splat_model *model, aside *a, splat_error *error)
{
    splat_status status = splat_backend_upload(model->backend, a->on_device, a->shown, a->bytes, error);
    if (status != SPLAT_OK) forget(a);
    return status;
}

/* The parameters as they were, byte for byte. */
static splat_status show_again(splat_model *model, aside *a, splat_error *error)
{
    splat_status status = SPLAT_OK;
    if (a->kept) status = splat_backend_upload(model->backend, a->on_device, a->kept, a->bytes, error);
    if (a->kept && status == SPLAT_OK) status = splat_backend_synchronize(model->backend, error); /* kept goes */
    forget(a);
    return status;
}

/* Gaussians with their centres outside become invisible. */
static splat_status hide_outside(splat_model *model, const splat_viewer_box *box, aside *a, splat_error *error)
{
    const splat_gaussians *g = &model->gaussians;
    float *means = malloc(3 * g->n * sizeof(float) + 1);
    splat_status status =
        means ? splat_backend_download(model->backend, means, g->p.means, 3 * g->n * sizeof(float), error)
              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a box around %u Gaussians", g->n);
    if (status == SPLAT_OK) status = put_aside(model, g->p.opacities, g->n, a, error);
    for (size_t i = 0; i < g->n && status == SPLAT_OK; i++) {
        bool inside = true;
        for (size_t k = 0; k < 3; k++)
            inside &= (double)means[3 * i + k] >= box->low[k] && (double)means[3 * i + k] <= box->high[k];
        a->shown[i] = inside ? a->kept[i] : SPLAT_HIDDEN_OPACITY;
    }
    if (status == SPLAT_OK) status = show(model, a, error);
    free(means);
    return status;
}

/* Gaussians become larger or smaller. */
static splat_status scale_all(splat_model *model, float factor, aside *a, splat_error *error)
{
    const size_t n = 3 * (size_t)model->gaussians.n;
    SPLAT_TRY(put_aside(model, model->gaussians.p.scales, n, a, error));
    for (size_t i = 0; i < n; i++) a->shown[i] = a->kept[i] + logf(factor);
    return show(model, a, error);
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

/* What was drawn against the photo of the wish's view. */
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

/* As the loss compares them. */
static splat_status render_error(splat_viewer *viewer, splat_model *model, const float background[3],
                                 const splat_viewer_wish *wish, const splat_camera *camera, float *buffer, uint8_t *rgb,
                                 splat_error *error)
{
    const size_t bytes = 3 * splat_camera_pixels(camera) * sizeof *buffer;
    splat_frame *frame = &model->frame;
    SPLAT_TRY(splat_model_rasterize(model, frame, camera, background, false, error));
    SPLAT_TRY(expose(viewer, model, wish->view, camera, error));
    SPLAT_TRY(splat_backend_download(model->backend, buffer, frame->image, bytes, error));
    return compare(viewer, wish, camera, buffer, rgb, error);
}

static splat_status render_kind(splat_viewer *viewer, splat_model *model, const float background[3],
                                const splat_viewer_wish *wish, const splat_camera *camera, float *buffer, uint8_t *rgb,
                                splat_error *error)
{
    switch (wish->kind) {
    case SPLAT_VIEWER_COLOR: return splat_model_render(model, camera, background, buffer, error);
    case SPLAT_VIEWER_ERROR: return render_error(viewer, model, background, wish, camera, buffer, rgb, error);
    default: return render_map(model, camera, wish->kind, buffer, rgb, error);
    }
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
    aside opacities = {0}, scales = {0};
    splat_error later;
    splat_status status = SPLAT_OK;
    if (wish->kind == SPLAT_VIEWER_PHOTO) return read_photo(viewer->scene, wish->view, camera, rgb, error);
    if (!model) return draw_mesh(viewer, background, wish, camera, buffer, rgb, error);
    if (wish->has_box) status = hide_outside(model, &wish->box, &opacities, error);
    if (wish->scaling != 1 && status == SPLAT_OK) status = scale_all(model, wish->scaling, &scales, error);
    if (status == SPLAT_OK) status = render_kind(viewer, model, background, wish, camera, buffer, rgb, error);
    for (int i = 0; i < 2; i++) {
        if (show_again(model, i ? &scales : &opacities, &later) == SPLAT_OK) continue;
        if (error) *error = later;
        status = later.status;
    }
    return status;
}

/* The camera of a view, no larger than was asked for. */
static splat_camera camera_of_view(const splat_scene *scene, const splat_viewer_wish *wish)
{
    const splat_camera *own = &scene->dataset.views[wish->view].camera;
    double x = (double)wish->camera.width / own->width, y = (double)wish->camera.height / own->height;
    double factor = fmin(x, y);
    return factor < 1 ? splat_viewer_scale_camera(own, factor) : *own;
}

/* What a picture costs: seconds of its Gaussians, however small it is, and of each pixel. False: none was made yet. */
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
