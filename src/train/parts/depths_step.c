/* The place of known depth in a step: the ops in their order (docs/method.md 8.5). */
#include "train/parts/depths.h"

#include "math/camera.h"
#include "train/step.h"
#include "train/trainer.h"

static const splat_dataset_view *dataset_view(const splat_trainer *t, const splat_step_view *view)
{
    return &t->scene->dataset.views[view->index];
}

/* The next of some planes in an array; NULL: not wanted. */
static float *next_plane(float **array, bool wanted, size_t elements)
{
    float *plane = *array;
    if (!wanted) return NULL;
    *array += elements;
    return plane;
}

static void weigh(const splat_trainer *t, int iteration, const splat_dataset_view *of, splat_step_depths *d)
{
    *d = (splat_step_depths){.iteration = iteration};
    if (!splat_depths_looks(t->options.seed, iteration)) return;
    if (of->depth_path) d->map_weight = SPLAT_DEPTH_STEPS * splat_depth_map_weight(&t->options, iteration);
    if (t->depths.points.data && of->n_depth_points)
        d->point_weight = SPLAT_DEPTH_STEPS * splat_depth_point_weight(&t->options, iteration);
}

bool splat_depths_looks_at(const splat_trainer *t, int iteration, uint32_t view)
{
    splat_step_depths d;
    weigh(t, iteration, &t->scene->dataset.views[view], &d);
    return splat_step_has_depths(&d);
}

/* One array of what is written, one of what begins as zeros, which are cleared together. */
splat_status splat_depths_stage(splat_trainer *t, int iteration, splat_step_view *view, splat_error *error)
{
    splat_step_depths *d = &view->depths;
    splat_frame *frame = &t->model->frame;
    const size_t n_pixels = splat_camera_pixels(view->camera);
    const size_t n = t->shards.comm ? 0 : frame->capacity ? frame->capacity : 1;
    weigh(t, iteration, dataset_view(t, view), d);
    const bool map = d->map_weight > 0, points = d->point_weight > 0, own_alpha = points && !view->grad_alpha;
    if (!splat_step_has_depths(d)) return SPLAT_OK;
    const size_t written = ((size_t)map + points) * n_pixels, zeros = written + own_alpha * n_pixels + n;
    void *planes, *gradients;
    SPLAT_TRY(splat_frame_take(t->backend, frame, written * sizeof(float), &planes, error));
    SPLAT_TRY(splat_frame_take(t->backend, frame, zeros * sizeof(float), &gradients, error));
    SPLAT_TRY(splat_backend_zero(t->backend, gradients, zeros * sizeof(float), error));
    float *plane = planes, *gradient = gradients;
    splat_raster_depth *b = &d->blend;
    b->along = next_plane(&plane, points, n_pixels);
    b->inverse = next_plane(&plane, map, n_pixels);
    b->grad_along = d->grad_along = next_plane(&gradient, points, n_pixels);
    b->grad_inverse = d->grad_inverse = next_plane(&gradient, map, n_pixels);
    d->grad_alpha = next_plane(&gradient, own_alpha, n_pixels);
    if (n) b->grad_depth = gradient;
    if (points) b->patches.marked = (const uint8_t *)t->depths.patches.data + t->depths.first_patch[view->index];
    if (map) {
        b->patches.n_parts = SPLAT_DEPTH_MAP_PARTS;
        b->patches.seed = t->options.seed;
        b->patches.iteration = (uint32_t)iteration;
    }
    return SPLAT_OK;
}

/* Of several ranks: dL/dz of the rows that came. */
static splat_status stage_rows(splat_trainer *t, splat_step_depths *d, splat_error *error)
{
    splat_frame *frame = &t->model->frame;
    const size_t bytes = (frame->capacity ? frame->capacity : 1) * sizeof(float);
    if (!t->shards.comm) return SPLAT_OK;
    SPLAT_TRY(splat_frame_take(t->backend, frame, bytes, (void **)&d->blend.grad_depth, error));
    return splat_backend_zero(t->backend, d->blend.grad_depth, bytes, error);
}

splat_status splat_depths_losses(splat_trainer *t, splat_step_view *view, splat_error *error)
{
    splat_step_depths *d = &view->depths;
    const splat_dataset_view *of = dataset_view(t, view);
    const uint8_t *mask = view->photo.mask; /* in every mode: where nothing is, nothing has a depth */
    double *results = t->depths.results.data;
    if (!splat_step_has_depths(d)) return SPLAT_OK;
    SPLAT_TRY(stage_rows(t, d, error));
    if (d->map_weight > 0) {
        t->depths.map_iteration = d->iteration;
        const struct splat_depth_map_args args = {.width = view->camera->width,
                                                  .height = view->camera->height,
                                                  .patches = d->blend.patches,
                                                  .inverse = d->blend.inverse,
                                                  .target = view->photo.depth,
                                                  .scale = of->depth_scale,
                                                  .offset = of->depth_offset,
                                                  .mask = mask,
                                                  .weight = d->map_weight,
                                                  .gradient = d->grad_inverse,
                                                  .result = results + SPLAT_DEPTH_OF_MAP};
        SPLAT_TRY(splat_op_depth_map(t->backend, &args, error));
    }
    if (!(d->point_weight > 0)) return SPLAT_OK;
    t->depths.points_iteration = d->iteration;
    const struct splat_depth_points_args args = {
        .width = view->camera->width,
        .height = view->camera->height,
        .along = d->blend.along,
        .transmittance = t->model->frame.transmittance,
        .mask = mask,
        .points = (const splat_depth_point *)t->depths.points.data + of->first_depth_point,
        .n = (uint32_t)of->n_depth_points,
        .weight = d->point_weight,
        .grad_along = d->grad_along,
        .grad_alpha = d->grad_alpha ? d->grad_alpha : view->grad_alpha,
        .result = results + SPLAT_DEPTH_OF_POINTS};
    return splat_op_depth_points(t->backend, &args, error);
}
