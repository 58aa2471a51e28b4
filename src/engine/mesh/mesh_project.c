/* The nearest point of every vertex, the move along its normal, and smaller moves where a face would be spoilt. */
#include "mesh/mesh_project.h"

#include "base/point_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HALVINGS = 4 };
/* Least ratio of twice a face's area to its longest side squared (0.87 for an equilateral face); below it the face is a
 * sliver. */
static const double sliver = 0.02;

typedef struct vertex_move {
    double sides;     /* sum of the sides of the faces around; a side of two faces counts twice */
    uint32_t n_sides;
    float height;     /* of the move, along the normal */
    uint8_t halvings;
    uint8_t is_near;  /* to its nearest point */
    uint8_t is_bad;   /* one of its faces would be spoilt */
} vertex_move;

typedef struct projection {
    const splat_mesh *mesh;
    const splat_mesh_project_options *options;
    const float *positions; /* of the points */
    vertex_move *moves;     /* [n_vertices] */
    float *distances2;      /* [n_vertices] to the nearest point, and its number */
    uint32_t *nearest;
} projection;

void splat_mesh_project_options_init(splat_mesh_project_options *options)
{
    *options = (splat_mesh_project_options){.max_edges = 2, .part = 1, .threads = 1};
}

static splat_status check(const splat_mesh_project_options *options, splat_error *error)
{
    if (!(options->max_edges > 0) || !isfinite(options->max_edges))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a projection must reach for more than 0 edges, not %g",
                          options->max_edges);
    if (!(options->part > 0 && options->part <= 1))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a projection goes a part of the way above 0 and at most 1, not "
                          "%g", options->part);
    if (options->threads < 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a projection needs a thread, not %d", options->threads);
    return SPLAT_OK;
}

static void add_sides(const projection *p)
{
    const splat_mesh *mesh = p->mesh;
    for (size_t f = 0; f < mesh->n_faces; f++)
        for (int k = 0; k < 3; k++) {
            uint32_t a = mesh->faces[3 * f + (size_t)k], b = mesh->faces[3 * f + (size_t)(k + 1) % 3];
            double length2 = 0;
            for (size_t c = 0; c < 3; c++) {
                double d = (double)mesh->vertices[3 * (size_t)b + c] - (double)mesh->vertices[3 * (size_t)a + c];
                length2 += d * d;
            }
            double length = sqrt(length2);
            p->moves[a].sides += length, p->moves[a].n_sides++;
            p->moves[b].sides += length, p->moves[b].n_sides++;
        }
}

static void want_moves(const projection *p)
{
    const splat_mesh *mesh = p->mesh;
#pragma omp parallel for num_threads(p->options->threads) schedule(static)
    for (size_t v = 0; v < mesh->n_vertices; v++) {
        vertex_move *move = &p->moves[v];
        double reach = move->n_sides ? p->options->max_edges * move->sides / move->n_sides : 0, along = 0;
        move->is_near = p->nearest[v] != SPLAT_NO_POINT && sqrt((double)p->distances2[v]) <= reach;
        if (!move->is_near) continue;
        const float *place = mesh->vertices + 3 * v, *normal = mesh->normals + 3 * v;
        const float *point = p->positions + 3 * (size_t)p->nearest[v];
        for (int c = 0; c < 3; c++) along += ((double)point[c] - (double)place[c]) * (double)normal[c];
        move->height = (float)(p->options->part * along);
    }
}

/* The place of a vertex after its move. */
static void place_of(const projection *p, size_t vertex, float place[3])
{
    float height = p->moves[vertex].height;
    for (size_t c = 0; c < 3; c++)
        place[c] = p->mesh->vertices[3 * vertex + c] + height * p->mesh->normals[3 * vertex + c];
}

