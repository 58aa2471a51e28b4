/* The losses of coarse training, top to bottom: a view of its own, at half of the photo's size unless
 * full_res_normals, whose gradients the step of the photos adds to its own (docs/method.md, "Coarse training"). */
#include "surface/coarse/coarse_step.h"

#include "surface/coarse/coarse_multi_view.h"
#include "surface/coarse/coarse_parts.h"
#include "surface/coarse/coarse_schedule.h"

#include "math/camera.h"
#include "ops/alpha_mask/alpha_mask.h"
#include "ops/bin/bin_bytes.h"
#include "ops/depth_normal/depth_normal.h"
#include "ops/edge_weight/edge_weight.h"
#include "ops/field_loss/field_loss.h"
#include "ops/geometry/geometry.h"
#include "ops/knn/knn.h"
#include "ops/multi_view/multi_view.h"
#include "ops/opacity_entropy/opacity_entropy.h"
#include "ops/raster/raster_bytes.h"
#include "ops/thickness/thickness.h"
#include "ops/view.h"
#include "train/parts/regularizer.h"
#include "train/ranks/shapes.h"

#include <math.h>

#define LEAST_THICKNESS 1e-6f /* of the extent: thinner Gaussians are not flattened */

/* The maps of the view in work, and what the losses ask of them. */
typedef struct maps {
    float *maps, *grad_maps, *features;
    float *grad_alpha; /* NULL: no loss looks at alpha */
    splat_grad2d *gradients;
} maps;

typedef struct job {
    splat_trainer *t;
    splat_backend *backend;
    splat_frame *frame;
    const splat_coarse_options *options;
    int iteration;
    splat_gaussians gaussians; /* all of them, without the harmonics: nothing here looks at colours */
    splat_camera camera;
    bool blends;             /* a loss looks at depth or normals */
    double *results;
    splat_tensors gradients; /* arrays of splat_shapes_extra_rows */
} job;

static bool has_depth_normal(const job *j)
{
    return splat_coarse_has_depth_normal(&j->t->options, j->iteration);
}

static bool has_sdf(const job *j)
{
    return splat_coarse_has_field(&j->t->options, j->iteration) &&
           j->options->regularization == SPLAT_REGULARIZE_SDF;
}

static bool has_multi_view(const job *j)
{
    return splat_coarse_has_multi_view(&j->t->options, j->iteration);
}

static splat_status begin(job *j, uint32_t view, splat_error *error)
{
    splat_trainer *t = j->t;
    const splat_camera *camera = &t->scene->dataset.views[view].camera;
    j->camera = splat_coarse_camera(&t->options, j->iteration, camera);
    j->blends = has_depth_normal(j) || has_sdf(j) || has_multi_view(j);
    SPLAT_TRY(splat_trainer_regularizer_results(t, &j->results, error));
    const splat_row_blocks *rows = &splat_shapes_extra_rows(t)->rows[SPLAT_ROWS_SCRATCH];
    j->gradients = (splat_tensors){.means = rows->blocks[SPLAT_COARSE_MEANS].data,
                                   .scales = rows->blocks[SPLAT_COARSE_SCALES].data,
                                   .rotations = rows->blocks[SPLAT_COARSE_ROTATIONS].data,
                                   .opacities = rows->blocks[SPLAT_COARSE_OPACITIES].data};
    for (int i = 0; i < rows->n_arrays; i++)
        SPLAT_TRY(splat_backend_zero(j->backend, rows->blocks[i].data, rows->blocks[i].bytes, error));
    return splat_coarse_begin_view(t, j->gaussians.n, &j->camera, view, error);
}

/* Bytes of the frame that blend needs: maps and features. */
static size_t blend_bytes(size_t n, size_t n_pixels, bool alpha)
{
    return (2 * SPLAT_GEOMETRY_CHANNELS + (alpha ? 1 : 0)) * n_pixels * sizeof(float) +
           n * (SPLAT_GEOMETRY_CHANNELS * sizeof(float) + sizeof(splat_grad2d));
}

