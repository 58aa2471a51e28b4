/* The Gaussians bound to a mesh, as colours and densities on its faces. */
#ifndef SPLAT_TEXTURE_BAKE_GAUSSIANS_H
#define SPLAT_TEXTURE_BAKE_GAUSSIANS_H

#include "texture/bake_parts.h"

#define SPLAT_BAKE_GAUSSIAN_BYTES 52 /* host memory of a Gaussian; twice as much while it is read */

/* wanted: as many for each face; 0: whatever the counts say. Errors: ARGUMENT (the splat is not bound to the mesh; the
 * sentence says why), MEMORY. Free it in either case. */
splat_status splat_bake_gaussians_open(const splat_model *model, const splat_mesh *mesh, int requested,
                                       splat_bake_gaussians *gaussians, splat_error *error);
void splat_bake_gaussians_free(splat_bake_gaussians *gaussians);
/* Density at a point of a face: the sum over its Gaussians of opacity exp(-m^2 / 2), m in the plane; and their colours
 * there, weighted by that, or by nothing where all of it is 0. rgb may be NULL. */
double splat_bake_gaussians_at(const splat_bake_gaussians *gaussians, size_t face, const float point[3], float rgb[3]);

#endif
