/* The vector field of the samples' normals, and the right side that follows from it. */
#ifndef SPLAT_MESH_POISSON_FIELD_H
#define SPLAT_MESH_POISSON_FIELD_H

#include "mesh/poisson/poisson_parts.h"

splat_status poisson_field_make(poisson_job *job, poisson_field *field, const poisson_octree *tree,
                                const poisson_samples *samples);
void poisson_field_free(poisson_job *job, poisson_field *field);

/* The right side of one cell from vectors at its corners: integrals of vector . gradient of a corner's function. */
void poisson_cell_divergence(const float vectors[8][3], float side, float out[8]);

#endif
