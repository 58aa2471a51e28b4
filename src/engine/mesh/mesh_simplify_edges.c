/* The surroundings of each vertex: its faces, its neighbours, and from these its kind, its edges and its first quadric.
 * Every vertex collects them independently, in ascending order, so the result does not depend on threads. */
#include "mesh/mesh_simplify_edges.h"

#include "base/large_pages.h"
#include "base/rows.h"
#include "math/vec3.h"
#include "mesh/mesh_edges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A pull towards the vertices themselves, against planes weighted by area: it makes every quadric regular and triangles
 * even where the surface is flat, and is too weak to move a vertex off curved surface by a percent of an edge. */
static const double point_weight = 1e-4;

/* ---------------------------------------------------------------- lists */

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Lists are short but at the hub of a fan. */
static void sort_numbers(uint32_t *numbers, size_t n)
{
    if (n > 64) {
        qsort(numbers, n, sizeof *numbers, compare_numbers);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        uint32_t number = numbers[i];
        size_t k = i;
        for (; k > 0 && numbers[k - 1] > number; k--) numbers[k] = numbers[k - 1];
        numbers[k] = number;
    }
}

size_t simplify_sum_blocks(simplifier *s, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        size_t count = s->blocks[i];
        s->blocks[i] = sum;
        sum += count;
    }
    return sum;
}

/* ---------------------------------------------------------------- quadrics */

static void quadric_add(simplify_quadric *sum, const simplify_quadric *q)
{
    for (int i = 0; i < 6; i++) sum->a[i] += q->a[i];
    for (int i = 0; i < 3; i++) sum->b[i] += q->b[i];
    sum->c += q->c;
    sum->weight += q->weight;
}

/* w (n x + d)^2 for a unit normal. */
static void quadric_add_plane(simplify_quadric *q, const double n[3], double d, double w)
{
    q->a[0] += w * n[0] * n[0];
    q->a[1] += w * n[0] * n[1];
    q->a[2] += w * n[0] * n[2];
    q->a[3] += w * n[1] * n[1];
    q->a[4] += w * n[1] * n[2];
    q->a[5] += w * n[2] * n[2];
    for (int i = 0; i < 3; i++) q->b[i] += w * d * n[i];
    q->c += w * d * d;
    q->weight += w;
}

/* w |x - p|^2, which leaves `weight` as it is. */
static void quadric_add_point(simplify_quadric *q, const double p[3], double w)
{
    q->a[0] += w;
    q->a[3] += w;
    q->a[5] += w;
    for (int i = 0; i < 3; i++) {
        q->b[i] -= w * p[i];
        q->c += w * p[i] * p[i];
    }
}

static double quadric_value(const simplify_quadric *q, const double x[3])
{
    double y0 = q->a[0] * x[0] + q->a[1] * x[1] + q->a[2] * x[2] + 2.0 * q->b[0];
    double y1 = q->a[1] * x[0] + q->a[3] * x[1] + q->a[4] * x[2] + 2.0 * q->b[1];
    double y2 = q->a[2] * x[0] + q->a[4] * x[1] + q->a[5] * x[2] + 2.0 * q->b[2];
    double value = x[0] * y0 + x[1] * y1 + x[2] * y2 + q->c;
    return value > 0.0 ? value : 0.0; /* rounding */
}

/* The lowest point, by Cramer's rule; false where A is nearly singular. */
static bool quadric_lowest(const simplify_quadric *q, double x[3])
{
    const double *a = q->a, *b = q->b;
    double m0 = a[3] * a[5] - a[4] * a[4], m1 = a[2] * a[4] - a[1] * a[5], m2 = a[1] * a[4] - a[2] * a[3];
    double determinant = a[0] * m0 + a[1] * m1 + a[2] * m2, trace = a[0] + a[3] + a[5];
    if (!(determinant > 1e-11 * trace * trace * trace)) return false;
    double m3 = a[0] * a[5] - a[2] * a[2], m4 = a[1] * a[2] - a[0] * a[4], m5 = a[0] * a[3] - a[1] * a[1];
    x[0] = -(m0 * b[0] + m1 * b[1] + m2 * b[2]) / determinant;
    x[1] = -(m1 * b[0] + m3 * b[1] + m4 * b[2]) / determinant;
    x[2] = -(m2 * b[0] + m4 * b[1] + m5 * b[2]) / determinant;
    return true;
}

