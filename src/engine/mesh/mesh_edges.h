/* Which faces meet at which edge. */
#ifndef SPLAT_MESH_MESH_EDGES_H
#define SPLAT_MESH_MESH_EDGES_H

#include "mesh/mesh.h"

/* A half-edge h is the side of face h / 3 from its corner h % 3 to the next one. */
static inline uint32_t splat_half_edge_from(const splat_mesh *mesh, size_t h)
{
    return mesh->faces[h];
}
static inline uint32_t splat_half_edge_to(const splat_mesh *mesh, size_t h)
{
    return mesh->faces[h % 3 == 2 ? h - 2 : h + 1];
}

/* One use of an undirected edge; uses of the same edge stand side by side. */
typedef struct splat_edge_use {
    uint32_t high;      /* the larger vertex of the edge */
    uint32_t half_edge;
} splat_edge_use;

/* Sorted by (smaller vertex, larger vertex, half-edge). Sides of faces that name a vertex twice in a row are left
 * out. */
typedef struct splat_mesh_edges {
    uint32_t *starts;     /* [n_vertices + 1]: the uses whose smaller vertex is v are uses[starts[v]...] */
    splat_edge_use *uses;
    size_t n_uses;
} splat_mesh_edges;

/* The mesh must be valid (splat_mesh_check) with at most 2^32 / 3 faces; the result is the same for any number of
 * threads. Errors: MEMORY. */
splat_status splat_mesh_edges_make(const splat_mesh *mesh, int threads, splat_mesh_edges *edges, splat_error *error);
void splat_mesh_edges_free(splat_mesh_edges *edges);
/* The end of the run of uses, below `end`, of the edge that use `first` belongs to. */
static inline size_t splat_mesh_edges_run(const splat_mesh_edges *edges, size_t first, size_t end)
{
    size_t i = first + 1;
    while (i < end && edges->uses[i].high == edges->uses[first].high) i++;
    return i;
}

#endif