void splat_coarse_work_bytes(const splat_train_options *o, const splat_work *photo, size_t *frame, size_t *scratch)
{
    splat_work w = *photo;
    splat_regularization mode = o->coarse.regularization;
    bool pair = splat_coarse_sees_neighbors(o);
    bool dn = mode == SPLAT_REGULARIZE_DN_CONSISTENCY || mode == SPLAT_REGULARIZE_MULTIVIEW;
    bool blends = mode != SPLAT_REGULARIZE_DENSITY;
    int field = mode == SPLAT_REGULARIZE_SDF ? SPLAT_FIELD_SDF : SPLAT_FIELD_DENSITY;
    if (dn && !o->coarse.full_res_normals) {
        w.width /= 2;
        w.height /= 2;
    }
    *frame = splat_view_bytes(&w) + splat_bin_frame_bytes(&w);
    *scratch = splat_bin_scratch_bytes(&w);
    if (o->coarse.estimation_factor > 0 || o->coarse.normal_factor > 0) {
        *scratch = splat_larger(*scratch, splat_knn_scratch_bytes(w.on_device, w.n));
        *scratch = splat_larger(*scratch, splat_field_loss_scratch_bytes(w.on_device, w.n, o->coarse.n_samples, field));
    }
    *scratch = splat_larger(*scratch, splat_thickness_scratch_bytes(w.on_device, w.n));
    if (!blends) return;
    *frame += blend_bytes(w.n, splat_work_pixels(&w), mode == SPLAT_REGULARIZE_SDF);
    *frame += pair ? splat_work_pixels(&w) * sizeof(float) : 0; /* transmittance, of views with masks */
    *frame += w.bands ? splat_view_gradients_bytes(w.n) : 0;
    *scratch = splat_larger(*scratch, splat_raster_backward_scratch_bytes(&w));
    if (dn) *scratch = splat_larger(*scratch, splat_depth_normal_scratch_bytes(w.on_device, w.width, w.height));
    if (pair)
        *scratch = splat_larger(*scratch, splat_multi_view_scratch_bytes(w.on_device, w.width, w.height,
                                                                         splat_work_pixels(photo), o->n_patches));
    if (dn && o->dn_edges) {
        *frame += splat_work_pixels(&w) * sizeof(float);
        *scratch = splat_larger(*scratch, splat_edge_weight_scratch_bytes(w.on_device, w.height));
    }
}

#define TAKE(pointer, n)                                                                                               \
    SPLAT_TRY(splat_frame_take(j->backend, j->frame, (size_t)(n) * sizeof *(pointer), (void **)&(pointer), error))

/* Depth and normals of the view, and room for the gradients of the maps, all zero. */
static splat_status blend(job *j, maps *m, splat_error *error)
{
    splat_frame *frame = j->frame;
    size_t n = j->gaussians.n, plane = splat_camera_pixels(&j->camera);
    TAKE(m->maps, SPLAT_GEOMETRY_CHANNELS * plane);
    TAKE(m->grad_maps, SPLAT_GEOMETRY_CHANNELS * plane);
    TAKE(m->features, SPLAT_GEOMETRY_CHANNELS * n);
    TAKE(m->gradients, n);
    SPLAT_TRY(splat_backend_zero(j->backend, m->grad_maps, SPLAT_GEOMETRY_CHANNELS * plane * sizeof(float), error));
    m->grad_alpha = NULL;
    if (has_sdf(j)) {
        TAKE(m->grad_alpha, plane);
        SPLAT_TRY(splat_backend_zero(j->backend, m->grad_alpha, plane * sizeof(float), error));
    }
    SPLAT_TRY(splat_backend_zero(j->backend, m->gradients, n * sizeof *m->gradients, error));
    struct splat_geometry_features_args describe = {
        .gaussians = &j->gaussians, .frame = frame, .centers = has_sdf(j), .features = m->features};
    SPLAT_TRY(splat_op_geometry_features(j->backend, &describe, error));
    struct splat_geometry_args geometry = {.frame = frame, .features = m->features, .maps = m->maps};
    splat_view_blend blend = {.max_instances = j->t->options.max_instances, .geometry = &geometry};
    return splat_view_forward(j->backend, frame, &blend, error);
}

