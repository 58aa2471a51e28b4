/* The order of the steps, and those that look at faces and edges. Vertices: mesh_clean_vertices.c. */

#include "mesh/mesh_clean.h"

#include "base/rows.h"
#include "mesh/mesh_clean_vertices.h"
#include "mesh/mesh_edges.h"

#include <stdlib.h>
#include <string.h>

void splat_mesh_clean_options_init(splat_mesh_clean_options *options)
{
    *options = (splat_mesh_clean_options){.degenerate_area = -1, .orient = true, .threads = 1};
}

static splat_status no_memory(const splat_mesh *mesh, splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to clean a mesh of %zu faces", mesh->n_faces);
}

splat_status splat_mesh_remove_degenerate(splat_mesh *mesh, double area, int threads, size_t *n_faces,
                                          splat_error *error)
{
    size_t n = mesh->n_faces;
    uint8_t *keep = malloc(n ? n : 1);
    if (!keep) return no_memory(mesh, error);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < n; i++) {
        const uint32_t *f = mesh->faces + 3 * i;
        keep[i] = !(f[0] == f[1] || f[1] == f[2] || f[2] == f[0] ||
                    (area >= 0.0 && splat_mesh_face_area(mesh, i) <= area));
    }
    splat_mesh_keep_faces(mesh, keep, threads);
    *n_faces += n - mesh->n_faces;
    free(keep);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- duplicate faces */

#define SHORT_BUCKET 32

typedef struct sorted_face { uint32_t corners[3], face; } sorted_face;

static sorted_face sort_corners(const splat_mesh *mesh, size_t face)
{
    const uint32_t *f = mesh->faces + 3 * face;
    uint32_t a = f[0], b = f[1], c = f[2], t;
    if (a > b) t = a, a = b, b = t;
    if (b > c) t = b, b = c, c = t;
    if (a > b) t = a, a = b, b = t;
    return (sorted_face){{a, b, c}, (uint32_t)face};
}

/* All of a bucket have the same smallest corner. */
static int compare_faces(const void *a, const void *b)
{
    const sorted_face *x = a, *y = b;
    for (int k = 1; k < 3; k++)
        if (x->corners[k] != y->corners[k]) return x->corners[k] < y->corners[k] ? -1 : 1;
    return (x->face > y->face) - (x->face < y->face);
}

/* A handful, most often; a fan's hub has many. */
static void sort_bucket(sorted_face *faces, size_t n)
{
    if (n > SHORT_BUCKET) {
        qsort(faces, n, sizeof *faces, compare_faces);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        sorted_face face = faces[i];
        size_t j = i;
        for (; j > 0 && compare_faces(&faces[j - 1], &face) > 0; j--) faces[j] = faces[j - 1];
        faces[j] = face;
    }
}

splat_status splat_mesh_remove_duplicate_faces(splat_mesh *mesh, int threads, size_t *n_faces, splat_error *error)
{
    size_t n = mesh->n_faces;
    uint32_t *starts = calloc(mesh->n_vertices + 2, sizeof *starts);
    sorted_face *faces = malloc((n ? n : 1) * sizeof *faces);
    uint8_t *keep = malloc(n ? n : 1);
    splat_status status = SPLAT_OK;
    if (!starts || !faces || !keep) {
        status = no_memory(mesh, error);
        goto done;
    }
    /* buckets by the smallest vertex, a few faces each */
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < n; i++)
        __atomic_fetch_add(&starts[(size_t)sort_corners(mesh, i).corners[0] + 2], 1, __ATOMIC_RELAXED);
    splat_add_up(starts, mesh->n_vertices + 2, threads);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < n; i++) {
        sorted_face face = sort_corners(mesh, i);
        faces[__atomic_fetch_add(&starts[(size_t)face.corners[0] + 1], 1, __ATOMIC_RELAXED)] = face;
    }
    memset(keep, 1, n);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t v = 0; v < mesh->n_vertices; v++) {
        size_t first = starts[v], end = starts[v + 1];
        sort_bucket(faces + first, end - first);
        for (size_t i = first + 1; i < end; i++)
            if (memcmp(faces[i].corners, faces[i - 1].corners, sizeof faces[i].corners) == 0) keep[faces[i].face] = 0;
    }
    splat_mesh_keep_faces(mesh, keep, threads);
    *n_faces += n - mesh->n_faces;
done:
    free(starts);
    free(faces);
    free(keep);
    return status;
}

/* ---------------------------------------------------------------- non-manifold edges */

