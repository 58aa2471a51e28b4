/* Meshes for the tests of bind and bind_backward. */
#include "ops/bind/bind_test.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ODD_FACES = 6, ODD_VERTICES = 14 };

float *bind_random(uint64_t seed, size_t n)
{
    float *values = calloc(n + 1, sizeof *values);
    for (size_t i = 0; i < n; i++) values[i] = project_normal(seed, i);
    return values;
}

static void add_face(bind_mesh *mesh, uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t corners[3] = {a, b, c};
    memcpy(mesh->faces + 3 * (size_t)mesh->n_faces++, corners, sizeof corners);
}

static uint32_t add_vertex(bind_mesh *mesh, float x, float y, float z)
{
    const float position[3] = {x, y, z};
    memcpy(mesh->vertices + 3 * (size_t)mesh->n_vertices, position, sizeof position);
    return mesh->n_vertices++;
}

static void add_odd(bind_mesh *mesh)
{
    uint32_t a = add_vertex(mesh, 0, 0, 0.5f), b = add_vertex(mesh, 0.1f, 0, 0.5f);
    uint32_t c = add_vertex(mesh, 0, 0.1f, 0.52f), d = add_vertex(mesh, 0, -0.1f, 0.53f);
    uint32_t e = add_vertex(mesh, 0.02f, 0.03f, 0.6f);
    add_face(mesh, a, b, c); /* three on the edge a b */
    add_face(mesh, a, b, d);
    add_face(mesh, b, a, e);
    uint32_t middle = add_vertex(mesh, 0.05f, 0, 0.5f);
    add_face(mesh, a, b, middle); /* no area, and a fourth on a b */
    uint32_t near = add_vertex(mesh, 0, 0, 0.5f + 1e-9f);
    add_face(mesh, a, near, c); /* no edge */
    uint32_t lost = add_vertex(mesh, 0.3f, INFINITY, 0);
    add_face(mesh, c, e, lost); /* shares the edge c e with none */
    add_vertex(mesh, 3, 4, 5);  /* without a face */
}

static uint32_t opposite(const bind_mesh *mesh, uint32_t f, uint32_t a, uint32_t b)
{
    const uint32_t *corners = mesh->faces + 3 * (size_t)f;
    for (int k = 0; k < 3; k++)
        if (corners[k] != a && corners[k] != b) return corners[k];
    return UINT32_MAX;
}

static void add_pair(bind_mesh *mesh, uint32_t f, uint32_t g)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            uint32_t a = mesh->faces[3 * (size_t)f + (size_t)i], b = mesh->faces[3 * (size_t)f + (size_t)((i + 1) % 3)];
            uint32_t c = mesh->faces[3 * (size_t)g + (size_t)j], d = mesh->faces[3 * (size_t)g + (size_t)((j + 1) % 3)];
            if (a == b || !((a == c && b == d) || (a == d && b == c))) continue;
            const uint32_t pair[4] = {a < b ? a : b, a < b ? b : a, opposite(mesh, f, a, b), opposite(mesh, g, a, b)};
            memcpy(mesh->pairs[mesh->n_pairs++], pair, sizeof pair);
        }
}

