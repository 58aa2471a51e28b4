/* Textures of meshes: they follow their faces through growth, cleaning and turning, and go where they cannot follow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/picture/image_read.h"
#include "mesh/mesh_clean.h"
#include "mesh/mesh_clean_vertices.h"
#include "mesh/mesh_simplify.h"
#include "mesh_fixture.h"

static splat_image make_page(int width, int height, uint8_t value)
{
    splat_image page = {width, height, 3, malloc((size_t)width * (size_t)height * 3)};
    assert_non_null(page.pixels);
    memset(page.pixels, value, (size_t)width * (size_t)height * 3);
    return page;
}

/* Corner uvs that name the position of the corner: whatever happens to faces, they must go on to agree. */
static void paint(splat_mesh *mesh, size_t n_pages)
{
    splat_error error;
    ASSERT_OK(splat_mesh_require_uvs(mesh, &error));
    ASSERT_OK(splat_mesh_require_face_pages(mesh, &error));
    for (size_t i = 0; i < 3 * mesh->n_faces; i++)
        for (size_t c = 0; c < 2; c++) mesh->uvs[2 * i + c] = mesh->vertices[3 * (size_t)mesh->faces[i] + c];
    for (size_t i = 0; i < mesh->n_faces; i++) mesh->face_pages[i] = (uint8_t)(i * n_pages / mesh->n_faces);
    for (size_t i = 0; i < n_pages; i++) {
        splat_image page = make_page(4, 3, (uint8_t)(10 + i));
        ASSERT_OK(splat_mesh_add_page(mesh, &page, &error));
        assert_null(page.pixels);
    }
}

static void assert_follows(const splat_mesh *mesh, size_t first, size_t n)
{
    for (size_t i = 3 * first; i < 3 * (first + n); i++)
        for (size_t c = 0; c < 2; c++)
            assert_true(mesh->uvs[2 * i + c] == mesh->vertices[3 * (size_t)mesh->faces[i] + c]);
}

static void test_append(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh plain = make_sphere(5, 1), a = make_sphere(6, 2), b = make_cube(2), copy;
    paint(&a, 2);
    paint(&b, 3);
    size_t n = a.n_faces, m = b.n_faces;
    ASSERT_OK(splat_mesh_append(&a, &b, &error));
    assert_int_equal(a.n_pages, 5);
    assert_follows(&a, 0, n + m);
    for (size_t i = 0; i < m; i++) {
        assert_int_equal(a.face_pages[n + i], 2 + b.face_pages[i]);
        assert_int_equal(a.pages[a.face_pages[n + i]].pixels[35], b.pages[b.face_pages[i]].pixels[35]);
    }
    ASSERT_OK(splat_mesh_append(&a, &plain, &error)); /* untextured: on a page of one white texel */
    assert_int_equal(a.n_pages, 6);
    assert_int_equal(a.face_pages[a.n_faces - 1], 5);
    assert_true(a.pages[5].width == 1 && a.pages[5].pixels[2] == 255);
    ASSERT_OK(splat_mesh_check(&a, &error));
    ASSERT_OK(splat_mesh_copy(&a, &copy, &error));
    assert_memory_equal(copy.uvs, a.uvs, 24 * a.n_faces);
    assert_memory_equal(copy.face_pages, a.face_pages, a.n_faces);
    assert_true(copy.n_pages == 6 && copy.pages[4].pixels != a.pages[4].pixels);
    splat_mesh_free(&copy);

    size_t k = plain.n_faces;
    ASSERT_OK(splat_mesh_append(&plain, &b, &error)); /* the other way round: white comes last */
    assert_int_equal(plain.n_pages, 4);
    assert_int_equal(plain.face_pages[0], 3);
    assert_int_equal(plain.face_pages[k], 0);
    assert_follows(&plain, k, m);
    ASSERT_OK(splat_mesh_check(&plain, &error));
    for (int i = 0; i < 100; i++) put_face(&plain, 0, 1, 2); /* grows along */
    assert_true(plain.uvs[6 * plain.n_faces - 1] == 0 && plain.face_pages[plain.n_faces - 1] == 0);
    splat_mesh_free(&plain);
    splat_mesh_free(&a);
    splat_mesh_free(&b);
}

