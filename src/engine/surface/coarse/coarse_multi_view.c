/* A training view and its neighbour, for the losses of op multi_view (docs/method.md, "Agreement of views"): which view
 * it is, what it sees, and both photos. */
#include "surface/coarse/coarse_multi_view.h"

#include "model/render.h"
#include "surface/coarse/coarse_schedule.h"

#include "base/rng.h"
#include "math/camera.h"
#include "ops/alpha_mask/alpha_mask.h"
#include "ops/multi_view/multi_view.h"
#include "train/ranks/shapes.h"
#include "train/step.h"

#include <math.h>

#define CHOICES 8               /* a neighbour is drawn among so many */
#define LEAST_COSINE 0.8660254  /* of the angle between the axes: 30 degrees */
#define LEAST_DISTANCE 0.002    /* of the extent, between the centres */
#define MOST_DISTANCE 0.4
#define MAP_FLOATS (SPLAT_GEOMETRY_CHANNELS + 1) /* of a pixel: maps and transmittance */

splat_camera splat_coarse_camera(const splat_train_options *options, int iteration, const splat_camera *photo)
{
    bool is_half = (splat_coarse_has_depth_normal(options, iteration) ||
                    splat_coarse_has_multi_view(options, iteration)) && !options->coarse.full_res_normals;
    int width = photo->width / 2, height = photo->height / 2;
    return is_half && width && height ? splat_camera_resized(photo, width, height) : *photo;
}