/* Edge weights of the step's photo, at the size of the maps. */
static splat_status edge_weights(job *j, uint32_t view, float **weights, splat_error *error)
{
    splat_trainer *t = j->t;
    const splat_camera *camera = &t->scene->dataset.views[view].camera;
    splat_photo photo;
    TAKE(*weights, splat_camera_pixels(&j->camera));
    SPLAT_TRY(splat_coarse_fetch_photo(t, view, &photo, error));
    struct splat_edge_weight_args args = {.photo = photo.rgb,
                                          .photo_width = camera->width,
                                          .photo_height = camera->height,
                                          .width = j->camera.width,
                                          .height = j->camera.height,
                                          .weights = *weights};
    return splat_op_edge_weight(j->backend, &args, error);
}

static splat_status depth_normal_loss(job *j, const maps *m, uint32_t view, splat_error *error)
{
    float *weights = NULL, fade = (float)splat_coarse_fade(&j->t->options, j->iteration);
    if (j->t->options.dn_edges) SPLAT_TRY(edge_weights(j, view, &weights, error));
    struct splat_depth_normal_args args = {.camera = &j->camera,
                                           .maps = m->maps,
                                           .transmittance = j->frame->transmittance,
                                           .edge_weight = weights,
                                           .weight = j->options->dn_factor * fade,
                                           .grad_maps = m->grad_maps,
                                           .result = j->results + SPLAT_COARSE_DEPTH_NORMAL};
    return splat_op_depth_normal(j->backend, &args, error);
}

/* Sets masked pixels of a map with n_channels channels to `value`. */
static splat_status set_masked(job *j, float *values, int n_channels, float value, uint32_t view, splat_error *error)
{
    const splat_camera *camera = &j->t->scene->dataset.views[view].camera;
    splat_photo photo;
    if (!j->t->scene->dataset.views[view].has_mask) return SPLAT_OK;
    SPLAT_TRY(splat_coarse_fetch_photo(j->t, view, &photo, error));
    struct splat_alpha_mask_args args = {.width = camera->width,
                                         .height = camera->height,
                                         .mask = photo.mask,
                                         .maps = values,
                                         .maps_width = j->camera.width,
                                         .maps_height = j->camera.height,
                                         .n_channels = n_channels,
                                         .maps_value = value};
    return splat_op_alpha_mask(j->backend, &args, error);
}

/* The SDF loss. Samples where the depth is read next to a masked pixel, and where the pool has no Gaussian, have no
 * depth and do not count. Nobody reads the depths afterwards. */
static splat_status field_loss(job *j, const maps *m, uint32_t view, splat_error *error)
{
    bool is_sdf = has_sdf(j);
    const uint32_t *neighbors = splat_extra_rows_data(splat_shapes_extra_rows(j->t), SPLAT_COARSE_NEIGHBORS);
    struct splat_field_loss_args args = {.gaussians = &j->gaussians,
                                         .frame = j->frame,
                                         .neighbors = neighbors,
                                         .n_samples = (uint32_t)j->options->n_samples,
                                         .seed = j->t->options.seed,
                                         .step = (uint32_t)j->iteration,
                                         .mode = is_sdf ? SPLAT_FIELD_SDF : SPLAT_FIELD_DENSITY,
                                         .field_weight = j->options->estimation_factor,
                                         .normal_weight = j->options->normal_factor,
                                         .extent = j->t->scene->dataset.extent,
                                         .sdf_range = j->t->options.sdf_range,
                                         .maps = is_sdf ? m->maps : NULL,
                                         .transmittance = is_sdf ? j->frame->transmittance : NULL,
                                         .grad_maps = is_sdf ? m->grad_maps : NULL,
                                         .grad_alpha = is_sdf ? m->grad_alpha : NULL,
                                         .gradients = &j->gradients,
                                         .result = j->results + SPLAT_COARSE_FIELD};
    if (is_sdf) SPLAT_TRY(set_masked(j, m->maps, 1, NAN, view, error));
    return splat_op_field_loss(j->backend, &args, error);
}

static splat_status entropy_loss(job *j, splat_error *error)
{
    struct splat_opacity_entropy_args args = {.gaussians = &j->gaussians,
                                              .frame = j->frame,
                                              .pivot = j->t->regularizer_constant,
                                              .weight = j->options->entropy_factor,
                                              .grad_opacities = j->gradients.opacities,
                                              .result = j->results + SPLAT_COARSE_ENTROPY};
    return splat_op_opacity_entropy(j->backend, &args, error);
}

