/* The training views of a splat as depth, normals and plain colours; and points at the median depth. */
#include "surface/extract/surface_views.h"

#include "backend/host_room.h"
#include "io/picture/image_write.h"
#include "model/model.h"
#include "scene/dataset.h"
#include "scene/scene.h"
#include "scene/sky.h"
#include "surface/extract/extraction.h"
#include "surface/extract/surface_points.h"

#include "base/rng.h"
#include "math/camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- cameras and pictures */

splat_camera splat_surface_camera(const splat_scene *scene, size_t number, float resolution_factor)
{
    const splat_dataset *dataset = &scene->dataset;
    splat_camera camera = dataset->views[dataset->train[number]].camera;
    int width = (int)lround((double)camera.width * (double)resolution_factor),
        height = (int)lround((double)camera.height * (double)resolution_factor);
    if (resolution_factor == 1.0f) return camera;
    return splat_camera_resized(&camera, width > 0 ? width : 1, height > 0 ? height : 1);
}

splat_camera splat_surface_camera_within(const splat_scene *scene, size_t number, double most_pixels)
{
    const splat_camera full = splat_surface_camera(scene, number, 1);
    const double factor = sqrt(most_pixels / (double)splat_camera_pixels(&full));
    return factor < 1 ? splat_surface_camera(scene, number, (float)factor) : full;
}

size_t splat_surface_pixels(const splat_scene *scene, float resolution_factor)
{
    size_t most = 0;
    for (size_t i = 0; i < scene->dataset.n_train; i++) {
        splat_camera camera = splat_surface_camera(scene, i, resolution_factor);
        size_t n = splat_camera_pixels(&camera);
        if (n > most) most = n;
    }
    return most;
}

splat_status splat_surface_render(splat_model *model, const splat_camera *camera, float *rgb, float *alpha,
                                  splat_error *error)
{
    const float black[3] = {0, 0, 0};
    size_t n = splat_camera_pixels(camera);
    int degree = model->gaussians.active_sh_degree;
    model->gaussians.active_sh_degree = 0;
    splat_status status = splat_model_render(model, camera, black, rgb, error);
    model->gaussians.active_sh_degree = degree;
    if (status != SPLAT_OK) return status;
    SPLAT_TRY(splat_backend_download(model->backend, alpha, model->frame.transmittance, n * sizeof *alpha, error));
#pragma omp parallel for num_threads(model->context->threads) schedule(static)
    for (size_t i = 0; i < n; i++) alpha[i] = 1.0f - alpha[i];
    return SPLAT_OK;
}

void splat_surface_color(const float *rgb, const float *alpha, size_t n_pixels, size_t i, uint8_t color[3])
{
    float inverse = alpha[i] > 1e-3f ? 1.0f / alpha[i] : 0.0f;
    for (size_t c = 0; c < 3; c++) color[c] = splat_image_byte(rgb[c * n_pixels + i] * inverse);
}

/* ---------------------------------------------------------------- views */

typedef struct view_buffers {
    splat_host_room room; /* what the device writes: 32 bytes a pixel and view come */
    float *maps;          /* depth, normal (3 planes), alpha */
    float *render;
    uint8_t *rgb, *state, *kept;
} view_buffers;

static void free_buffers(splat_backend *backend, view_buffers *b)
{
    splat_host_room_free(&b->room, backend);
    free(b->rgb);
    free(b->state);
    free(b->kept);
}

static splat_status make_buffers(splat_backend *backend, size_t n, bool has_masks, view_buffers *b,
                                 splat_error *error)
{
    *b = (view_buffers){.rgb = malloc(3 * n), .state = malloc(n), .kept = has_masks ? malloc(n) : NULL};
    splat_host_room_make(&b->room, backend, "maps of a view", 8 * n * sizeof *b->maps, NULL);
    b->maps = b->room.data;
    if (b->maps && b->rgb && b->state && (b->kept || !has_masks)) {
        b->render = b->maps + 5 * n;
        return SPLAT_OK;
    }
    free_buffers(backend, b);
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a view of %zu pixels", n);
}

static splat_status see(splat_model *model, const splat_camera *camera, float min_alpha, view_buffers *b,
                        splat_surface_view *view, splat_error *error)
{
    size_t n = splat_camera_pixels(camera);
    float *depth = b->maps, *normal = depth + n, *alpha = depth + 4 * n;
    splat_geometry_maps maps = {.median = depth, .normal = normal};
    SPLAT_TRY(splat_model_render_geometry(model, camera, &maps, error));
    SPLAT_TRY(splat_surface_render(model, camera, b->render, alpha, error));
#pragma omp parallel for num_threads(model->context->threads) schedule(static)
    for (size_t i = 0; i < n; i++) {
        if (!(alpha[i] >= min_alpha)) depth[i] = 0;
        splat_surface_color(b->render, alpha, n, i, b->rgb + 3 * i);
        b->state[i] = SPLAT_PIXEL_SILENT;
    }
    view->camera = camera;
    view->depth = depth;
    view->normal = normal;
    view->alpha = alpha;
    view->rgb = b->rgb;
    view->state = b->state;
    return SPLAT_OK;
}

