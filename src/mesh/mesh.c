/* Growing, copying and checking meshes, and their areas, volumes and normals. */
#include "mesh/mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void splat_mesh_free(splat_mesh *mesh)
{
    free(mesh->vertices);
    free(mesh->normals);
    free(mesh->colors);
    free(mesh->faces);
    memset(mesh, 0, sizeof *mesh);
}

static splat_status no_memory(size_t n, const char *what, splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a mesh of %zu %s", n, what);
}

/* Counts fit 32 bits, so a row of at most 12 bytes never overflows a size of 64. */
static bool grow_floats(float **array, size_t n)
{
    float *grown = realloc(*array, 3 * n * sizeof *grown);
    if (grown) *array = grown;
    return grown != NULL;
}

static bool grow_vertices(splat_mesh *mesh, size_t n)
{
    if (!grow_floats(&mesh->vertices, n) || (mesh->normals && !grow_floats(&mesh->normals, n))) return false;
    if (!mesh->colors) return true;
    uint8_t *grown = realloc(mesh->colors, 4 * n);
    if (grown) mesh->colors = grown;
    return grown != NULL;
}

static bool grow_faces(splat_mesh *mesh, size_t n)
{
    uint32_t *grown = realloc(mesh->faces, 3 * n * sizeof *grown);
    if (grown) mesh->faces = grown;
    return grown != NULL;
}

splat_status splat_mesh_reserve(splat_mesh *mesh, size_t n_vertices, size_t n_faces, splat_error *error)
{
    if (n_vertices > mesh->vertex_capacity) {
        if (n_vertices > UINT32_MAX || !grow_vertices(mesh, n_vertices))
            return no_memory(n_vertices, "vertices", error);
        mesh->vertex_capacity = n_vertices;
    }
    if (n_faces > mesh->face_capacity) {
        if (n_faces > UINT32_MAX || !grow_faces(mesh, n_faces))
            return no_memory(n_faces, "faces", error);
        mesh->face_capacity = n_faces;
    }
    return SPLAT_OK;
}

static size_t doubled(size_t n)
{
    size_t grown = n < 16 ? 32 : 2 * n;
    return grown > UINT32_MAX && n < UINT32_MAX ? UINT32_MAX : grown;
}

splat_status splat_mesh_add_vertex(splat_mesh *mesh, const float position[3], const uint8_t color[4],
                                   splat_error *error)
{
    static const uint8_t white[4] = {255, 255, 255, 255};
    size_t i = mesh->n_vertices;
    if (i == mesh->vertex_capacity) SPLAT_TRY(splat_mesh_reserve(mesh, doubled(i), 0, error));
    memcpy(mesh->vertices + 3 * i, position, 12);
    if (mesh->normals) memset(mesh->normals + 3 * i, 0, 12);
    if (mesh->colors) memcpy(mesh->colors + 4 * i, color ? color : white, 4);
    mesh->n_vertices++;
    return SPLAT_OK;
}

splat_status splat_mesh_add_face(splat_mesh *mesh, uint32_t a, uint32_t b, uint32_t c, splat_error *error)
{
    size_t i = mesh->n_faces;
    if (i == mesh->face_capacity) SPLAT_TRY(splat_mesh_reserve(mesh, 0, doubled(i), error));
    const uint32_t corners[3] = {a, b, c};
    memcpy(mesh->faces + 3 * i, corners, 12);
    mesh->n_faces++;
    return SPLAT_OK;
}

splat_status splat_mesh_require_normals(splat_mesh *mesh, splat_error *error)
{
    if (mesh->normals) return SPLAT_OK;
    mesh->normals = calloc(mesh->vertex_capacity ? mesh->vertex_capacity : 1, 12);
    return mesh->normals ? SPLAT_OK : no_memory(mesh->vertex_capacity, "normals", error);
}

splat_status splat_mesh_require_colors(splat_mesh *mesh, splat_error *error)
{
    if (mesh->colors) return SPLAT_OK;
    size_t size = 4 * (mesh->vertex_capacity ? mesh->vertex_capacity : 1);
    mesh->colors = malloc(size);
    if (!mesh->colors) return no_memory(mesh->vertex_capacity, "colours", error);
    memset(mesh->colors, 255, size);
    return SPLAT_OK;
}

splat_status splat_mesh_append(splat_mesh *mesh, const splat_mesh *other, splat_error *error)
{
    size_t n = mesh->n_vertices, m = mesh->n_faces;
    if (other->normals) SPLAT_TRY(splat_mesh_require_normals(mesh, error));
    if (other->colors) SPLAT_TRY(splat_mesh_require_colors(mesh, error));
    SPLAT_TRY(splat_mesh_reserve(mesh, n + other->n_vertices, m + other->n_faces, error));
    if (other->n_vertices) memcpy(mesh->vertices + 3 * n, other->vertices, 12 * other->n_vertices);
    if (mesh->normals && other->normals) memcpy(mesh->normals + 3 * n, other->normals, 12 * other->n_vertices);
    if (mesh->normals && !other->normals) memset(mesh->normals + 3 * n, 0, 12 * other->n_vertices);
    if (mesh->colors && other->colors) memcpy(mesh->colors + 4 * n, other->colors, 4 * other->n_vertices);
    if (mesh->colors && !other->colors) memset(mesh->colors + 4 * n, 255, 4 * other->n_vertices);
    for (size_t i = 0; i < 3 * other->n_faces; i++) mesh->faces[3 * m + i] = other->faces[i] + (uint32_t)n;
    mesh->n_vertices += other->n_vertices;
    mesh->n_faces += other->n_faces;
    return SPLAT_OK;
}

