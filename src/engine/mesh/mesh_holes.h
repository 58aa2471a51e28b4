/* Closing small holes: simplification keeps every hole, and each needs some faces around it. */
#ifndef SPLAT_MESH_MESH_HOLES_H
#define SPLAT_MESH_MESH_HOLES_H

#include "mesh/mesh.h"

/* Closes holes whose bounding box has a diagonal of at most `most_sizes` times the mean size of their vertices: with a
 * fan around a new vertex at the mean of the rim. Rims of open pieces are no holes. sizes: [n_vertices] above 0,
 * malloc'd; the array grows with the vertices. New vertices have no colour and no normal (opaque white and zeros, if
 * the mesh has them). The mesh must be valid, with its faces oriented, without a texture. *n_holes: their number.
 * Errors: MEMORY, ARGUMENT (a texture; a mesh of 2^32 / 3 faces); then the mesh is valid. */
splat_status splat_mesh_close_holes(splat_mesh *mesh, double most_sizes, int threads, float **sizes, size_t *n_holes,
                                    splat_error *error);

#endif