bind_mesh bind_mesh_make(uint32_t columns, uint32_t rows, int per_face, bool turned, bool odd, uint64_t seed)
{
    bind_mesh mesh = {.per_face = per_face, .thickness = 1e-6f, .extent = 1};
    const size_t n_faces = 2 * (size_t)columns * rows + ODD_FACES, n = n_faces * (size_t)per_face;
    mesh.faces = calloc(3 * n_faces, sizeof *mesh.faces);
    mesh.vertices = calloc(3 * ((columns + 1) * (rows + 1) + (size_t)ODD_VERTICES), sizeof *mesh.vertices);
    mesh.plane_scales = calloc(2 * n, sizeof *mesh.plane_scales);
    mesh.plane_rotations = calloc(2 * n, sizeof *mesh.plane_rotations);
    mesh.pairs = calloc(3 * n_faces + 16, sizeof *mesh.pairs);
    for (uint32_t y = 0; rows && y <= rows; y++)
        for (uint32_t x = 0; x <= columns; x++) {
            uint64_t v = mesh.n_vertices;
            add_vertex(&mesh, 0.1f * ((float)x - 0.5f * (float)columns) + 0.02f * project_normal(seed, 3 * v),
                       0.1f * ((float)y - 0.5f * (float)rows) + 0.02f * project_normal(seed, 3 * v + 1),
                       0.04f * project_normal(seed, 3 * v + 2));
        }
    for (uint32_t y = 0; y < rows; y++)
        for (uint32_t x = 0; x < columns; x++) {
            uint32_t v = y * (columns + 1) + x, up = v + columns + 1;
            bool turn = turned && project_normal(seed + 1, v) > 0;
            add_face(&mesh, v, turn ? up : v + 1, turn ? v + 1 : up);
            turn = turned && project_normal(seed + 2, v) > 0;
            add_face(&mesh, turn ? v + 1 : up, turn ? up : v + 1, up + 1);
        }
    if (odd) add_odd(&mesh);
    mesh.n = mesh.n_faces * (uint32_t)per_face;
    for (size_t i = 0; i < 2 * (size_t)mesh.n; i++) {
        mesh.plane_scales[i] = -3.0f + 0.5f * project_normal(seed + 3, i);
        mesh.plane_rotations[i] = project_normal(seed + 4, i);
    }
    if (odd && mesh.n > 12 * ODD_FACES) {
        mesh.plane_rotations[6] = mesh.plane_rotations[7] = 0;
        mesh.plane_rotations[21] = NAN;
        mesh.plane_scales[33] = INFINITY;
    }
    for (uint32_t f = 0; f < mesh.n_faces; f++)
        for (uint32_t g = f + 1; g < mesh.n_faces; g++) add_pair(&mesh, f, g);
    return mesh;
}

void bind_mesh_free(bind_mesh *mesh)
{
    free(mesh->faces);
    free(mesh->pairs);
    free(mesh->vertices);
    free(mesh->plane_scales);
    free(mesh->plane_rotations);
    memset(mesh, 0, sizeof *mesh);
}

static double *doubles(const float *values, size_t n)
{
    double *copy = calloc(n + 1, sizeof *copy);
    for (size_t i = 0; i < n; i++) copy[i] = (double)values[i];
    return copy;
}

ref_bound_f64 bind_reference_f64(const bind_mesh *mesh)
{
    const double e2 = (double)mesh->extent * (double)mesh->extent;
    return (ref_bound_f64){.n_vertices = mesh->n_vertices,
                           .n_faces = mesh->n_faces,
                           .per_face = mesh->per_face,
                           .thickness = (double)mesh->thickness,
                           .least_area = 1e-12 * e2,
                           .least_edge = 1e-8 * (double)mesh->extent,
                           .least_normal = 1e-8 * e2,
                           .faces = mesh->faces,
                           .vertices = doubles(mesh->vertices, 3 * (size_t)mesh->n_vertices),
                           .plane_scales = doubles(mesh->plane_scales, 2 * (size_t)mesh->n),
                           .plane_rotations = doubles(mesh->plane_rotations, 2 * (size_t)mesh->n)};
}

void bind_reference_free_f64(ref_bound_f64 *bound)
{
    free(bound->vertices);
    free(bound->plane_scales);
    free(bound->plane_rotations);
}

/* ---------------------------------------------------------------- on a backend */

void *bind_scene_upload(bind_scene *scene, const void *host, size_t bytes)
{
    return test_upload(scene->backend, &scene->blocks[scene->n_blocks++], host, bytes);
}

/* The corners at each vertex, by looking at all of them. */
static void upload_corners(bind_scene *scene, const bind_mesh *mesh)
{
    uint32_t *begin = calloc((size_t)mesh->n_vertices + 1, sizeof *begin);
    uint32_t *corners = calloc(3 * (size_t)mesh->n_faces + 1, sizeof *corners);
    for (uint32_t v = 0; v < mesh->n_vertices; v++) {
        begin[v + 1] = begin[v];
        for (uint32_t c = 0; c < 3 * mesh->n_faces; c++)
            if (mesh->faces[c] == v) corners[begin[v + 1]++] = c;
    }
    scene->mesh.vertex_begin = bind_scene_upload(scene, begin, ((size_t)mesh->n_vertices + 1) * sizeof *begin);
    scene->mesh.vertex_corners = bind_scene_upload(scene, corners, 3 * (size_t)mesh->n_faces * sizeof *corners);
    free(begin);
    free(corners);
}

