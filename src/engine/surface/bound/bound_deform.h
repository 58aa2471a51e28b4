/* Bound Gaussians on the host, in their places, and as they follow an edited mesh. */
#ifndef SPLAT_SURFACE_BOUND_DEFORM_H
#define SPLAT_SURFACE_BOUND_DEFORM_H

#include "mesh/mesh.h"
#include "ops/bind/bind.h"

/* bind, on the host and in one thread: rows of means, scales, rotations and filter_3d of all Gaussians, written. */
void splat_bound_place(const splat_bound_mesh *bound, const splat_mesh *mesh, const float *plane_scales,
                       const float *plane_rotations, float *means, float *scales, float *rotations, float *filter_3d);

/* The complex parameters that lead to these unit quaternions (w, x, y, z) on a mesh: the inverse of bind for Gaussians
 * whose first axis is the face's normal, so that a splat that was saved finds its way back. rotations: [n][4] (need not
 * be normalised), plane_rotations: [n][2], written; (1, 0) on degenerate faces. */
void splat_bound_turns_of(const splat_bound_mesh *bound, const splat_mesh *mesh, const float *rotations,
                          float *plane_rotations);

/* Gaussians follow an edited mesh. Every triangle's map from `reference` to `edited`, in their planes, is affine: F.
 * The covariance in the plane becomes F C F^T, exactly: plane_scales and plane_rotations, changed in place, are of its
 * axes, the first of which is the one nearest to the first before; vertices of the edited mesh give the rest. Both
 * meshes have the same faces (FORMAT otherwise, saying what differs). Gaussians of faces that are degenerate in either
 * mesh keep their parameters; *n_kept (NULL allowed) is the number of those faces. bound: of splat_bound_mesh_describe,
 * as its counts and thresholds alone are read. */
splat_status splat_bound_deform(const splat_bound_mesh *bound, const splat_mesh *reference, const splat_mesh *edited,
                                float *plane_scales, float *plane_rotations, size_t *n_kept, splat_error *error);

/* Turns colours that depend on the direction with their faces: coefficients of degree 0 < sh_degree <= 3 in sh_rest
 * ([n][k - 1][3], as in gaussians.def) by the rotation from the face's frame in `reference` to that in `edited`. */
void splat_bound_turn_colors(const splat_bound_mesh *bound, const splat_mesh *reference, const splat_mesh *edited,
                             int sh_degree, float *sh_rest);

#endif
