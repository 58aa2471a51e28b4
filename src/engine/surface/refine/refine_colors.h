/* Colours that a splat lends to a mesh, and to the Gaussians that begin on it. */
#ifndef SPLAT_SURFACE_REFINE_COLORS_H
#define SPLAT_SURFACE_REFINE_COLORS_H

#include "base/point_tree.h"
#include "io/splat/cloud.h"
#include "mesh/mesh.h"

typedef struct splat_color_lender {
    splat_cloud cloud;     /* the Gaussians of an opacity of 1/2 or more first; all count where none is so opaque */
    splat_point_tree tree; /* of those that count */
} splat_color_lender;

/* Reads a splat; its harmonics are cut or filled with zeros to sh_degree. Errors: those of splat_cloud_read, FORMAT (no
 * Gaussians), MEMORY; then there is nothing to free. */
splat_status splat_color_lender_open(const char *path, int sh_degree, int threads, splat_color_lender *lender,
                                     splat_error *error);
void splat_color_lender_free(splat_color_lender *lender);

/* Writes colors of the vertices, which the mesh must have: those of the nearest Gaussian, from no direction. Errors:
 * MEMORY. */
splat_status splat_color_lender_color(const splat_color_lender *lender, int threads, splat_mesh *mesh,
                                      splat_error *error);
/* Writes sh_rest of the first Gaussians of `bound`, per_face in each face of the mesh: that of the nearest Gaussian.
 * Both have the degree that the lender was opened with. */
void splat_color_lender_give_bands(const splat_color_lender *lender, const splat_mesh *mesh, int per_face, int threads,
                                   splat_cloud *bound);

#endif