splat_status splat_coarse_begin_view(splat_trainer *t, uint32_t n, const splat_camera *camera, uint32_t view,
                                     splat_error *error)
{
    splat_frame *frame = &t->model->frame; /* its background is black */
    SPLAT_TRY(splat_view_begin(t->backend, frame, n, camera, error));
    frame->filter = splat_model_screen_filter(t->model);
    frame->hint = splat_step_hint(t, view); /* of the photo's size, which needs no fewer */
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- which */

typedef struct candidate {
    double distance;
    uint32_t view;
} candidate;

/* The nearest CHOICES of the training views that look the same way from less than `most` away, by distance and place in
 * the list. Returns how many. */
static uint32_t find(const splat_dataset *dataset, uint32_t view, double most, candidate found[CHOICES])
{
    const splat_camera *own = &dataset->views[view].camera;
    double extent = (double)dataset->extent;
    uint32_t n = 0;
    for (size_t i = 0; i < dataset->n_train; i++) {
        const splat_camera *c = &dataset->views[dataset->train[i]].camera;
        double distance = 0, cosine = 0;
        for (int k = 0; k < 3; k++) {
            double d = (double)c->center[k] - (double)own->center[k];
            distance += d * d;
            cosine += (double)c->rotation[6 + k] * (double)own->rotation[6 + k];
        }
        distance = sqrt(distance);
        if (!(distance > LEAST_DISTANCE * extent && distance < most * extent && cosine > LEAST_COSINE)) continue;
        if (n == CHOICES && distance >= found[n - 1].distance) continue;
        uint32_t at = n < CHOICES ? n++ : CHOICES - 1;
        for (; at > 0 && found[at - 1].distance > distance; at--) found[at] = found[at - 1];
        found[at] = (candidate){distance, dataset->train[i]};
    }
    return n;
}

uint32_t splat_coarse_choose_neighbor(const splat_dataset *dataset, uint64_t seed, int iteration, uint32_t view)
{
    candidate found[CHOICES];
    uint32_t n = find(dataset, view, MOST_DISTANCE, found);
    if (!n) n = find(dataset, view, INFINITY, found);
    if (!n) return SPLAT_NO_VIEW;
    splat_random4 r = splat_random(seed, SPLAT_STREAM_NEIGHBOR_VIEW, (uint32_t)iteration, 0);
    return found[((uint64_t)r.x[0] * n) >> 32].view;
}

/* ---------------------------------------------------------------- masks */

#define MASK_MARGIN (SPLAT_MULTI_VIEW_RADIUS + 1) /* pixels of a photo: patches end before what its mask hides */

/* Masked pixels of a view, and those around them, count as transparent, so that none of its losses counts them. */
static splat_status hide_masked(splat_trainer *t, uint32_t view, const splat_camera *camera, const uint8_t *mask,
                                float *transmittance, splat_error *error)
{
    const splat_camera *photo = &t->scene->dataset.views[view].camera;
    struct splat_alpha_mask_args args = {.width = photo->width,
                                         .height = photo->height,
                                         .mask = mask,
                                         .maps = transmittance,
                                         .maps_width = camera->width,
                                         .maps_height = camera->height,
                                         .n_channels = 1,
                                         .margin = MASK_MARGIN,
                                         .maps_value = 1};
    return mask ? splat_op_alpha_mask(t->backend, &args, error) : SPLAT_OK;
}

/* The transmittance of the step's view, its masked pixels hidden; that of the frame is needed as it is. */
static splat_status transmittance_of(splat_trainer *t, uint32_t view, const splat_camera *camera, const uint8_t *mask,
                                     const float **transmittance, splat_error *error)
{
    splat_frame *frame = &t->model->frame;
    const size_t bytes = splat_camera_pixels(camera) * sizeof(float);
    float *copy;
    *transmittance = frame->transmittance;
    if (!mask) return SPLAT_OK;
    SPLAT_TRY(splat_frame_take(t->backend, frame, bytes, (void **)&copy, error));
    SPLAT_TRY(splat_backend_copy(t->backend, copy, frame->transmittance, bytes, error));
    *transmittance = copy;
    return hide_masked(t, view, camera, mask, copy, error);
}

/* ---------------------------------------------------------------- what it sees */

size_t splat_coarse_neighbor_bytes(const splat_train_options *options, size_t photo_pixels)
{
    size_t n = options->coarse.full_res_normals ? photo_pixels : photo_pixels / 4;
    return splat_coarse_sees_neighbors(options) ? MAP_FLOATS * n * sizeof(float) : 0;
}

splat_status splat_coarse_see_neighbor(splat_trainer *t, int iteration, uint32_t view, splat_coarse_neighbor *neighbor,
                                       splat_error *error)
{
    const splat_dataset *dataset = &t->scene->dataset;
    splat_frame *frame = &t->model->frame;
    splat_gaussians gaussians = splat_shapes_gaussians(t);
    void *features;
    neighbor->view = splat_coarse_choose_neighbor(dataset, t->options.seed, iteration, view);
    if (neighbor->view == SPLAT_NO_VIEW) return SPLAT_OK;
    neighbor->camera = splat_coarse_camera(&t->options, iteration, &dataset->views[neighbor->view].camera);
    size_t n_pixels = splat_camera_pixels(&neighbor->camera);
    SPLAT_TRY(splat_block_ensure(t->backend, &t->regularizer_maps, "maps of the neighbouring view", SPLAT_OWNER_LISTS,
                                 MAP_FLOATS * n_pixels * sizeof(float), error));
    neighbor->maps = t->regularizer_maps.data;
    neighbor->transmittance = neighbor->maps + SPLAT_GEOMETRY_CHANNELS * n_pixels;
    SPLAT_TRY(splat_coarse_begin_view(t, gaussians.n, &neighbor->camera, neighbor->view, error));
    struct splat_project_args project = {.gaussians = &gaussians, .frame = frame};
    SPLAT_TRY(splat_op_project(t->backend, &project, error));
    SPLAT_TRY(splat_frame_take(t->backend, frame, SPLAT_GEOMETRY_CHANNELS * (size_t)gaussians.n * sizeof(float),
                               &features, error));
    struct splat_geometry_features_args describe = {.gaussians = &gaussians, .frame = frame, .features = features};
    SPLAT_TRY(splat_op_geometry_features(t->backend, &describe, error));
    struct splat_geometry_args geometry = {.frame = frame, .features = features, .maps = neighbor->maps};
    splat_view_blend blend = {.max_instances = t->options.max_instances, .geometry = &geometry};
    SPLAT_TRY(splat_view_forward(t->backend, frame, &blend, error));
    return splat_backend_copy(t->backend, neighbor->transmittance, frame->transmittance, n_pixels * sizeof(float),
                              error);
}

/* ---------------------------------------------------------------- the losses */

splat_status splat_coarse_multi_view(splat_trainer *t, int iteration, uint32_t view, const splat_camera *camera,
                                     const splat_coarse_neighbor *neighbor, const float *maps, float *grad_maps,
                                     double *result, splat_error *error)
{
    const splat_train_options *o = &t->options;
    const splat_dataset *dataset = &t->scene->dataset;
    float fade = (float)splat_coarse_fade(o, iteration);
    const splat_dataset_view *views = dataset->views;
    const float *transmittance;
    splat_photo photo = {NULL}, other = {NULL};
    if (neighbor->view == SPLAT_NO_VIEW)
        return splat_backend_zero(t->backend, result, SPLAT_MULTI_VIEW_RESULTS * sizeof *result, error);
    if (o->ncc_factor > 0 || views[view].has_mask)
        SPLAT_TRY(splat_coarse_fetch_photo(t, view, &photo, error));
    if (o->ncc_factor > 0 || views[neighbor->view].has_mask)
        SPLAT_TRY(splat_photo_store_fetch_neighbor(&t->photos, t->backend, t->scene, neighbor->view, &other, error));
    SPLAT_TRY(transmittance_of(t, view, camera, photo.mask, &transmittance, error));
    SPLAT_TRY(hide_masked(t, neighbor->view, &neighbor->camera, other.mask, neighbor->transmittance, error));
    struct splat_multi_view_args args = {
        .reference = {camera, &views[view].camera, maps, transmittance, photo.rgb},
        .neighbor = {&neighbor->camera, &views[neighbor->view].camera, neighbor->maps,
                     neighbor->transmittance, other.rgb},
        .geometric_weight = o->geo_factor * fade,
        .photometric_weight = o->ncc_factor * fade,
        .n_patches = o->ncc_factor > 0 ? (uint32_t)o->n_patches : 0,
        .seed = o->seed,
        .step = (uint32_t)iteration,
        .grad_maps = grad_maps,
        .result = result};
    return splat_op_multi_view(t->backend, &args, error);
}
