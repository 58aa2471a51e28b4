/* The vertices of the mesh of a density: moved to the exact level, with normals and colours. */
#ifndef SPLAT_MESH_DENSITY_VERTICES_H
#define SPLAT_MESH_DENSITY_VERTICES_H

#include "mesh/density/density_mesh.h"
#include "mesh/voxel_grid.h"

/* A Gaussian that takes part. */
typedef struct density_gaussian {
    float mean[3];
    float rows[9];    /* row k: axis k over its deviation, so that row . (p - mean) is in deviations */
    float opacity;
    float reach2;     /* squared deviations where its share ends */
    uint8_t color[4];
} density_gaussian;

/* A Gaussian near an edge of the grid: its squared deviations at t along the edge, from 0 to 1, are
 * power + slope t + bend t^2. */
typedef struct density_nearby {
    const density_gaussian *gaussian;
    double power, slope, bend;
} density_nearby;

typedef struct density_job {
    const splat_density_mesh_input *input;
    const splat_density_mesh_options *options;
    double level;          /* as marching cubes knows it, in float32 */
    density_gaussian *gaussians;
    size_t n_gaussians, n_not_finite;
    splat_voxel_grid grid;
    int64_t n_samples[3];  /* of the box, along each axis */
    size_t *first;         /* [n_blocks + 1]: the Gaussians of block b are list[first[b]] ... */
    uint32_t *list;
    size_t longest;        /* of the lists */
    density_nearby *nearby; /* [threads][longest] */
    uint64_t bytes;
} density_job;

/* Tells the progress. Errors: STOPPED. */
splat_status density_tell(const density_job *j, const char *stage, double fraction, splat_error *error);
/* Moves the vertices of marching cubes to the exact level; normals and colours. Errors: MEMORY, STOPPED. */
splat_status density_finish_vertices(density_job *j, splat_mesh *mesh, splat_error *error);

#endif