static splat_status thickness_loss(job *j, splat_error *error)
{
    const splat_train_options *o = &j->t->options;
    float extent = j->t->scene->dataset.extent;
    struct splat_thickness_args args = {.gaussians = &j->gaussians,
                                        .frame = j->frame,
                                        .ratio = o->flat_ratio,
                                        .least = LEAST_THICKNESS * extent,
                                        .weight = o->flat_factor / extent,
                                        .grad_scales = j->gradients.scales,
                                        .result = j->results + SPLAT_COARSE_THICKNESS};
    return splat_op_thickness(j->backend, &args, error);
}

/* Takes masked pixels out of the losses on depth and normals. */
static splat_status leave_masked(job *j, const maps *m, uint32_t view, splat_error *error)
{
    SPLAT_TRY(set_masked(j, m->grad_maps, SPLAT_GEOMETRY_CHANNELS, 0, view, error));
    return m->grad_alpha ? set_masked(j, m->grad_alpha, 1, 0, view, error) : SPLAT_OK;
}

/* From the maps to the Gaussians, on top of what the other losses left in the gradients. */
static splat_status blend_backward(job *j, const maps *m, splat_error *error)
{
    splat_frame *frame = j->frame;
    struct splat_geometry_backward_args geometry = {frame, m->features, m->grad_maps, m->grad_alpha, m->gradients};
    SPLAT_TRY(splat_view_backward(j->backend, frame, &(splat_view_gradients){.geometry = &geometry}, error));
    struct splat_geometry_features_backward_args described = {&j->gaussians, frame, false, has_sdf(j), m->gradients,
                                                              &j->gradients};
    SPLAT_TRY(splat_op_geometry_features_backward(j->backend, &described, error));
    struct splat_project_backward_args projected = {.gaussians = &j->gaussians,
                                                    .frame = frame,
                                                    .source = {.extra = &j->gradients},
                                                    .sink = {.write = &j->gradients}};
    return splat_op_project_backward(j->backend, &projected, error);
}

splat_status splat_coarse_step(splat_trainer *t, int iteration, uint32_t view, splat_tensors *gradients, bool *any,
                               splat_error *error)
{
    job j = {.t = t, .backend = t->backend, .frame = &t->model->frame,
             .options = &t->options.coarse, .iteration = iteration, .gaussians = splat_shapes_gaussians(t)};
    maps m;
    splat_coarse_neighbor neighbor;
    bool has_field = splat_coarse_has_field(&t->options, iteration);
    bool has_entropy = splat_coarse_has_entropy(&t->options, iteration);
    bool has_thickness = splat_coarse_has_thickness(&t->options, iteration);
    *any = splat_coarse_has_losses(&t->options, iteration);
    if (!*any) return SPLAT_OK;
    if (has_multi_view(&j)) SPLAT_TRY(splat_coarse_see_neighbor(t, iteration, view, &neighbor, error));
    SPLAT_TRY(begin(&j, view, error));
    struct splat_project_args project = {.gaussians = &j.gaussians, .frame = j.frame};
    SPLAT_TRY(splat_op_project(j.backend, &project, error));
    if (j.blends) SPLAT_TRY(blend(&j, &m, error));
    if (has_depth_normal(&j)) SPLAT_TRY(depth_normal_loss(&j, &m, view, error));
    if (has_multi_view(&j))
        SPLAT_TRY(splat_coarse_multi_view(t, iteration, view, &j.camera, &neighbor, m.maps, m.grad_maps,
                                          j.results + SPLAT_COARSE_MULTI_VIEW, error));
    if (has_field) SPLAT_TRY(field_loss(&j, &m, view, error));
    if (has_entropy) SPLAT_TRY(entropy_loss(&j, error));
    if (has_thickness) SPLAT_TRY(thickness_loss(&j, error));
    if (j.blends) SPLAT_TRY(leave_masked(&j, &m, view, error));
    if (j.blends) SPLAT_TRY(blend_backward(&j, &m, error));
    *gradients = j.gradients;
    return SPLAT_OK;
}