static void test_check(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = make_cube(1);
    paint(&mesh, 2);
    ASSERT_OK(splat_mesh_check(&mesh, &error));
    mesh.face_pages[3] = 2;
    assert_int_equal(splat_mesh_check(&mesh, &error), SPLAT_ERROR_ARGUMENT);
    mesh.face_pages[3] = 0;
    mesh.uvs[7] = NAN;
    assert_int_equal(splat_mesh_check(&mesh, &error), SPLAT_ERROR_NUMERIC);
    mesh.uvs[7] = 0;
    mesh.pages[1].channels = 4;
    assert_int_equal(splat_mesh_check(&mesh, &error), SPLAT_ERROR_ARGUMENT);
    mesh.pages[1].channels = 3;
    splat_image gray = {1, 1, 1, (uint8_t[1]){0}};
    assert_int_equal(splat_mesh_add_page(&mesh, &gray, &error), SPLAT_ERROR_ARGUMENT);
    while (mesh.n_pages < SPLAT_MESH_MAX_PAGES) {
        splat_image page = make_page(1, 1, 0);
        ASSERT_OK(splat_mesh_add_page(&mesh, &page, &error));
    }
    splat_image page = make_page(1, 1, 0);
    assert_int_equal(splat_mesh_add_page(&mesh, &page, &error), SPLAT_ERROR_ARGUMENT);
    splat_image_free(&page);
    splat_mesh_free(&mesh);
}

static void test_cleaning(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = make_cube(1), sphere = make_sphere(7, 3);
    ASSERT_OK(splat_mesh_append(&mesh, &sphere, &error));
    splat_mesh_turn_face(&mesh, 20); /* cleaning turns it back */
    put_face(&mesh, 3, 3, 4);        /* degenerate */
    put_face(&mesh, mesh.faces[33], mesh.faces[34], mesh.faces[35]); /* twice */
    memmove(mesh.faces + 3, mesh.faces, 12 * (mesh.n_faces - 1)); /* the first twice, so that all are moved */
    paint(&mesh, 3);
    splat_mesh_clean_options options;
    splat_mesh_clean_options_init(&options);
    splat_mesh_clean_counts counts;
    ASSERT_OK(splat_mesh_clean(&mesh, &options, &counts, &error));
    assert_true(counts.n_duplicate_faces > 0 && counts.n_turned_faces > 0 && counts.n_merged_vertices > 0);
    assert_follows(&mesh, 0, mesh.n_faces);
    for (size_t i = 1; i < mesh.n_faces; i++) assert_true(mesh.face_pages[i] >= mesh.face_pages[i - 1]);
    assert_int_equal(mesh.face_pages[mesh.n_faces - 1], 2);
    splat_mesh_flip(&mesh);
    assert_follows(&mesh, 0, mesh.n_faces);
    uint8_t *keep = malloc(mesh.n_vertices);
    for (size_t i = 0; i < mesh.n_vertices; i++) keep[i] = i % 7 != 0;
    ASSERT_OK(splat_mesh_keep_vertices(&mesh, keep, 1, &error));
    assert_true(mesh.n_faces > 10);
    assert_follows(&mesh, 0, mesh.n_faces);
    assert_int_equal(mesh.face_pages[mesh.n_faces - 1], 2);
    ASSERT_OK(splat_mesh_check(&mesh, &error));
    free(keep);

    splat_mesh_simplify_options simplify;
    splat_mesh_simplify_options_init(&simplify);
    simplify.target_faces = 10;
    paint(&sphere, 1);
    ASSERT_OK(splat_mesh_simplify(&sphere, &simplify, NULL, &error));
    assert_true(!sphere.uvs && !sphere.face_pages && !sphere.pages && sphere.n_pages == 0);
    splat_mesh_free(&mesh);
    splat_mesh_free(&sphere);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_append), cmocka_unit_test(test_check),
                                       cmocka_unit_test(test_cleaning)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
