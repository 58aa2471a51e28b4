/* Meshes: shapes with known figures, growth, and every step of cleaning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>

#include "base/rng.h"
#include "mesh/mesh_clean.h"
#include "mesh/mesh_clean_vertices.h"
#include "mesh_fixture.h"

static void test_shapes(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh torus = make_torus(300, 120, 2, 0.5), sphere = make_sphere(120, 1.5), cube = make_cube(1);
    /* inscribed polyhedra: relative error (pi / segments)^2 times a small factor */
    assert_float_equal(splat_mesh_volume(&torus) / (2 * PI * PI * 2 * 0.25), 1, 2e-3);
    assert_float_equal(splat_mesh_area(&torus) / (4 * PI * PI * 2 * 0.5), 1, 1e-3);
    assert_float_equal(splat_mesh_volume(&sphere) / (4 * PI / 3 * 1.5 * 1.5 * 1.5), 1, 2e-3);
    assert_float_equal(splat_mesh_volume(&cube), 1, 1e-12);
    assert_float_equal(splat_mesh_area(&cube), 6, 1e-12);
    assert_int_equal(measure(&torus).euler_characteristic, 0);
    assert_int_equal(measure(&sphere).euler_characteristic, 2);
    assert_closed_manifold(&torus);
    assert_closed_manifold(&sphere);
    assert_false(measure(&cube).is_watertight); /* its sides have vertices of their own */
    assert_int_equal(measure(&cube).n_duplicate_vertices, 16);

    ASSERT_OK(splat_mesh_compute_normals(&sphere, 1, &error));
    for (size_t i = 0; i < sphere.n_vertices; i++) { /* the true normal to within a facet's angle squared */
        const float *n = sphere.normals + 3 * i, *p = sphere.vertices + 3 * i;
        assert_true((n[0] * p[0] + n[1] * p[1] + n[2] * p[2]) / 1.5f > 0.9995f);
    }
    float *normals = sphere.normals;
    sphere.normals = NULL;
    ASSERT_OK(splat_mesh_compute_normals(&sphere, 3, &error));
    assert_memory_equal(sphere.normals, normals, 12 * sphere.n_vertices); /* whatever the threads */
    free(normals);
    splat_mesh_flip(&sphere);
    assert_true(splat_mesh_volume(&sphere) < 0);
    assert_true(sphere.normals[2] < 0); /* of the north pole */
    splat_mesh_free(&torus);
    splat_mesh_free(&sphere);
    splat_mesh_free(&cube);
}

static int count_threads(void)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    while (readdir(tasks)) n++;
    closedir(tasks);
    return n - 2; /* . and .. */
}

/* Normals take no thread that is not theirs; OpenMP keeps those that were there once. */
static void test_one_thread_is_one(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh sphere = make_sphere(12, 1);
    int before = count_threads();
    ASSERT_OK(splat_mesh_compute_normals(&sphere, 1, &error));
    assert_true(count_threads() <= before);
    ASSERT_OK(splat_mesh_compute_normals(&sphere, 4, &error));
    assert_true(count_threads() <= before + 3);
    splat_mesh_free(&sphere);
}