/* The factor of a vertex's quadric. */
static double importance(const simplifier *s, size_t v)
{
    return s->sizes ? 1.0 / ((double)s->sizes[v] * (double)s->sizes[v]) : 1.0;
}

static void add_faces(simplifier *s, size_t v)
{
    double p[3], share = importance(s, v) / 6.0; /* a third of the area */
    simplify_position(s, v, p);
    for (size_t i = s->starts[v]; i < s->starts[v + 1]; i++) {
        double n[3];
        splat_mesh_face_cross(s->mesh, s->around[i], n);
        double length = sqrt(splat_dot3(n, n));
        if (!(length > 0.0)) continue;
        for (int c = 0; c < 3; c++) n[c] /= length;
        quadric_add_plane(&s->quadrics[v], n, -splat_dot3(n, p), share * length);
        quadric_add_point(&s->quadrics[v], p, point_weight * share * length);
    }
    if (s->counts_sizes) s->quadrics[v].weight /= importance(s, v); /* means of (distance / size)^2 over the area */
}

/* A plane through v and the open edge to u, at a right angle to the face there. */
static void add_boundary(simplifier *s, size_t v, uint32_t u)
{
    double p[3], q[3], along[3], face[3], n[3], mean = s->quadrics[v].weight;
    size_t i = s->starts[v];
    for (; i < s->starts[v + 1]; i++) {
        const uint32_t *f = s->mesh->faces + 3 * (size_t)s->around[i];
        if (f[0] == u || f[1] == u || f[2] == u) break;
    }
    simplify_position(s, v, p);
    simplify_position(s, u, q);
    splat_mesh_face_cross(s->mesh, s->around[i], face);
    for (int c = 0; c < 3; c++) along[c] = q[c] - p[c];
    for (int c = 0; c < 3; c++) n[c] = along[(c + 1) % 3] * face[(c + 2) % 3] - along[(c + 2) % 3] * face[(c + 1) % 3];
    double length = sqrt(splat_dot3(n, n));
    if (!(length > 0.0)) return;
    for (int c = 0; c < 3; c++) n[c] /= length;
    quadric_add_plane(&s->quadrics[v], n, -splat_dot3(n, p),
                      importance(s, v) * s->boundary_weight * splat_dot3(along, along));
    s->quadrics[v].weight = mean; /* that over the faces alone */
}

/* ---------------------------------------------------------------- faces and edges */

void simplify_collect_faces(simplifier *s, bool first)
{
    size_t n = s->mesh->n_vertices, n_half = 3 * s->mesh->n_faces, n_used = 0;
    const uint32_t *faces = s->mesh->faces;
    uint32_t *starts = s->starts;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (size_t v = 0; v < n + 2; v++) starts[v] = 0;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (size_t h = 0; h < n_half; h++) {
#pragma omp atomic
        starts[(size_t)faces[h] + 2]++;
    }
#pragma omp parallel for schedule(static) num_threads(s->threads) reduction(+ : n_used)
    for (size_t v = 0; v < n; v++) {
        n_used += starts[v + 2] > 0;
        s->face_counts[v] = starts[v + 2];
        s->chains[v] = SIMPLIFY_NONE;
        s->least[v] = UINT64_MAX;
    }
    s->n_used = n_used;
    s->n_faces = s->mesh->n_faces;
    splat_add_up(starts, n + 2, s->threads);
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (size_t h = 0; h < n_half; h++) {
        uint32_t at;
#pragma omp atomic capture
        at = starts[(size_t)faces[h] + 1]++;
        s->around[at] = (uint32_t)(h / 3);
    }
    if (!first) return; /* only sums over the faces depend on their order */
#pragma omp parallel for schedule(dynamic, SIMPLIFY_BLOCK) num_threads(s->threads)
    for (size_t v = 0; v < n; v++) sort_numbers(s->around + starts[v], starts[v + 1] - starts[v]);
}

