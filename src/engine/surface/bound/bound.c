/* Lists of a mesh that Gaussians are bound to: which corners meet at a vertex, and which faces at an edge. Then the
 * parameters that refinement begins with. */
#include "surface/bound/bound.h"

#include "base/checked.h"
#include "math/sh.h"
#include "mesh/mesh_edges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

splat_status splat_bound_mesh_describe(const splat_mesh *mesh, int per_face, float extent, splat_bound_mesh *bound,
                                       splat_error *error)
{
    size_t n;
    if (!splat_bound_is_per_face(per_face))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "%d Gaussians a triangle: there can be 1, 3, 4 or 6", per_face);
    if (!(extent > 0) || !isfinite(extent))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a scene of extent %g has no room for a mesh", (double)extent);
    if (mesh->n_faces == 0) return splat_fail(error, SPLAT_ERROR_FORMAT, "the mesh has no faces to bind Gaussians to");
    if (!splat_size_mul(mesh->n_faces, per_face > 3 ? (size_t)per_face : 3, &n) || n > UINT32_MAX)
        return splat_fail(error, SPLAT_ERROR_MEMORY,
                          "a mesh of %zu faces is too large for %d Gaussians a triangle; simplify it first",
                          mesh->n_faces, per_face);
    const float square = extent * extent;
    *bound = (splat_bound_mesh){.n_vertices = (uint32_t)mesh->n_vertices,
                                .n_faces = (uint32_t)mesh->n_faces,
                                .per_face = per_face,
                                .thickness = 1e-6f * extent,
                                .least_area = 1e-12f * square,
                                .least_edge = 1e-8f * extent,
                                .least_normal = 1e-8f * square};
    return SPLAT_OK;
}

static splat_status no_memory(const splat_mesh *mesh, splat_bound_lists *lists, splat_error *error)
{
    splat_bound_lists_free(lists);
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the lists of a mesh of %zu faces", mesh->n_faces);
}

static splat_status make_corners(const splat_mesh *mesh, splat_bound_lists *lists, splat_error *error)
{
    const size_t n = mesh->n_vertices, n_corners = 3 * mesh->n_faces;
    lists->vertex_begin = calloc(n + 2, sizeof *lists->vertex_begin);
    lists->vertex_corners = malloc((n_corners ? n_corners : 1) * sizeof *lists->vertex_corners);
    if (!lists->vertex_begin || !lists->vertex_corners) return no_memory(mesh, lists, error);
    for (size_t c = 0; c < n_corners; c++) lists->vertex_begin[(size_t)mesh->faces[c] + 2]++;
    for (size_t v = 0; v < n; v++) lists->vertex_begin[v + 2] += lists->vertex_begin[v + 1];
    for (size_t c = 0; c < n_corners; c++) /* begin[v + 1] walks to the end of v's corners */
        lists->vertex_corners[lists->vertex_begin[(size_t)mesh->faces[c] + 1]++] = (uint32_t)c;
    return SPLAT_OK;
}

typedef void pair_visitor(void *state, uint32_t half_edge, uint32_t other);

/* Every two uses of an edge by different faces, once, in the order of the edges. */
static void visit_pairs(const splat_mesh *mesh, const splat_mesh_edges *edges, pair_visitor *visit, void *state)
{
    for (size_t v = 0; v < mesh->n_vertices; v++)
        for (size_t first = edges->starts[v], end; first < edges->starts[v + 1]; first = end) {
            end = splat_mesh_edges_run(edges, first, edges->starts[v + 1]);
            for (size_t i = first; i < end; i++)
                for (size_t j = i + 1; j < end; j++) {
                    uint32_t a = edges->uses[i].half_edge, b = edges->uses[j].half_edge;
                    if (a / 3 != b / 3) visit(state, a, b);
                }
        }
}

static void count_pair(void *state, uint32_t a, uint32_t b)
{
    splat_bound_lists *lists = state;
    lists->pair_begin[a / 3 + 2]++;
    lists->pair_begin[b / 3 + 2]++;
}

typedef struct pair_filler {
    const splat_mesh *mesh;
    splat_bound_lists *lists;
} pair_filler;

static void fill_pair(void *state, uint32_t a, uint32_t b)
{
    const pair_filler *f = state;
    const uint32_t turned = splat_half_edge_from(f->mesh, a) == splat_half_edge_from(f->mesh, b);
    f->lists->pairs[f->lists->pair_begin[a / 3 + 1]++] = 2 * (b / 3) + turned;
    f->lists->pairs[f->lists->pair_begin[b / 3 + 1]++] = 2 * (a / 3) + turned;
}

/* Upper bound of the pairs; those of one face with itself are few. False: more than an index can name. */
static bool bound_pairs(const splat_mesh *mesh, const splat_mesh_edges *edges)
{
    uint64_t n = 0;
    for (size_t v = 0; v < mesh->n_vertices; v++)
        for (size_t first = edges->starts[v], end; first < edges->starts[v + 1]; first = end) {
            end = splat_mesh_edges_run(edges, first, edges->starts[v + 1]);
            n += (uint64_t)(end - first) * (end - first - 1);
            if (n > UINT32_MAX) return false;
        }
    return true;
}

