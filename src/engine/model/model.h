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
    splat_gaussians gaussians;      /* pointers into the blocks below; that of sh_rest is NULL (model/rest.h) */
    splat_rest_state rest;          /* state of sh_rest, set by a training */
    splat_sh_storage sh_storage;
    const splat_tensor_table *tensors; /* tensors of a Gaussian */
    splat_row_blocks parameters;    /* the tensors, then filter_3d */
    bool has_filter_3d;
    splat_render_mode render_mode;  /* MIP or CLASSIC */
    float kernel_size;
    uint64_t max_instances;         /* most instances of a view's band, from a plan; 0: no plan */
    splat_dome dome;                /* the sky behind the Gaussians; colors: of dome_block, NULL: none */
    splat_block dome_block;         /* the colours, then centre and radius of the ball */
    splat_frame frame;              /* frame of the current view: training, evaluation and renders use it in turns,
                                       which saves memory; a view in another frame may be in work at the same time */
};

/* rest: where sh_rest lies. */
splat_status splat_model_create(splat_context *context, int sh_degree, splat_sh_storage storage, splat_placement rest,
                                splat_model **model, splat_error *error);
/* Room for n Gaussians (parameters and filter); sets gaussians.n and the pointers. */
splat_status splat_model_resize(splat_model *model, uint32_t n, splat_error *error);
/* The default variance of the screen filter, pixel^2. */
static inline float splat_default_kernel_size(splat_render_mode mode)
{
    return mode == SPLAT_RENDER_MIP ? 0.1f : 0.3f;
}

#endif
