/* Checks of a mesh without a truth: what the training views see of it, against the free space of these views. */
#ifndef SPLAT_SURFACE_EXTRACT_CHECKS_H
#define SPLAT_SURFACE_EXTRACT_CHECKS_H

#include "mesh/mesh.h"
#include "surface/extract/extraction.h"

/* Draws the mesh in all training views, in pictures of 250,000 pixels at most, and fills n_covered, n_back, n_trusted,
 * n_violated and n_missing of info, and the counts of the sky. A pixel is trusted where a view looks through what
 * stands before its depth (free_space.h). Errors: those of splat_mesh_rasterize and of decoding masks. */
splat_status splat_extract_check(const splat_extraction *extraction, const splat_mesh *mesh,
                                 splat_mesh_extract_info *info, splat_error *error);

#endif
