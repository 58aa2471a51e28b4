/* The mesh of a level of the function. */
#ifndef SPLAT_MESH_POISSON_SURFACE_H
#define SPLAT_MESH_POISSON_SURFACE_H

#include "mesh/poisson/poisson_parts.h"

/* The mesh of values == iso, in the unit cube. */
splat_status poisson_surface(poisson_job *job, splat_mesh *mesh, const poisson_octree *tree,
                             float *const values[POISSON_MAX_LEVELS], float iso);
/* Triangles of a closed polygon of 3 to POISSON_MAX_POLYGON vertices inside a cell, in its order, without chords in
 * the cell's sides. sides[i] has bit s when vertex i lies on side s. Returns their number, n - 2, or 0 when there is
 * no such triangulation. */
enum { POISSON_MAX_POLYGON = 48 };
int poisson_triangulate(int n, const float (*positions)[3], const uint8_t *sides, uint8_t (*triangles)[3]);

#endif
