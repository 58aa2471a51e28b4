/* The function whose gradient is nearest to the field. */
#ifndef SPLAT_MESH_POISSON_SOLVE_H
#define SPLAT_MESH_POISSON_SOLVE_H

#include "mesh/poisson/poisson_envelope.h"
#include "mesh/poisson/poisson_parts.h"

/* The function at the corners of every level into values[level], which are allocated. */
splat_status poisson_solve(poisson_job *job, float *values[POISSON_MAX_LEVELS], const poisson_octree *tree,
                           poisson_field *field, const poisson_envelope *envelope, splat_poisson_report *report);

#endif