/* Drops the smallest living face of uses [first, end); of equal ones the last. */
static void drop_smallest(const splat_mesh *mesh, const splat_mesh_edges *edges, size_t first, size_t end,
                          uint8_t *keep)
{
    size_t smallest = SIZE_MAX;
    double least = 0.0;
    for (size_t i = first; i < end; i++) {
        size_t face = edges->uses[i].half_edge / 3;
        if (!keep[face]) continue;
        double area = splat_mesh_face_area(mesh, face);
        if (smallest == SIZE_MAX || area <= least) {
            smallest = face;
            least = area;
        }
    }
    if (smallest != SIZE_MAX) keep[smallest] = 0;
}

/* Removes faces where more than two meet at an edge of vertex v. Faces removed at one edge are gone for the next. */
static void thin_out(const splat_mesh *mesh, const splat_mesh_edges *edges, size_t v, uint8_t *keep, size_t *n_edges)
{
    for (size_t i = edges->starts[v], end; i < edges->starts[v + 1]; i = end) {
        end = splat_mesh_edges_run(edges, i, edges->starts[v + 1]);
        if (end - i <= 2) continue;
        size_t alive = 0;
        for (size_t k = i; k < end; k++) alive += keep[edges->uses[k].half_edge / 3];
        if (alive > 2) ++*n_edges;
        for (; alive > 2; alive--) drop_smallest(mesh, edges, i, end, keep);
    }
}

/* Faults of a mesh's edges. */
typedef struct edge_faults {
    size_t n_crowded; /* edges of more than two faces */
    size_t n_against; /* edges of two faces that turn differently */
} edge_faults;

/* crowded[v] = 1 where an edge of the smaller vertex v has more than two faces. */
static edge_faults find_faults(const splat_mesh *mesh, const splat_mesh_edges *edges, int threads, uint8_t *crowded)
{
    size_t n_crowded = 0, n_against = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : n_crowded, n_against)
    for (size_t v = 0; v < mesh->n_vertices; v++) {
        crowded[v] = 0;
        for (size_t i = edges->starts[v], end; i < edges->starts[v + 1]; i = end) {
            end = splat_mesh_edges_run(edges, i, edges->starts[v + 1]);
            const splat_edge_use *uses = edges->uses + i;
            if (end - i > 2) crowded[v] = 1;
            n_crowded += end - i > 2;
            n_against += end - i == 2 && splat_half_edge_from(mesh, uses[0].half_edge) ==
                                             splat_half_edge_from(mesh, uses[1].half_edge);
        }
    }
    return (edge_faults){n_crowded, n_against};
}

/* *agrees: all neighbours turn the same way already. Where faces go that is not known, and false. */
static splat_status remove_non_manifold(splat_mesh *mesh, int threads, size_t *n_edges, size_t *n_faces, bool *agrees,
                                        splat_error *error)
{
    splat_mesh_edges edges;
    size_t n = mesh->n_faces;
    SPLAT_TRY(splat_mesh_edges_make(mesh, threads, &edges, error));
    uint8_t *crowded = malloc(mesh->n_vertices + 1), *keep = NULL;
    splat_status status = crowded ? SPLAT_OK : no_memory(mesh, error);
    if (status == SPLAT_OK) {
        edge_faults faults = find_faults(mesh, &edges, threads, crowded);
        *agrees = faults.n_crowded + faults.n_against == 0;
        if (faults.n_crowded && !(keep = malloc(n))) status = no_memory(mesh, error);
    }
    if (keep) {
        memset(keep, 1, n);
        for (size_t v = 0; v < mesh->n_vertices; v++)
            if (crowded[v]) thin_out(mesh, &edges, v, keep, n_edges);
        splat_mesh_keep_faces(mesh, keep, threads);
        *n_faces += n - mesh->n_faces;
    }
    free(crowded);
    free(keep);
    splat_mesh_edges_free(&edges);
    return status;
}

splat_status splat_mesh_remove_non_manifold(splat_mesh *mesh, int threads, size_t *n_edges, size_t *n_faces,
                                            splat_error *error)
{
    bool agrees;
    return remove_non_manifold(mesh, threads, n_edges, n_faces, &agrees, error);
}

/* ---------------------------------------------------------------- orientation */

/* opposite[h]: the half-edge on the other side of a manifold edge; UINT32_MAX: none. */
static void find_opposites(const splat_mesh *mesh, const splat_mesh_edges *edges, int threads, uint32_t *opposite)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t h = 0; h < 3 * mesh->n_faces; h++) opposite[h] = UINT32_MAX;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t v = 0; v < mesh->n_vertices; v++) {
        for (size_t i = edges->starts[v], end; i < edges->starts[v + 1]; i = end) {
            end = splat_mesh_edges_run(edges, i, edges->starts[v + 1]);
            if (end - i != 2) continue;
            opposite[edges->uses[i].half_edge] = edges->uses[i + 1].half_edge;
            opposite[edges->uses[i + 1].half_edge] = edges->uses[i].half_edge;
        }
    }
}

