/* Screened Poisson surface reconstruction: oriented points in, a watertight triangle mesh out.
 *
 * Kazhdan, Bolitho, Hoppe, "Poisson Surface Reconstruction" (SGP 2006); Kazhdan, Hoppe, "Screened Poisson Surface
 * Reconstruction" (ACM TOG 2013). The indicator function of the solid (1/2 inside, -1/2 outside) is the one whose
 * gradient fits the points' normals best and which is zero at the points; the surface is its level at the points.
 *
 * Own code after a look at what Debian 12 has: libopen3d (which wraps PoissonRecon) adds 33 packages and 230 MB, PCL
 * 150 MB to run and 1 GB to build, both for C++ alone; CGAL is GPL. Figures: docs/lab/meshes.md. */
#ifndef SPLAT_MESH_POISSON_H
#define SPLAT_MESH_POISSON_H

#include "base/error.h"
#include "mesh/mesh.h"

#include <stdbool.h>

enum { SPLAT_POISSON_MIN_POINTS = 4, SPLAT_POISSON_MIN_DEPTH = 6, SPLAT_POISSON_MAX_DEPTH = 12 };

/* Borrowed arrays. Normals point outward; only their direction counts. */
typedef struct splat_poisson_points {
    size_t n;               /* 4 .. 2^31 - 1 */
    const float *positions; /* [n][3], scene units */
    const float *normals;   /* [n][3], any length but zero */
    const uint8_t *colors;  /* [n][4] RGBA; NULL: the mesh has no colours */
    const float *weights;   /* [n] 1e-6 to 1e6: how far a point is to be trusted, beside its neighbours; a
                             * factor of all of them changes nothing. NULL: all 1 */
} splat_poisson_points;

/* Called between pieces of work on the calling thread; fraction of the whole, 0 to 1. Returning false stops the
 * reconstruction with SPLAT_ERROR_STOPPED. */
typedef bool (*splat_poisson_progress)(void *user, const char *stage, double fraction);

typedef struct splat_poisson_options {
    int depth;                   /* 6 .. 12: the finest cell is 2^-depth of the cube's side */
    double samples_per_node;     /* 0.5 .. 100: points a cell should hold; more for noisy points */
    double screening;            /* 0 .. 1000: weight of passing through the points (alpha of the paper) */
    double scale;                /* 1.01 .. 8: side of the cube over the longest side of the points' box */
    int threads;                 /* 1 .. 1024; the mesh is the same, bit for bit, for any number */
    uint64_t memory_limit_bytes; /* of what this call allocates, the mesh included; 0: no limit */
    splat_poisson_progress progress; /* NULL: none */
    void *progress_user;
} splat_poisson_options;

typedef struct splat_poisson_report {
    int depth;                          /* of the finest cells that the points asked for */
    size_t n_cells, n_leaves;           /* of the octree */
    double iso_value;                   /* mean of the function at the points; near 0 */
    double area;                        /* of the surface by the density of the points, square scene units */
    double cell;                        /* side of a cell of `depth` levels, scene units */
    int iterations[SPLAT_POISSON_MAX_DEPTH + 1]; /* of conjugate gradients, a level */
    double residual[SPLAT_POISSON_MAX_DEPTH + 1]; /* norm at the end over norm at the start, a level */
    uint64_t peak_bytes;                /* of what this call allocated */
} splat_poisson_report;

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
