/* Marching cubes of the density of a splat. */
#ifndef SPLAT_SURFACE_EXTRACT_DENSITY_H
#define SPLAT_SURFACE_EXTRACT_DENSITY_H

#include "mesh/mesh.h"
#include "surface/extract/extraction.h"

/* One level of the density. */
splat_status splat_extract_density(const splat_extraction *extraction, float level, splat_mesh *mesh,
                                   size_t *n_gaussians, splat_error *error);

#endif
