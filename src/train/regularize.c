/* The losses of coarse training, top to bottom: a view of its own, at half of the photo's size unless
 * full_res_normals, whose gradients the step of the photos adds to its own (docs/method.md, "Coarse training"). */
#include "train/regularize.h"

#include "math/camera.h"
#include "ops/depth_normal/depth_normal.h"
#include "ops/field_loss/field_loss.h"
#include "ops/geometry/geometry.h"
#include "ops/opacity_entropy/opacity_entropy.h"
#include "train/schedule.h"

/* The maps of the view in work, and what the losses ask of them. */
typedef struct maps {
    float *maps, *grad_maps, *grad_alpha, *features;
    splat_geometry_gradient *gradients;
} maps;

typedef struct job {
    splat_trainer *t;
    splat_backend *backend;
    const splat_ops *ops;
    splat_frame *frame;
    const splat_coarse_options *options;
    int iteration;
    splat_gaussians gaussians; /* the model's, without the harmonics: nothing here looks at colours */
    splat_camera camera;
    bool blends;             /* a loss looks at depth or normals */
    double *results;
    splat_tensors gradients; /* rows of trainer->regular */
    uint32_t n_bands, band_begin[SPLAT_MAX_BANDS];
} job;

static bool wants(const job *j, splat_regularization mode)
{
    return j->options->regularization == mode && splat_schedule_regularizes(&j->t->options, j->iteration);
}

static splat_status begin(job *j, uint32_t view, splat_error *error)
{
    static const float black[3];
    splat_trainer *t = j->t;
    const splat_camera *camera = &t->scene->dataset.views[view].camera;
    bool is_half = wants(j, SPLAT_REGULARIZE_DN_CONSISTENCY) && !j->options->full_res_normals;
    int width = camera->width / 2, height = camera->height / 2;
    j->camera = is_half && width && height ? splat_camera_resized(camera, width, height) : *camera;
    j->blends = wants(j, SPLAT_REGULARIZE_DN_CONSISTENCY) || wants(j, SPLAT_REGULARIZE_SDF);
    SPLAT_TRY(splat_block_ensure(j->backend, &t->coarse_results, "coarse losses", SPLAT_OWNER_OTHER,
                                 SPLAT_N_COARSE_RESULTS * sizeof(double), error));
    j->results = t->coarse_results.data;
    splat_block *rows = t->regular.blocks;
    j->gradients = (splat_tensors){.means = rows[0].data, .scales = rows[1].data, .rotations = rows[2].data,
                                   .opacities = rows[3].data};
    for (int i = 0; i < t->regular.n_arrays; i++)
        SPLAT_TRY(j->backend->functions->zero(j->backend, rows[i].data, rows[i].bytes, error));
    SPLAT_TRY(splat_model_begin_view(t->model, &j->camera, black, error));
    j->frame->n_instances_hint = t->hints[view].n_instances; /* those of the photo's size are not fewer */
    j->frame->n_visible_hint = t->hints[view].n_visible;
    return SPLAT_OK;
}

#define TAKE(pointer, n)                                                                                               \
    SPLAT_TRY(splat_frame_take(j->backend, j->frame, (size_t)(n) * sizeof *(pointer), (void **)&(pointer), error))

/* Depth and normals of the view, band by band, and room for the gradients of the maps, all zero. */
static splat_status blend(job *j, maps *m, splat_error *error)
{
    const splat_backend_functions *f = j->backend->functions;
    splat_frame *frame = j->frame;
    size_t n = j->gaussians.n, plane = (size_t)j->camera.width * (size_t)j->camera.height;
    TAKE(m->maps, SPLAT_GEOMETRY_CHANNELS * plane);
    TAKE(m->grad_maps, SPLAT_GEOMETRY_CHANNELS * plane);
    TAKE(m->grad_alpha, plane);
    TAKE(m->features, SPLAT_GEOMETRY_CHANNELS * n);
    TAKE(m->gradients, n);
    SPLAT_TRY(f->zero(j->backend, m->grad_maps, SPLAT_GEOMETRY_CHANNELS * plane * sizeof(float), error));
    SPLAT_TRY(f->zero(j->backend, m->grad_alpha, plane * sizeof(float), error));
    SPLAT_TRY(f->zero(j->backend, m->gradients, n * sizeof *m->gradients, error));
    struct splat_geometry_features_args describe = {&j->gaussians, frame, false, m->features};
    SPLAT_TRY(j->ops->geometry_features(j->backend, &describe, error));
    struct splat_geometry_args args = {frame, m->features, false, m->maps, NULL};
    for (; frame->row_begin < frame->tiles_y; frame->row_begin = frame->row_end) {
        j->band_begin[j->n_bands++] = frame->row_begin;
        SPLAT_TRY(j->ops->bin(j->backend, &(struct splat_bin_args){frame}, error));
        SPLAT_TRY(j->ops->geometry(j->backend, &args, error));
    }
    return SPLAT_OK;
}