splat_status splat_mesh_copy(const splat_mesh *mesh, splat_mesh *copy, splat_error *error)
{
    memset(copy, 0, sizeof *copy);
    splat_status status = splat_mesh_append(copy, mesh, error);
    if (status != SPLAT_OK) splat_mesh_free(copy);
    return status;
}

splat_status splat_mesh_check(const splat_mesh *mesh, splat_error *error)
{
    for (size_t i = 0; i < 3 * mesh->n_faces; i++)
        if (mesh->faces[i] >= mesh->n_vertices)
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "face %zu of the mesh names vertex %u, but it has %zu",
                              i / 3, (unsigned)mesh->faces[i], mesh->n_vertices);
    for (size_t i = 0; i < 3 * mesh->n_vertices; i++)
        if (!isfinite(mesh->vertices[i]))
            return splat_fail(error, SPLAT_ERROR_NUMERIC, "a coordinate of vertex %zu of the mesh is not finite",
                              i / 3);
    return SPLAT_OK;
}

void splat_mesh_bounds(const splat_mesh *mesh, float low[3], float high[3])
{
    for (size_t c = 0; c < 3; c++) low[c] = high[c] = mesh->n_vertices ? mesh->vertices[c] : 0.0f;
    for (size_t i = 1; i < mesh->n_vertices; i++) {
        for (size_t c = 0; c < 3; c++) {
            float x = mesh->vertices[3 * i + c];
            if (x < low[c]) low[c] = x;
            if (x > high[c]) high[c] = x;
        }
    }
}

void splat_mesh_face_cross(const splat_mesh *mesh, size_t face, double cross[3])
{
    const uint32_t *corner = mesh->faces + 3 * face;
    const float *a = mesh->vertices + 3 * (size_t)corner[0], *b = mesh->vertices + 3 * (size_t)corner[1],
                *c = mesh->vertices + 3 * (size_t)corner[2];
    double u[3], v[3];
    for (int k = 0; k < 3; k++) {
        u[k] = (double)b[k] - (double)a[k];
        v[k] = (double)c[k] - (double)a[k];
    }
    cross[0] = u[1] * v[2] - u[2] * v[1];
    cross[1] = u[2] * v[0] - u[0] * v[2];
    cross[2] = u[0] * v[1] - u[1] * v[0];
}

double splat_mesh_face_area(const splat_mesh *mesh, size_t face)
{
    double n[3];
    splat_mesh_face_cross(mesh, face, n);
    return 0.5 * sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
}

double splat_mesh_area(const splat_mesh *mesh)
{
    double sum = 0.0;
    for (size_t i = 0; i < mesh->n_faces; i++) sum += splat_mesh_face_area(mesh, i);
    return sum;
}

double splat_mesh_volume(const splat_mesh *mesh)
{
    float low[3], high[3];
    double sum = 0.0;
    splat_mesh_bounds(mesh, low, high); /* tetrahedra to a corner of the box: less cancellation than to the origin */
    for (size_t i = 0; i < mesh->n_faces; i++) {
        double n[3];
        const float *a = mesh->vertices + 3 * (size_t)mesh->faces[3 * i];
        splat_mesh_face_cross(mesh, i, n);
        for (int k = 0; k < 3; k++) sum += n[k] * ((double)a[k] - (double)low[k]);
    }
    return sum / 6.0;
}

splat_status splat_mesh_compute_normals(splat_mesh *mesh, splat_error *error)
{
    SPLAT_TRY(splat_mesh_require_normals(mesh, error));
    double *sums = calloc(mesh->n_vertices ? mesh->n_vertices : 1, 3 * sizeof *sums);
    if (!sums) return no_memory(mesh->n_vertices, "normals", error);
    for (size_t i = 0; i < mesh->n_faces; i++) {
        double n[3];
        splat_mesh_face_cross(mesh, i, n); /* its length is the weight */
        for (size_t j = 0; j < 3; j++)
            for (size_t k = 0; k < 3; k++) sums[3 * (size_t)mesh->faces[3 * i + j] + k] += n[k];
    }
    for (size_t i = 0; i < mesh->n_vertices; i++) {
        const double *n = sums + 3 * i;
        double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (size_t k = 0; k < 3; k++) mesh->normals[3 * i + k] = length > 0.0 ? (float)(n[k] / length) : 0.0f;
    }
    free(sums);
    return SPLAT_OK;
}

void splat_mesh_flip(splat_mesh *mesh)
{
    for (size_t i = 0; i < mesh->n_faces; i++) {
        uint32_t b = mesh->faces[3 * i + 1];
        mesh->faces[3 * i + 1] = mesh->faces[3 * i + 2];
        mesh->faces[3 * i + 2] = b;
    }
    for (size_t i = 0; mesh->normals && i < 3 * mesh->n_vertices; i++) mesh->normals[i] = -mesh->normals[i];
}
