/* Depth, normals and counts of a view. */
#include "ops/geometry/geometry.h"

#include "model/model.h"

#define TAKE(pointer, n)                                                                                               \
    SPLAT_TRY(splat_frame_take(backend, frame, (size_t)(n) * sizeof *(pointer), (void **)&(pointer), error))

splat_status splat_model_rasterize_geometry(splat_model *model, const splat_camera *camera, bool counted, bool world,
                                            splat_model_geometry *geometry, splat_error *error)
{
    const float background[3] = {0, 0, 0};
    splat_backend *backend = model->backend;
    splat_frame *frame = &model->frame;
    const splat_ops *ops = &backend->functions->ops;
    size_t n_pixels = (size_t)camera->width * (size_t)camera->height;
    uint64_t planned = frame->max_instances;
    float *features;
    SPLAT_TRY(splat_model_begin_view(model, camera, background, error));
    TAKE(geometry->maps, SPLAT_GEOMETRY_CHANNELS * n_pixels);
    TAKE(geometry->median, n_pixels);
    TAKE(features, SPLAT_GEOMETRY_CHANNELS * (size_t)model->gaussians.n);
    if (counted) TAKE(frame->blended, n_pixels);
    geometry->blended = frame->blended;
    if (!planned) frame->max_instances = splat_model_instances_that_fit(model);
    SPLAT_TRY(ops->project(backend, &(struct splat_project_args){&model->gaussians, frame}, error));
    struct splat_geometry_features_args describe = {&model->gaussians, frame, world, features};
    SPLAT_TRY(ops->geometry_features(backend, &describe, error));
    struct splat_geometry_args blend = {frame, features, true, geometry->maps, geometry->median};
    splat_status status = SPLAT_OK;
    for (; status == SPLAT_OK && frame->row_begin < frame->tiles_y; frame->row_begin = frame->row_end) {
        status = ops->bin(backend, &(struct splat_bin_args){frame}, error);
        if (status == SPLAT_OK && counted) status = ops->raster(backend, &(struct splat_raster_args){frame}, error);
        if (status == SPLAT_OK) status = ops->geometry(backend, &blend, error);
    }
    frame->max_instances = planned; /* the trainer's, which goes on after a view that was refused */
    return status;
}

splat_status splat_model_render_geometry(splat_model *model, const splat_camera *camera,
                                         const splat_geometry_maps *maps, splat_error *error)
{
    splat_model_geometry g;
    SPLAT_TRY(splat_model_rasterize_geometry(model, camera, maps->blended != NULL, !maps->camera_space, &g, error));
    size_t n_pixels = (size_t)camera->width * (size_t)camera->height, plane = n_pixels * sizeof(float);
    const struct {
        void *host;
        const void *device;
        size_t bytes;
    } copies[] = {{maps->depth, g.maps, plane},
                  {maps->normal, g.maps + n_pixels, 3 * plane},
                  {maps->median, g.median, plane},
                  {maps->alpha, model->frame.transmittance, plane},
                  {maps->blended, g.blended, plane}};
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++)
        if (copies[i].host)
            SPLAT_TRY(model->backend->functions->download(model->backend, copies[i].host, copies[i].device,
                                                          copies[i].bytes, error));
    for (size_t i = 0; maps->alpha && i < n_pixels; i++) maps->alpha[i] = 1.0f - maps->alpha[i];
    return SPLAT_OK;
}
