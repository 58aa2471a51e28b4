/* Closing small holes: which loops of open edges are holes, and what closes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "mesh/mesh_clean_vertices.h"
#include "mesh/mesh_holes.h"
#include "mesh_fixture.h"

static float *even_sizes(const splat_mesh *mesh, float size)
{
    float *sizes = malloc(mesh->n_vertices * sizeof *sizes);
    assert_non_null(sizes);
    for (size_t i = 0; i < mesh->n_vertices; i++) sizes[i] = size;
    return sizes;
}

static bool has_vertex(const splat_mesh *mesh, size_t face, uint32_t v)
{
    return mesh->faces[3 * face] == v || mesh->faces[3 * face + 1] == v || mesh->faces[3 * face + 2] == v;
}

/* Removes the faces around these vertices. */
static void open_at(splat_mesh *mesh, const uint32_t *vertices, size_t n)
{
    uint8_t *keep = malloc(mesh->n_faces);
    assert_non_null(keep);
    for (size_t f = 0; f < mesh->n_faces; f++) {
        keep[f] = 1;
        for (size_t i = 0; i < n; i++) keep[f] = keep[f] && !has_vertex(mesh, f, vertices[i]);
    }
    splat_mesh_keep_faces(mesh, keep, 1);
    free(keep);
}

/* The number of holes that are closed; the mesh loses vertices without a face. */
static size_t close_holes(splat_mesh *mesh, float size, double most)
{
    splat_error error;
    size_t n, n_lost;
    float *sizes = even_sizes(mesh, size);
    ASSERT_OK(splat_mesh_close_holes(mesh, most, 2, &sizes, &n, &error));
    for (size_t i = 0; i < mesh->n_vertices; i++) assert_float_equal(sizes[i], size, 1e-6);
    ASSERT_OK(splat_mesh_check(mesh, &error));
    ASSERT_OK(splat_mesh_remove_unreferenced(mesh, 1, &n_lost, &error));
    free(sizes);
    return n;
}

static size_t count_open(const splat_mesh *mesh)
{
    return measure(mesh).n_boundary_edges;
}

static void small_holes_are_closed(void **state)
{
    (void)state;
    splat_mesh torus = make_torus(40, 20, 1, 0.3);
    const uint32_t places[] = {3, 107, 410, 411}; /* the last two are neighbours: one hole */
    const double volume = splat_mesh_volume(&torus);
    open_at(&torus, places, 4);
    assert_int_equal(close_holes(&torus, 0.1f, 10), 3);
    assert_closed_manifold(&torus);
    assert_float_equal(splat_mesh_volume(&torus), volume, 0.01 * volume);
    splat_mesh_free(&torus);
}

static void large_holes_stay(void **state)
{
    (void)state;
    splat_mesh torus = make_torus(40, 20, 1, 0.3);
    const uint32_t place = 107;
    open_at(&torus, &place, 1);
    const size_t n = torus.n_faces;
    assert_int_equal(close_holes(&torus, 0.01f, 10), 0);
    assert_int_equal(torus.n_faces, n);
    splat_mesh_free(&torus);
}

static double flat(double x, double y)
{
    return 0 * x * y;
}

/* The rim of a sheet is as large as the limit allows, but no hole. */
static void rims_stay(void **state)
{
    (void)state;
    splat_mesh sheet = make_sheet(10, flat);
    const uint32_t place = 5 * 11 + 5;
    open_at(&sheet, &place, 1);
    assert_int_equal(close_holes(&sheet, 1, 100), 1);
    assert_int_equal(count_open(&sheet), 40);
    assert_float_equal(splat_mesh_area(&sheet), 1, 1e-6);
    for (size_t f = 0; f < sheet.n_faces; f++) { /* all look up */
        double cross[3];
        splat_mesh_face_cross(&sheet, f, cross);
        assert_true(cross[2] > 0);
    }
    splat_mesh_free(&sheet);
}

/* Two holes that share a vertex are two loops; a hole of one face is a loop of three edges. */
static void holes_may_touch(void **state)
{
    (void)state;
    splat_mesh sheet = make_sheet(10, flat);
    const uint32_t places[] = {4 * 11 + 4, 4 * 11 + 6};
    open_at(&sheet, places, 2);
    assert_int_equal(close_holes(&sheet, 1, 0.6), 2);
    assert_int_equal(count_open(&sheet), 40);
    assert_float_equal(splat_mesh_area(&sheet), 1, 1e-6);
    splat_mesh_free(&sheet);

    splat_mesh sphere = make_sphere(12, 1);
    splat_mesh_move_face(&sphere, 30, sphere.n_faces - 1); /* two faces far from each other: one goes, one moves */
    sphere.n_faces--;
    assert_int_equal(close_holes(&sphere, 1, 0.9), 1);
    assert_closed_manifold(&sphere);
    splat_mesh_free(&sphere);
}

static void what_has_a_texture_is_refused(void **state)
{
    (void)state;
    splat_error error;
    size_t n;
    splat_mesh sheet = make_sheet(4, flat);
    float *sizes = even_sizes(&sheet, 1);
    ASSERT_OK(splat_mesh_require_uvs(&sheet, &error));
    assert_failure(splat_mesh_close_holes(&sheet, 10, 1, &sizes, &n, &error), SPLAT_ERROR_ARGUMENT, &error, "texture");
    free(sizes);
    splat_mesh_free(&sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_holes_are_closed), cmocka_unit_test(large_holes_stay), cmocka_unit_test(rims_stay),
        cmocka_unit_test(holes_may_touch), cmocka_unit_test(what_has_a_texture_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
