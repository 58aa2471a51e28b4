/* The Gaussians of a splat that can be surface. */
#ifndef SPLAT_SURFACE_SURFACE_GAUSSIANS_H
#define SPLAT_SURFACE_SURFACE_GAUSSIANS_H

#include "backend/memory.h"
#include "model/model.h"
#include "ops/types.h"

/* A copy of the finite Gaussians with an opacity of 1/2 and more, the 3D filter fused, without SH. */
typedef struct splat_surface_gaussians {
    splat_gaussians g;   /* device pointers; sh_dc, sh_rest and filter_3d are NULL */
    splat_block means, scales, rotations, opacities;
    uint32_t *index;     /* [g.n] where they are in the model; host memory */
} splat_surface_gaussians;

/* Errors: FORMAT (too few for SPLAT_NEIGHBORS neighbours each), MEMORY. On failure there is nothing to free. Not to be
 * copied: the backend keeps the addresses of the blocks. */
splat_status splat_surface_gaussians_make(const splat_model *model, splat_surface_gaussians *opaque,
                                          splat_error *error);
void splat_surface_gaussians_free(splat_backend *backend, splat_surface_gaussians *opaque);

#endif
