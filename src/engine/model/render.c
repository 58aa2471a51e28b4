/* Views of a model: the picture, depth and normals, the picture as a photo was exposed, and counts of views. */
#include "model/render.h"

#include "math/camera.h"
#include "model/dome.h"
#include "model/rest.h"
#include "ops/exposure/exposure.h"
#include "ops/geometry/geometry.h"
#include "ops/project/project.h"
#include "ops/view.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- pictures */

splat_screen_filter splat_model_screen_filter(const splat_model *model)
{
    return (splat_screen_filter){model->kernel_size, model->render_mode == SPLAT_RENDER_MIP};
}

splat_status splat_model_begin_view(const splat_model *model, splat_frame *frame, const splat_camera *camera,
                                    const float background[3], splat_error *error)
{
    SPLAT_TRY(splat_view_begin(model->backend, frame, model->gaussians.n, camera, error));
    frame->filter = splat_model_screen_filter(model);
    memcpy(frame->background, background, sizeof frame->background);
    return SPLAT_OK;
}

/* Without a plan, an instance's list, its sort, and on the CPU nothing more; a Gaussian's share of bin's lists is taken
 * off first. */
uint64_t splat_model_max_instances(const splat_model *model)
{
    const splat_memory *memory = &model->backend->memory;
    const size_t each = 24, of_gaussian = 40, least = 1 << 14;
    if (model->max_instances) return model->max_instances;
    if (!memory->limit) return 0;
    size_t held = memory->device.reserved - model->backend->scratch.block.reserved;
    size_t taken = held + of_gaussian * model->gaussians.n + 8 * model->backend->granularity;
    size_t left = memory->limit > taken ? memory->limit - taken : 0;
    return left / each > least ? left / each : least;
}

static splat_status project(const splat_model *model, splat_frame *frame, splat_error *error)
{
    splat_rest_rows rows;
    SPLAT_TRY(splat_rest_open(model, SPLAT_REST_ROWS, &rows, error));
    const struct splat_project_args args = {.gaussians = &rows.gaussians, .frame = frame};
    return splat_op_project(model->backend, &args, error);
}

splat_status splat_model_rasterize(const splat_model *model, splat_frame *frame, const splat_camera *camera,
                                   const float background[3], bool counted, splat_error *error)
{
    splat_backend *b = model->backend;
    size_t count_bytes = splat_camera_pixels(camera) * sizeof *frame->blended;
    SPLAT_TRY(splat_model_begin_view(model, frame, camera, background, error));
    splat_model_set_background(model, frame, background);
    if (counted) SPLAT_TRY(splat_frame_take(b, frame, count_bytes, (void **)&frame->blended, error));
    SPLAT_TRY(project(model, frame, error));
    splat_view_blend blend = {.max_instances = splat_model_max_instances(model), .colors = true};
    return splat_view_forward(b, frame, &blend, error);
}

splat_status splat_model_render(splat_model *model, const splat_camera *camera, const float background[3], float *rgb,
                                splat_error *error)
{
    SPLAT_TRY(splat_model_rasterize(model, &model->frame, camera, background, false, error));
    size_t bytes = 3 * splat_camera_pixels(camera) * sizeof(float);
    return splat_backend_download(model->backend, rgb, model->frame.image, bytes, error);
}

/* ---------------------------------------------------------------- near light */

/* The colours of a view that was projected: red is 1 for Gaussians before `depth`, so red of the picture is their
 * share of the light. Entries that are not visible are undefined, and never blended. */
static splat_status mark_near(splat_model *model, float depth, float *depths, float *colors, splat_error *error)
{
    const size_t n = model->gaussians.n;
    const splat_frame *frame = &model->frame;
    SPLAT_TRY(splat_backend_download(model->backend, depths, frame->depth, n * sizeof *depths, error));
    for (size_t v = 0; v < n; v++) {
        colors[3 * v] = depths[v] < depth;
        colors[3 * v + 1] = colors[3 * v + 2] = 0;
    }
    return splat_backend_upload_and_wait(model->backend, frame->rgb, colors, 3 * n * sizeof *colors, error);
}

static splat_status render_near(splat_model *model, const splat_camera *camera, float depth, float *host,
                                splat_model_light *light, splat_error *error)
{
    const float background[3] = {0, 0, 0};
    const size_t n = model->gaussians.n, n_pixels = splat_camera_pixels(camera), bytes = n_pixels * sizeof *host;
    splat_frame *frame = &model->frame;
    const splat_view_blend blend = {.max_instances = splat_model_max_instances(model), .colors = true};
    *light = (splat_model_light){0, 0};
    SPLAT_TRY(splat_model_begin_view(model, frame, camera, background, error));
    SPLAT_TRY(project(model, frame, error));
    SPLAT_TRY(mark_near(model, depth, host, host + n, error));
    SPLAT_TRY(splat_view_forward(model->backend, frame, &blend, error));
    SPLAT_TRY(splat_backend_download(model->backend, host, frame->image, bytes, error));
    for (size_t i = 0; i < n_pixels; i++) light->near += (double)host[i];
    SPLAT_TRY(splat_backend_download(model->backend, host, frame->transmittance, bytes, error));
    for (size_t i = 0; i < n_pixels; i++) light->all += 1 - (double)host[i];
    return SPLAT_OK;
}

