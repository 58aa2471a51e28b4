/* A heap of edges would give the next cheapest one after every collapse, at the price of a walk through memory for
 * each. Here a pass sorts all edges once and makes those collapses, cheapest first, whose neighbourhoods no collapse of
 * the pass has touched; then edges are collected anew. Costs are computed in parallel; order and choice depend on costs
 * and numbers of vertices alone. */
#include "mesh/mesh_clean.h"
#include "mesh/mesh_edges.h"
#include "mesh/mesh_simplify.h"
#include "mesh/quadric.h"

#include <stdlib.h>
#include <string.h>

/* A pull towards the vertices themselves, against planes weighted by area: it makes every quadric regular and triangles
 * even where the surface is flat, and is too weak to move a vertex off curved surface by a percent of an edge. */
static const double point_weight = 1e-4;
/* A face may not turn by more than acos of this, nor may its corners come closer to a line than this shape allows. */
static const double least_turn = 0.3, least_shape = 0.05;
/* The part of all edges, from the cheapest on, that a pass may collapse: the rest waits for better neighbours. */
static const double pass_share = 0.3;

enum { INNER = 0, BOUNDARY = 1, LOCKED = 2 };

typedef struct candidate { uint32_t a, b; } candidate;

typedef struct simplifier {
    splat_mesh *mesh;
    double center[3];
    splat_quadric *quadrics;          /* [n_vertices] */
    uint8_t *kinds, *touched;         /* [n_vertices] */
    uint32_t *starts, *around;        /* faces around each vertex: around[starts[v]..starts[v + 1]) */
    candidate *candidates;            /* [n_candidates] */
    uint32_t *keys, *order, *scratch; /* [n_candidates]: bits of the float cost; sorted */
    uint32_t *marks, mark;            /* [n_vertices]: neighbours of the vertex in hand */
    size_t n_candidates;
    double max_cost, boundary_weight;
    int threads;
} simplifier;

void splat_mesh_simplify_options_init(splat_mesh_simplify_options *options)
{
    *options = (splat_mesh_simplify_options){.boundary_weight = 10, .threads = 1};
}

/* Faces of a manifold have 1.5 edges each; candidates are at most 3 a face. Edge uses live beside everything else. */
size_t splat_mesh_simplify_bytes(size_t n_vertices, size_t n_faces)
{
    size_t vertex = sizeof(splat_quadric) + 2 + 3 * sizeof(uint32_t);
    size_t face = 3 * (sizeof(candidate) + 4 * sizeof(uint32_t) + sizeof(splat_edge_use));
    return n_vertices * vertex + n_faces * face;
}

static void allocate(simplifier *s)
{
    size_t n = s->mesh->n_vertices + 2, half = 3 * s->mesh->n_faces + 1;
    s->quadrics = calloc(n, sizeof *s->quadrics);
    s->kinds = malloc(n);
    s->touched = malloc(n);
    s->starts = malloc(n * sizeof *s->starts);
    s->marks = calloc(n, sizeof *s->marks);
    s->around = malloc(half * sizeof *s->around);
    s->candidates = malloc(half * sizeof *s->candidates);
    s->keys = malloc(half * sizeof *s->keys);
    s->order = malloc(half * sizeof *s->order);
    s->scratch = malloc(half * sizeof *s->scratch);
}

static bool allocated(const simplifier *s)
{
    return s->quadrics && s->kinds && s->touched && s->starts && s->marks && s->around && s->candidates && s->keys &&
           s->order && s->scratch;
}

static void release(simplifier *s)
{
    free(s->quadrics);
    free(s->kinds);
    free(s->touched);
    free(s->starts);
    free(s->marks);
    free(s->around);
    free(s->candidates);
    free(s->keys);
    free(s->order);
    free(s->scratch);
}

/* ---------------------------------------------------------------- vectors */

