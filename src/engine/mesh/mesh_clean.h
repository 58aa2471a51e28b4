/* Cleaning: what makes a mesh unfit for simplification, refinement and other programs is merged, removed or turned. */
#ifndef SPLAT_MESH_MESH_CLEAN_H
#define SPLAT_MESH_MESH_CLEAN_H

#include "mesh/mesh.h"

typedef struct splat_mesh_clean_options {
    double merge_distance;      /* vertices at most this far from an earlier one join it; 0: equal ones; < 0: none */
    double degenerate_area;     /* remove faces of at most this area, and faces that name a vertex twice; < 0: only the
                                   latter. Removing a thin face of distinct vertices opens the surface there */
    size_t min_component_faces; /* pieces with fewer faces go; 0: none */
    bool orient;                /* turn faces so that neighbours agree; each piece follows its larger area */
    int threads;                /* 1 or more; the result is the same for any number */
} splat_mesh_clean_options;

typedef struct splat_mesh_clean_counts {
    size_t n_merged_vertices, n_degenerate_faces, n_duplicate_faces, n_non_manifold_edges, n_non_manifold_faces;
    size_t n_small_components, n_component_faces, n_turned_faces, n_unreferenced_vertices;
} splat_mesh_clean_counts;

/* merge 0, degenerate_area -1, no small components, orient, one thread. */
void splat_mesh_clean_options_init(splat_mesh_clean_options *options);
/* All steps: merging, degenerate and duplicate faces, non-manifold edges, small components, orientation, unreferenced
 * vertices (steps of vertices are in mesh_clean_vertices.h). counts may be NULL. The mesh must be valid
 * (splat_mesh_check). The texture is kept with the faces, normals with their vertices; compute them again when the
 * surface counts. Errors: MEMORY; then the mesh is still valid. ARGUMENT: no thread. */
splat_status splat_mesh_clean(splat_mesh *mesh, const splat_mesh_clean_options *options,
                              splat_mesh_clean_counts *counts, splat_error *error);

/* One step each; *n (what the step found) is added to. Vertices stay where they are. */
splat_status splat_mesh_remove_degenerate(splat_mesh *mesh, double area, int threads, size_t *n_faces,
                                          splat_error *error);
/* The first of faces with the same three vertices stays, whichever way they turn. */
splat_status splat_mesh_remove_duplicate_faces(splat_mesh *mesh, int threads, size_t *n_faces, splat_error *error);
/* Removes the smallest faces of edges with more than two faces, until two are left. */
splat_status splat_mesh_remove_non_manifold(splat_mesh *mesh, int threads, size_t *n_edges, size_t *n_faces,
                                            splat_error *error);
splat_status splat_mesh_orient(splat_mesh *mesh, int threads, size_t *n_faces, splat_error *error);

#endif
