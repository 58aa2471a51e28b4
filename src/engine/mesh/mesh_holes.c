/* Half-edges without a face on their other side are walked from vertex to vertex. Where the walk comes to a vertex for
 * the second time, the walk in between is a simple loop. */
#include "mesh/mesh_holes.h"

#include "math/vec3.h"
#include "mesh/mesh_edges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

typedef struct holes {
    splat_mesh *mesh;
    double most_sizes;
    float *sizes;
    uint32_t *starts;    /* [n_vertices + 1]: boundary half-edges from v are leaving[starts[v]..] */
    uint32_t *leaving, *used; /* [n_boundary]; [n_vertices]: how many of them were walked */
    uint32_t *path, *places;  /* [n_boundary + 1] half-edges; [n_vertices]: the place in the path of the one from v */
    size_t n_vertices;        /* before any hole was closed */
    size_t n_boundary, n_path;
    uint32_t *loops, *ends;   /* [n_boundary]: half-edges of the holes, one after another; where each hole ends */
    size_t n_in_loops, n_holes;
} holes;

static bool allocate(holes *w)
{
    const size_t n = w->n_vertices + 1, m = w->n_boundary + 1;
    w->starts = calloc(n + 1, sizeof *w->starts);
    w->leaving = malloc(m * sizeof *w->leaving);
    w->used = calloc(n, sizeof *w->used);
    w->path = malloc(m * sizeof *w->path);
    w->places = malloc(n * sizeof *w->places);
    w->loops = malloc(m * sizeof *w->loops);
    w->ends = malloc(m * sizeof *w->ends);
    return w->starts && w->leaving && w->used && w->path && w->places && w->loops && w->ends;
}

static void release(holes *w)
{
    free(w->starts);
    free(w->leaving);
    free(w->used);
    free(w->path);
    free(w->places);
    free(w->loops);
    free(w->ends);
}

/* Calls the function for each half-edge that is alone on its edge. */
static void each_boundary(holes *w, const splat_mesh_edges *edges, void (*visit)(holes *, uint32_t))
{
    for (size_t v = 0; v < w->n_vertices; v++)
        for (size_t i = edges->starts[v], next; i < edges->starts[v + 1]; i = next) {
            next = splat_mesh_edges_run(edges, i, edges->starts[v + 1]);
            if (next == i + 1) visit(w, edges->uses[i].half_edge);
        }
}

static void count_boundary(holes *w, uint32_t half_edge)
{
    (void)half_edge;
    w->n_boundary++;
}

static void count_leaving(holes *w, uint32_t half_edge)
{
    w->starts[splat_half_edge_from(w->mesh, half_edge) + 1]++;
}

static void put_leaving(holes *w, uint32_t half_edge)
{
    const uint32_t v = splat_half_edge_from(w->mesh, half_edge);
    w->leaving[w->starts[v] + w->used[v]++] = half_edge;
}

/* True if the half-edges are the rim of a small hole: its faces lie around it, so the area vector of the rim, walked as
 * a face of the hole has it, points where theirs do. */
static bool is_hole(const holes *w, const uint32_t *loop, size_t n)
{
    const splat_mesh *mesh = w->mesh;
    double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}, size = 0;
    double area[3] = {0}, around[3] = {0}, diagonal = 0;
    const float *origin = mesh->vertices + 3 * (size_t)splat_half_edge_from(mesh, loop[0]);
    for (size_t i = 0; i < n; i++) {
        const uint32_t v = splat_half_edge_from(mesh, loop[i]);
        const float *a = mesh->vertices + 3 * (size_t)v;
        const float *b = mesh->vertices + 3 * (size_t)splat_half_edge_to(mesh, loop[i]);
        double from[3], to[3], cross[3], normal[3];
        for (int k = 0; k < 3; k++) {
            low[k] = fmin(low[k], (double)a[k]);
            high[k] = fmax(high[k], (double)a[k]);
            from[k] = (double)a[k] - (double)origin[k];
            to[k] = (double)b[k] - (double)origin[k];
        }
        splat_cross3(to, from, cross); /* the hole's faces have the edge the other way */
        splat_mesh_face_cross(mesh, loop[i] / 3, normal);
        for (int k = 0; k < 3; k++) area[k] += cross[k];
        for (int k = 0; k < 3; k++) around[k] += normal[k];
        size += (double)w->sizes[v] / (double)n;
    }
    for (int k = 0; k < 3; k++) diagonal += (high[k] - low[k]) * (high[k] - low[k]);
    return sqrt(diagonal) <= w->most_sizes * size && splat_dot3(area, around) > 0;
}

