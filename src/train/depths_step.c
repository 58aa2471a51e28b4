/* The place of known depth in a step: the ops in their order (docs/method.md 8.5). */
#include "train/depths.h"

#include "math/camera.h"
#include "train/step.h"
#include "train/trainer.h"

static const splat_dataset_view *dataset_view(const splat_trainer *t, const splat_step_view *view)
{
    return &t->scene->dataset.views[view->index];
}

#define TAKE(pointer, bytes) SPLAT_TRY(splat_frame_take(t->backend, frame, bytes, (void **)&(pointer), error))
#define TAKE_ZEROS(pointer, n_bytes)                                                                                   \
    do {                                                                                                               \
        TAKE(pointer, n_bytes);                                                                                        \
        SPLAT_TRY(splat_backend_zero(t->backend, pointer, n_bytes, error));                                            \
    } while (0)

splat_status splat_depths_stage(splat_trainer *t, int iteration, splat_step_view *view, splat_error *error)
{
    splat_step_depths *d = &view->depths;
    splat_frame *frame = &t->model->frame;
    const splat_dataset_view *of = dataset_view(t, view);
    const size_t n = frame->capacity ? frame->capacity : 1, n_pixels = splat_camera_pixels(view->camera);
    *d = (splat_step_depths){.map_weight = view->photo.depth ? splat_depth_map_weight(&t->options, iteration) : 0};
    if (t->depths.points.data && of->n_depth_points)
        d->point_weight = splat_depth_point_weight(&t->options, iteration);
    t->depths.had_map = d->map_weight > 0;
    t->depths.had_points = d->point_weight > 0;
    if (!splat_step_has_depths(d)) return SPLAT_OK;
    TAKE(d->features, SPLAT_GEOMETRY_CHANNELS * n * sizeof(float));
    TAKE(d->maps, splat_depths_map_bytes(n_pixels));
    TAKE_ZEROS(d->grad_maps, splat_depths_map_bytes(n_pixels));
    if (d->point_weight > 0) TAKE_ZEROS(d->grad_alpha, n_pixels * sizeof(float));
    TAKE_ZEROS(d->gradients, n * sizeof *d->gradients);
    TAKE_ZEROS(d->grad_means, 3 * n * sizeof(float));
    TAKE_ZEROS(d->zeros, 4 * n * sizeof(float));
    d->blend = (struct splat_geometry_args){.frame = frame, .features = d->features, .maps = d->maps};
    d->blend_backward = (struct splat_geometry_backward_args){.frame = frame,
                                                              .features = d->features,
                                                              .grad_maps = d->grad_maps,
                                                              .grad_alpha = d->grad_alpha,
                                                              .gradients = d->gradients};
    return SPLAT_OK;
}

splat_status splat_depths_describe(splat_trainer *t, splat_step_view *view, splat_error *error)
{
    const struct splat_depth_features_args args = {&t->model->frame, view->depths.features};
    return splat_step_has_depths(&view->depths) ? splat_op_depth_features(t->backend, &args, error) : SPLAT_OK;
}

splat_status splat_depths_losses(splat_trainer *t, splat_step_view *view, splat_error *error)
{
    const splat_step_depths *d = &view->depths;
    const splat_dataset_view *of = dataset_view(t, view);
    const size_t plane = splat_camera_pixels(view->camera);
    const uint8_t *mask = view->photo.mask; /* in every mode: where nothing is, nothing has a depth */
    double *results = t->depths.results.data;
    if (d->map_weight > 0) {
        const struct splat_depth_map_args args = {.width = view->camera->width,
                                                  .height = view->camera->height,
                                                  .inverse = d->maps + SPLAT_DEPTH_INVERSE * plane,
                                                  .target = view->photo.depth,
                                                  .scale = of->depth_scale,
                                                  .offset = of->depth_offset,
                                                  .mask = mask,
                                                  .weight = d->map_weight,
                                                  .gradient = d->grad_maps + SPLAT_DEPTH_INVERSE * plane,
                                                  .result = results + SPLAT_DEPTH_OF_MAP};
        SPLAT_TRY(splat_op_depth_map(t->backend, &args, error));
    }
    if (!(d->point_weight > 0)) return SPLAT_OK;
    const struct splat_depth_points_args args = {
        .width = view->camera->width,
        .height = view->camera->height,
        .along = d->maps + SPLAT_DEPTH_ALONG * plane,
        .transmittance = t->model->frame.transmittance,
        .mask = mask,
        .points = (const splat_depth_point *)t->depths.points.data + of->first_depth_point,
        .n = (uint32_t)of->n_depth_points,
        .weight = d->point_weight,
        .grad_along = d->grad_maps + SPLAT_DEPTH_ALONG * plane,
        .grad_alpha = d->grad_alpha,
        .result = results + SPLAT_DEPTH_OF_POINTS};
    return splat_op_depth_points(t->backend, &args, error);
}

splat_status splat_depths_backward(splat_trainer *t, const splat_step_view *view, splat_tensors *extra, bool *any,
                                   splat_error *error)
{
    const splat_step_depths *d = &view->depths;
    if (!splat_step_has_depths(d)) return SPLAT_OK;
    if (!*any)
        *extra = (splat_tensors){.means = d->grad_means, .scales = d->zeros, .rotations = d->zeros,
                                 .opacities = d->zeros};
    *any = true;
    const struct splat_depth_features_backward_args args = {&t->model->frame, d->gradients, extra->means};
    return splat_op_depth_features_backward(t->backend, &args, error);
}
