/* The surface where a field of a sparse grid passes a level (Lorensen and Cline, SIGGRAPH 1987). */
#ifndef SPLAT_MESH_MARCHING_CUBES_H
#define SPLAT_MESH_MARCHING_CUBES_H

#include "mesh/mesh.h"
#include "mesh/voxel_grid.h"

typedef struct splat_marching_cubes_options {
    float level;
    bool inside_is_below; /* signed distances: true; densities: false */
    float min_weight;     /* voxels with less weight, or with weight 0, are unknown: a cell that has one gives no
                             surface */
    int threads;          /* >= 1; the result does not depend on it */
} splat_marching_cubes_options;

/* Working memory, in addition to grid and mesh. */
size_t splat_marching_cubes_bytes(const splat_voxel_grid *grid);
/* Makes *mesh (overwritten), with colours when the grid has them, without normals. The surface is a manifold, closed
 * but where it meets unknown voxels, and its faces point outward; neighbouring blocks share vertices. Errors:
 * ARGUMENT (the grid is not allocated, no thread), MEMORY. */
splat_status splat_marching_cubes(const splat_voxel_grid *grid, const splat_marching_cubes_options *options,
                                  splat_mesh *mesh, splat_error *error);

#endif
