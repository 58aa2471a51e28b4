/* Depth, normals and counts of a view. */
#include "ops/geometry/geometry.h"

#include "math/camera.h"
#include "model/model.h"

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
    struct splat_project_args project = {.gaussians = &model->gaussians, .frame = frame};
    SPLAT_TRY(splat_op_project(backend, &project, error));
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
