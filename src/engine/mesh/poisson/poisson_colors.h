/* Colours of the mesh. */
#ifndef SPLAT_MESH_POISSON_COLORS_H
#define SPLAT_MESH_POISSON_COLORS_H

#include "mesh/poisson/poisson_parts.h"

/* Colours of the vertices (in the unit cube) from those of the samples. */
splat_status poisson_colors(poisson_job *job, splat_mesh *mesh, const poisson_octree *tree,
                            const poisson_samples *samples);

#endif
