/* Normals first, then vertices; every round reads what the round before wrote. */
#include "mesh/mesh_fair.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void splat_mesh_fair_options_init(splat_mesh_fair_options *options)
{
    *options = (splat_mesh_fair_options){.edge = 45, .n_normal_rounds = 8, .n_vertex_rounds = 12, .threads = 1};
}

typedef struct fairing {
    splat_mesh *mesh;
    const float *reach;
    const splat_mesh_fair_options *options;
    uint32_t *starts, *around; /* [n_vertices + 1], [3 n_faces]: the faces around a vertex, by number */
    float *areas;              /* [n_faces] */
    float (*normals)[3], (*next)[3]; /* [n_faces] */
    float (*begin)[3], (*moved)[3];  /* [n_vertices]: where vertices were, and where a round moves them */
} fairing;

/* ---------------------------------------------------------------- neighbours */

static void list_faces(const fairing *f)
{
    const splat_mesh *mesh = f->mesh;
    memset(f->starts, 0, (mesh->n_vertices + 1) * sizeof *f->starts);
    for (size_t i = 0; i < 3 * mesh->n_faces; i++) f->starts[mesh->faces[i] + 1]++;
    for (size_t v = 0; v < mesh->n_vertices; v++) f->starts[v + 1] += f->starts[v];
    for (size_t i = 0; i < 3 * mesh->n_faces; i++) f->around[f->starts[mesh->faces[i]]++] = (uint32_t)(i / 3);
    for (size_t v = mesh->n_vertices; v > 0; v--) f->starts[v] = f->starts[v - 1];
    f->starts[0] = 0;
}

/* True if each vertex around v follows another one in a face, and is followed by one. */
static bool is_closed_around(const fairing *f, uint32_t v)
{
    for (uint32_t i = f->starts[v]; i < f->starts[v + 1]; i++) {
        const uint32_t *face = f->mesh->faces + 3 * (size_t)f->around[i];
        const int corner = face[0] == v ? 0 : face[1] == v ? 1 : 2;
        bool is_followed = false;
        for (uint32_t j = f->starts[v]; j < f->starts[v + 1] && !is_followed; j++) {
            const uint32_t *other = f->mesh->faces + 3 * (size_t)f->around[j];
            const int at = other[0] == v ? 0 : other[1] == v ? 1 : 2;
            is_followed = other[(at + 1) % 3] == face[(corner + 2) % 3];
        }
        if (!is_followed) return false;
    }
    return f->starts[v] < f->starts[v + 1];
}

/* ---------------------------------------------------------------- normals */

static void measure(const fairing *f)
{
#pragma omp parallel for schedule(static) num_threads(f->options->threads)
    for (size_t i = 0; i < f->mesh->n_faces; i++) {
        double cross[3];
        splat_mesh_face_cross(f->mesh, i, cross);
        const double length = sqrt(cross[0] * cross[0] + cross[1] * cross[1] + cross[2] * cross[2]);
        f->areas[i] = (float)(0.5 * length);
        for (int k = 0; k < 3; k++) f->normals[i][k] = length > 0 ? (float)(cross[k] / length) : 0;
    }
}

static void smooth_normal(const fairing *f, size_t face, float limit2)
{
    const float *own = f->normals[face];
    float sum[3] = {0, 0, 0};
    for (int corner = 0; corner < 3; corner++) {
        const uint32_t v = f->mesh->faces[3 * face + (size_t)corner];
        for (uint32_t i = f->starts[v]; i < f->starts[v + 1]; i++) {
            const float *other = f->normals[f->around[i]];
            const float x = own[0] - other[0], y = own[1] - other[1], z = own[2] - other[2];
            const float part = 1 - (x * x + y * y + z * z) / limit2;
            const float weight = part > 0 ? f->areas[f->around[i]] * part * part : 0;
            for (int k = 0; k < 3; k++) sum[k] += weight * other[k];
        }
    }
    const float length = sqrtf(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]);
    for (int k = 0; k < 3; k++) f->next[face][k] = length > 0 ? sum[k] / length : own[k];
}

