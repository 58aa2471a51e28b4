/* A mesh drawn onto the surface points that it was made from: reconstruction smooths, the points still know where the
 * surface is. Vertices move along their own normals only, so that they do not gather in the same points, and no face
 * turns over. */
#ifndef SPLAT_MESH_MESH_PROJECT_H
#define SPLAT_MESH_MESH_PROJECT_H

#include "mesh/mesh.h"

typedef struct splat_mesh_project_options {
    double max_edges; /* 2; above 0: a point farther from the vertex than this many mean sides of the faces around it is
                         not of its surface */
    double part;      /* 1; above 0, at most 1: how much of the way is gone */
    int threads;      /* 1; the result does not depend on it */
} splat_mesh_project_options;

typedef struct splat_mesh_project_counts {
    size_t n_moved;     /* vertices, the shortened among them */
    size_t n_shortened; /* moved less than wanted, for the sake of a face */
    size_t n_refused;   /* near a point, but each move would have spoilt a face, or the vertex has no normal */
    size_t n_far;       /* without a point near enough; these keep their colour, too */
} splat_mesh_project_counts;

void splat_mesh_project_options_init(splat_mesh_project_options *options);
/* Moves each vertex to the height of its nearest point: along its normal (the mean of the faces' normals around it,
 * by area; the mesh's own normals are not used), by the part of the offset that lies along it. Where a face would
 * turn by more than 90 degrees or become a sliver, the moves of its vertices are halved, at most four times, then
 * given up; faces of no area are not looked after, so clean the mesh before. positions[n_points][3] are all points;
 * of their colors [n_points][4] (RGBA, NULL: none) a vertex takes that of its nearest point when that is near
 * enough, moved or not. Normals are computed again. Faces do not change. The mesh must be valid
 * (splat_mesh_check); counts may be NULL. Errors: ARGUMENT (also a point that is not finite), MEMORY; the mesh is
 * valid then. */
splat_status splat_mesh_project(splat_mesh *mesh, const float *positions, const uint8_t *colors, size_t n_points,
                                const splat_mesh_project_options *options, splat_mesh_project_counts *counts,
                                splat_error *error);
/* Working memory, in addition to mesh and points. */
size_t splat_mesh_project_bytes(const splat_mesh *mesh, uint32_t n_points);

#endif
