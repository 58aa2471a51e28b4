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

/* Arrays with a row for each Gaussian, one block each: parameters, moments or statistics. What is not 32-bit floats is
 * counted in whole words of 32 bits. */
#define SPLAT_MAX_ROW_BLOCKS 8
typedef struct splat_row_blocks {
    splat_owner owner;
    int n_arrays;
    const char *names[SPLAT_MAX_ROW_BLOCKS];
    uint32_t words[SPLAT_MAX_ROW_BLOCKS]; /* of a row; 0: the array is empty */
    splat_block blocks[SPLAT_MAX_ROW_BLOCKS];
} splat_row_blocks;

/* Makes every array n rows long (old_n before); content is kept, new rows are zero. On failure (MEMORY) all are as
 * before. */
splat_status splat_row_blocks_resize(splat_backend *backend, splat_row_blocks *rows, uint32_t old_n, uint32_t n,
                                     splat_error *error);
void splat_row_blocks_free(splat_backend *backend, splat_row_blocks *rows);
/* The arrays' data as the tensors of gaussians.def; the first SPLAT_N_TENSORS arrays are these. */
splat_tensors splat_row_blocks_tensors(const splat_row_blocks *rows);

struct splat_model {
    splat_context *context;
    splat_backend *backend;
    splat_gaussians gaussians;      /* pointers into the blocks below */
    splat_sh_storage sh_storage;
    splat_row_blocks parameters;    /* the tensors, then filter_3d */
    bool has_filter_3d;
    splat_render_mode render_mode;  /* MIP or CLASSIC */
    float kernel_size;
    splat_frame frame;              /* transients of the view in work: one, shared by training and evaluation */
};

/* rest: where sh_rest lies. */
splat_status splat_model_create(splat_context *context, int sh_degree, splat_sh_storage storage, splat_placement rest,
                                splat_model **model, splat_error *error);
/* Room for n Gaussians (parameters and filter); sets gaussians.n and the pointers. */
splat_status splat_model_resize(splat_model *model, uint32_t n, splat_error *error);
/* sh_rest as floats from its storage and back (nearest), rows first .. first + n of it; host memory, [n][channels]. */
splat_status splat_model_read_rest(const splat_model *model, uint32_t first, uint32_t n, float *rest,
                                   splat_error *error);
splat_status splat_model_write_rest(splat_model *model, uint32_t first, uint32_t n, const float *rest,
                                    splat_error *error);
/* Parameters, and filter_3d when there is one, from host arrays of the model's count and SH degree. */
splat_status splat_model_upload(splat_model *model, const splat_ply_gaussians *host, splat_error *error);
/* The parameters, and filter_3d when there is one, as malloc'd host arrays (splat_ply_gaussians_free). */
splat_status splat_model_download(const splat_model *model, splat_ply_gaussians *host, splat_error *error);
/* Host memory of a splat on its way from or to a PLY. */
size_t splat_model_file_bytes(size_t n, int sh_degree);
/* Begins a view in model->frame: room, filter, background. */
splat_status splat_model_begin_view(splat_model *model, const splat_camera *camera, const float background[3],
                                    splat_error *error);
/* A view on its own: begins it, then project, bin and raster in as many bands as frame.max_instances asks for. The
 * picture is in model->frame.image (device memory). */
splat_status splat_model_rasterize(splat_model *model, const splat_camera *camera, const float background[3],
                                   splat_error *error);
/* The same, and *blended: [height][width] Gaussians blended in each pixel, device memory of the frame: valid until the
 * next view begins. */
splat_status splat_model_rasterize_counted(splat_model *model, const splat_camera *camera, const float background[3],
                                           uint32_t **blended, splat_error *error);
/* Under a limit without a plan: as many instances at a time as what is left has room for, for frame.max_instances once
 * the view's own buffers are taken; 0 without a limit: no bound. */
uint64_t splat_model_instances_that_fit(const splat_model *model);

/* Bakes the 3D filter into scales and opacities, where there is one: the same pictures but for rounding, and no filter
 * from then on. The render mode stays. Errors: MEMORY. */
splat_status splat_model_fuse_filter(splat_model *model, splat_error *error);

/* A view's depth and normals: device memory of the frame, valid until the next view begins. */
typedef struct splat_model_geometry {
    float *maps;       /* [4][height][width] as op geometry writes them: z, normal; normalized */
    float *median;     /* [height][width] */
    uint32_t *blended; /* [height][width] */
} splat_model_geometry;

/* A view of its own as splat_model_rasterize, without the picture; alpha is 1 - model->frame.transmittance. counted:
 * else blended is NULL (it is raster that counts, so this costs a picture more, which is in frame.image). world: the
 * normals, else in camera space. */
splat_status splat_model_rasterize_geometry(splat_model *model, const splat_camera *camera, bool counted, bool world,
                                            splat_model_geometry *geometry, splat_error *error);
splat_screen_filter splat_model_screen_filter(const splat_model *model);

/* Means, colours and scales from points (docs/method.md 3): scale = mean distance of the three nearest, opacity 0.1.
 * n_points >= 4. At most max_count (0: all) points are used, evenly spread over the list. */
splat_status splat_model_init_from_points(splat_model *model, const splat_point *points, size_t n_points,
                                          size_t max_count, splat_error *error);

#endif