enum { FEW = 64 }; /* corners of faces around a vertex: more only at the hub of a fan */

/* Corners of the faces around v, ascending and each once; faces[i]: how many name ring[i].
 * Returns how many corners; the faces have at most FEW. */
static size_t take_few(const simplifier *s, uint32_t v, uint32_t *ring, uint8_t faces[FEW])
{
    size_t n = 0;
    simplify_walk w = simplify_walk_from(s, v);
    for (const uint32_t *f; (f = simplify_next_face(s, &w)); ) {
        for (int k = 0; k < 3; k++) {
            size_t at = n;
            if (f[k] == v) continue;
            while (at > 0 && ring[at - 1] > f[k]) at--;
            if (at > 0 && ring[at - 1] == f[k]) {
                faces[at - 1]++;
                continue;
            }
            for (size_t j = n++; j > at; j--) {
                ring[j] = ring[j - 1];
                faces[j] = faces[j - 1];
            }
            ring[at] = f[k];
            faces[at] = 1;
        }
    }
    return n;
}

enum { CLOSED = 8 }; /* faces around a vertex: more are rare */

/* numbers[n] to sorted[n], ascending; false: two are equal. */
static bool sort_few(const uint32_t *numbers, size_t n, uint32_t *sorted)
{
    uint32_t seen = 0;
    for (size_t i = 0; i < n; i++) {
        size_t rank = 0;
        for (size_t k = 0; k < n; k++) rank += numbers[k] < numbers[i];
        sorted[rank] = numbers[i];
        seen |= 1u << rank;
    }
    return seen == (1u << n) - 1;
}

/* The ring of a vertex with a closed fan of few faces that turn the same way: each neighbour comes next in one face and
 * before in another. Without branches that depend on numbers it takes a third of the time of take_few. */
static bool take_closed(const simplifier *s, uint32_t v, uint32_t *ring)
{
    uint32_t next[CLOSED], before[CLOSED], sorted[CLOSED];
    size_t n = 0;
    simplify_walk w = simplify_walk_from(s, v);
    for (const uint32_t *f; (f = simplify_next_face(s, &w)); n++) {
        int at = (f[1] == v) + 2 * (f[2] == v);
        next[n] = f[at == 2 ? 0 : at + 1];
        before[n] = f[at == 0 ? 2 : at - 1];
    }
    return sort_few(next, n, ring) && sort_few(before, n, sorted) && memcmp(ring, sorted, n * sizeof *ring) == 0;
}

/* A neighbour, and how many faces name it. */
static void know(simplifier *s, size_t v, uint32_t neighbor, size_t n_faces, bool first)
{
    s->kinds[v] |= n_faces == 2 ? SIMPLIFY_INNER : n_faces == 1 ? SIMPLIFY_BOUNDARY : SIMPLIFY_LOCKED;
    if (first && n_faces == 1) add_boundary(s, v, neighbor);
}

/* The same of any number. */
static size_t collect_hub(simplifier *s, uint32_t v, uint32_t *ring, bool first)
{
    size_t n = 0, n_ring = 0;
    simplify_walk w = simplify_walk_from(s, v);
    for (const uint32_t *f; (f = simplify_next_face(s, &w)); )
        for (int k = 0; k < 3; k++)
            if (f[k] != v) ring[n++] = f[k];
    qsort(ring, n, sizeof *ring, compare_numbers);
    for (size_t i = 0, end; i < n; i = end) {
        uint32_t u = ring[i];
        for (end = i + 1; end < n && ring[end] == u;) end++;
        know(s, v, u, end - i, first);
        ring[n_ring++] = u;
    }
    return n_ring;
}

