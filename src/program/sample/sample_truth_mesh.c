/* The surface of the built-in worlds that are lists of parts, as triangles. */
#include "base/file.h"
#include "base/reader.h" /* refuses big-endian hosts: numbers are written as they stand in memory */
#include "sample/sample_work.h"

#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;
static const double cell = 0.01; /* of curved surfaces, scene units */

/* Written as it is made: once to count, once for vertices, once for faces. */
typedef struct writer {
    FILE *stream;   /* NULL: only counts */
    bool are_faces; /* faces are written, else vertices */
    size_t n_vertices, n_faces;
} writer;

static void add_vertex(writer *w, const splat_part *part, splat_vec3 local)
{
    splat_vec3 p = splat_vec3_add(part->center, splat_part_to_world(part, local));
    const float place[3] = {(float)p.x, (float)p.y, (float)p.z};
    if (w->stream && !w->are_faces) fwrite(place, sizeof place, 1, w->stream);
    w->n_vertices++;
}

static void add_face(writer *w, size_t a, size_t b, size_t c)
{
    uint8_t row[13] = {3};
    const uint32_t corners[3] = {(uint32_t)a, (uint32_t)b, (uint32_t)c};
    memcpy(row + 1, corners, 12);
    if (w->stream && w->are_faces) fwrite(row, sizeof row, 1, w->stream);
    w->n_faces++;
}

static void add_quad(writer *w, size_t a, size_t b, size_t c, size_t d)
{
    add_face(w, a, b, c);
    add_face(w, a, c, d);
}

/* Corners in the order that is counter-clockwise from outside. */
static void add_rectangle(writer *w, const splat_part *part)
{
    size_t first = w->n_vertices;
    add_vertex(w, part, splat_vec3_make(-part->half.x, 0, -part->half.z));
    add_vertex(w, part, splat_vec3_make(-part->half.x, 0, part->half.z));
    add_vertex(w, part, splat_vec3_make(part->half.x, 0, part->half.z));
    add_vertex(w, part, splat_vec3_make(part->half.x, 0, -part->half.z));
    add_quad(w, first, first + 1, first + 2, first + 3);
}

static void add_box(writer *w, const splat_part *part)
{
    static const uint8_t faces[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 2, 3, 1},
                                        {4, 5, 7, 6}};
    size_t first = w->n_vertices;
    splat_vec3 h = part->half;
    for (int k = 0; k < 8; k++) /* bit 0: x, bit 1: y, bit 2: z */
        add_vertex(w, part, splat_vec3_make(k & 1 ? h.x : -h.x, k & 2 ? h.y : -h.y, k & 4 ? h.z : -h.z));
    for (int k = 0; k < 6; k++)
        add_quad(w, first + faces[k][0], first + faces[k][1], first + faces[k][2], first + faces[k][3]);
}

static size_t steps_around(double radius)
{
    return (size_t)fmax(64, ceil(2 * pi * radius / cell));
}

/* A row of n vertices around local y. */
static void add_ring(writer *w, const splat_part *part, double radius, double y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double angle = 2 * pi * (double)i / (double)n;
        add_vertex(w, part, splat_vec3_make(radius * cos(angle), y, radius * sin(angle)));
    }
}

/* Between the rings that begin at a and, farther along local y, at b. */
static void join_rings(writer *w, size_t a, size_t b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t next = (i + 1) % n;
        add_quad(w, a + i, b + i, b + next, a + next);
    }
}

/* Between a vertex and a ring, seen from the vertex' side; is_above: it is farther along local y. */
static void join_tip(writer *w, size_t tip, size_t ring, size_t n, bool is_above)
{
    for (size_t i = 0; i < n; i++) {
        size_t next = (i + 1) % n;
        add_face(w, tip, ring + (is_above ? next : i), ring + (is_above ? i : next));
    }
}

static void add_ball(writer *w, const splat_part *part)
{
    size_t around = steps_around(part->radius), down = around / 2, first = w->n_vertices;
    for (size_t j = 1; j < down; j++) {
        double angle = pi * (double)j / (double)down;
        add_ring(w, part, part->radius * sin(angle), -part->radius * cos(angle), around);
    }
    size_t tips = w->n_vertices;
    add_vertex(w, part, splat_vec3_make(0, -part->radius, 0));
    add_vertex(w, part, splat_vec3_make(0, part->radius, 0));
    for (size_t j = 0; j + 2 < down; j++) join_rings(w, first + j * around, first + (j + 1) * around, around);
    join_tip(w, tips, first, around, false);
    join_tip(w, tips + 1, first + (down - 2) * around, around, true);
}

static void add_cylinder(writer *w, const splat_part *part)
{
    size_t n = steps_around(part->radius), first = w->n_vertices;
    add_ring(w, part, part->radius, -part->half.y, n);
    add_ring(w, part, part->radius, part->half.y, n);
    add_vertex(w, part, splat_vec3_make(0, -part->half.y, 0));
    add_vertex(w, part, splat_vec3_make(0, part->half.y, 0));
    join_rings(w, first, first + n, n);
    join_tip(w, first + 2 * n, first, n, false);
    join_tip(w, first + 2 * n + 1, first + n, n, true);
}

static void add_torus(writer *w, const splat_part *part)
{
    size_t around = steps_around(part->radius + part->tube), n = steps_around(part->tube), first = w->n_vertices;
    for (size_t j = 0; j < n; j++) {
        double angle = 2 * pi * (double)j / (double)n;
        add_ring(w, part, part->radius + part->tube * cos(angle), part->tube * sin(angle), around);
    }
    for (size_t j = 0; j < n; j++) join_rings(w, first + j * around, first + (j + 1) % n * around, around);
}

static void add_parts(writer *w, const splat_parts *parts)
{
    w->n_vertices = w->n_faces = 0;
    for (int i = 0; i < parts->n; i++) {
        const splat_part *part = &parts->items[i];
        switch (part->shape) {
        case SPLAT_PART_RECTANGLE: add_rectangle(w, part); break;
        case SPLAT_PART_BOX: add_box(w, part); break;
        case SPLAT_PART_BALL: add_ball(w, part); break;
        case SPLAT_PART_CYLINDER: add_cylinder(w, part); break;
        default: add_torus(w, part);
        }
    }
}

splat_status splat_sample_parts_mesh(const splat_parts *parts, const char *path, splat_error *error)
{
    writer w = {0};
    splat_save save;
    add_parts(&w, parts);
    SPLAT_TRY(splat_save_open(&save, path, error));
    fprintf(save.stream, "ply\nformat binary_little_endian 1.0\n"
                         "comment all of the surface, also what no camera sees\n"
                         "element vertex %zu\nproperty float x\nproperty float y\nproperty float z\n"
                         "element face %zu\nproperty list uchar uint vertex_indices\nend_header\n",
            w.n_vertices, w.n_faces);
    w.stream = save.stream;
    add_parts(&w, parts);
    w.are_faces = true;
    add_parts(&w, parts);
    return splat_save_commit(&save, error);
}
