/* Projection on surface points: nearer to the surface, and no face turned over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "mesh/mesh_clean_vertices.h"
#include "mesh/mesh_project.h"
#include "mesh_fixture.h"

static double uniform(uint32_t stream, size_t i, int k)
{
    return 2 * (double)splat_uniform(splat_random(11, SPLAT_STREAM_TEST, stream, i).x[k]) - 1;
}

/* A cube blown up to the unit sphere: faces of one kind everywhere. Sides are 0.04 to 0.11 long. */
static splat_mesh make_noisy_sphere(double noise)
{
    splat_mesh mesh = make_cube(20);
    size_t n_merged = 0;
    splat_error error;
    ASSERT_OK(splat_mesh_merge_vertices(&mesh, 0, 1, &n_merged, &error));
    ASSERT_OK(splat_mesh_remove_unreferenced(&mesh, 1, &n_merged, &error));
    for (size_t v = 0; v < mesh.n_vertices; v++) {
        float *p = mesh.vertices + 3 * v;
        double d[3], length = 0;
        for (int c = 0; c < 3; c++) d[c] = (double)p[c] - 0.5, length += d[c] * d[c];
        for (int c = 0; c < 3; c++) p[c] = (float)(d[c] / sqrt(length) * (1 + noise * uniform(1, v, 0)));
    }
    assert_closed_manifold(&mesh);
    return mesh;
}

typedef struct points {
    size_t n;
    float *positions;
    uint8_t *colors;
} points;

/* On a Fibonacci spiral around the unit sphere, from z = low on, red above z = 0 and blue below. */
static points make_points(size_t n, double low, double noise)
{
    points p = {0, malloc(12 * n), malloc(4 * n)};
    for (size_t i = 0; i < n; i++) {
        double z = 1 - (2.0 * (double)i + 1) / (double)n, a = 2.399963229728653 * (double)i, r = sqrt(1 - z * z);
        double radius = 1 + noise * uniform(2, i, 1);
        const float place[3] = {(float)(radius * r * cos(a)), (float)(radius * r * sin(a)), (float)(radius * z)};
        const uint8_t color[4] = {z > 0 ? 250 : 5, 9, z > 0 ? 5 : 250, 255};
        if (z < low) break;
        memcpy(p.positions + 3 * p.n, place, 12);
        memcpy(p.colors + 4 * p.n++, color, 4);
    }
    return p;
}

static void free_points(points *p)
{
    free(p->positions);
    free(p->colors);
}

static double mean_distance(const splat_mesh *mesh)
{
    double sum = 0;
    for (size_t v = 0; v < mesh->n_vertices; v++) {
        const float *p = mesh->vertices + 3 * v;
        sum += fabs(sqrt((double)p[0] * (double)p[0] + (double)p[1] * (double)p[1] + (double)p[2] * (double)p[2]) - 1);
    }
    return sum / (double)mesh->n_vertices;
}

/* Twice the area over the longest side squared: 0.87 for equilateral faces. */
static double face_shape(const splat_mesh *mesh, size_t f)
{
    double longest2 = 0;
    for (size_t k = 0; k < 3; k++) {
        const float *a = mesh->vertices + 3 * (size_t)mesh->faces[3 * f + k];
        const float *b = mesh->vertices + 3 * (size_t)mesh->faces[3 * f + (k + 1) % 3];
        double d2 = 0;
        for (int c = 0; c < 3; c++) d2 += ((double)a[c] - (double)b[c]) * ((double)a[c] - (double)b[c]);
        longest2 = fmax(longest2, d2);
    }
    return 2 * splat_mesh_face_area(mesh, f) / longest2;
}

static size_t count_slivers(const splat_mesh *mesh)
{
    size_t n = 0;
    for (size_t f = 0; f < mesh->n_faces; f++) n += face_shape(mesh, f) < 0.02;
    return n;
}

static size_t count_turned(const splat_mesh *before, const splat_mesh *after)
{
    size_t n = 0;
    for (size_t f = 0; f < before->n_faces; f++) {
        double a[3], b[3];
        splat_mesh_face_cross(before, f, a);
        splat_mesh_face_cross(after, f, b);
        n += !(a[0] * b[0] + a[1] * b[1] + a[2] * b[2] > 0);
    }
    return n;
}