/* Neighbours, each once; an edge has as many faces as name its other end. */
void simplify_collect_ring(simplifier *s, size_t v, bool first)
{
    uint32_t *ring = s->rings + s->ring_starts[v], n_faces = s->face_counts[v];
    uint8_t faces[FEW];
    s->kinds[v] = SIMPLIFY_INNER;
    if (first) add_faces(s, v);
    if (2 * (size_t)n_faces > FEW) {
        s->ring_sizes[v] = (uint32_t)collect_hub(s, (uint32_t)v, ring, first);
        return;
    }
    s->ring_sizes[v] = n_faces;
    if (n_faces <= CLOSED && take_closed(s, (uint32_t)v, ring)) return;
    size_t n = take_few(s, (uint32_t)v, ring, faces);
    for (size_t i = 0; i < n; i++) know(s, v, ring[i], faces[i], first);
    s->ring_sizes[v] = (uint32_t)n;
}

/* Collapses leave no more edges than there were: the first pass knows how much may be needed. */
static splat_status make_room(simplifier *s, splat_error *error)
{
    size_t n = s->n_edges;
    if (s->edges && n <= s->edge_capacity) return SPLAT_OK;
    s->edge_bytes = (n + 1) * (sizeof *s->edges + 4 * sizeof(uint32_t) + 1);
    s->edges = splat_zeroed_alloc(s->edge_bytes);
    s->edge_capacity = n;
    if (s->edges) {
        s->keys = (uint32_t *)(s->edges + n + 1);
        s->active = s->keys + n + 1;
        s->next = s->active + n + 1;
        s->chosen = s->next + n + 1;
        s->verdicts = (uint8_t *)(s->chosen + n + 1);
        return SPLAT_OK;
    }
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to simplify a mesh of %zu edges", n);
}

/* Rings of a block lie close together; the room behind them is for those that grow. */
static void collect_rings(simplifier *s, size_t block, bool first)
{
    size_t n = s->mesh->n_vertices, begin = block * SIMPLIFY_BLOCK, end = begin + SIMPLIFY_BLOCK;
    size_t at = 2 * (size_t)s->starts[begin], n_edges = 0;
    for (size_t v = begin; v < n && v < end; v++) {
        s->ring_starts[v] = at;
        simplify_collect_ring(s, v, first);
        const uint32_t *ring = simplify_ring(s, v);
        for (size_t i = 0; i < s->ring_sizes[v]; i++) n_edges += ring[i] > v;
        at += s->ring_sizes[v];
    }
    s->ring_ends[block] = at;
    s->blocks[block] = n_edges;
}

splat_status simplify_collect_edges(simplifier *s, bool first, splat_error *error)
{
    size_t n = s->mesh->n_vertices, n_blocks = (n + SIMPLIFY_BLOCK - 1) / SIMPLIFY_BLOCK;
#pragma omp parallel for schedule(dynamic) num_threads(s->threads)
    for (size_t b = 0; b < n_blocks; b++) collect_rings(s, b, first);
    s->n_edges = simplify_sum_blocks(s, n_blocks);
    s->stale = false;
#pragma omp parallel for schedule(dynamic, SIMPLIFY_BLOCK) num_threads(s->threads)
    for (size_t v = 0; v < n; v++) {
        const uint32_t *ring = simplify_ring(s, v);
        uint32_t *costs = s->costs + s->ring_starts[v];
        for (size_t i = 0; i < s->ring_sizes[v]; i++)
            costs[i] = ring[i] > v ? simplify_cost(s, (simplify_edge){(uint32_t)v, ring[i]}) : SIMPLIFY_NONE;
    }
    return make_room(s, error);
}

/* ---------------------------------------------------------------- collapse */

/* One collapse: where it leads and what it costs, whether it may be, and doing it. */

/* A face may not turn by more than acos of this, nor may its corners come closer to a line than this shape allows. */
static const double least_turn = 0.3, least_shape = 0.05;

static void sub(const double a[3], const double b[3], double out[3])
{
    for (int i = 0; i < 3; i++) out[i] = a[i] - b[i];
}

static simplify_quadric edge_quadric(const simplifier *s, simplify_edge edge)
{
    simplify_quadric q = s->quadrics[edge.a];
    quadric_add(&q, &s->quadrics[edge.b]);
    return q;
}