/* (b - a) x (c - a); returns its length over that of the longest side squared, 0 for a triangle of no area. */
static double triangle_shape(const float a[3], const float b[3], const float c[3], double cross[3])
{
    double u[3], v[3], uu = 0, vv = 0, ww = 0;
    for (int k = 0; k < 3; k++) {
        u[k] = (double)b[k] - (double)a[k];
        v[k] = (double)c[k] - (double)a[k];
        uu += u[k] * u[k];
        vv += v[k] * v[k];
        ww += (v[k] - u[k]) * (v[k] - u[k]);
    }
    for (int k = 0; k < 3; k++) cross[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
    double longest = fmax(fmax(uu, vv), ww), length2 = cross[0] * cross[0] + cross[1] * cross[1] + cross[2] * cross[2];
    return longest > 0 ? sqrt(length2) / longest : 0;
}

/* True if the moves turn a face over or make it a sliver. A face that is already a sliver may stay one, but not get
 * worse. */
static bool is_spoilt(const projection *p, const uint32_t face[3])
{
    float place[3][3];
    double before[3], after[3];
    const float *vertices = p->mesh->vertices;
    if (p->moves[face[0]].height == 0 && p->moves[face[1]].height == 0 && p->moves[face[2]].height == 0) return false;
    double shape_before = triangle_shape(vertices + 3 * (size_t)face[0], vertices + 3 * (size_t)face[1],
                                         vertices + 3 * (size_t)face[2], before);
    if (shape_before == 0) return false;
    for (int k = 0; k < 3; k++) place_of(p, face[k], place[k]);
    double shape_after = triangle_shape(place[0], place[1], place[2], after);
    if (!(before[0] * after[0] + before[1] * after[1] + before[2] * after[2] > 0)) return true;
    return shape_after < fmin(sliver, 0.5 * shape_before);
}

/* Halves the moves of the corners of spoilt faces. Returns how many: each such face has one that moves, and none is
 * halved for ever, so that this comes to an end. */
static size_t give_way(const projection *p)
{
    const splat_mesh *mesh = p->mesh;
    size_t n_halved = 0;
#pragma omp parallel for num_threads(p->options->threads) schedule(static)
    for (size_t f = 0; f < mesh->n_faces; f++) {
        if (!is_spoilt(p, mesh->faces + 3 * f)) continue;
        for (size_t k = 0; k < 3; k++) {
            uint8_t *is_bad = &p->moves[mesh->faces[3 * f + k]].is_bad;
#pragma omp atomic write
            *is_bad = 1;
        }
    }
#pragma omp parallel for num_threads(p->options->threads) schedule(static) reduction(+ : n_halved)
    for (size_t v = 0; v < mesh->n_vertices; v++) {
        vertex_move *move = &p->moves[v];
        bool gives_way = move->is_bad && move->height != 0;
        move->is_bad = 0;
        if (!gives_way) continue;
        n_halved++;
        move->halvings++;
        move->height = move->halvings > MAX_HALVINGS ? 0 : 0.5f * move->height;
    }
    return n_halved;
}

static void apply(const projection *p, splat_mesh *mesh, const uint8_t *colors, splat_mesh_project_counts *counts)
{
    *counts = (splat_mesh_project_counts){0};
    for (size_t v = 0; v < mesh->n_vertices; v++) {
        const vertex_move *move = &p->moves[v];
        const float *normal = mesh->normals + 3 * v;
        float place[3];
        counts->n_far += !move->is_near;
        if (!move->is_near) continue;
        if (colors) memcpy(mesh->colors + 4 * v, colors + 4 * (size_t)p->nearest[v], 4);
        bool has_normal = normal[0] != 0 || normal[1] != 0 || normal[2] != 0;
        counts->n_refused += move->halvings > MAX_HALVINGS || !has_normal;
        if (move->height == 0) continue;
        place_of(p, v, place);
        memcpy(mesh->vertices + 3 * v, place, sizeof place);
        counts->n_moved++;
        counts->n_shortened += move->halvings > 0;
    }
}

size_t splat_mesh_project_bytes(const splat_mesh *mesh, uint32_t n_points)
{
    size_t vertex = sizeof(vertex_move) + sizeof(float) + sizeof(uint32_t) + 3 * sizeof(double); /* the last: normals */
    return splat_point_tree_bytes(n_points) + mesh->n_vertices * vertex;
}

static splat_status find_nearest(projection *p, size_t n_points, splat_error *error)
{
    splat_point_tree tree;
    SPLAT_TRY(splat_point_tree_make(&tree, p->positions, n_points, p->options->threads, error));
    splat_status status = splat_point_tree_query(&tree, p->mesh->vertices, p->mesh->n_vertices, 1, p->options->threads,
                                                 p->distances2, p->nearest, error);
    splat_point_tree_free(&tree);
    return status;
}

splat_status splat_mesh_project(splat_mesh *mesh, const float *positions, const uint8_t *colors, size_t n_points,
                                const splat_mesh_project_options *options, splat_mesh_project_counts *counts,
                                splat_error *error)
{
    size_t n = mesh->n_vertices;
    splat_mesh_project_counts found;
    projection p = {.mesh = mesh, .options = options, .positions = positions};
    SPLAT_TRY(check(options, error));
    p.moves = calloc(n + 1, sizeof *p.moves);
    p.distances2 = malloc((n + 1) * sizeof *p.distances2);
    p.nearest = malloc((n + 1) * sizeof *p.nearest);
    splat_status status = SPLAT_OK;
    if (!p.moves || !p.distances2 || !p.nearest)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to project a mesh of %zu vertices", n);
    if (status == SPLAT_OK) status = find_nearest(&p, n_points, error);
    if (status == SPLAT_OK && colors) status = splat_mesh_require_colors(mesh, error);
    if (status == SPLAT_OK) status = splat_mesh_compute_normals(mesh, options->threads, error);
    if (status == SPLAT_OK) {
        add_sides(&p);
        want_moves(&p);
        while (give_way(&p) > 0) {}
        apply(&p, mesh, colors, &found);
        if (counts) *counts = found;
        status = splat_mesh_compute_normals(mesh, options->threads, error);
    }
    free(p.moves);
    free(p.distances2);
    free(p.nearest);
    return status;
}
