/* Oriented points of shapes whose distance is known, and what a mesh of them must be. */
#ifndef POISSON_FIXTURE_H
#define POISSON_FIXTURE_H

#include "base/rng.h"
#include "mesh/poisson.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct cloud {
    size_t n;
    float *positions, *normals;
    uint8_t *colors; /* NULL: none */
} cloud;

static inline cloud cloud_make(size_t n)
{
    cloud c = {n, malloc(12 * n), malloc(12 * n), NULL};
    assert_true(c.positions && c.normals);
    return c;
}

static inline void cloud_free(cloud *c)
{
    free(c->positions);
    free(c->normals);
    free(c->colors);
}

static inline splat_poisson_points cloud_points(const cloud *c)
{
    return (splat_poisson_points){c->n, c->positions, c->normals, c->colors};
}

/* Uniform on the unit sphere. */
static inline void random_direction(uint32_t step, uint64_t index, float out[3])
{
    splat_random4 r = splat_random(11, SPLAT_STREAM_TEST, step, index);
    float z = 2 * splat_uniform(r.x[0]) - 1, angle = 6.2831853f * splat_uniform(r.x[1]), s = sqrtf(1 - z * z);
    out[0] = s * cosf(angle);
    out[1] = s * sinf(angle);
    out[2] = z;
}

static inline void put_point(cloud *c, size_t i, const float center[3], float radius, const float normal[3])
{
    for (int a = 0; a < 3; a++) {
        c->positions[3 * i + (size_t)a] = center[a] + radius * normal[a];
        c->normals[3 * i + (size_t)a] = normal[a];
    }
}

static inline cloud sphere_cloud(size_t n)
{
    static const float center[3] = {3, -2, 5};
    cloud c = cloud_make(n);
    for (size_t i = 0; i < n; i++) {
        float normal[3];
        random_direction(0, i, normal);
        put_point(&c, i, center, 2, normal);
    }
    return c;
}

static inline double sphere_distance(const float *p)
{
    return sqrt(pow(p[0] - 3.0, 2) + pow(p[1] + 2.0, 2) + pow(p[2] - 5.0, 2)) - 2;
}

/* Radii 1 and 0.4 around the z axis. */
static inline cloud torus_cloud(size_t n)
{
    cloud c = cloud_make(n);
    uint32_t step = 0;
    for (size_t i = 0; i < n; step++) {
        splat_random4 r = splat_random(12, SPLAT_STREAM_TEST, step, i);
        float u = 6.2831853f * splat_uniform(r.x[0]), v = 6.2831853f * splat_uniform(r.x[1]);
        if (splat_uniform(r.x[2]) * 1.4f > 1 + 0.4f * cosf(v)) continue; /* more area outside */
        float ring[3] = {cosf(u), sinf(u), 0}, normal[3] = {cosf(u) * cosf(v), sinf(u) * cosf(v), sinf(v)};
        put_point(&c, i++, ring, 0.4f, normal);
    }
    return c;
}

static inline double torus_distance(const float *p)
{
    return hypot(hypot(p[0], p[1]) - 1, p[2]) - 0.4;
}

/* A cube of side 2 around the origin; noise along the normals. */
static inline cloud box_cloud(size_t n, float noise)
{
    cloud c = cloud_make(n);
    for (size_t i = 0; i < n; i++) {
        splat_random4 r = splat_random(13, SPLAT_STREAM_TEST, 0, i), q = splat_random(13, SPLAT_STREAM_TEST, 1, i);
        uint32_t face = r.x[0] % 6;
        float offset, unused, normal[3] = {0}, center[3];
        splat_normal2(q.x[0], q.x[1], &offset, &unused);
        normal[face / 2] = face & 1 ? 1 : -1;
        for (uint32_t a = 0; a < 3; a++) center[a] = a == face / 2 ? 0 : 2 * splat_uniform(r.x[1 + (a + face) % 3]) - 1;
        put_point(&c, i, center, 1 + noise * offset, normal);
    }
    return c;
}

