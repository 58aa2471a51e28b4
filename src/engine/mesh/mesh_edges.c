/* Edges by sorting the three of every face. */
#include "mesh/mesh_edges.h"

#include "base/rows.h"

#include <stdlib.h>
#include <string.h>

/* A counting sort by the smaller vertex, by all threads, leaves the uses of a vertex in any order; a handful each, so
 * that an insertion sort is the quickest. A vertex with very many sides (a fan's hub) would make it slow, so long runs
 * go to qsort. */
enum { SHORT_RUN = 32 };

static int compare_uses(const void *a, const void *b)
{
    const splat_edge_use *x = a, *y = b;
    if (x->high != y->high) return x->high < y->high ? -1 : 1;
    return (x->half_edge > y->half_edge) - (x->half_edge < y->half_edge);
}

static void sort_run(splat_edge_use *uses, size_t n)
{
    if (n > SHORT_RUN) {
        qsort(uses, n, sizeof *uses, compare_uses);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        splat_edge_use use = uses[i];
        size_t j = i;
        for (; j > 0 && compare_uses(&uses[j - 1], &use) > 0; j--) uses[j] = uses[j - 1];
        uses[j] = use;
    }
}

splat_status splat_mesh_edges_make(const splat_mesh *mesh, int threads, splat_mesh_edges *edges, splat_error *error)
{
    size_t n = mesh->n_vertices, n_half = 3 * mesh->n_faces;
    memset(edges, 0, sizeof *edges);
    if (n_half > UINT32_MAX)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "a mesh of %zu faces has too many edges; simplify it first",
                          mesh->n_faces);
    uint32_t *starts = edges->starts = calloc(n + 2, sizeof *edges->starts);
    edges->uses = malloc((n_half ? n_half : 1) * sizeof *edges->uses);
    if (!edges->starts || !edges->uses) {
        splat_mesh_edges_free(edges);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the edges of a mesh of %zu faces", mesh->n_faces);
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t h = 0; h < n_half; h++) {
        uint32_t a = splat_half_edge_from(mesh, h), b = splat_half_edge_to(mesh, h);
        if (a != b) __atomic_fetch_add(&starts[(size_t)(a < b ? a : b) + 2], 1, __ATOMIC_RELAXED);
    }
    splat_add_up(starts, n + 2, threads);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t h = 0; h < n_half; h++) { /* starts[v + 1] walks to the end of v's uses */
        uint32_t a = splat_half_edge_from(mesh, h), b = splat_half_edge_to(mesh, h);
        if (a == b) continue;
        uint32_t low = a < b ? a : b, high = a < b ? b : a;
        uint32_t slot = __atomic_fetch_add(&starts[(size_t)low + 1], 1, __ATOMIC_RELAXED);
        edges->uses[slot] = (splat_edge_use){high, (uint32_t)h};
    }
    edges->n_uses = starts[n];
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t v = 0; v < n; v++) sort_run(edges->uses + starts[v], starts[v + 1] - starts[v]);
    return SPLAT_OK;
}

void splat_mesh_edges_free(splat_mesh_edges *edges)
{
    free(edges->starts);
    free(edges->uses);
    memset(edges, 0, sizeof *edges);
}
