/* Which faces share an edge. */
#include "texture/bake_neighbors.h"

#include "mesh/mesh_edges.h"

#include <stdlib.h>

/* Each use of an edge meets the next one, the last the one before. */
static void join(const splat_mesh_edges *edges, size_t first, size_t last, uint32_t *neighbors)
{
    for (size_t i = first; i < last && last - first > 1; i++) {
        size_t other = i + 1 < last ? i + 1 : i - 1;
        neighbors[edges->uses[i].half_edge] = edges->uses[other].half_edge / 3;
    }
}

uint32_t *splat_bake_neighbors(const splat_mesh *mesh, int threads, splat_error *error)
{
    splat_mesh_edges edges;
    if (splat_mesh_edges_make(mesh, threads, &edges, error) != SPLAT_OK) return NULL;
    uint32_t *neighbors = malloc(3 * mesh->n_faces * sizeof *neighbors);
    size_t n_sides = neighbors ? 3 * mesh->n_faces : 0, n_vertices = neighbors ? mesh->n_vertices : 0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < n_sides; i++) neighbors[i] = SPLAT_BAKE_NO_FACE;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t v = 0; v < n_vertices; v++)
        for (size_t i = edges.starts[v]; i < edges.starts[v + 1];) {
            size_t end = splat_mesh_edges_run(&edges, i, edges.starts[v + 1]);
            join(&edges, i, end, neighbors);
            i = end;
        }
    splat_mesh_edges_free(&edges);
    if (!neighbors) splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a mesh of %zu faces", mesh->n_faces);
    return neighbors;
}