enum { UNSEEN, STAYS, TURNS };

/* Walks the piece of `first`, which stays, over its edges. Then the part with the smaller area is what turns. */
static void orient_piece(const splat_mesh *mesh, const uint32_t *opposite, uint32_t first, uint8_t *sides,
                         uint32_t *queue)
{
    size_t n = 0;
    double areas[3] = {0.0, 0.0, 0.0};
    queue[n++] = first;
    sides[first] = STAYS;
    for (size_t i = 0; i < n; i++) {
        uint32_t face = queue[i];
        areas[sides[face]] += splat_mesh_face_area(mesh, face);
        for (size_t h = 3 * (size_t)face; h < 3 * (size_t)face + 3; h++) {
            uint32_t other = opposite[h];
            if (other == UINT32_MAX || sides[other / 3] != UNSEEN) continue;
            bool agrees = splat_half_edge_from(mesh, h) != splat_half_edge_from(mesh, other);
            sides[other / 3] = agrees ? sides[face] : (uint8_t)(STAYS + TURNS - sides[face]);
            queue[n++] = other / 3;
        }
    }
    if (areas[TURNS] > areas[STAYS])
        for (size_t i = 0; i < n; i++) sides[queue[i]] = (uint8_t)(STAYS + TURNS - sides[queue[i]]);
}

static void turn_faces(splat_mesh *mesh, const uint8_t *sides, size_t *n_faces)
{
    for (size_t i = 0; i < mesh->n_faces; i++) {
        if (sides[i] != TURNS) continue;
        splat_mesh_turn_face(mesh, i);
        ++*n_faces;
    }
}

splat_status splat_mesh_orient(splat_mesh *mesh, int threads, size_t *n_faces, splat_error *error)
{
    splat_mesh_edges edges;
    size_t n = mesh->n_faces ? mesh->n_faces : 1;
    splat_status status = SPLAT_OK;
    SPLAT_TRY(splat_mesh_edges_make(mesh, threads, &edges, error));
    uint32_t *opposite = malloc(3 * n * sizeof *opposite), *queue = malloc(n * sizeof *queue);
    uint8_t *sides = calloc(n, 1);
    if (opposite && queue && sides) {
        find_opposites(mesh, &edges, threads, opposite);
        for (size_t i = 0; i < mesh->n_faces; i++)
            if (sides[i] == UNSEEN) orient_piece(mesh, opposite, (uint32_t)i, sides, queue);
        turn_faces(mesh, sides, n_faces);
    } else {
        status = no_memory(mesh, error);
    }
    free(opposite);
    free(queue);
    free(sides);
    splat_mesh_edges_free(&edges);
    return status;
}

/* ---------------------------------------------------------------- all */

splat_status splat_mesh_clean(splat_mesh *mesh, const splat_mesh_clean_options *options,
                              splat_mesh_clean_counts *counts, splat_error *error)
{
    splat_mesh_clean_counts ignored, *n = counts ? counts : &ignored;
    memset(n, 0, sizeof *n);
    int threads = options->threads;
    bool agrees = false;
    if (threads < 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "at least one thread cleans a mesh, not %d", threads);
    if (options->merge_distance >= 0.0)
        SPLAT_TRY(splat_mesh_merge_vertices(mesh, options->merge_distance, threads, &n->n_merged_vertices, error));
    SPLAT_TRY(splat_mesh_remove_degenerate(mesh, options->degenerate_area, threads, &n->n_degenerate_faces, error));
    SPLAT_TRY(splat_mesh_remove_duplicate_faces(mesh, threads, &n->n_duplicate_faces, error));
    SPLAT_TRY(remove_non_manifold(mesh, threads, &n->n_non_manifold_edges, &n->n_non_manifold_faces, &agrees, error));
    if (options->min_component_faces)
        SPLAT_TRY(splat_mesh_remove_small_components(mesh, options->min_component_faces, threads,
                                                     &n->n_small_components, &n->n_component_faces, error));
    if (options->orient && !agrees) SPLAT_TRY(splat_mesh_orient(mesh, threads, &n->n_turned_faces, error));
    return splat_mesh_remove_unreferenced(mesh, threads, &n->n_unreferenced_vertices, error);
}
