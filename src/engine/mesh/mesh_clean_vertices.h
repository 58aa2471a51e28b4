/* Cleaning steps that look at vertices, and keeping some of the faces or vertices. */
#ifndef SPLAT_MESH_MESH_CLEAN_VERTICES_H
#define SPLAT_MESH_MESH_CLEAN_VERTICES_H

#include "mesh/mesh.h"

/* One step each; *n (what the step found) is added to. Vertices stay where they are until the last step. */
splat_status splat_mesh_merge_vertices(splat_mesh *mesh, double distance, int threads, size_t *n_vertices,
                                       splat_error *error);
splat_status splat_mesh_remove_small_components(splat_mesh *mesh, size_t min_faces, int threads,
                                                size_t *n_components, size_t *n_faces, splat_error *error);
splat_status splat_mesh_remove_unreferenced(splat_mesh *mesh, int threads, size_t *n_vertices, splat_error *error);

/* Keeps the faces whose keep is not 0. */
void splat_mesh_keep_faces(splat_mesh *mesh, const uint8_t *keep, int threads);
/* Removes vertices whose keep is 0, with the faces around them. Errors: MEMORY. */
splat_status splat_mesh_keep_vertices(splat_mesh *mesh, const uint8_t *keep, int threads, splat_error *error);
/* pieces[n_faces]: the number of the piece (faces joined by vertices) of each face, counted in the order of their first
 * faces; *n of them. Errors: MEMORY. */
splat_status splat_mesh_components(const splat_mesh *mesh, int threads, uint32_t *pieces, size_t *n,
                                   splat_error *error);

#endif