static void sub(const double a[3], const double b[3], double out[3])
{
    for (int i = 0; i < 3; i++) out[i] = a[i] - b[i];
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* Relative to the centre of the mesh, where quadrics lose the fewest digits. */
static void position_of(const simplifier *s, size_t v, double x[3])
{
    for (size_t c = 0; c < 3; c++) x[c] = (double)s->mesh->vertices[3 * v + c] - s->center[c];
}

/* ---------------------------------------------------------------- quadrics */

static void add_to_corners(simplifier *s, const uint32_t *corners, size_t n, const double normal[3], double weight)
{
    double p[3];
    position_of(s, corners[0], p);
    for (size_t k = 0; k < n; k++) splat_quadric_add_plane(&s->quadrics[corners[k]], normal, -dot(normal, p), weight);
}

static void add_faces(simplifier *s)
{
    for (size_t i = 0; i < s->mesh->n_faces; i++) {
        double n[3], p[3];
        splat_mesh_face_cross(s->mesh, i, n);
        double length = sqrt(dot(n, n));
        if (!(length > 0.0)) continue;
        for (int c = 0; c < 3; c++) n[c] /= length;
        const uint32_t *corners = s->mesh->faces + 3 * i;
        add_to_corners(s, corners, 3, n, length / 6.0); /* a third of the area each */
        for (int k = 0; k < 3; k++) {
            position_of(s, corners[k], p);
            splat_quadric_add_point(&s->quadrics[corners[k]], p, point_weight * length / 6.0);
        }
    }
}

/* A plane through the open edge, at a right angle to its face. */
static void add_boundary(simplifier *s, uint32_t half_edge)
{
    const uint32_t corners[2] = {splat_half_edge_from(s->mesh, half_edge), splat_half_edge_to(s->mesh, half_edge)};
    double a[3], b[3], along[3], face[3], n[3];
    position_of(s, corners[0], a);
    position_of(s, corners[1], b);
    sub(b, a, along);
    splat_mesh_face_cross(s->mesh, half_edge / 3, face);
    cross(along, face, n);
    double length = sqrt(dot(n, n));
    if (!(length > 0.0)) return;
    for (int c = 0; c < 3; c++) n[c] /= length;
    double weight = s->boundary_weight * dot(along, along);
    for (int k = 0; k < 2; k++) { /* without its weight, so that the mean stays that over the faces */
        double mean = s->quadrics[corners[k]].weight;
        add_to_corners(s, corners + k, 1, n, weight);
        s->quadrics[corners[k]].weight = mean;
    }
}

/* ---------------------------------------------------------------- the edges of a pass */

/* Collects edges and tells which vertices lie on a boundary or on an edge of more than two faces. */
static splat_status collect_edges(simplifier *s, bool first, splat_error *error)
{
    splat_mesh_edges edges;
    SPLAT_TRY(splat_mesh_edges_make(s->mesh, &edges, error));
    memset(s->kinds, INNER, s->mesh->n_vertices);
    s->n_candidates = 0;
    for (size_t v = 0; v < s->mesh->n_vertices; v++) {
        for (size_t i = edges.starts[v], end; i < edges.starts[v + 1]; i = end) {
            end = splat_mesh_edges_run(&edges, i, edges.starts[v + 1]);
            uint32_t high = edges.uses[i].high;
            uint8_t kind = end - i == 2 ? INNER : end - i == 1 ? BOUNDARY : LOCKED;
            s->kinds[v] |= kind;
            s->kinds[high] |= kind;
            if (first && kind == BOUNDARY) add_boundary(s, edges.uses[i].half_edge);
            s->candidates[s->n_candidates++] = (candidate){(uint32_t)v, high};
        }
    }
    splat_mesh_edges_free(&edges);
    return SPLAT_OK;
}

static void collect_faces(simplifier *s)
{
    size_t n = s->mesh->n_vertices, n_half = 3 * s->mesh->n_faces;
    memset(s->starts, 0, (n + 2) * sizeof *s->starts);
    for (size_t h = 0; h < n_half; h++) s->starts[(size_t)s->mesh->faces[h] + 2]++;
    for (size_t v = 0; v < n; v++) s->starts[v + 2] += s->starts[v + 1];
    for (size_t h = 0; h < n_half; h++) s->around[s->starts[(size_t)s->mesh->faces[h] + 1]++] = (uint32_t)(h / 3);
}

/* Where the two vertices would meet, and the summed squared distance there. */
static double place(const simplifier *s, candidate edge, double x[3])
{
    splat_quadric q = s->quadrics[edge.a];
    double a[3], b[3], along[3];
    splat_quadric_add(&q, &s->quadrics[edge.b]);
    position_of(s, edge.a, a);
    position_of(s, edge.b, b);
    sub(b, a, along);
    bool found = splat_quadric_lowest(&q, x);
    if (found) { /* not farther from the edge than it is long: the planes may nearly agree */
        double from_a[3];
        sub(x, a, from_a);
        found = dot(from_a, from_a) <= 4.0 * dot(along, along);
    }
    if (!found) {
        double best = INFINITY;
        for (int k = 0; k < 3; k++) {
            double y[3] = {a[0] + 0.5 * k * along[0], a[1] + 0.5 * k * along[1], a[2] + 0.5 * k * along[2]};
            double value = splat_quadric_value(&q, y);
            if (value >= best) continue;
            best = value;
            memcpy(x, y, sizeof y);
        }
    }
    return splat_quadric_value(&q, x);
}

static void compute_costs(simplifier *s)
{
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (size_t i = 0; i < s->n_candidates; i++) {
        double x[3];
        float cost = (float)place(s, s->candidates[i], x);
        memcpy(&s->keys[i], &cost, sizeof cost); /* floats that are not negative sort like their bits */
    }
}

/* order = candidates by cost; a stable radix sort, so that equal costs keep the order of the vertices. */
static void sort_candidates(simplifier *s)
{
    for (size_t i = 0; i < s->n_candidates; i++) s->order[i] = (uint32_t)i;
    for (int shift = 0; shift < 33; shift += 11) {
        size_t starts[2049] = {0};
        for (size_t i = 0; i < s->n_candidates; i++) starts[(s->keys[i] >> shift & 2047) + 1]++;
        for (size_t k = 0; k < 2048; k++) starts[k + 1] += starts[k];
        for (size_t i = 0; i < s->n_candidates; i++)
            s->scratch[starts[s->keys[s->order[i]] >> shift & 2047]++] = s->order[i];
        uint32_t *sorted = s->scratch;
        s->scratch = s->order;
        s->order = sorted;
    }
}

/* ---------------------------------------------------------------- one collapse */

static bool has_corner(const uint32_t *face, uint32_t v)
{
    return face[0] == v || face[1] == v || face[2] == v;
}

/* The link condition (Dey et al. 1999): a and b share exactly the neighbours that the faces of their edge have, and
 * each of those keeps enough faces. (One of them may have lost faces in this pass, but only far from a and b, which
 * would be touched otherwise: then it has more than enough.) Neighbours of a are marked with s->mark. */
static bool keeps_topology(simplifier *s, uint32_t a, uint32_t b)
{
    size_t n_shared_faces = 0, n_shared = 0;
    s->mark += 2; /* marks: neighbours of a, and those counted once as neighbours of both */
    for (size_t i = s->starts[a]; i < s->starts[a + 1]; i++) {
        const uint32_t *face = s->mesh->faces + 3 * (size_t)s->around[i];
        for (int k = 0; k < 3; k++) s->marks[face[k]] = s->mark;
        if (!has_corner(face, b)) continue;
        n_shared_faces++;
        for (int k = 0; k < 3; k++) { /* the third corner */
            uint32_t v = face[k];
            if (v == a || v == b) continue;
            size_t n_faces = s->starts[v + 1] - s->starts[v];
            if (n_faces < (s->kinds[v] == INNER ? 4u : 2u)) return false;
        }
    }
    for (size_t i = s->starts[b]; i < s->starts[b + 1]; i++) {
        const uint32_t *face = s->mesh->faces + 3 * (size_t)s->around[i];
        for (int k = 0; k < 3; k++) {
            if (face[k] == a || face[k] == b || s->marks[face[k]] != s->mark) continue;
            s->marks[face[k]] = s->mark + 1;
            n_shared++;
        }
    }
    bool both_open = s->kinds[a] == BOUNDARY && s->kinds[b] == BOUNDARY;
    if (both_open && n_shared_faces != 1) return false; /* an edge across: the collapse would pinch the surface */
    return n_shared == n_shared_faces;
}

/* Whether the faces around v that do not hold `other` keep their side and shape when v moves to x. */
static bool keeps_faces(const simplifier *s, uint32_t v, uint32_t other, const double x[3])
{
    for (size_t i = s->starts[v]; i < s->starts[v + 1]; i++) {
        const uint32_t *face = s->mesh->faces + 3 * (size_t)s->around[i];
        double p[3][3], u[3], w[3], e[3], before[3], after[3];
        if (has_corner(face, other)) continue;
        int at = face[0] == v ? 0 : face[1] == v ? 1 : 2;
        for (int k = 0; k < 3; k++) position_of(s, face[(at + k) % 3], p[k]);
        sub(p[1], p[0], u);
        sub(p[2], p[0], w);
        cross(u, w, before);
        sub(p[1], x, u);
        sub(p[2], x, w);
        sub(p[2], p[1], e);
        cross(u, w, after);
        double after2 = dot(after, after), before2 = dot(before, before), agree = dot(before, after);
        double edges = dot(u, u) + dot(w, w) + dot(e, e), shape = least_shape * edges / 3.4641016151377544;
        if (before2 > 0.0 && !(agree > 0.0 && agree * agree >= least_turn * least_turn * before2 * after2))
            return false;
        /* 2 sqrt(3) |cross| / sum of squared edges is 1 for an equilateral triangle; a bad one may get better */
        if (after2 < shape * shape && !(before2 > 0.0 && after2 > before2)) return false;
    }
    return true;
}

/* Moves b into a: position x, mixed colour, summed quadric; faces that held both become degenerate. */
static void collapse(simplifier *s, uint32_t a, uint32_t b, const double x[3])
{
    double p[3], q[3], along[3], from[3];
    position_of(s, a, p);
    position_of(s, b, q);
    sub(q, p, along);
    sub(x, p, from);
    double length2 = dot(along, along), t = length2 > 0.0 ? dot(from, along) / length2 : 0.5;
    t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
    for (size_t c = 0; s->mesh->colors && c < 4; c++) {
        uint8_t *color = s->mesh->colors + 4 * (size_t)a + c;
        *color = (uint8_t)((1.0 - t) * *color + t * s->mesh->colors[4 * (size_t)b + c] + 0.5);
    }
    for (size_t c = 0; c < 3; c++) s->mesh->vertices[3 * (size_t)a + c] = (float)(x[c] + s->center[c]);
    splat_quadric_add(&s->quadrics[a], &s->quadrics[b]);
    const uint32_t both[2] = {a, b};
    for (int k = 0; k < 2; k++) {
        for (size_t i = s->starts[both[k]]; i < s->starts[both[k] + 1]; i++) {
            uint32_t *face = s->mesh->faces + 3 * (size_t)s->around[i];
            for (int j = 0; j < 3; j++) {
                s->touched[face[j]] = 1;
                if (face[j] == b) face[j] = a;
            }
        }
    }
    s->touched[b] = 1;
}

/* Of a boundary vertex and an inner one the first stays where it is. */
static void hold_boundary(const simplifier *s, candidate edge, double x[3])
{
    if (s->kinds[edge.a] == s->kinds[edge.b]) return;
    position_of(s, s->kinds[edge.a] == BOUNDARY ? edge.a : edge.b, x);
}

/* Collapses what may be collapsed, cheapest first, until n_wanted faces are gone. Returns the faces that went; *error
 * grows to the largest mean squared distance. */
static size_t collapse_edges(simplifier *s, size_t n_wanted, size_t *n_collapses, double *error)
{
    size_t n_gone = 0, limit = (size_t)(pass_share * (double)s->n_candidates) + 16;
    memset(s->touched, 0, s->mesh->n_vertices);
    for (size_t i = 0; i < s->n_candidates && n_gone < n_wanted; i++) {
        candidate edge = s->candidates[s->order[i]];
        double x[3];
        if (i >= limit && n_gone) break;
        if ((s->kinds[edge.a] | s->kinds[edge.b]) & LOCKED || s->touched[edge.a] || s->touched[edge.b]) continue;
        place(s, edge, x);
        hold_boundary(s, edge, x);
        splat_quadric q = s->quadrics[edge.a];
        splat_quadric_add(&q, &s->quadrics[edge.b]);
        double mean = q.weight > 0.0 ? splat_quadric_value(&q, x) / q.weight : 0.0;
        if (s->max_cost > 0.0 && mean > s->max_cost) continue;
        if (!keeps_topology(s, edge.a, edge.b) || !keeps_faces(s, edge.a, edge.b, x) ||
            !keeps_faces(s, edge.b, edge.a, x))
            continue;
        for (size_t k = s->starts[edge.a]; k < s->starts[edge.a + 1]; k++)
            n_gone += has_corner(s->mesh->faces + 3 * (size_t)s->around[k], edge.b);
        collapse(s, edge.a, edge.b, x);
        ++*n_collapses;
        if (mean > *error) *error = mean;
    }
    return n_gone;
}

/* ---------------------------------------------------------------- passes */

static size_t count_used(simplifier *s)
{
    size_t n = 0;
    memset(s->touched, 0, s->mesh->n_vertices);
    for (size_t i = 0; i < 3 * s->mesh->n_faces; i++) {
        n += !s->touched[s->mesh->faces[i]];
        s->touched[s->mesh->faces[i]] = 1;
    }
    return n;
}

/* Faces that still have to go; a collapse takes two of them and one vertex. */
static size_t count_wanted(simplifier *s, const splat_mesh_simplify_options *options)
{
    size_t wanted = s->mesh->n_faces > options->target_faces ? s->mesh->n_faces - options->target_faces : 0;
    if (options->target_vertices) {
        size_t used = count_used(s), excess = used > options->target_vertices ? used - options->target_vertices : 0;
        if (2 * excess < wanted) wanted = 2 * excess;
    }
    return wanted;
}

static splat_status run_passes(simplifier *s, const splat_mesh_simplify_options *options,
                               splat_mesh_simplify_info *info, splat_error *error)
{
    size_t wanted, ignored = 0;
    add_faces(s);
    while ((wanted = count_wanted(s, options)) > 0) {
        SPLAT_TRY(collect_edges(s, info->n_passes == 0, error));
        collect_faces(s);
        compute_costs(s);
        sort_candidates(s);
        size_t gone = collapse_edges(s, wanted, &info->n_collapses, &info->error);
        splat_mesh_remove_degenerate(s->mesh, -1.0, &ignored);
        info->n_passes++;
        if (gone == 0) break; /* what is left cannot go */
    }
    return SPLAT_OK;
}

splat_status splat_mesh_simplify(splat_mesh *mesh, const splat_mesh_simplify_options *options,
                                 splat_mesh_simplify_info *info, splat_error *error)
{
    splat_mesh_simplify_info ignored, *report = info ? info : &ignored;
    simplifier s = {.mesh = mesh, .threads = options->threads, .boundary_weight = options->boundary_weight,
                    .max_cost = options->max_error * options->max_error};
    float low[3], high[3];
    size_t n = 0;
    if (options->threads < 1 || !(options->max_error >= 0.0) || !(options->boundary_weight >= 0.0))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "simplification needs a thread, and a largest error and a "
                          "boundary weight that are not negative");
    *report = (splat_mesh_simplify_info){.peak_bytes = splat_mesh_simplify_bytes(mesh->n_vertices, mesh->n_faces)};
    splat_mesh_drop_texture(mesh);
    splat_mesh_remove_degenerate(mesh, -1.0, &n);
    splat_mesh_bounds(mesh, low, high);
    for (int c = 0; c < 3; c++) s.center[c] = 0.5 * ((double)low[c] + (double)high[c]);
    allocate(&s);
    splat_status status = allocated(&s) ? run_passes(&s, options, report, error)
                                        : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to simplify a mesh of %zu "
                                                     "faces: %zu bytes are needed", mesh->n_faces, report->peak_bytes);
    release(&s);
    report->error = sqrt(report->error);
    if (status == SPLAT_OK) status = splat_mesh_remove_unreferenced(mesh, &n, error);
    if (status == SPLAT_OK && mesh->normals) status = splat_mesh_compute_normals(mesh, error);
    return status;
}
