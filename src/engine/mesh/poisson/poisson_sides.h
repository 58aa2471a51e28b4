/* Lids on the sides of the cube, where a surface leaves it. */
#ifndef SPLAT_MESH_POISSON_SIDES_H
#define SPLAT_MESH_POISSON_SIDES_H

#include "mesh/poisson/poisson_edges.h"

/* Closes the mesh of a surface that leaves the cube: adds the part of the cube's sides that lies inside. Its faces meet
 * those of the mesh and each other at shared vertices. A surface that stays in the cube gets none. Errors: MEMORY; the
 * caller frees the mesh. */
splat_status poisson_sides_close(const poisson_shape *shape);

#endif