static inline double box_distance(const float *p)
{
    double outside = 0, inside = -1e9;
    for (int a = 0; a < 3; a++) {
        double d = fabs(p[a]) - 1;
        outside += d > 0 ? d * d : 0;
        inside = fmax(inside, d);
    }
    return inside > 0 ? sqrt(outside) : inside;
}

typedef struct mesh_shape {
    long euler;        /* V - E + F */
    size_t n_borders;  /* edges with one face */
    size_t n_bad;      /* edges with more than two faces, or two that do not go opposite ways */
    size_t n_unused;   /* vertices without a face */
    size_t n_parts;    /* connected */
} mesh_shape;

typedef struct half_edge { uint32_t low, high; int way; } half_edge;

static inline int compare_half_edges(const void *a, const void *b)
{
    const half_edge *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    if (x->high != y->high) return x->high < y->high ? -1 : 1;
    return x->way - y->way;
}

static inline uint32_t find_part(uint32_t *part, uint32_t v)
{
    while (part[v] != v) v = part[v] = part[part[v]];
    return v;
}

/* border(p, q) is called for each edge with one face, when given; false makes the edge a bad one. */
static inline mesh_shape mesh_examine(const splat_mesh *mesh, bool (*border)(const float *p, const float *q))
{
    mesh_shape shape = {0};
    size_t n = 3 * mesh->n_faces, n_edges = 0;
    half_edge *edges = malloc(n * sizeof *edges + 1);
    uint32_t *part = malloc(4 * mesh->n_vertices + 1);
    uint8_t *used = calloc(mesh->n_vertices + 1, 1);
    assert_true(edges && part && used);
    for (uint32_t i = 0; i < mesh->n_vertices; i++) part[i] = i;
    for (size_t i = 0; i < n; i++) {
        uint32_t a = mesh->faces[i], b = mesh->faces[i % 3 == 2 ? i - 2 : i + 1];
        assert_true(a < mesh->n_vertices && a != b);
        edges[i] = a < b ? (half_edge){a, b, 0} : (half_edge){b, a, 1};
        used[a] = 1;
        part[find_part(part, a)] = find_part(part, b);
    }
    qsort(edges, n, sizeof *edges, compare_half_edges);
    for (size_t i = 0, end; i < n; i = end, n_edges++) {
        for (end = i + 1; end < n && edges[end].low == edges[i].low && edges[end].high == edges[i].high;) end++;
        if (end - i == 1) {
            shape.n_borders++;
            const float *low = mesh->vertices + 3 * (size_t)edges[i].low;
            const float *high = mesh->vertices + 3 * (size_t)edges[i].high;
            if (border && !border(low, high)) shape.n_bad++;
        } else if (end - i != 2 || edges[i].way == edges[i + 1].way)
            shape.n_bad++;
    }
    for (uint32_t i = 0; i < mesh->n_vertices; i++) {
        shape.n_unused += !used[i];
        shape.n_parts += part[i] == i;
    }
    shape.euler = (long)mesh->n_vertices - (long)n_edges + (long)mesh->n_faces;
    free(edges);
    free(part);
    free(used);
    return shape;
}

/* Closed, connected as said, every edge with two faces that go opposite ways. */
static inline void assert_closed(const splat_mesh *mesh, long euler, size_t n_parts)
{
    mesh_shape shape = mesh_examine(mesh, NULL);
    assert_int_equal(shape.n_bad, 0);
    assert_int_equal(shape.n_borders, 0);
    assert_int_equal(shape.n_unused, 0);
    assert_int_equal(shape.n_parts, n_parts);
    assert_int_equal(shape.euler, euler);
}

typedef struct distances { double rms, max; } distances;

static inline distances mesh_distances(const splat_mesh *mesh, double (*distance)(const float *))
{
    distances d = {0};
    for (size_t i = 0; i < mesh->n_vertices; i++) {
        double x = fabs(distance(mesh->vertices + 3 * i));
        d.rms += x * x;
        d.max = fmax(d.max, x);
    }
    d.rms = sqrt(d.rms / (double)mesh->n_vertices);
    return d;
}

#endif