/* The place at which the two vertices would meet, by their summed quadric. */
static void place(const simplifier *s, simplify_edge edge, const simplify_quadric *q, double x[3])
{
    double a[3], b[3], along[3];
    simplify_position(s, edge.a, a);
    simplify_position(s, edge.b, b);
    sub(b, a, along);
    bool found = quadric_lowest(q, x);
    if (found) { /* not farther from the edge than it is long: the planes may nearly agree */
        double from_a[3];
        sub(x, a, from_a);
        found = splat_dot3(from_a, from_a) <= 4.0 * splat_dot3(along, along);
    }
    if (!found) {
        double best = INFINITY;
        for (int k = 0; k < 3; k++) {
            double y[3] = {a[0] + 0.5 * k * along[0], a[1] + 0.5 * k * along[1], a[2] + 0.5 * k * along[2]};
            double value = quadric_value(q, y);
            if (value >= best) continue;
            best = value;
            memcpy(x, y, sizeof y);
        }
    }
}

uint32_t simplify_cost(const simplifier *s, simplify_edge edge)
{
    double x[3];
    simplify_quadric q = edge_quadric(s, edge);
    place(s, edge, &q, x);
    float cost = (float)quadric_value(&q, x);
    uint32_t bits;
    memcpy(&bits, &cost, sizeof bits);
    return bits;
}

static bool has_corner(const uint32_t *face, uint32_t v)
{
    return face[0] == v || face[1] == v || face[2] == v;
}

size_t simplify_faces_at(const simplifier *s, simplify_edge edge)
{
    size_t n = 0;
    simplify_walk w = simplify_walk_from(s, edge.a);
    for (const uint32_t *face; (face = simplify_next_face(s, &w)); ) n += has_corner(face, edge.b);
    return n;
}

/* Vertices that are neighbours of both. */
static size_t count_shared(const simplifier *s, simplify_edge edge)
{
    const uint32_t *p = simplify_ring(s, edge.a), *q = simplify_ring(s, edge.b);
    size_t n = 0, i = 0, k = 0;
    while (i < s->ring_sizes[edge.a] && k < s->ring_sizes[edge.b]) {
        n += p[i] == q[k];
        if (p[i] < q[k]) i++;
        else k++;
    }
    return n;
}

/* The link condition (Dey et al. 1999): a and b share exactly the neighbours that the faces of their edge have, and
 * each of those keeps enough faces. (One of them may lose faces in this pass, but only far from a and b: then it has
 * more than enough.) */
static bool keeps_topology(const simplifier *s, simplify_edge edge)
{
    size_t n_shared_faces = 0;
    simplify_walk w = simplify_walk_from(s, edge.a);
    for (const uint32_t *face; (face = simplify_next_face(s, &w)); ) {
        if (!has_corner(face, edge.b)) continue;
        n_shared_faces++;
        for (int k = 0; k < 3; k++) { /* the third corner */
            uint32_t v = face[k];
            if (v == edge.a || v == edge.b) continue;
            if (s->face_counts[v] < (s->kinds[v] == SIMPLIFY_INNER ? 4u : 2u)) return false;
        }
    }
    bool both_open = s->kinds[edge.a] == SIMPLIFY_BOUNDARY && s->kinds[edge.b] == SIMPLIFY_BOUNDARY;
    if (both_open && n_shared_faces != 1) return false; /* an edge across: the collapse would pinch the surface */
    return count_shared(s, edge) == n_shared_faces;
}

