/* A set of Gaussians in device memory, and how it is rendered. */
#ifndef SPLAT_MODEL_MODEL_H
#define SPLAT_MODEL_MODEL_H

#include "backend/backend.h"
#include "base/context.h"
#include "io/ply.h"
#include "ops/bin/bin.h"
#include "ops/project/project.h"
#include "ops/raster/raster.h"
#include "ops/types.h"

/* One block for each trained tensor: parameters, or one of Adam's moments. */
typedef struct splat_tensor_blocks {
    splat_block blocks[SPLAT_N_TENSORS];
    splat_tensors tensors; /* the blocks' data, refreshed by every resize */
} splat_tensor_blocks;

/* Makes every tensor n rows long; content is kept, new rows are zero. On failure (MEMORY) all are as before, except
 * that some may have room for more. */
splat_status splat_tensor_blocks_resize(splat_backend *backend, splat_tensor_blocks *tensors,
                                        const char *const names[SPLAT_N_TENSORS], splat_owner owner, uint32_t old_n,
                                        uint32_t n, int sh_degree, splat_error *error);
void splat_tensor_blocks_free(splat_backend *backend, splat_tensor_blocks *tensors);

struct splat_model {
    splat_context *context;
    splat_backend *backend;
    splat_gaussians gaussians;      /* pointers into the blocks below */
    splat_tensor_blocks parameters;
    splat_block filter_3d;
    bool has_filter_3d;
    splat_render_mode render_mode;  /* MIP or CLASSIC */
    float kernel_size;
    splat_frame frame;              /* transients of the view in work: one, shared by training and evaluation */
};

splat_status splat_model_create(splat_context *context, int sh_degree, splat_model **model, splat_error *error);
/* Room for n Gaussians (parameters and filter); sets gaussians.n and the pointers. */
splat_status splat_model_resize(splat_model *model, uint32_t n, splat_error *error);
/* Runs project, bin, raster: the picture is in model->frame.image (device memory). */
splat_status splat_model_rasterize(splat_model *model, const splat_camera *camera, const float background[3],
                                   bool training, splat_error *error);
splat_screen_filter splat_model_screen_filter(const splat_model *model);

/* Means, colours and scales from points (docs/method.md 3): scale = mean distance of the three nearest, opacity 0.1.
 * n_points >= 4. At most max_count (0: all) points are used, evenly spread over the list. */
splat_status splat_model_init_from_points(splat_model *model, const splat_point *points, size_t n_points,
                                          size_t max_count, splat_error *error);

#endif