static splat_mesh project(const splat_mesh *mesh, const points *p, double part, int threads,
                          splat_mesh_project_counts *counts)
{
    splat_mesh copy;
    splat_error error;
    splat_mesh_project_options options;
    splat_mesh_project_options_init(&options);
    options.part = part;
    options.threads = threads;
    ASSERT_OK(splat_mesh_copy(mesh, &copy, &error));
    ASSERT_OK(splat_mesh_project(&copy, p->positions, p->colors, p->n, &options, counts, &error));
    assert_memory_equal(copy.faces, mesh->faces, 12 * mesh->n_faces);
    assert_int_equal(count_turned(mesh, &copy), 0);
    assert_int_equal(count_slivers(&copy), 0);
    assert_closed_manifold(&copy);
    return copy;
}

/* How far a vertex went along its old normal; fails when it went aside by more than rounding. */
static double height_of(const splat_mesh *before, const splat_mesh *after, size_t v)
{
    double along = 0, d2 = 0;
    for (size_t c = 3 * v; c < 3 * v + 3; c++) {
        double d = (double)after->vertices[c] - (double)before->vertices[c];
        along += d * (double)before->normals[c];
        d2 += d * d;
    }
    assert_true(fabs(sqrt(d2) - fabs(along)) < 1e-6);
    return along;
}

static void test_sphere(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh_project_counts counts, other;
    splat_mesh mesh = make_noisy_sphere(0.015);
    points p = make_points(200000, -2, 0);
    ASSERT_OK(splat_mesh_compute_normals(&mesh, 1, &error));
    splat_mesh all = project(&mesh, &p, 1, 1, &counts), same = project(&mesh, &p, 1, 3, &other);
    splat_mesh half = project(&mesh, &p, 0.5, 2, NULL);
    assert_memory_equal(all.vertices, same.vertices, 12 * mesh.n_vertices);
    assert_memory_equal(all.colors, same.colors, 4 * mesh.n_vertices);
    assert_memory_equal(&counts, &other, sizeof counts);
    assert_int_equal(counts.n_moved, mesh.n_vertices);
    assert_int_equal(counts.n_shortened + counts.n_refused + counts.n_far, 0);
    /* Normals are up to 20 degrees off, so that sin^2 of the way remains, 5 % on the mean; points are 0.008 apart. */
    assert_true(mean_distance(&mesh) > 0.007);
    assert_true(mean_distance(&all) < 0.1 * mean_distance(&mesh));
    for (size_t v = 0; v < mesh.n_vertices; v++) {
        double h = height_of(&mesh, &all, v);
        assert_float_equal(height_of(&mesh, &half, v), 0.5 * h, 1e-6);
        if (fabsf(mesh.vertices[3 * v + 2]) > 0.02f)
            assert_int_equal(all.colors[4 * v], mesh.vertices[3 * v + 2] > 0 ? 250 : 5);
        double out = 0; /* normals are those of the new surface, outward */
        for (size_t c = 3 * v; c < 3 * v + 3; c++) out += (double)all.normals[c] * (double)all.vertices[c];
        assert_true(out > 0.99);
    }
    splat_mesh_free(&mesh);
    splat_mesh_free(&all);
    splat_mesh_free(&same);
    splat_mesh_free(&half);
    free_points(&p);
}

/* A rough mesh and few points all over a thick shell: whole moves turn faces over. */
static void test_no_folds(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh_project_counts counts, other;
    splat_mesh mesh = make_noisy_sphere(0.05), naive;
    points p = make_points(2000, -2, 0.15);
    ASSERT_OK(splat_mesh_compute_normals(&mesh, 1, &error));
    ASSERT_OK(splat_mesh_copy(&mesh, &naive, &error));
    for (size_t v = 0; v < mesh.n_vertices; v++) {
        double best = INFINITY, along = 0;
        for (size_t i = 0; i < p.n; i++) {
            double d2 = 0, a = 0;
            for (size_t c = 0; c < 3; c++) {
                double d = (double)p.positions[3 * i + c] - (double)mesh.vertices[3 * v + c];
                d2 += d * d;
                a += d * (double)mesh.normals[3 * v + c];
            }
            if (d2 < best) best = d2, along = a;
        }
        for (size_t c = 3 * v; c < 3 * v + 3; c++) naive.vertices[c] += (float)along * mesh.normals[c];
    }
    size_t n_turned = count_turned(&mesh, &naive);
    if (n_turned < 20) fail_msg("only %zu faces would turn over", n_turned);
    assert_true(count_slivers(&naive) > 0);
    splat_mesh out = project(&mesh, &p, 1, 1, &counts), same = project(&mesh, &p, 1, 3, &other);
    assert_memory_equal(out.vertices, same.vertices, 12 * mesh.n_vertices);
    assert_memory_equal(&counts, &other, sizeof counts);
    assert_true(counts.n_shortened > 20);
    assert_true(counts.n_moved > counts.n_shortened);
    assert_true(counts.n_moved + counts.n_refused + counts.n_far <= mesh.n_vertices);
    size_t n_moved = 0;
    for (size_t v = 0; v < mesh.n_vertices; v++) n_moved += height_of(&mesh, &out, v) != 0;
    assert_int_equal(n_moved, counts.n_moved);
    splat_mesh_free(&mesh);
    splat_mesh_free(&naive);
    splat_mesh_free(&out);
    splat_mesh_free(&same);
    free_points(&p);
}