/* Takes the path from this place on as a loop. */
static void end_loop(holes *w, size_t first)
{
    const size_t n = w->n_path - first;
    for (size_t i = first; i < w->n_path; i++) w->places[splat_half_edge_from(w->mesh, w->path[i])] = NONE;
    if (n >= 3 && is_hole(w, w->path + first, n)) {
        memcpy(w->loops + w->n_in_loops, w->path + first, n * sizeof *w->path);
        w->n_in_loops += n;
        w->ends[w->n_holes++] = (uint32_t)w->n_in_loops;
    }
    w->n_path = first;
}

/* Walks from a vertex until no half-edge leaves. In an oriented mesh the walk comes back. */
static void walk_from(holes *w, uint32_t v)
{
    w->n_path = 0;
    while (w->used[v] < w->starts[v + 1] - w->starts[v]) {
        const uint32_t half_edge = w->leaving[w->starts[v] + w->used[v]++];
        w->places[v] = (uint32_t)w->n_path;
        w->path[w->n_path++] = half_edge;
        v = splat_half_edge_to(w->mesh, half_edge);
        if (w->places[v] != NONE) end_loop(w, w->places[v]);
    }
    while (w->n_path > 0) w->places[splat_half_edge_from(w->mesh, w->path[--w->n_path])] = NONE;
}

static splat_status find_holes(holes *w, const splat_mesh_edges *edges, splat_error *error)
{
    each_boundary(w, edges, count_boundary);
    if (!allocate(w)) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu open edges", w->n_boundary);
    each_boundary(w, edges, count_leaving);
    for (size_t v = 0; v < w->n_vertices; v++) w->starts[v + 1] += w->starts[v];
    each_boundary(w, edges, put_leaving);
    memset(w->used, 0, w->n_vertices * sizeof *w->used);
    memset(w->places, 0xff, w->n_vertices * sizeof *w->places);
    for (size_t v = 0; v < w->n_vertices; v++) walk_from(w, (uint32_t)v);
    return SPLAT_OK;
}

static splat_status close_hole(holes *w, const uint32_t *loop, size_t n, splat_error *error)
{
    splat_mesh *mesh = w->mesh;
    double sum[3] = {0}, size = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t v = splat_half_edge_from(mesh, loop[i]);
        for (size_t k = 0; k < 3; k++) sum[k] += (double)mesh->vertices[3 * (size_t)v + k] / (double)n;
        size += (double)w->sizes[v] / (double)n;
    }
    const float middle[3] = {(float)sum[0], (float)sum[1], (float)sum[2]};
    const uint32_t center = (uint32_t)mesh->n_vertices;
    w->sizes[center] = (float)size;
    SPLAT_TRY(splat_mesh_add_vertex(mesh, middle, NULL, error));
    for (size_t i = 0; i < n; i++)
        SPLAT_TRY(splat_mesh_add_face(mesh, splat_half_edge_to(mesh, loop[i]), splat_half_edge_from(mesh, loop[i]),
                                      center, error));
    return SPLAT_OK;
}

static splat_status close_holes(holes *w, float **sizes, splat_error *error)
{
    float *grown = realloc(*sizes, (w->n_vertices + w->n_holes + 1) * sizeof *grown);
    if (!grown) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu vertices", w->n_vertices + w->n_holes);
    *sizes = w->sizes = grown;
    SPLAT_TRY(splat_mesh_reserve(w->mesh, w->n_vertices + w->n_holes, w->mesh->n_faces + w->n_in_loops, error));
    for (size_t i = 0, first = 0; i < w->n_holes; first = w->ends[i++])
        SPLAT_TRY(close_hole(w, w->loops + first, w->ends[i] - first, error));
    return SPLAT_OK;
}

splat_status splat_mesh_close_holes(splat_mesh *mesh, double most_sizes, int threads, float **sizes, size_t *n_holes,
                                    splat_error *error)
{
    holes w = {.mesh = mesh, .most_sizes = most_sizes, .sizes = *sizes, .n_vertices = mesh->n_vertices};
    splat_mesh_edges edges;
    *n_holes = 0;
    if (mesh->uvs || mesh->n_faces > UINT32_MAX / 6)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "holes are closed in meshes without a texture, of less than 7e8 "
                          "faces");
    SPLAT_TRY(splat_mesh_edges_make(mesh, threads, &edges, error));
    splat_status status = find_holes(&w, &edges, error);
    splat_mesh_edges_free(&edges);
    if (status == SPLAT_OK) status = close_holes(&w, sizes, error);
    if (status == SPLAT_OK) *n_holes = w.n_holes;
    release(&w);
    return status;
}
