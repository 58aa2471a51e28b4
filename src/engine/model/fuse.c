/* The 3D filter baked into a model. */
#include "model/model.h"

#include <stdlib.h>

#define PIECE 65536u /* Gaussians at a time */

static splat_status fuse_piece(splat_model *model, uint32_t first, uint32_t n, float *host, splat_error *error)
{
    const splat_gaussians *g = &model->gaussians;
    float *scales = host, *opacities = host + 3 * (size_t)n, *filter = host + 4 * (size_t)n;
    float *device_scales = g->p.scales + 3 * (size_t)first;
    size_t row = n * sizeof *host;
    SPLAT_TRY(splat_backend_download(model->backend, scales, device_scales, 3 * row, error));
    SPLAT_TRY(splat_backend_download(model->backend, opacities, g->p.opacities + first, row, error));
    SPLAT_TRY(splat_backend_download(model->backend, filter, g->filter_3d + first, row, error));
    for (size_t i = 0; i < n; i++) splat_gaussian_bake_filter(scales + 3 * i, opacities + i, (double)filter[i]);
    SPLAT_TRY(splat_backend_upload(model->backend, device_scales, scales, 3 * row, error));
    SPLAT_TRY(splat_backend_upload(model->backend, g->p.opacities + first, opacities, row, error));
    return splat_backend_synchronize(model->backend, error); /* the piece is written again */
}

splat_status splat_model_fuse_filter(splat_model *model, splat_error *error)
{
    const splat_gaussians *g = &model->gaussians;
    if (!model->has_filter_3d) return SPLAT_OK;
    float *piece = malloc(5 * (size_t)(g->n < PIECE ? g->n : PIECE) * sizeof *piece + 1);
    if (!piece) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to fuse the filter of %u Gaussians", g->n);
    splat_status status = SPLAT_OK;
    for (uint32_t first = 0; first < g->n && status == SPLAT_OK; first += PIECE)
        status = fuse_piece(model, first, g->n - first < PIECE ? g->n - first : PIECE, piece, error);
    free(piece);
    if (status != SPLAT_OK) return status;
    model->has_filter_3d = false;
    return splat_backend_zero(model->backend, g->filter_3d, g->n * sizeof *g->filter_3d, error);
}