splat_status splat_model_near_light(splat_model *model, const splat_camera *camera, float depth,
                                    splat_model_light *light, splat_error *error)
{
    const size_t of_rows = 4 * (size_t)model->gaussians.n, of_pixels = splat_camera_pixels(camera);
    float *host = malloc((of_rows > of_pixels ? of_rows : of_pixels) * sizeof *host);
    if (!host) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the near light of a view");
    splat_status status = render_near(model, camera, depth, host, light, error);
    free(host);
    return status;
}

/* ---------------------------------------------------------------- depth and normals */

#define TAKE(pointer, n)                                                                                               \
    SPLAT_TRY(splat_frame_take(backend, frame, (size_t)(n) * sizeof *(pointer), (void **)&(pointer), error))

splat_status splat_model_rasterize_geometry(const splat_model *model, splat_frame *frame, const splat_camera *camera,
                                            bool counted, bool world, splat_model_geometry *geometry,
                                            splat_error *error)
{
    const float background[3] = {0, 0, 0};
    splat_backend *backend = model->backend;
    size_t n_pixels = splat_camera_pixels(camera);
    float *features, *spans;
    SPLAT_TRY(splat_model_begin_view(model, frame, camera, background, error));
    TAKE(geometry->maps, SPLAT_GEOMETRY_CHANNELS * n_pixels);
    TAKE(geometry->median, n_pixels);
    TAKE(features, SPLAT_GEOMETRY_CHANNELS * (size_t)model->gaussians.n);
    TAKE(spans, 2 * (size_t)model->gaussians.n);
    if (counted) TAKE(frame->blended, n_pixels);
    SPLAT_TRY(project(model, frame, error));
    struct splat_geometry_features_args describe = {&model->gaussians, frame, world, false, features, spans};
    SPLAT_TRY(splat_op_geometry_features(backend, &describe, error));
    struct splat_geometry_args maps = {frame, features, true, geometry->maps, geometry->median, spans, world};
    splat_view_blend blend = {.max_instances = splat_model_max_instances(model), .colors = counted, .geometry = &maps};
    return splat_view_forward(backend, frame, &blend, error);
}

splat_status splat_model_render_geometry(splat_model *model, const splat_camera *camera,
                                         const splat_geometry_maps *maps, splat_error *error)
{
    splat_model_geometry g;
    splat_frame *frame = &model->frame;
    SPLAT_TRY(splat_model_rasterize_geometry(model, frame, camera, maps->blended != NULL, !maps->camera_space, &g,
                                             error));
    size_t n_pixels = splat_camera_pixels(camera), plane = n_pixels * sizeof(float);
    const struct {
        void *host;
        const void *device;
        size_t bytes;
    } copies[] = {{maps->depth, g.maps, plane},
                  {maps->normal, g.maps + n_pixels, 3 * plane},
                  {maps->median, g.median, plane},
                  {maps->alpha, frame->transmittance, plane},
                  {maps->blended, frame->blended, plane}};
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++)
        if (copies[i].host)
            SPLAT_TRY(splat_backend_download(model->backend, copies[i].host, copies[i].device, copies[i].bytes, error));
    for (size_t i = 0; maps->alpha && i < n_pixels; i++) maps->alpha[i] = 1.0f - maps->alpha[i];
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- exposure */

splat_status splat_model_expose(splat_model *model, const splat_camera *camera, const splat_exposures *exposures,
                                const splat_photo_exposure *photo, int crop, splat_error *error)
{
    splat_backend *b = model->backend;
    float host[2][SPLAT_EXPOSURE_ROW], *rows;
    if (!photo || photo->camera + (size_t)crop >= exposures->n_cameras) return SPLAT_OK;
    double row[SPLAT_EXPOSURE_ROW];
    splat_photo_exposure_get(photo, row);
    for (int k = 0; k < SPLAT_EXPOSURE_ROW; k++) {
        host[0][k] = (float)row[k];
        host[1][k] = (float)exposures->cameras[photo->camera + (size_t)crop][k];
    }
    SPLAT_TRY(splat_frame_take(b, &model->frame, sizeof host, (void **)&rows, error));
    SPLAT_TRY(splat_backend_upload(b, rows, host, sizeof host, error));
    const struct splat_exposure_args args = {.width = camera->width,
                                             .height = camera->height,
                                             .cx = camera->cx,
                                             .cy = camera->cy,
                                             .photo_row = rows,
                                             .camera_row = rows + SPLAT_EXPOSURE_ROW,
                                             .image = model->frame.image,
                                             .exposed = model->frame.image};
    SPLAT_TRY(splat_op_exposure(b, &args, error));
    return splat_backend_synchronize(b, error); /* `host` goes */
}

/* ---------------------------------------------------------------- counts */

splat_status splat_model_count_views(splat_model *model, const splat_camera *cameras, size_t n, uint64_t max_instances,
                                     struct splat_view_count_args args, splat_view_mask_function mask, void *user,
                                     splat_error *error)
{
    static const float black[3];
    splat_frame *frame = &model->frame;
    const splat_view_blend blend = {.max_instances = max_instances, .view_count = &args};
    args.frame = frame;
    args.stamp = 1;
    for (size_t i = 0; i < n; i++, args.stamp++) {
        args.mask = NULL;
        if (mask) SPLAT_TRY(mask(user, i, &args.mask, error));
        SPLAT_TRY(splat_model_begin_view(model, frame, &cameras[i], black, error));
        SPLAT_TRY(project(model, frame, error));
        SPLAT_TRY(splat_view_forward(model->backend, frame, &blend, error));
    }
    return SPLAT_OK;
}