/* 1, 0 or -1: how the face runs along the edge from a to b. */
static int direction(const bind_mesh *mesh, uint32_t f, uint32_t a, uint32_t b)
{
    const uint32_t *v = mesh->faces + 3 * (size_t)f;
    for (int k = 0; k < 3; k++) {
        if (v[k] == a && v[(k + 1) % 3] == b) return 1;
        if (v[k] == b && v[(k + 1) % 3] == a) return -1;
    }
    return 0;
}

/* The pairs of each face, by looking at all edges of all faces. */
static void upload_pairs(bind_scene *scene, const bind_mesh *mesh)
{
    uint32_t *begin = calloc((size_t)mesh->n_faces + 1, sizeof *begin), n = 0;
    uint32_t *pairs = calloc(2 * (size_t)mesh->n_pairs + 1, sizeof *pairs);
    for (uint32_t f = 0; f < mesh->n_faces; f++) {
        for (uint32_t g = 0; g < mesh->n_faces; g++)
            for (uint32_t k = 0; k < 3 && g != f; k++) {
                uint32_t a = mesh->faces[3 * (size_t)f + k], b = mesh->faces[3 * (size_t)f + (k + 1) % 3];
                int along = a == b ? 0 : direction(mesh, g, a, b);
                if (along) pairs[n++] = 2 * g + (along == direction(mesh, f, a, b));
            }
        begin[f + 1] = n;
    }
    scene->mesh.pair_begin = bind_scene_upload(scene, begin, ((size_t)mesh->n_faces + 1) * sizeof *begin);
    scene->mesh.pairs = bind_scene_upload(scene, pairs, 2 * (size_t)mesh->n_pairs * sizeof *pairs);
    free(begin);
    free(pairs);
}

void bind_scene_open(bind_scene *scene, splat_backend *backend, const bind_mesh *mesh)
{
    const size_t n = mesh->n, n_floats = sizeof(float);
    memset(scene, 0, sizeof *scene);
    scene->backend = backend;
    scene->mesh = (splat_bound_mesh){.n_vertices = mesh->n_vertices,
                                     .n_faces = mesh->n_faces,
                                     .per_face = mesh->per_face,
                                     .thickness = mesh->thickness,
                                     .least_area = 1e-12f * mesh->extent * mesh->extent,
                                     .least_edge = 1e-8f * mesh->extent,
                                     .least_normal = 1e-8f * mesh->extent * mesh->extent,
                                     .n_pairs = mesh->n_pairs};
    scene->mesh.faces = bind_scene_upload(scene, mesh->faces, 3 * (size_t)mesh->n_faces * sizeof *mesh->faces);
    upload_corners(scene, mesh);
    upload_pairs(scene, mesh);
    scene->bound.vertices = bind_scene_upload(scene, mesh->vertices, 3 * (size_t)mesh->n_vertices * n_floats);
    scene->bound.plane_scales = bind_scene_upload(scene, mesh->plane_scales, 2 * n * n_floats);
    scene->bound.plane_rotations = bind_scene_upload(scene, mesh->plane_rotations, 2 * n * n_floats);
    scene->gaussians.n = mesh->n;
    scene->gaussians.p.means = bind_scene_upload(scene, NULL, 3 * n * n_floats);
    scene->gaussians.p.scales = bind_scene_upload(scene, NULL, 3 * n * n_floats);
    scene->gaussians.p.rotations = bind_scene_upload(scene, NULL, 4 * n * n_floats);
    scene->gaussians.p.opacities = bind_scene_upload(scene, NULL, n * n_floats);
    scene->gaussians.p.sh_dc = bind_scene_upload(scene, NULL, 3 * n * n_floats);
    scene->gaussians.filter_3d = bind_scene_upload(scene, NULL, n * n_floats);
}

void bind_scene_close(bind_scene *scene)
{
    for (int i = 0; i < scene->n_blocks; i++) splat_block_free(scene->backend, &scene->blocks[i]);
}

int bind_scene_run(bind_scene *scene)
{
    int failures = 0;
    splat_error error = {0};
    struct splat_bind_args args = {&scene->mesh, &scene->bound, &scene->gaussians};
    TEST_CHECK(failures, splat_op_bind(scene->backend, &args, &error) == SPLAT_OK, "%s", error.message);
    return failures;
}
