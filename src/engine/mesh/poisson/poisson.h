/* Screened Poisson surface reconstruction: oriented points in, a triangle mesh out, watertight but where
 * it leaves the cube around the points.
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

enum { SPLAT_POISSON_MIN_POINTS = 4, SPLAT_POISSON_MIN_DEPTH = 6, SPLAT_POISSON_MAX_DEPTH = 14 };

/* Borrowed arrays. Normals point outward; only their direction counts. */
typedef struct splat_poisson_points {
    size_t n;               /* 4 .. 2^31 - 1 */
    const float *positions; /* [n][3], scene units */
    const float *normals;   /* [n][3], any length but zero */
    const uint8_t *colors;  /* [n][4] RGBA; NULL: the mesh has no colours */
    const float *weights;   /* [n] 1e-6 to 1e6: the trust in a point relative to its neighbours; a common factor changes
                               nothing. NULL: all 1 */
} splat_poisson_points;

/* Writes is_empty[n]: 1 for positions[n][3], scene units, that are known to be outside, far from a surface, else 0. */
typedef void (*splat_poisson_empty)(void *user, const float *positions, size_t n, uint8_t *is_empty);

/* Called between pieces of work on the calling thread; fraction of the whole, 0 to 1. Returning false stops the
 * reconstruction with SPLAT_ERROR_STOPPED. */
typedef bool (*splat_poisson_progress)(void *user, const char *stage, double fraction);

typedef struct splat_poisson_options {
    int depth;                   /* 6 .. 14: the finest cell is 2^-depth of the cube's side */
    double samples_per_node;     /* 0.5 .. 100: points a cell should hold; more for noisy points */
    double screening;            /* 0 .. 1000: weight of passing through the points (alpha of the paper) */
    double scale;                /* 1.01 .. 8: side of the cube over the longest side of the points' box */
    bool close_sides;            /* a surface that leaves the cube ends with lids on the cube's sides; false: there it
                                    is open */
    splat_poisson_empty find_empty; /* the surface does not enter cells whose corners and middle are empty and that are
                                       far from points; NULL: no place is known to be */
    void *empty_user;
    int threads;                 /* 1 .. 1024; the mesh is the same, bit for bit, for any number */
    uint64_t memory_limit_bytes; /* limit of this call's allocations, with the mesh; 0: none */
    splat_poisson_progress progress; /* NULL: none */
    void *progress_user;
} splat_poisson_options;

typedef struct splat_poisson_report {
    int depth;                          /* depth of the finest cells */
    size_t n_cells, n_leaves;           /* cells and leaves of the octree */
    double iso_value;                   /* mean of the function at the points; near 0 */
    double area;                        /* area by the density of the points, square scene units */
    double cell;                        /* side of a cell of `depth` levels, scene units */
    int iterations[SPLAT_POISSON_MAX_DEPTH + 1]; /* iterations of conjugate gradients on each level */
    double residual[SPLAT_POISSON_MAX_DEPTH + 1]; /* norm at the end over norm at the start, a level */
    uint64_t peak_bytes;                /* peak of this call's allocations */
} splat_poisson_report;

#endif
