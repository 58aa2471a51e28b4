/* Which vertices of a reconstructed mesh have points near: the rest is surface that the reconstruction invented, lids
 * and bubbles where the points end. */
#ifndef SPLAT_MESH_MESH_SUPPORT_H
#define SPLAT_MESH_MESH_SUPPORT_H

#include "mesh/mesh.h"

enum { SPLAT_SUPPORT_NEIGHBORS = 8 };

typedef struct splat_mesh_support_options {
    double reach; /* 1.5; above 0: cells or spacings that a point is good for */
    double cell;  /* 0; scene units, at least 0: of the reconstruction */
    int threads;  /* 1; the result does not depend on it */
    bool (*progress)(void *user, double fraction); /* NULL: none; false stops (STOPPED) */
    void *progress_user;
} splat_mesh_support_options;

void splat_mesh_support_options_init(splat_mesh_support_options *options);
/* is_supported[n_vertices]: 1 where r <= reach max(cell, h), else 0; r is the distance from the vertex to the nearest
 * of positions[n_points][3], h the mean distance of that point to its 8 nearest others, so that sparse points are
 * judged by their own spacing. Works on about 20 bytes a point. Errors: ARGUMENT (also a point that is not finite),
 * MEMORY, STOPPED. */
splat_status splat_mesh_support(const splat_mesh *mesh, const float *positions, size_t n_points,
                                const splat_mesh_support_options *options, uint8_t *is_supported, splat_error *error);

#endif
