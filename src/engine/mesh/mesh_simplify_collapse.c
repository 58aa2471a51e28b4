/* One collapse: where it leads and what it costs, whether it may be, and doing it. */
#include "mesh/mesh_simplify_parts.h"

#include <string.h>

/* A face may not turn by more than acos of this, nor may its corners come closer to a line than this shape allows. */
static const double least_turn = 0.3, least_shape = 0.05;

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

/* Where the two vertices would meet, and the summed squared distance there. */
static double place(const simplifier *s, simplify_edge edge, double x[3])
{
    splat_quadric q = s->quadrics[edge.a];
    double a[3], b[3], along[3];
    splat_quadric_add(&q, &s->quadrics[edge.b]);
    simplify_position(s, edge.a, a);
    simplify_position(s, edge.b, b);
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

void simplify_compute_costs(simplifier *s)
{
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (size_t i = 0; i < s->n_edges; i++) {
        double x[3];
        float cost = (float)place(s, s->edges[i], x);
        memcpy(&s->keys[i], &cost, sizeof cost); /* floats that are not negative sort like their bits */
    }
}

static bool has_corner(const uint32_t *face, uint32_t v)
{
    return face[0] == v || face[1] == v || face[2] == v;
}

size_t simplify_faces_at(const simplifier *s, simplify_edge edge)
{
    size_t n = 0;
    for (size_t i = s->starts[edge.a]; i < s->starts[edge.a + 1]; i++)
        n += has_corner(s->mesh->faces + 3 * (size_t)s->around[i], edge.b);
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
    for (size_t i = s->starts[edge.a]; i < s->starts[edge.a + 1]; i++) {
        const uint32_t *face = s->mesh->faces + 3 * (size_t)s->around[i];
        if (!has_corner(face, edge.b)) continue;
        n_shared_faces++;
        for (int k = 0; k < 3; k++) { /* the third corner */
            uint32_t v = face[k];
            if (v == edge.a || v == edge.b) continue;
            size_t n_faces = s->starts[v + 1] - s->starts[v];
            if (n_faces < (s->kinds[v] == SIMPLIFY_INNER ? 4u : 2u)) return false;
        }
    }
    bool both_open = s->kinds[edge.a] == SIMPLIFY_BOUNDARY && s->kinds[edge.b] == SIMPLIFY_BOUNDARY;
    if (both_open && n_shared_faces != 1) return false; /* an edge across: the collapse would pinch the surface */
    return count_shared(s, edge) == n_shared_faces;
}

/* Whether the faces around v that do not hold `other` keep their side and shape when v moves to x. */
static bool keeps_faces(const simplifier *s, uint32_t v, uint32_t other, const double x[3])
{
    for (size_t i = s->starts[v]; i < s->starts[v + 1]; i++) {
        const uint32_t *face = s->mesh->faces + 3 * (size_t)s->around[i];
        double p[3][3], u[3], w[3], e[3], before[3], after[3];
        if (has_corner(face, other)) continue;
        int at = face[0] == v ? 0 : face[1] == v ? 1 : 2;
        for (int k = 0; k < 3; k++) simplify_position(s, face[(at + k) % 3], p[k]);
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

/* Where the collapse leads; returns the mean squared distance to the planes there. Of a boundary vertex and an inner
 * one the first stays where it is. */
static double target(const simplifier *s, simplify_edge edge, double x[3])
{
    place(s, edge, x);
    if (s->kinds[edge.a] != s->kinds[edge.b])
        simplify_position(s, s->kinds[edge.a] == SIMPLIFY_BOUNDARY ? edge.a : edge.b, x);
    splat_quadric q = s->quadrics[edge.a];
    splat_quadric_add(&q, &s->quadrics[edge.b]);
    return q.weight > 0.0 ? splat_quadric_value(&q, x) / q.weight : 0.0;
}

bool simplify_may_collapse(const simplifier *s, simplify_edge edge)
{
    double x[3];
    if ((s->kinds[edge.a] | s->kinds[edge.b]) & SIMPLIFY_LOCKED) return false;
    double mean = target(s, edge, x);
    return !(s->max_cost > 0.0 && mean > s->max_cost) && keeps_topology(s, edge) && keeps_faces(s, edge.a, edge.b, x) &&
           keeps_faces(s, edge.b, edge.a, x);
}

double simplify_collapse(simplifier *s, simplify_edge edge)
{
    size_t a = edge.a, b = edge.b;
    double p[3], q[3], along[3], from[3], x[3], mean = target(s, edge, x);
    simplify_position(s, a, p);
    simplify_position(s, b, q);
    sub(q, p, along);
    sub(x, p, from);
    double length2 = dot(along, along), t = length2 > 0.0 ? dot(from, along) / length2 : 0.5;
    t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
    for (size_t c = 0; s->mesh->colors && c < 4; c++) {
        uint8_t *color = s->mesh->colors + 4 * a + c;
        *color = (uint8_t)((1.0 - t) * *color + t * s->mesh->colors[4 * b + c] + 0.5);
    }
    for (size_t c = 0; c < 3; c++) s->mesh->vertices[3 * a + c] = (float)(x[c] + s->center[c]);
    splat_quadric_add(&s->quadrics[a], &s->quadrics[b]);
    for (size_t i = s->starts[b]; i < s->starts[b + 1]; i++) {
        uint32_t *face = s->mesh->faces + 3 * (size_t)s->around[i];
        for (int k = 0; k < 3; k++)
            if (face[k] == b) face[k] = edge.a;
    }
    return mean;
}