/* True if the faces around v without `other` keep their side and shape when v moves to x. */
static bool keeps_faces(const simplifier *s, uint32_t v, uint32_t other, const double x[3])
{
    simplify_walk step = simplify_walk_from(s, v);
    for (const uint32_t *face; (face = simplify_next_face(s, &step)); ) {
        double p[3][3], u[3], w[3], e[3], before[3], after[3];
        if (has_corner(face, other)) continue;
        int at = face[0] == v ? 0 : face[1] == v ? 1 : 2;
        for (int k = 0; k < 3; k++) simplify_position(s, face[(at + k) % 3], p[k]);
        sub(p[1], p[0], u);
        sub(p[2], p[0], w);
        splat_cross3(u, w, before);
        sub(p[1], x, u);
        sub(p[2], x, w);
        sub(p[2], p[1], e);
        splat_cross3(u, w, after);
        double after2 = splat_dot3(after, after), before2 = splat_dot3(before, before);
        double agree = splat_dot3(before, after);
        double edges = splat_dot3(u, u) + splat_dot3(w, w) + splat_dot3(e, e);
        double shape = least_shape * edges / 3.4641016151377544;
        if (before2 > 0.0 && !(agree > 0.0 && agree * agree >= least_turn * least_turn * before2 * after2))
            return false;
        /* 2 sqrt(3) |cross| / sum of squared edges is 1 for an equilateral triangle; a bad one may get better */
        if (after2 < shape * shape && !(before2 > 0.0 && after2 > before2)) return false;
    }
    return true;
}

/* The target of the collapse; returns the mean squared distance to the planes there. Of a boundary vertex and an inner
 * one the boundary vertex does not move. */
static double target(const simplifier *s, simplify_edge edge, double x[3])
{
    simplify_quadric q = edge_quadric(s, edge);
    place(s, edge, &q, x);
    if (s->kinds[edge.a] != s->kinds[edge.b])
        simplify_position(s, s->kinds[edge.a] == SIMPLIFY_BOUNDARY ? edge.a : edge.b, x);
    return q.weight > 0.0 ? quadric_value(&q, x) / q.weight : 0.0;
}

/* Steps ahead of a candidate's turn: each reads what the one before fetched. */
enum { FETCH_LISTS = 6, FETCH_ROWS = 4, FETCH_CORNERS = 2 };

static void fetch_lists(const simplifier *s, uint32_t v)
{
    const char *quadric = (const char *)&s->quadrics[v];
    __builtin_prefetch(quadric);
    __builtin_prefetch(quadric + sizeof *s->quadrics - 1);
    __builtin_prefetch(&s->starts[v]);
    __builtin_prefetch(&s->ring_starts[v]);
    __builtin_prefetch(&s->ring_sizes[v]);
    __builtin_prefetch(&s->chains[v]);
    __builtin_prefetch(&s->kinds[v]);
    __builtin_prefetch(&s->mesh->vertices[3 * (size_t)v]);
}

static void fetch_rows(const simplifier *s, uint32_t v)
{
    __builtin_prefetch(&s->around[s->starts[v]]);
    __builtin_prefetch(simplify_ring(s, v));
}

enum { FETCHED = 8 }; /* faces and neighbours of a vertex: more are rare */

static void fetch_corners(const simplifier *s, uint32_t v)
{
    const uint32_t *ring = simplify_ring(s, v), end = s->starts[(size_t)v + 1];
    for (uint32_t i = s->starts[v], n = 0; i < end && n < FETCHED; i++, n++)
        __builtin_prefetch(&s->mesh->faces[3 * (size_t)s->around[i]]);
    for (uint32_t i = 0; i < s->ring_sizes[v] && i < FETCHED; i++) {
        __builtin_prefetch(&s->mesh->vertices[3 * (size_t)ring[i]]);
        __builtin_prefetch(&s->face_counts[ring[i]]);
    }
}

static void fetch_ends(const simplifier *s, const uint32_t *candidates, size_t n, size_t at,
                       void (*fetch)(const simplifier *s, uint32_t v))
{
    if (at >= n) return;
    fetch(s, s->edges[candidates[at]].a);
    fetch(s, s->edges[candidates[at]].b);
}

void simplify_fetch(const simplifier *s, const uint32_t *candidates, size_t n, size_t at)
{
    fetch_ends(s, candidates, n, at + FETCH_LISTS, fetch_lists);
    fetch_ends(s, candidates, n, at + FETCH_ROWS, fetch_rows);
    fetch_ends(s, candidates, n, at + FETCH_CORNERS, fetch_corners);
}