static splat_status depth_normal_loss(job *j, const maps *m, splat_error *error)
{
    struct splat_depth_normal_args args = {.camera = &j->camera,
                                           .maps = m->maps,
                                           .transmittance = j->frame->transmittance,
                                           .weight = j->options->dn_factor,
                                           .grad_maps = m->grad_maps,
                                           .grad_alpha = m->grad_alpha,
                                           .result = j->results + SPLAT_RESULT_DEPTH_NORMAL};
    return j->ops->depth_normal(j->backend, &args, error);
}

static splat_status field_loss(job *j, const maps *m, splat_error *error)
{
    bool is_sdf = wants(j, SPLAT_REGULARIZE_SDF);
    struct splat_field_loss_args args = {.gaussians = &j->gaussians,
                                         .frame = j->frame,
                                         .neighbors = j->t->neighbors.blocks[0].data,
                                         .n_samples = (uint32_t)j->options->n_samples,
                                         .seed = j->t->options.seed,
                                         .step = (uint32_t)j->iteration,
                                         .mode = is_sdf ? SPLAT_FIELD_SDF : SPLAT_FIELD_DENSITY,
                                         .field_weight = j->options->estimation_factor,
                                         .normal_weight = j->options->normal_factor,
                                         .extent = j->t->scene->dataset.extent,
                                         .maps = is_sdf ? m->maps : NULL,
                                         .transmittance = is_sdf ? j->frame->transmittance : NULL,
                                         .grad_maps = is_sdf ? m->grad_maps : NULL,
                                         .grad_alpha = is_sdf ? m->grad_alpha : NULL,
                                         .gradients = &j->gradients,
                                         .result = j->results + SPLAT_RESULT_FIELD};
    return j->ops->field_loss(j->backend, &args, error);
}

static splat_status entropy_loss(job *j, splat_error *error)
{
    struct splat_opacity_entropy_args args = {.gaussians = &j->gaussians,
                                              .frame = j->frame,
                                              .weight = j->options->entropy_factor,
                                              .grad_opacities = j->gradients.opacities,
                                              .result = j->results + SPLAT_RESULT_ENTROPY};
    return j->ops->opacity_entropy(j->backend, &args, error);
}

/* From the maps to the Gaussians, on top of what the other losses left in the gradients. */
static splat_status blend_backward(job *j, const maps *m, splat_error *error)
{
    splat_frame *frame = j->frame;
    SPLAT_TRY(splat_frame_reserve_gradients(j->backend, frame, j->n_bands > 1, error));
    struct splat_geometry_backward_args blended = {frame, m->features, m->grad_maps, m->grad_alpha, m->gradients};
    for (uint32_t band = j->n_bands; band-- > 0;) {
        frame->row_begin = j->band_begin[band];
        if (band + 1 < j->n_bands) SPLAT_TRY(j->ops->bin(j->backend, &(struct splat_bin_args){frame}, error));
        SPLAT_TRY(j->ops->geometry_backward(j->backend, &blended, error));
    }
    struct splat_geometry_features_backward_args described = {&j->gaussians, frame, false, m->gradients, &j->gradients};
    SPLAT_TRY(j->ops->geometry_features_backward(j->backend, &described, error));
    struct splat_project_backward_args projected = {
        .gaussians = &j->gaussians, .frame = frame, .gradients = &j->gradients, .added = &j->gradients};
    return j->ops->project_backward(j->backend, &projected, error);
}

splat_status splat_regularize(splat_trainer *t, int iteration, uint32_t view, splat_tensors *gradients,
                              bool *any, splat_error *error)
{
    job j = {.t = t, .backend = t->backend, .ops = &t->backend->functions->ops, .frame = &t->model->frame,
             .options = &t->options.coarse, .iteration = iteration, .gaussians = t->model->gaussians};
    maps m;
    bool regularizes = splat_schedule_regularizes(&t->options, iteration);
    bool has_entropy = splat_schedule_has_entropy(&t->options, iteration);
    j.gaussians.active_sh_degree = 0;
    *any = regularizes || has_entropy;
    if (!*any) return SPLAT_OK;
    SPLAT_TRY(splat_trainer_search_neighbors(t, iteration, error));
    SPLAT_TRY(begin(&j, view, error));
    SPLAT_TRY(j.ops->project(j.backend, &(struct splat_project_args){&j.gaussians, j.frame}, error));
    if (j.blends) SPLAT_TRY(blend(&j, &m, error));
    if (wants(&j, SPLAT_REGULARIZE_DN_CONSISTENCY)) SPLAT_TRY(depth_normal_loss(&j, &m, error));
    if (regularizes) SPLAT_TRY(field_loss(&j, &m, error));
    if (has_entropy) SPLAT_TRY(entropy_loss(&j, error));
    if (j.blends) SPLAT_TRY(blend_backward(&j, &m, error));
    *gradients = j.gradients;
    return SPLAT_OK;
}