static splat_status make_pairs(const splat_mesh *mesh, const splat_mesh_edges *edges, splat_bound_lists *lists,
                               splat_error *error)
{
    const size_t n = mesh->n_faces;
    if (!bound_pairs(mesh, edges))
        return splat_fail(error, SPLAT_ERROR_MEMORY,
                          "the mesh has edges that very many faces share, too many pairs of them; clean it first");
    lists->pair_begin = calloc(n + 2, sizeof *lists->pair_begin);
    if (!lists->pair_begin) return no_memory(mesh, lists, error);
    visit_pairs(mesh, edges, count_pair, lists);
    for (size_t f = 0; f < n; f++) lists->pair_begin[f + 2] += lists->pair_begin[f + 1];
    const size_t n_entries = lists->pair_begin[n + 1];
    lists->pairs = malloc((n_entries ? n_entries : 1) * sizeof *lists->pairs);
    if (!lists->pairs) return no_memory(mesh, lists, error);
    lists->n_pairs = (uint32_t)(n_entries / 2);
    visit_pairs(mesh, edges, fill_pair, &(pair_filler){mesh, lists});
    return SPLAT_OK;
}

splat_status splat_bound_lists_make(const splat_mesh *mesh, splat_bound_lists *lists, splat_error *error)
{
    splat_mesh_edges edges;
    memset(lists, 0, sizeof *lists);
    SPLAT_TRY(splat_mesh_edges_make(mesh, 1, &edges, error));
    splat_status status = make_corners(mesh, lists, error);
    if (status == SPLAT_OK) status = make_pairs(mesh, &edges, lists, error);
    splat_mesh_edges_free(&edges);
    if (status != SPLAT_OK) splat_bound_lists_free(lists);
    return status;
}

void splat_bound_lists_free(splat_bound_lists *lists)
{
    free(lists->vertex_begin);
    free(lists->vertex_corners);
    free(lists->pair_begin);
    free(lists->pairs);
    memset(lists, 0, sizeof *lists);
}

/* ---------------------------------------------------------------- the first parameters
 * The parameters that refinement begins with: round Gaussians that touch, faint, of the mesh's colours. */

#define START_OPACITY 0.1
#define LEAST_DEVIATION 1e-7f

static float shortest_edge(const splat_mesh *mesh, const uint32_t *corners)
{
    double least = INFINITY;
    for (size_t k = 0; k < 3; k++) {
        const float *a = mesh->vertices + 3 * (size_t)corners[k];
        const float *b = mesh->vertices + 3 * (size_t)corners[(k + 1) % 3];
        double square = 0;
        for (size_t i = 0; i < 3; i++) square += ((double)b[i] - (double)a[i]) * ((double)b[i] - (double)a[i]);
        least = fmin(least, square);
    }
    return (float)sqrt(least);
}

/* (c - 1/2) / C0 of the colour at Gaussian j. */
static void color_of(const splat_mesh *mesh, const uint32_t *corners, int per_face, int j, float dc[3])
{
    for (size_t channel = 0; channel < 3; channel++) {
        float color = mesh->colors ? 0.0f : 0.5f;
        for (int k = 0; mesh->colors && k < 3; k++)
            color += splat_bound_barycentric(per_face, j, k) / 255.0f *
                     (float)mesh->colors[4 * (size_t)corners[k] + channel];
        dc[channel] = (color - 0.5f) / SPLAT_SH_C0;
    }
}

static splat_status allocate(splat_bound_start *start, size_t n, splat_error *error)
{
    size_t bytes;
    if (splat_size_mul(n, 3 * sizeof(float), &bytes)) {
        start->plane_scales = malloc(bytes);
        start->plane_rotations = malloc(bytes);
        start->opacities = malloc(bytes);
        start->sh_dc = malloc(bytes);
    }
    if (!start->plane_scales || !start->plane_rotations || !start->opacities || !start->sh_dc) {
        splat_bound_start_free(start);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu Gaussians on the mesh", n);
    }
    start->n = n;
    return SPLAT_OK;
}

splat_status splat_bound_initialize(const splat_mesh *mesh, int per_face, splat_bound_start *start, splat_error *error)
{
    splat_bound_mesh bound;
    memset(start, 0, sizeof *start);
    SPLAT_TRY(splat_bound_mesh_describe(mesh, per_face, 1, &bound, error));
    SPLAT_TRY(allocate(start, splat_bound_count(&bound), error));
    const float opacity = (float)log(START_OPACITY / (1 - START_OPACITY)), radius = splat_bound_radius(per_face);
    for (size_t f = 0; f < mesh->n_faces; f++) {
        const uint32_t *corners = mesh->faces + 3 * f;
        const float scale = logf(fmaxf(radius * shortest_edge(mesh, corners), LEAST_DEVIATION));
        for (int j = 0; j < per_face; j++) {
            const size_t i = f * (size_t)per_face + (size_t)j;
            start->plane_scales[2 * i] = start->plane_scales[2 * i + 1] = scale;
            start->plane_rotations[2 * i] = 1;
            start->plane_rotations[2 * i + 1] = 0;
            start->opacities[i] = opacity;
            color_of(mesh, corners, per_face, j, start->sh_dc + 3 * i);
        }
    }
    return SPLAT_OK;
}

void splat_bound_start_free(splat_bound_start *start)
{
    free(start->plane_scales);
    free(start->plane_rotations);
    free(start->opacities);
    free(start->sh_dc);
    memset(start, 0, sizeof *start);
}
