/* The samples: points in Morton order, and their density. */
#ifndef SPLAT_MESH_POISSON_POINTS_H
#define SPLAT_MESH_POISSON_POINTS_H

#include "mesh/poisson/poisson_parts.h"

/* Checks, cube, Morton order; area and depth are filled by the density. */
splat_status poisson_samples_make(poisson_job *job, poisson_samples *samples);
void poisson_samples_free(poisson_job *job, poisson_samples *samples);

/* Samples a corner of an octree of their own, two levels less deep than the one that is solved on. */
typedef struct poisson_density {
    poisson_octree tree;
    float *count[POISSON_MAX_LEVELS];  /* [n_corners] */
    float *weight[POISSON_MAX_LEVELS]; /* [n_corners]: of these samples, where they have weights; else NULL */
} poisson_density;
splat_status poisson_density_make(poisson_job *job, poisson_density *density, poisson_samples *samples);
void poisson_density_free(poisson_job *job, poisson_density *density);
/* The depth at which a cell at the position would hold samples_per_node samples. */
float poisson_density_depth(const poisson_density *density, double samples_per_node, const float position[3]);

#endif