static void test_growth(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh a = make_sphere(8, 1), b = make_cube(2), c;
    const uint8_t red[4] = {255, 0, 0, 128};
    size_t n = a.n_vertices, m = a.n_faces;
    ASSERT_OK(splat_mesh_require_colors(&b, &error));
    memcpy(b.colors, red, 4);
    ASSERT_OK(splat_mesh_compute_normals(&b, 1, &error));
    ASSERT_OK(splat_mesh_append(&a, &b, &error));
    assert_int_equal(a.n_vertices, n + b.n_vertices);
    assert_int_equal(a.n_faces, m + b.n_faces);
    assert_memory_equal(a.colors + 4 * n, red, 4);
    assert_int_equal(a.colors[0], 255);
    assert_memory_equal(a.normals + 3 * n, b.normals, 12 * b.n_vertices);
    assert_true(a.normals[0] == 0 && a.normals[1] == 0);
    assert_int_equal(a.faces[3 * m], b.faces[0] + n);
    ASSERT_OK(splat_mesh_check(&a, &error));
    ASSERT_OK(splat_mesh_copy(&a, &c, &error));
    assert_memory_equal(a.vertices, c.vertices, 12 * a.n_vertices);
    for (int i = 0; i < 100; i++) put_vertex(&c, i, 0, 0); /* colours and normals grow along */
    assert_int_equal(c.colors[4 * c.n_vertices - 1], 255);
    assert_true(c.normals[3 * c.n_vertices - 1] == 0);
    c.vertices[1] = NAN;
    assert_int_equal(splat_mesh_check(&c, &error), SPLAT_ERROR_NUMERIC);
    c.faces[5] = (uint32_t)c.n_vertices;
    assert_int_equal(splat_mesh_check(&c, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_mesh_reserve(&c, (size_t)UINT32_MAX + 1, 0, &error), SPLAT_ERROR_MEMORY);
    splat_mesh_free(&a);
    splat_mesh_free(&b);
    splat_mesh_free(&c);
}

/* Against the rule, vertex by vertex: the first earlier one that stays and is near enough. */
static void check_merge(const splat_mesh *mesh, double distance)
{
    splat_error error;
    splat_mesh merged;
    size_t n_merged = 0, n_expected = 0, n = mesh->n_vertices;
    uint32_t *joined = malloc(n * sizeof *joined);
    for (size_t i = 0; i < n; i++) {
        joined[i] = (uint32_t)i;
        for (size_t k = 0; k < i; k++) {
            double d2 = 0;
            for (size_t c = 0; c < 3; c++)
                d2 += pow((double)mesh->vertices[3 * i + c] - (double)mesh->vertices[3 * k + c], 2);
            if (joined[k] != k || d2 > distance * distance) continue;
            joined[i] = (uint32_t)k;
            n_expected++;
            break;
        }
    }
    ASSERT_OK(splat_mesh_copy(mesh, &merged, &error));
    ASSERT_OK(splat_mesh_merge_vertices(&merged, distance, 1, &n_merged, &error));
    assert_int_equal(n_merged, n_expected);
    for (size_t i = 0; i < 3 * mesh->n_faces; i++) assert_int_equal(merged.faces[i], joined[mesh->faces[i]]);
    splat_mesh_free(&merged);
    free(joined);
}

static void test_merge(void **state)
{
    (void)state;
    splat_mesh mesh = {0};
    for (uint64_t i = 0; i < 900; i++) {
        splat_random4 r = splat_random(1, SPLAT_STREAM_TEST, 0, i);
        put_vertex(&mesh, splat_uniform(r.x[0]) - 0.5, splat_uniform(r.x[1]) - 0.5, splat_uniform(r.x[2]) - 0.5);
    }
    for (size_t i = 0; i < 300; i++) {
        if (i % 3 == 0) memcpy(mesh.vertices + 3 * (899 - i), mesh.vertices + 3 * i, 12);
        put_face(&mesh, 3 * i, 3 * i + 1, 3 * i + 2);
    }
    mesh.vertices[0] = 0.0f; /* zeros of both signs are one place */
    memcpy(mesh.vertices + 3 * 500, mesh.vertices, 12);
    mesh.vertices[3 * 500] = -0.0f;
    check_merge(&mesh, 0);
    check_merge(&mesh, 0.03);
    check_merge(&mesh, 0.2);
    check_merge(&mesh, 1e-30); /* cells far beyond 64 bits */
    splat_mesh_free(&mesh);
}

static void test_clean_cube(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh cube = make_cube(4);
    splat_mesh_clean_options options;
    splat_mesh_clean_counts counts;
    splat_mesh_clean_options_init(&options);
    size_t n = cube.n_vertices;
    put_vertex(&cube, 9, 9, 9);                            /* in no face */
    put_face(&cube, 0, 0, 1);                              /* degenerate */
    put_face(&cube, cube.faces[1], cube.faces[0], cube.faces[2]); /* the first face again, the other way around */
    for (size_t i = 0; i < 40; i++) {                      /* turn some, less than half */
        uint32_t *f = cube.faces + 3 * (4 * i), b = f[1];
        f[1] = f[2];
        f[2] = b;
    }
    ASSERT_OK(splat_mesh_clean(&cube, &options, &counts, &error));
    assert_int_equal(counts.n_merged_vertices, n - 98); /* 6 n^2 + 2 places */
    assert_int_equal(counts.n_degenerate_faces, 1);
    assert_int_equal(counts.n_duplicate_faces, 1);
    assert_int_equal(counts.n_non_manifold_edges, 0);
    assert_int_equal(counts.n_turned_faces, 40);
    assert_int_equal(counts.n_unreferenced_vertices, n - 98 + 1);
    assert_int_equal(cube.n_vertices, 98);
    assert_int_equal(cube.n_faces, 192);
    assert_closed_manifold(&cube);
    assert_float_equal(splat_mesh_volume(&cube), 1, 1e-12);
    assert_int_equal(measure(&cube).euler_characteristic, 2);
    splat_mesh_free(&cube);
}

/* Four pages of different size at one spine: the two largest stay. */
static void test_non_manifold(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh book = {0};
    size_t n_edges = 0, n_faces = 0;
    put_vertex(&book, 0, 0, 0);
    put_vertex(&book, 0, 0, 1);
    static const double sizes[4] = {1, 3, 0.5, 2};
    for (size_t i = 0; i < 4; i++) {
        put_vertex(&book, sizes[i] * cos((double)i), sizes[i] * sin((double)i), 0.5);
        put_face(&book, 0, 1, 2 + i);
    }
    ASSERT_OK(splat_mesh_remove_non_manifold(&book, 1, &n_edges, &n_faces, &error));
    assert_int_equal(n_edges, 1);
    assert_int_equal(n_faces, 2);
    assert_int_equal(book.faces[2], 3);
    assert_int_equal(book.faces[5], 5);
    splat_mesh_free(&book);
}

static void test_components(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = make_torus(12, 8, 2, 0.5), small = make_sphere(4, 0.1);
    size_t n_components = 0, n_faces = 0, n = mesh.n_faces, n_pieces;
    for (int i = 0; i < 3; i++) ASSERT_OK(splat_mesh_append(&mesh, &small, &error));
    uint32_t *pieces = malloc(mesh.n_faces * sizeof *pieces);
    ASSERT_OK(splat_mesh_components(&mesh, 1, pieces, &n_pieces, &error));
    assert_int_equal(n_pieces, 4);
    assert_int_equal(pieces[0], 0);
    assert_int_equal(pieces[mesh.n_faces - 1], 3);
    ASSERT_OK(splat_mesh_remove_small_components(&mesh, small.n_faces + 1, 1, &n_components, &n_faces, &error));
    assert_int_equal(n_components, 3);
    assert_int_equal(n_faces, 3 * small.n_faces);
    assert_int_equal(mesh.n_faces, n);
    free(pieces);
    splat_mesh_free(&mesh);
    splat_mesh_free(&small);
}

/* A Moebius band has no consistent winding: orienting ends, and changes nothing but the order of corners. */
static void test_moebius(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh band = {0};
    size_t n = 30, turned = 0;
    for (size_t i = 0; i < n; i++) {
        double a = 2 * PI * (double)i / (double)n;
        for (int s = -1; s <= 1; s += 2)
            put_vertex(&band, (1 + 0.2 * s * cos(a / 2)) * cos(a), (1 + 0.2 * s * cos(a / 2)) * sin(a),
                       0.2 * s * sin(a / 2));
    }
    for (size_t i = 0; i < n; i++) {
        bool last = i + 1 == n;
        size_t a = 2 * i, b = a + 1, c = last ? 1 : a + 2, d = last ? 0 : a + 3;
        put_face(&band, a, c, d);
        put_face(&band, a, d, b);
    }
    double area = splat_mesh_area(&band);
    ASSERT_OK(splat_mesh_orient(&band, 1, &turned, &error));
    assert_float_equal(splat_mesh_area(&band), area, 1e-12);
    assert_false(measure(&band).is_winding_consistent);
    assert_int_equal(measure(&band).euler_characteristic, 0);
    splat_mesh_free(&band);
}

/* Faces at random between few vertices: every defect at once. Whatever happens, the result is valid and manifold. */
static void test_soup(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh soup = {0};
    splat_mesh_clean_options options = {0.05, 0.0, 3, true, 1};
    for (uint64_t i = 0; i < 200; i++) {
        splat_random4 r = splat_random(3, SPLAT_STREAM_TEST, 1, i);
        put_vertex(&soup, splat_uniform(r.x[0]), splat_uniform(r.x[1]), splat_uniform(r.x[2]));
    }
    for (uint64_t i = 0; i < 5000; i++) {
        splat_random4 r = splat_random(3, SPLAT_STREAM_TEST, 2, i);
        put_face(&soup, r.x[0] % 200, (r.x[0] + r.x[1] % 12) % 200, (r.x[0] + r.x[2] % 12) % 200);
    }
    ASSERT_OK(splat_mesh_clean(&soup, &options, NULL, &error));
    splat_mesh_quality q = measure(&soup);
    assert_int_equal(q.n_non_manifold_edges, 0);
    assert_int_equal(q.n_isolated_vertices, 0);
    assert_true(q.n_faces > 0);
    splat_mesh empty = {0};
    ASSERT_OK(splat_mesh_clean(&empty, &options, NULL, &error));
    assert_int_equal(measure(&empty).n_faces, 0);
    splat_mesh_free(&empty);
    splat_mesh_free(&soup);
}

/* A torus in tatters: equal vertices, faces twice or turned, flaps on some edges, crumbs, and a fan. */
static splat_mesh make_tatters(void)
{
    splat_mesh mesh = make_torus(200, 100, 2, 0.7);
    size_t n = mesh.n_vertices, m = mesh.n_faces;
    for (size_t i = 0; i < m; i++) {
        const uint32_t *f = mesh.faces + 3 * i;
        uint32_t a = f[0], b = f[1], c = f[2];
        splat_random4 r = splat_random(4, SPLAT_STREAM_TEST, 0, i);
        if (r.x[0] % 5 == 0) put_face(&mesh, b, c, a);
        if (r.x[0] % 7 == 0) put_face(&mesh, c, b, a);
        if (r.x[1] % 11 == 0) splat_mesh_turn_face(&mesh, i);
        if (r.x[1] % 13 == 0) put_face(&mesh, a, b, r.x[2] % n);
        if (r.x[3] % 17 == 0) {
            const float *v = mesh.vertices + 3 * (size_t)a;
            put_vertex(&mesh, (double)v[0], (double)v[1], (double)v[2]);
            mesh.faces[3 * i] = (uint32_t)(mesh.n_vertices - 1);
        }
        if (r.x[2] % 23 == 0) { /* a piece of its own */
            for (int k = 0; k < 3; k++) put_vertex(&mesh, (double)i, 5, k == 1 ? 0.5 : k);
            put_face(&mesh, mesh.n_vertices - 3, mesh.n_vertices - 2, mesh.n_vertices - 1);
            mesh.vertices[3 * mesh.n_vertices - 2] = 6;
        }
        if (r.x[3] % 19 == 0) mesh.faces[3 * i + 1] = c;
    }
    for (size_t i = 0; i < 100000; i++) { /* a fan: all threads count at its hub */
        put_vertex(&mesh, 3, cos((double)i), (double)i * 1e-4);
        if (i > 0) put_face(&mesh, 0, mesh.n_vertices - 1 - i % 2, mesh.n_vertices - 2 + i % 2);
    }
    return mesh;
}

static void test_threads_do_not_change_a_face(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh first = make_tatters();
    splat_mesh_clean_options options;
    splat_mesh_clean_counts counts[2];
    splat_mesh_clean_options_init(&options);
    options.min_component_faces = 10;
    options.threads = 0;
    assert_int_equal(splat_mesh_clean(&first, &options, NULL, &error), SPLAT_ERROR_ARGUMENT);
    options.threads = 1;
    ASSERT_OK(splat_mesh_clean(&first, &options, &counts[0], &error));
    assert_true(counts[0].n_merged_vertices && counts[0].n_degenerate_faces && counts[0].n_duplicate_faces);
    assert_true(counts[0].n_non_manifold_faces && counts[0].n_small_components && counts[0].n_turned_faces);
    for (int i = 0; i < 9; i++) {
        splat_mesh mesh = make_tatters();
        options.threads = 2 + i % 3 * 3;
        ASSERT_OK(splat_mesh_clean(&mesh, &options, &counts[1], &error));
        assert_memory_equal(&counts[1], &counts[0], sizeof counts[0]);
        assert_int_equal(mesh.n_vertices, first.n_vertices);
        assert_int_equal(mesh.n_faces, first.n_faces);
        assert_memory_equal(mesh.vertices, first.vertices, 12 * first.n_vertices);
        assert_memory_equal(mesh.faces, first.faces, 12 * first.n_faces);
        splat_mesh_free(&mesh);
    }
    splat_mesh_free(&first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_thread_is_one),
        cmocka_unit_test(test_shapes),       cmocka_unit_test(test_growth),     cmocka_unit_test(test_merge),
        cmocka_unit_test(test_clean_cube),   cmocka_unit_test(test_non_manifold), cmocka_unit_test(test_components),
        cmocka_unit_test(test_moebius),      cmocka_unit_test(test_soup),
        cmocka_unit_test(test_threads_do_not_change_a_face),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
