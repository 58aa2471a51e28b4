/* Surface points to a mesh by Poisson reconstruction, and the depth of the octree that they deserve. */
#ifndef SPLAT_SURFACE_EXTRACT_POISSON_H
#define SPLAT_SURFACE_EXTRACT_POISSON_H

#include "mesh/mesh.h"
#include "surface/extract/extraction.h"
#include "surface/extract/surface_points.h"

#define SPLAT_EXTRACT_MOST_DEPTH 10 /* where points choose the depth; that of SuGaR */

/* Levels that the octree of positions[n][3] deserves: the finest cell is as wide as points lie apart where they are
 * dense (the 0.1 quantile of the distances to the nearest other one, of at most 65,536 points), rounded to fewer
 * levels, within 6 .. most. Points that all lie in one place get `most`. Errors: MEMORY. */
splat_status splat_extract_depth(const float *positions, size_t n, int most, int threads, int *depth,
                                 splat_error *error);

/* Each overwrites *mesh. extract_poisson.c: one box for all, or foreground and background, not stitched; of the
 * points, whose order changes, only those that were used stay. */
splat_status splat_extract_poisson(const splat_extraction *extraction, splat_surface_points *points, splat_mesh *mesh,
                                   splat_error *error);

#endif
