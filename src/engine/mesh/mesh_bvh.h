/* Exact nearest distances to the triangles of a mesh, or to its vertices when it has no faces: a balanced
 * tree of boxes. */
#ifndef SPLAT_MESH_MESH_BVH_H
#define SPLAT_MESH_MESH_BVH_H

#include "mesh/mesh.h"

typedef struct splat_mesh_bvh {
    const splat_mesh *mesh; /* borrowed: must stay as it is */
    size_t n;               /* primitives */
    size_t n_leaves;        /* a power of two */
    uint32_t *order;        /* [n] primitives; leaf i has those from i n / n_leaves on, four at most */
    float (*boxes)[6];      /* [2 n_leaves]: low, high; node i has children 2i and 2i + 1; leaves are the last half */
} splat_mesh_bvh;

/* The mesh must be valid (splat_mesh_check). Errors: ARGUMENT (neither faces nor vertices), MEMORY. */
splat_status splat_mesh_bvh_make(const splat_mesh *mesh, int threads, splat_mesh_bvh *bvh, splat_error *error);
void splat_mesh_bvh_free(splat_mesh_bvh *bvh);
/* Distance from a place to the nearest primitive; primitive (NULL allowed) receives its number, the lowest of equally
 * near ones. Any number of threads may ask at once. */
double splat_mesh_bvh_nearest(const splat_mesh_bvh *bvh, const double place[3], uint32_t *primitive);

/* The place t at which the ray origin + t direction first meets a face, from either side, with 0 < t < limit; INFINITY
 * if it meets none. The mesh has faces; face (NULL allowed) receives its number. Any number of threads may ask at
 * once. */
double splat_mesh_bvh_hit(const splat_mesh_bvh *bvh, const double origin[3], const double direction[3], double limit,
                          uint32_t *face);

#endif
