/* Shapes with known areas and volumes, and what every closed mesh must be. */
#ifndef SPLAT_TESTS_MESH_FIXTURE_H
#define SPLAT_TESTS_MESH_FIXTURE_H

#include "mesh/mesh.h"
#include "mesh/mesh_edges.h"
#include "mesh/mesh_quality.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

#define ASSERT_OK(expression)                                                                                          \
    do {                                                                                                               \
        if ((expression) != SPLAT_OK) fail_msg("%s: %s", #expression, error.message);                                  \
    } while (0)

static inline void put_vertex(splat_mesh *mesh, double x, double y, double z)
{
    const float p[3] = {(float)x, (float)y, (float)z};
    assert_int_equal(splat_mesh_add_vertex(mesh, p, NULL, NULL), SPLAT_OK);
}

static inline void put_face(splat_mesh *mesh, size_t a, size_t b, size_t c)
{
    assert_int_equal(splat_mesh_add_face(mesh, (uint32_t)a, (uint32_t)b, (uint32_t)c, NULL), SPLAT_OK);
}

/* n x m vertices; radius R of the ring around z, r of the tube. */
static inline splat_mesh make_torus(size_t n, size_t m, double ring, double tube)
{
    splat_mesh mesh = {0};
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++) {
            double a = 2 * PI * (double)i / (double)n, b = 2 * PI * (double)j / (double)m;
            put_vertex(&mesh, (ring + tube * cos(b)) * cos(a), (ring + tube * cos(b)) * sin(a), tube * sin(b));
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++) {
            size_t a = i * m + j, b = (i + 1) % n * m + j, c = i * m + (j + 1) % m, d = (i + 1) % n * m + (j + 1) % m;
            put_face(&mesh, a, b, d);
            put_face(&mesh, a, d, c);
        }
    return mesh;
}

/* Rings of latitude between two poles. */
static inline splat_mesh make_sphere(size_t n, double radius)
{
    splat_mesh mesh = {0};
    put_vertex(&mesh, 0, 0, radius);
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < 2 * n; j++) {
            double a = PI * (double)i / (double)n, b = PI * (double)j / (double)n;
            put_vertex(&mesh, radius * sin(a) * cos(b), radius * sin(a) * sin(b), radius * cos(a));
        }
    put_vertex(&mesh, 0, 0, -radius);
    for (size_t j = 0; j < 2 * n; j++) {
        size_t next = (j + 1) % (2 * n), last = mesh.n_vertices - 1, ring = 1 + (n - 2) * 2 * n;
        put_face(&mesh, 0, 1 + j, 1 + next);
        put_face(&mesh, last, ring + next, ring + j);
        for (size_t i = 0; i + 2 < n; i++) {
            size_t up = 1 + i * 2 * n, down = up + 2 * n;
            put_face(&mesh, up + j, down + j, down + next);
            put_face(&mesh, up + j, down + next, up + next);
        }
    }
    return mesh;
}

/* (n + 1)^2 vertices of a square from 0 to 1 in x and y; normals point to +z. */
static inline splat_mesh make_sheet(size_t n, double (*height)(double x, double y))
{
    splat_mesh mesh = {0};
    for (size_t j = 0; j <= n; j++)
        for (size_t i = 0; i <= n; i++) {
            double x = (double)i / (double)n, y = (double)j / (double)n;
            put_vertex(&mesh, x, y, height ? height(x, y) : 0);
        }
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) {
            size_t a = j * (n + 1) + i, b = a + 1, c = a + n + 1, d = c + 1;
            put_face(&mesh, a, b, d);
            put_face(&mesh, a, d, c);
        }
    return mesh;
}

/* The unit cube, each side n x n squares, vertices shared. */
static inline splat_mesh make_cube(size_t n)
{
    splat_mesh mesh = {0};
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            size_t first = mesh.n_vertices;
            for (size_t j = 0; j <= n; j++)
                for (size_t i = 0; i <= n; i++) {
                    double p[3];
                    p[axis] = side;
                    p[(axis + 1) % 3] = (double)i / (double)n;
                    p[(axis + 2) % 3] = (double)j / (double)n;
                    put_vertex(&mesh, p[0], p[1], p[2]);
                }
            for (size_t j = 0; j < n; j++)
                for (size_t i = 0; i < n; i++) {
                    size_t a = first + j * (n + 1) + i, b = a + 1, c = a + n + 1, d = c + 1;
                    put_face(&mesh, a, side ? b : d, side ? d : b);
                    put_face(&mesh, a, side ? d : c, side ? c : d);
                }
        }
    return mesh;
}

static inline splat_mesh_quality measure(const splat_mesh *mesh)
{
    splat_mesh_quality quality;
    splat_error error;
    ASSERT_OK(splat_mesh_check(mesh, &error));
    ASSERT_OK(splat_mesh_measure(mesh, &quality, &error));
    return quality;
}

/* Every edge has two faces that run along it in opposite directions, and the faces around each vertex are one fan:
 * walking from face to face around it comes back after as many steps as it has faces. */
static inline void assert_closed_manifold(const splat_mesh *mesh)
{
    splat_mesh_quality q = measure(mesh);
    splat_mesh_edges edges;
    assert_true(q.is_watertight);
    assert_true(q.is_winding_consistent);
    assert_int_equal(splat_mesh_edges_make(mesh, &edges, NULL), SPLAT_OK);
    uint32_t *opposite = malloc(3 * mesh->n_faces * sizeof *opposite);
    uint32_t *counts = calloc(mesh->n_vertices, sizeof *counts), *start = calloc(mesh->n_vertices, sizeof *start);
    for (size_t i = 0; i < edges.n_uses; i += 2) {
        opposite[edges.uses[i].half_edge] = edges.uses[i + 1].half_edge;
        opposite[edges.uses[i + 1].half_edge] = edges.uses[i].half_edge;
    }
    for (size_t h = 0; h < 3 * mesh->n_faces; h++) {
        counts[mesh->faces[h]]++;
        start[mesh->faces[h]] = (uint32_t)h;
    }
    for (size_t v = 0; v < mesh->n_vertices; v++) {
        size_t n = 0;
        uint32_t h = start[v];
        if (!counts[v]) continue;
        do { /* the half-edge from v on the other side of the one that comes into v */
            uint32_t into = h % 3 == 0 ? h + 2 : h - 1;
            h = opposite[into];
            n++;
        } while (h != start[v] && n <= counts[v]);
        if (n != counts[v]) fail_msg("vertex %zu has %u faces, but %zu in one fan", v, (unsigned)counts[v], n);
    }
    free(opposite);
    free(counts);
    free(start);
    splat_mesh_edges_free(&edges);
}

#endif
