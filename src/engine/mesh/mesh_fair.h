/* Fairing: of all surfaces that measurements can't tell apart, a smooth one; edges stay (the two steps are those of
 * Zheng, Fu, Au and Tai, Bilateral Normal Filtering for Mesh Denoising, TVCG 2011). */
#ifndef SPLAT_MESH_MESH_FAIR_H
#define SPLAT_MESH_MESH_FAIR_H

#include "mesh/mesh.h"

typedef struct splat_mesh_fair_options {
    double edge;          /* 45; degrees, 0 to 180: faces whose normals differ by more do not smooth each other */
    int n_normal_rounds;  /* 8; each makes a normal the mean of those of the faces around */
    int n_vertex_rounds;  /* 12; each moves vertices towards planes with these normals */
    int threads;          /* 1; the result does not depend on it */
} splat_mesh_fair_options;

void splat_mesh_fair_options_init(splat_mesh_fair_options *options);
/* Moves each vertex by at most reach[n_vertices] (scene units, 0 or more). Faces that share a vertex are neighbours;
 * they weigh by area and by (1 - (d / d_edge)^2)^2, where d, the distance of two unit normals, is below d_edge, that at
 * `edge`. Vertices at open edges stay. Normals of vertices are not computed again. Works on 60 bytes a face and 30 a
 * vertex. Errors: ARGUMENT, MEMORY; then the mesh is as it was. */
splat_status splat_mesh_fair(splat_mesh *mesh, const float *reach, const splat_mesh_fair_options *options,
                             splat_error *error);

#endif