/* Masked pixels show no surface; and one sees through them where nothing shall be, not where nothing is known. */
static splat_status leave_masked(splat_scene *scene, const splat_surface_view *view, const view_buffers *b,
                                 splat_error *error)
{
    const splat_dataset *dataset = &scene->dataset;
    size_t n = splat_camera_pixels(view->camera);
    bool is_unknown = dataset->mask_mode == SPLAT_MASKS_IGNORE;
    float *depth = b->maps, *alpha = depth + 4 * n;
    if (!dataset->views[view->index].has_mask) return SPLAT_OK;
    SPLAT_TRY(splat_scene_read_mask(scene, view->index, view->camera->width, view->camera->height, b->kept, error));
    for (size_t i = 0; i < n; i++) {
        if (b->kept[i]) continue;
        depth[i] = 0;
        alpha[i] = is_unknown;
        b->state[i] = is_unknown ? SPLAT_PIXEL_MASKED : SPLAT_PIXEL_SKY;
    }
    return SPLAT_OK;
}

/* Trusted sky is free space. */
static splat_status leave_sky(const splat_sky *sky, const splat_surface_view *view, const view_buffers *b,
                              splat_error *error)
{
    size_t n = splat_camera_pixels(view->camera);
    float *depth = b->maps, *alpha = depth + 4 * n;
    uint8_t *trusted;
    SPLAT_TRY(splat_sky_take_trusted(sky, view->number, view->camera->width, view->camera->height, &trusted, error));
    for (size_t i = 0; trusted && i < n; i++)
        if (trusted[i]) {
            depth[i] = alpha[i] = 0;
            b->state[i] = SPLAT_PIXEL_SKY;
        }
    free(trusted);
    return SPLAT_OK;
}

splat_status splat_surface_views(splat_scene *scene, splat_model *model, const splat_mesh_extract_options *options,
                                 splat_surface_function use, void *user, splat_error *error)
{
    const splat_dataset *dataset = &scene->dataset;
    const splat_sky *sky;
    view_buffers buffers;
    SPLAT_TRY(splat_scene_find_sky(scene, &sky, error));
    SPLAT_TRY(make_buffers(model->backend, splat_surface_pixels(scene, options->resolution_factor),
                           dataset->n_masked > 0, &buffers, error));
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < dataset->n_train && status == SPLAT_OK; i++) {
        splat_surface_view view = {.index = dataset->train[i], .number = i};
        splat_camera camera = splat_surface_camera(scene, i, options->resolution_factor);
        status = see(model, &camera, options->min_alpha, &buffers, &view, error);
        if (status == SPLAT_OK) status = leave_masked(scene, &view, &buffers, error);
        if (status == SPLAT_OK && sky->is_found) status = leave_sky(sky, &view, &buffers, error);
        if (status == SPLAT_OK) status = use(user, &view, error);
    }
    free_buffers(model->backend, &buffers);
    return status;
}

/* ---------------------------------------------------------------- points at the median depth */

#define GRAZING 0.1f /* cosine: surfaces seen at a flatter angle have uncertain depth and normals */

typedef struct collector {
    splat_surface_points *points;
    const splat_scene *scene;
    const splat_mesh_extract_options *options;
} collector;

/* The point behind the centre of a pixel; the cosine at which the surface is seen. */
static float point_of(const splat_surface_view *view, size_t i, float position[3], float normal[3])
{
    const splat_camera *c = view->camera;
    size_t width = (size_t)c->width, n = width * (size_t)c->height;
    float z = view->depth[i], x = (float)(i % width) + 0.5f, y = (float)(i / width) + 0.5f;
    const float local[3] = {(x - c->cx) / c->fx * z, (y - c->cy) / c->fy * z, z};
    float length = 0, along = 0;
    for (int k = 0; k < 3; k++) {
        float offset = c->rotation[k] * local[0] + c->rotation[3 + k] * local[1] + c->rotation[6 + k] * local[2];
        position[k] = c->center[k] + offset;
        normal[k] = view->normal[(size_t)k * n + i];
        length += offset * offset;
        along -= offset * normal[k];
    }
    return along / sqrtf(length);
}

static splat_status collect(void *user, const splat_surface_view *view, splat_error *error)
{
    collector *c = user;
    const splat_camera *camera = view->camera;
    size_t n = splat_camera_pixels(camera), n_left = 0;
    size_t n_wanted = splat_surface_share(c->scene, c->options, view->number);
    for (size_t i = 0; i < n; i++) n_left += view->depth[i] > 0;
    for (size_t i = 0; i < n; i++) {
        float position[3], normal[3];
        if (!(view->depth[i] > 0)) continue;
        splat_random4 r = splat_random(c->options->seed, SPLAT_STREAM_SURFACE_POINTS, view->index, (uint32_t)i);
        if (splat_surface_pick(r.x[0], &n_wanted, &n_left) && point_of(view, i, position, normal) > GRAZING)
            splat_surface_points_add(c->points, position, normal, view->rgb + 3 * i);
    }
    return splat_surface_go_on(c->options, "looking for surface",
                               (double)(view->number + 1) / (double)c->scene->dataset.n_train, error);
}

splat_status splat_surface_depths(splat_scene *scene, splat_model *model, const splat_mesh_extract_options *options,
                                  splat_surface_points *points, splat_error *error)
{
    collector c = {points, scene, options};
    SPLAT_TRY(splat_surface_go_on(options, "looking for surface", 0, error));
    SPLAT_TRY(splat_surface_views(scene, model, options, collect, &c, error));
    if (points->n > 0) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_NUMERIC,
                      "no training view sees a surface of this splat (alpha of %g or more); is it a splat of this "
                      "scene?", (double)options->min_alpha);
}
