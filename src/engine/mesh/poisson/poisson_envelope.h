/* The cells of the octree that are known to be empty. */
#ifndef SPLAT_MESH_POISSON_ENVELOPE_H
#define SPLAT_MESH_POISSON_ENVELOPE_H

#include "mesh/poisson/poisson_parts.h"

/* is_empty[level][cell]: 1: all corners and the middle of the cell, or of one above it, are empty
 * (options->find_empty), and no sample is near. A sample is near the 27 cells around it on each level down to its
 * depth, and all cells below them. NULL: no cell of this level is empty. */
typedef struct poisson_envelope {
    uint8_t *is_empty[POISSON_MAX_LEVELS];
} poisson_envelope;

/* Makes an envelope, with no empty cell if there is no find_empty. Errors: MEMORY; the caller frees in either case. */
splat_status poisson_envelope_make(poisson_job *job, poisson_envelope *envelope, const poisson_octree *tree,
                                   const poisson_samples *samples);
void poisson_envelope_free(poisson_job *job, poisson_envelope *envelope);

#endif
