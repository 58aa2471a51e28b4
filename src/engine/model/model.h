/* A set of Gaussians in device memory, and how it is rendered. */
#ifndef SPLAT_MODEL_MODEL_H
#define SPLAT_MODEL_MODEL_H

#include "backend/backend.h"
#include "base/context.h"
#include "io/colmap/colmap.h"
#include "io/splat/cloud.h"
#include "model/row_blocks.h"
#include "ops/project/project.h"
#include "ops/raster/raster.h"
#include "ops/view.h"
#include "splatsmith/model.h"

struct splat_model {
    splat_context *context;
    splat_backend *backend;
    splat_gaussians gaussians;      /* pointers into the blocks below */
    splat_sh_storage sh_storage;
    const splat_tensor_table *tensors; /* what a Gaussian is made of */
    splat_row_blocks parameters;    /* the tensors, then filter_3d */
    bool has_filter_3d;
    splat_render_mode render_mode;  /* MIP or CLASSIC */
    float kernel_size;
    uint64_t max_instances;         /* room for instances at a time that a plan gave to views; 0: no plan */
    splat_frame frame;              /* of the view in work: training, evaluation and renders take turns in it, which
                                       saves memory. A view in a frame of its own may be in work beside it */
};

/* rest: where sh_rest lies. */
splat_status splat_model_create(splat_context *context, int sh_degree, splat_sh_storage storage, splat_placement rest,
                                splat_model **model, splat_error *error);
/* Room for n Gaussians (parameters and filter); sets gaussians.n and the pointers. */
splat_status splat_model_resize(splat_model *model, uint32_t n, splat_error *error);
/* sh_rest becomes 16-bit, in place. Errors: MEMORY (nothing has changed), DEVICE. */
splat_status splat_model_halve_rest(splat_model *model, splat_error *error);
/* sh_rest to another placement. Errors: MEMORY, UNSUPPORTED; on these nothing has changed. */
splat_status splat_model_place_rest(splat_model *model, splat_placement placement, splat_error *error);
/* Makes the steps up that a trainer's backend has put off (op settle_rest): before rows are read, set or moved. */
splat_status splat_model_settle(const splat_model *model, splat_error *error);
/* sh_rest as floats from its storage and back (nearest), rows first .. first + n of it; host memory, [n][channels]. */
splat_status splat_model_read_rest(const splat_model *model, uint32_t first, uint32_t n, float *rest,
                                   splat_error *error);
splat_status splat_model_write_rest(splat_model *model, uint32_t first, uint32_t n, const float *rest,
                                    splat_error *error);
/* A model of a cloud in host memory, which is rendered as the cloud says. path: for errors, "" without a file. */
splat_status splat_model_from_cloud(splat_context *context, const char *path, const splat_cloud *cloud,
                                    splat_model **model, splat_error *error);
/* Parameters, and filter_3d when the cloud has one, from a cloud of the model's count and SH degree. */
splat_status splat_model_upload(splat_model *model, const splat_cloud *cloud, splat_error *error);
/* A cloud of n Gaussians, empty yet, that says how the model is rendered; *cloud is overwritten (splat_cloud_free). */
splat_status splat_model_make_cloud(const splat_model *model, size_t n, splat_cloud *cloud, splat_error *error);
/* The parameters, and filter_3d when there is one; *cloud is overwritten (splat_cloud_free). */
splat_status splat_model_download(const splat_model *model, splat_cloud *cloud, splat_error *error);
/* splat_view_begin for the model's Gaussians, with its screen filter. */
splat_status splat_model_begin_view(const splat_model *model, splat_frame *frame, const splat_camera *camera,
                                    const float background[3], splat_error *error);
/* A view from its camera to the picture, which is in frame->image (device memory, until the frame's next view begins).
 * counted: frame->blended is written too. */
splat_status splat_model_rasterize(const splat_model *model, splat_frame *frame, const splat_camera *camera,
                                   const float background[3], bool counted, splat_error *error);
/* The bound of a view that has begun, for splat_view_forward: the plan's, or without one as many instances as what the
 * memory limit leaves has room for; 0, no bound, without a limit. */
uint64_t splat_model_max_instances(const splat_model *model);

/* Bakes the 3D filter into scales and opacities, where there is one: the same pictures but for rounding, and no filter
 * from then on. The render mode stays. Errors: MEMORY. */
splat_status splat_model_fuse_filter(splat_model *model, splat_error *error);

/* A view's depth and normals: device memory of the frame, valid until its next view begins. */
typedef struct splat_model_geometry {
    float *maps;       /* [4][height][width] as op geometry writes them, normalized: depth, normal */
    float *median;     /* [height][width] */
} splat_model_geometry;

/* As splat_model_rasterize, without the picture; alpha is 1 - frame->transmittance. counted: frame->blended is written
 * too (it is raster that counts, so this costs a picture more, which is in frame->image). world: the normals, else in
 * camera space. */
splat_status splat_model_rasterize_geometry(const splat_model *model, splat_frame *frame, const splat_camera *camera,
                                            bool counted, bool world, splat_model_geometry *geometry,
                                            splat_error *error);
/* The Gaussians i with keep[i] (host memory, [n]) stay, in their order; the others go. By way of a copy of the whole in
 * host memory. Errors: MEMORY, DEVICE. */
splat_status splat_model_keep(splat_model *model, const uint8_t *keep, splat_error *error);
splat_screen_filter splat_model_screen_filter(const splat_model *model);
/* Of the screen filter, pixel^2, where nothing else is said. */
static inline float splat_default_kernel_size(splat_render_mode mode)
{
    return mode == SPLAT_RENDER_MIP ? 0.1f : 0.3f;
}

typedef struct splat_first_gaussians {
    size_t most;   /* points that are used at most, evenly spread over the list; 0: all */
    float opacity; /* 0.1 */
    float scale;   /* 1: standard deviations are this times the mean distance of the three nearest */
    uint32_t first_row, row_stride; /* of several ranks: of all those rows the model gets every row_stride-th from
                                       first_row on; 0: all */
} splat_first_gaussians;

/* Means, colours and scales from points (docs/method.md 3). n_points >= 4. */
splat_status splat_model_init_from_points(splat_model *model, const splat_point *points, size_t n_points,
                                          const splat_first_gaussians *first, splat_error *error);

#endif
