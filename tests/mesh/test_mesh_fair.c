/* mesh/mesh_fair.h: noise goes, edges and rims stay, no vertex leaves its reach. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "mesh/mesh_fair.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 61, VERTICES = SIDE * SIDE };

static float noise(uint32_t i)
{
    return 2 * splat_uniform(splat_random(5, SPLAT_STREAM_TEST, 0, i).x[0]) - 1;
}

/* Squares of 1, half of them in the plane z = 0 and half upright at x = SIDE / 2, with noise across. */
static splat_mesh make_corner(float amplitude)
{
    splat_mesh mesh = {0};
    splat_error error;
    for (uint32_t y = 0; y < SIDE; y++)
        for (uint32_t x = 0; x < SIDE; x++) {
            const float n = amplitude * noise(y * SIDE + x);
            const bool is_flat = x <= SIDE / 2;
            const float position[3] = {is_flat ? (float)x : SIDE / 2 + n, (float)y,
                                       is_flat ? (x == SIDE / 2 ? 0 : n) : (float)x - SIDE / 2};
            assert_int_equal(splat_mesh_add_vertex(&mesh, position, NULL, &error), SPLAT_OK);
        }
    for (uint32_t y = 0; y + 1 < SIDE; y++)
        for (uint32_t x = 0; x + 1 < SIDE; x++) {
            const uint32_t a = y * SIDE + x;
            assert_int_equal(splat_mesh_add_face(&mesh, a, a + 1, a + SIDE + 1, &error), SPLAT_OK);
            assert_int_equal(splat_mesh_add_face(&mesh, a, a + SIDE + 1, a + SIDE, &error), SPLAT_OK);
        }
    return mesh;
}

/* The mean square of the noise, away from the rim; of the edge's vertices, their distance from the edge. */
static void measure(const splat_mesh *mesh, double *off, double *edge)
{
    size_t n = 0, n_edge = 0;
    *off = *edge = 0;
    for (int y = 5; y < SIDE - 5; y++)
        for (int x = 5; x < SIDE - 5; x++) {
            const float *p = mesh->vertices + 3 * (y * SIDE + x);
            const double across = x < SIDE / 2 ? (double)p[2] : (double)p[0] - SIDE / 2;
            if (x == SIDE / 2) {
                *edge = fmax(*edge, hypot((double)p[0] - SIDE / 2, (double)p[2]));
                n_edge++;
                continue;
            }
            *off += across * across;
            n++;
        }
    assert_true(n_edge == SIDE - 10);
    *off = sqrt(*off / (double)n);
}

static void fair(splat_mesh *mesh, float reach, int threads)
{
    static float reaches[VERTICES];
    splat_mesh_fair_options options;
    splat_error error;
    for (size_t i = 0; i < VERTICES; i++) reaches[i] = reach;
    splat_mesh_fair_options_init(&options);
    options.threads = threads;
    assert_int_equal(splat_mesh_fair(mesh, reaches, &options, &error), SPLAT_OK);
}

static void noise_goes_and_edges_stay(void **state)
{
    (void)state;
    splat_mesh mesh = make_corner(0.1f);
    double before, after, edge;
    measure(&mesh, &before, &edge);
    fair(&mesh, 1, 2);
    measure(&mesh, &after, &edge);
    print_message("noise %.4f -> %.4f, the edge is %.4f off\n", before, after, edge);
    assert_true(after < 0.3 * before);
    assert_true(edge < 0.1);
    splat_mesh_free(&mesh);
}

static void no_vertex_leaves_its_reach(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        const float reach = k ? 0.02f : 0;
        splat_mesh mesh = make_corner(0.1f), copy;
        splat_error error;
        double most = 0;
        assert_int_equal(splat_mesh_copy(&mesh, &copy, &error), SPLAT_OK);
        fair(&mesh, reach, 2);
        for (size_t v = 0; v < VERTICES; v++) {
            double square = 0;
            for (size_t c = 0; c < 3; c++)
                square += pow((double)mesh.vertices[3 * v + c] - (double)copy.vertices[3 * v + c], 2);
            most = fmax(most, sqrt(square));
        }
        assert_true(most <= (double)reach * 1.001 && most >= 0.9 * (double)reach);
        splat_mesh_free(&mesh);
        splat_mesh_free(&copy);
    }
}

static void rims_and_bytes_stay(void **state)
{
    (void)state;
    splat_mesh mesh = make_corner(0.1f), copy, single;
    splat_error error;
    assert_int_equal(splat_mesh_copy(&mesh, &copy, &error), SPLAT_OK);
    assert_int_equal(splat_mesh_copy(&mesh, &single, &error), SPLAT_OK);
    fair(&mesh, 1, 3);
    fair(&single, 1, 1);
    for (size_t i = 0; i < SIDE; i++) {
        assert_memory_equal(mesh.vertices + 3 * i, copy.vertices + 3 * i, 12);
        assert_memory_equal(mesh.vertices + 3 * SIDE * i, copy.vertices + 3 * SIDE * i, 12);
    }
    assert_memory_equal(mesh.vertices, single.vertices, VERTICES * 12);
    assert_memory_not_equal(mesh.vertices, copy.vertices, VERTICES * 12);
    splat_mesh_free(&mesh);
    splat_mesh_free(&copy);
    splat_mesh_free(&single);
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    splat_mesh mesh = {0};
    splat_mesh_fair_options options;
    splat_error error;
    splat_mesh_fair_options_init(&options);
    assert_int_equal(splat_mesh_fair(&mesh, NULL, &options, &error), SPLAT_OK); /* nothing to do */
    options.edge = 181;
    assert_int_equal(splat_mesh_fair(&mesh, NULL, &options, &error), SPLAT_ERROR_ARGUMENT);
    options.edge = 45;
    options.threads = 0;
    assert_int_equal(splat_mesh_fair(&mesh, NULL, &options, &error), SPLAT_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_goes_and_edges_stay),
        cmocka_unit_test(no_vertex_leaves_its_reach),
        cmocka_unit_test(rims_and_bytes_stay),
        cmocka_unit_test(bad_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