bool simplify_may_collapse(const simplifier *s, simplify_edge edge)
{
    double x[3];
    if ((s->kinds[edge.a] | s->kinds[edge.b]) & SIMPLIFY_LOCKED || !keeps_topology(s, edge)) return false;
    double mean = target(s, edge, x);
    return !(s->max_cost > 0.0 && mean > s->max_cost) && keeps_faces(s, edge.a, edge.b, x) &&
           keeps_faces(s, edge.b, edge.a, x);
}

/* True if a face holds both. */
static bool have_face(const simplifier *s, uint32_t v, uint32_t u)
{
    simplify_walk w = simplify_walk_from(s, v);
    for (const uint32_t *face; (face = simplify_next_face(s, &w)); )
        if (has_corner(face, u)) return true;
    return false;
}

/* The edge of v and u lost its only face: the kinds of both may change. */
static void tear(simplifier *s, uint32_t v, uint32_t u, simplify_losses *losses)
{
    __atomic_fetch_or(&s->touched[v], SIMPLIFY_TORN, __ATOMIC_RELAXED);
    __atomic_fetch_or(&s->touched[u], SIMPLIFY_TORN, __ATOMIC_RELAXED);
    losses->n_edges++;
}

/* Faces, kinds and counts after b moved into a. */
static void move_faces(simplifier *s, simplify_edge edge, simplify_losses *losses)
{
    uint32_t a = edge.a, b = edge.b, last = b, thirds[2] = {0}, n_gone = 0;
    simplify_walk w = simplify_walk_from(s, b);
    for (uint32_t *face; (face = simplify_next_face(s, &w)); ) {
        if (has_corner(face, a) && n_gone < 2) thirds[n_gone++] = face[0] ^ face[1] ^ face[2] ^ a ^ b;
        face[face[0] == b ? 0 : face[1] == b ? 1 : 2] = a;
    }
    while (s->chains[last] != SIMPLIFY_NONE) last = s->chains[last];
    s->chains[last] = s->chains[a];
    s->chains[a] = b;
    s->face_counts[a] += s->face_counts[b] - 2 * n_gone;
    s->kinds[a] |= s->kinds[b];
    s->touched[a] |= SIMPLIFY_MERGED;
    s->touched[b] |= SIMPLIFY_GONE;
    s->least[b] = a;
    losses->n_faces += n_gone;
    losses->n_edges += 1 + n_gone;
    losses->n_vertices += 1 + (s->face_counts[a] == 0);
    for (uint32_t i = 0; i < n_gone; i++) {
        uint32_t v = thirds[i];
        losses->n_vertices += __atomic_sub_fetch(&s->face_counts[v], 1, __ATOMIC_RELAXED) == 0;
        if (s->kinds[v] != SIMPLIFY_INNER && !have_face(s, a, v)) tear(s, a, v, losses);
    }
    if (n_gone == 2 && thirds[0] == thirds[1]) __atomic_store_n(&s->stale, true, __ATOMIC_RELAXED);
}

double simplify_collapse(simplifier *s, simplify_edge edge, simplify_losses *losses)
{
    size_t a = edge.a, b = edge.b;
    double p[3], q[3], along[3], from[3], x[3], mean = target(s, edge, x);
    simplify_position(s, a, p);
    simplify_position(s, b, q);
    sub(q, p, along);
    sub(x, p, from);
    double length2 = splat_dot3(along, along), t = length2 > 0.0 ? splat_dot3(from, along) / length2 : 0.5;
    t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
    for (size_t c = 0; s->mesh->colors && c < 4; c++) {
        uint8_t *color = s->mesh->colors + 4 * a + c;
        *color = (uint8_t)((1.0 - t) * *color + t * s->mesh->colors[4 * b + c] + 0.5);
    }
    for (size_t c = 0; c < 3; c++) s->mesh->vertices[3 * a + c] = (float)(x[c] + s->center[c]);
    quadric_add(&s->quadrics[a], &s->quadrics[b]);
    move_faces(s, edge, losses);
    return mean;
}
