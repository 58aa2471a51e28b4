/* Screened Poisson reconstruction from top to bottom, its options and an estimate of its memory. */
#ifndef SPLAT_MESH_POISSON_RECONSTRUCT_H
#define SPLAT_MESH_POISSON_RECONSTRUCT_H

#include "mesh/poisson/poisson.h"

/* depth 10, 1.5 samples a node, screening 4, scale 1.1, one thread, no limit. */
void splat_poisson_options_default(splat_poisson_options *options);

/* Bytes that a reconstruction from n points will not pass where the points lie on surfaces (figures seen are 0.2 to
 * 0.8 of it); points that fill a volume, such as pure noise, can need more, and then a limit is what bounds them.
 * options->depth and samples_per_node count. Errors: ARGUMENT. */
splat_status splat_poisson_estimate(const splat_poisson_options *options, size_t n_points, bool has_colors,
                                    uint64_t *bytes, splat_error *error);

/* Overwrites *mesh (no normals; colours when the points have them) and, when density is not NULL, *density: malloc'd
 * float[n_vertices], the depth at which a cell would hold samples_per_node points: 1 more is 4 times as many points an
 * area. Its low quantile is surface that no point supports. Closed surfaces come out closed; where the points end,
 * the surface goes on to close itself or to leave the cube, so that its only borders are on the cube's sides.
 * *report may be NULL. On failure *mesh is empty and *density NULL.
 * Errors: ARGUMENT (an option, too few points, a normal of length zero, a weight, all points in one place), NUMERIC (a
 * coordinate that is not finite), MEMORY, STOPPED. */
splat_status splat_poisson_reconstruct(const splat_poisson_points *points, const splat_poisson_options *options,
                                       splat_mesh *mesh, float **density, splat_poisson_report *report,
                                       splat_error *error);

#endif
