/* Gaussians bound to a mesh, on the host: what the ops bind and bind_backward need of a mesh, the parameters that
 * refinement begins with, and those that follow an edited mesh. SuGaR (Guedon and Lepetit, CVPR 2024, section 4.3);
 * docs/method.md, "Gaussians bound to a mesh". */
#ifndef SPLAT_SURFACE_BOUND_H
#define SPLAT_SURFACE_BOUND_H

#include "mesh/mesh.h"
#include "ops/bind/bind.h"

/* Counts and thresholds of a mesh in a scene of this extent (world units, > 0); the pointers are NULL, n_pairs is 0.
 * Errors: ARGUMENT (per_face is not 1, 3, 4 or 6; the extent is not a positive number), FORMAT (no faces), MEMORY (more
 * Gaussians, or corners, than an index can name). */
splat_status splat_bound_mesh_describe(const splat_mesh *mesh, int per_face, float extent, splat_bound_mesh *bound,
                                       splat_error *error);

/* The lists of splat_bound_mesh, malloc'd; a zeroed struct is empty. The same mesh gives the same lists. */
typedef struct splat_bound_lists {
    uint32_t n_pairs;
    uint32_t *vertex_begin, *vertex_corners; /* [n_vertices + 1], [3 n_faces] */
    uint32_t *pair_begin, *pairs;            /* [n_faces + 1], [2 n_pairs] */
} splat_bound_lists;

/* The mesh must be valid (splat_mesh_check). Errors: MEMORY, also when edges that very many faces share make more pairs
 * than an index can name; *lists is then empty. */
splat_status splat_bound_lists_make(const splat_mesh *mesh, splat_bound_lists *lists, splat_error *error);
void splat_bound_lists_free(splat_bound_lists *lists);

/* The first values of bound Gaussians: n = n_faces per_face rows each, malloc'd; a zeroed struct is empty. */
typedef struct splat_bound_start {
    size_t n;
    float *plane_scales;    /* [n][2] ln max(rho times the shortest edge of the face, 1e-7), both */
    float *plane_rotations; /* [n][2] (1, 0) */
    float *opacities;       /* [n] logit of 0.1 */
    float *sh_dc;           /* [n][3] of the mesh's colour there, between its corners; grey without colours */
} splat_bound_start;

/* Errors: those of splat_bound_mesh_describe. *start is then empty. */
splat_status splat_bound_initialize(const splat_mesh *mesh, int per_face, splat_bound_start *start,
                                    splat_error *error);
void splat_bound_start_free(splat_bound_start *start);

#endif
