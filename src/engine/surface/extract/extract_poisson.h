/* Surface points to a mesh by Poisson reconstruction, and the depth of the octree that they deserve. */
#ifndef SPLAT_SURFACE_EXTRACT_POISSON_H
#define SPLAT_SURFACE_EXTRACT_POISSON_H

#include "mesh/mesh.h"
#include "mesh/poisson/poisson.h"
#include "surface/extract/extraction.h"
#include "surface/extract/surface_points.h"

/* Options of the octree that the points of a mesh get. */
void splat_extract_octree(const splat_mesh_extract_options *options, int depth, bool is_closed,
                          splat_poisson_options *octree);

/* Levels that the octree of points deserves, within 6 .. most. With sizes the finest cell is at most as wide as the
 * smallest of them. Without, it is as wide as points lie apart where they are dense (the 0.1 quantile of the distances
 * to the nearest other one, of at most 65,536 points), rounded to fewer levels; points that all lie in one place get
 * `most`. Errors: MEMORY. */
splat_status splat_extract_depth(const splat_surface_points *points, int most, int threads, int *depth,
                                 splat_error *error);

/* Overwrites *mesh. Of the points only those that were used stay. *depth: levels of the octree. */
splat_status splat_extract_poisson(const splat_extraction *extraction, splat_surface_points *points, splat_mesh *mesh,
                                   int *depth, splat_error *error);
/* The surface of points that have been chosen, with an octree of `depth` levels: open, without what has no points near;
 * or closed, without whole pieces that hardly have points near. Overwrites *mesh. *cell: side of the finest cells,
 * scene units. Errors: those of splat_poisson_reconstruct and splat_mesh_support. */
splat_status splat_extract_reconstruct(const splat_extraction *extraction, const splat_surface_points *points,
                                       int depth, bool is_closed, splat_mesh *mesh, double *cell, splat_error *error);

#endif
