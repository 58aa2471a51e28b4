/* Vertices with texture coordinates of their own, as file formats want them. */
#ifndef SPLAT_MESH_MESH_SPLIT_H
#define SPLAT_MESH_MESH_SPLIT_H

#include "mesh/mesh.h"

typedef struct splat_mesh_split {
    size_t n;
    uint32_t *vertices; /* [n]: the vertex of the mesh that each stands for, in ascending order */
    float (*uvs)[2];    /* [n] */
    uint32_t *corners;  /* [n_faces][3]: which of the n */
} splat_mesh_split;

/* A vertex once for each pair of texture coordinates that its corners have, bit for bit; vertices without faces are
 * left out. The mesh has uvs. Errors: MEMORY. */
splat_status splat_mesh_split_make(const splat_mesh *mesh, splat_mesh_split *split, splat_error *error);
void splat_mesh_split_free(splat_mesh_split *split);

#endif