static void smooth_normals(fairing *f)
{
    const double limit = 2 * sin(f->options->edge * (3.14159265358979 / 360)); /* of two unit vectors at this angle */
    for (int round = 0; round < f->options->n_normal_rounds; round++) {
#pragma omp parallel for schedule(static) num_threads(f->options->threads)
        for (size_t i = 0; i < f->mesh->n_faces; i++) smooth_normal(f, i, (float)(limit * limit));
        float (*swapped)[3] = f->normals;
        f->normals = f->next;
        f->next = swapped;
    }
}

/* ---------------------------------------------------------------- vertices */

/* Towards the planes of the faces around; no farther from where it was than its reach. */
static void move(const fairing *f, uint32_t v)
{
    const float *vertices = f->mesh->vertices, *own = vertices + 3 * (size_t)v;
    const uint32_t n = f->starts[v + 1] - f->starts[v];
    float step[3] = {0, 0, 0}, away[3], square = 0;
    for (uint32_t i = f->starts[v]; i < f->starts[v + 1]; i++) {
        const uint32_t *face = f->mesh->faces + 3 * (size_t)f->around[i];
        const float *normal = f->normals[f->around[i]];
        float along = 0;
        for (int k = 0; k < 3; k++) {
            float middle = 0;
            for (int c = 0; c < 3; c++) middle += vertices[3 * (size_t)face[c] + (size_t)k] / 3;
            along += normal[k] * (middle - own[k]);
        }
        for (int k = 0; k < 3; k++) step[k] += normal[k] * along;
    }
    for (int k = 0; k < 3; k++) {
        away[k] = own[k] + step[k] / (float)n - f->begin[v][k];
        square += away[k] * away[k];
    }
    const float part = square > f->reach[v] * f->reach[v] ? f->reach[v] / sqrtf(square) : 1;
    for (int k = 0; k < 3; k++) f->moved[v][k] = f->begin[v][k] + part * away[k];
}

static void move_vertices(const fairing *f, const uint8_t *is_free)
{
    const size_t bytes = f->mesh->n_vertices * sizeof *f->begin;
    memcpy(f->begin, f->mesh->vertices, bytes);
    memcpy(f->moved, f->mesh->vertices, bytes);
    for (int round = 0; round < f->options->n_vertex_rounds; round++) {
#pragma omp parallel for schedule(dynamic, 1024) num_threads(f->options->threads)
        for (uint32_t v = 0; v < f->mesh->n_vertices; v++)
            if (is_free[v]) move(f, v);
        memcpy(f->mesh->vertices, f->moved, bytes);
    }
}

/* ---------------------------------------------------------------- the whole */

static splat_status check(const splat_mesh_fair_options *o, splat_error *error)
{
    if (o->edge >= 0 && o->edge <= 180 && o->n_normal_rounds >= 0 && o->n_vertex_rounds >= 0 && o->threads >= 1)
        return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                      "fairing takes an edge of 0 to 180 degrees, rounds and threads; not %g, %d, %d, %d", o->edge,
                      o->n_normal_rounds, o->n_vertex_rounds, o->threads);
}

splat_status splat_mesh_fair(splat_mesh *mesh, const float *reach, const splat_mesh_fair_options *options,
                             splat_error *error)
{
    SPLAT_TRY(check(options, error));
    const size_t n_faces = mesh->n_faces + 1, n_vertices = mesh->n_vertices + 1;
    fairing f = {mesh, reach, options,
                 malloc(n_vertices * sizeof *f.starts), malloc(3 * n_faces * sizeof *f.around),
                 malloc(n_faces * sizeof *f.areas), malloc(n_faces * sizeof *f.normals),
                 malloc(n_faces * sizeof *f.next), malloc(n_vertices * sizeof *f.begin),
                 malloc(n_vertices * sizeof *f.moved)};
    uint8_t *is_free = malloc(n_vertices);
    const bool ok = f.starts && f.around && f.areas && f.normals && f.next && f.begin && f.moved && is_free;
    if (ok) {
        list_faces(&f);
#pragma omp parallel for schedule(dynamic, 1024) num_threads(options->threads)
        for (uint32_t v = 0; v < mesh->n_vertices; v++) is_free[v] = reach[v] > 0 && is_closed_around(&f, v);
        measure(&f);
        smooth_normals(&f);
        move_vertices(&f, is_free);
    }
    free(f.starts);
    free(f.around);
    free(f.areas);
    free(f.normals);
    free(f.next);
    free(f.begin);
    free(f.moved);
    free(is_free);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to smooth %zu faces", mesh->n_faces);
}