/* A wall (1, 2 above 0) on a large floor (0, 3, 4): corner 0 would go up nearly to the wall's upper side, which turns
 * nothing over, but leaves a hundredth of the wall. It goes half the way instead. */
static void test_no_slivers(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh_project_options options;
    splat_mesh_project_counts counts;
    const float places[15] = {0, 0, 0.99f, -0.5f, 0, 1, 0.5f, 0, 1, 30, -20, 0, 30, 20, 0};
    splat_mesh mesh = {0};
    put_vertex(&mesh, 0, 0, 0);
    put_vertex(&mesh, -0.5, 0, 1);
    put_vertex(&mesh, 0.5, 0, 1);
    put_vertex(&mesh, 30, -20, 0);
    put_vertex(&mesh, 30, 20, 0);
    put_face(&mesh, 0, 1, 2);
    put_face(&mesh, 0, 3, 4);
    splat_mesh_project_options_init(&options);
    ASSERT_OK(splat_mesh_project(&mesh, places, NULL, 5, &options, &counts, &error));
    assert_int_equal(counts.n_moved, 1);
    assert_int_equal(counts.n_shortened, 1);
    assert_float_equal(mesh.vertices[2], 0.495f, 1e-4f);
    splat_mesh_free(&mesh);
}

/* Points on the upper half: what is farther below than twice the sides around it stays, with its colour. */
static void test_far(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh_project_counts counts;
    splat_mesh mesh = make_noisy_sphere(0.01);
    points p = make_points(50000, 0, 0);
    size_t n_far = 0;
    ASSERT_OK(splat_mesh_require_colors(&mesh, &error));
    splat_mesh out = project(&mesh, &p, 1, 2, &counts);
    for (size_t v = 0; v < mesh.n_vertices; v++) {
        bool is_still = memcmp(mesh.vertices + 3 * v, out.vertices + 3 * v, 12) == 0;
        if (mesh.vertices[3 * v + 2] > 0.02f) assert_false(is_still);
        if (mesh.vertices[3 * v + 2] > -0.28f) continue; /* twice the longest side, and the sphere's curve */
        n_far++;
        assert_true(is_still);
        assert_int_equal(out.colors[4 * v], 255);
    }
    assert_true(n_far > mesh.n_vertices / 4 && n_far <= counts.n_far);
    splat_mesh_free(&out);
    points none = {0, p.positions, p.colors};
    out = project(&mesh, &none, 1, 2, &counts);
    assert_int_equal(counts.n_far, mesh.n_vertices);
    assert_memory_equal(out.vertices, mesh.vertices, 12 * mesh.n_vertices);
    splat_mesh_free(&out);
    splat_mesh_free(&mesh);
    free_points(&p);
}

static void test_errors(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = make_noisy_sphere(0), empty = {0};
    float place[3] = {0, 0, 1};
    splat_mesh_project_options good, options;
    splat_mesh_project_options_init(&good);
    options = good, options.max_edges = NAN;
    assert_int_equal(splat_mesh_project(&mesh, place, NULL, 1, &options, NULL, &error), SPLAT_ERROR_ARGUMENT);
    assert_string_equal(error.message, "a projection must reach for more than 0 edges, not nan");
    options = good, options.part = 1.5;
    assert_int_equal(splat_mesh_project(&mesh, place, NULL, 1, &options, NULL, &error), SPLAT_ERROR_ARGUMENT);
    options = good, options.threads = 0;
    assert_int_equal(splat_mesh_project(&mesh, place, NULL, 1, &options, NULL, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_mesh_project(&empty, place, NULL, 1, &good, NULL, &error), SPLAT_OK);
    assert_int_equal(splat_mesh_project(&mesh, place, NULL, 1, &good, NULL, &error), SPLAT_OK);
    assert_null(mesh.colors);
    place[1] = INFINITY;
    assert_int_equal(splat_mesh_project(&mesh, place, NULL, 1, &good, NULL, &error), SPLAT_ERROR_ARGUMENT);
    splat_mesh_free(&mesh);
    splat_mesh_free(&empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sphere),
        cmocka_unit_test(test_no_folds),
        cmocka_unit_test(test_no_slivers),
        cmocka_unit_test(test_far),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
