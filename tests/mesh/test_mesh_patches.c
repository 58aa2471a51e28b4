/* mesh/mesh_patches.h: of the vertices without support, lids over small holes stay; bubbles, ends of the mesh and what
 * is near a camera go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "mesh/mesh_patches.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 41, VERTICES = SIDE * SIDE, MIDDLE = SIDE / 2 };

static uint32_t at(int x, int y)
{
    return (uint32_t)(y * SIDE + x);
}

/* A flat sheet of squares with sides of 1. */
static splat_mesh make_sheet(void)
{
    splat_mesh mesh = {0};
    splat_error error;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            const float position[3] = {(float)x, (float)y, 0};
            assert_int_equal(splat_mesh_add_vertex(&mesh, position, NULL, &error), SPLAT_OK);
        }
    for (int y = 0; y + 1 < SIDE; y++)
        for (int x = 0; x + 1 < SIDE; x++) {
            assert_int_equal(splat_mesh_add_face(&mesh, at(x, y), at(x + 1, y), at(x + 1, y + 1), &error), SPLAT_OK);
            assert_int_equal(splat_mesh_add_face(&mesh, at(x, y), at(x + 1, y + 1), at(x, y + 1), &error), SPLAT_OK);
        }
    return mesh;
}

/* Vertices of a square lose their support: those at most `reach` from (x, y). */
static void clear(uint8_t *keep, int x, int y, int reach)
{
    for (int j = y - reach; j <= y + reach; j++)
        for (int i = x - reach; i <= x + reach; i++) keep[at(i, j)] = 0;
}

/* One camera above the middle; how many patches stay. */
static size_t keep_patches(const splat_mesh *mesh, float height, uint8_t *keep)
{
    const float center[3] = {MIDDLE, MIDDLE, height};
    const splat_mesh_patch_options options = {.roundness = 1.5, .most_radius = 0.1, .centers = center, .n_centers = 1};
    splat_error error;
    size_t n = 99;
    assert_int_equal(splat_mesh_keep_patches(mesh, &options, keep, &n, &error), SPLAT_OK);
    return n;
}

static void lids_stay(void **state)
{
    (void)state;
    splat_mesh mesh = make_sheet();
    uint8_t keep[VERTICES];
    memset(keep, 1, sizeof keep);
    assert_int_equal(keep_patches(&mesh, 100, keep), 0);
    clear(keep, 10, 10, 2);
    clear(keep, 30, 12, 0);
    clear(keep, MIDDLE, 30, 3);
    assert_int_equal(keep_patches(&mesh, 100, keep), 3);
    for (size_t v = 0; v < VERTICES; v++) assert_int_equal(keep[v], 1);
    splat_mesh_free(&mesh);
}

static void the_end_of_a_mesh_stays_open(void **state)
{
    (void)state;
    splat_mesh mesh = make_sheet();
    uint8_t keep[VERTICES];
    memset(keep, 1, sizeof keep);
    clear(keep, 2, 20, 2); /* reaches the border at x = 0 */
    clear(keep, 30, 20, 2);
    assert_int_equal(keep_patches(&mesh, 100, keep), 1);
    assert_int_equal(keep[at(2, 20)], 0);
    assert_int_equal(keep[at(30, 20)], 1);
    splat_mesh_free(&mesh);
}

/* A hole of 7 x 7 vertices has a rim of 32 and a lid of 81, and may have 122; with a dent of depth h it has about
 * 64 + 22 h. */
static void bubbles_go(void **state)
{
    (void)state;
    splat_mesh mesh = make_sheet();
    for (int k = 0; k < 2; k++) {
        uint8_t keep[VERTICES];
        const float depth = k ? 6 : 1;
        for (int j = -2; j <= 2; j++)
            for (int i = -2; i <= 2; i++) mesh.vertices[3 * at(MIDDLE + i, MIDDLE + j) + 2] = -depth;
        memset(keep, 1, sizeof keep);
        clear(keep, MIDDLE, MIDDLE, 3);
        assert_int_equal(keep_patches(&mesh, 100, keep), k == 0);
        assert_int_equal(keep[at(MIDDLE, MIDDLE)], k == 0);
    }
    splat_mesh_free(&mesh);
}

/* The lid's radius is about 5: a camera 100 away is far enough, one 20 away is not. */
static void a_near_camera_looks_through(void **state)
{
    (void)state;
    splat_mesh mesh = make_sheet();
    uint8_t keep[VERTICES];
    memset(keep, 1, sizeof keep);
    clear(keep, MIDDLE, MIDDLE, 3);
    assert_int_equal(keep_patches(&mesh, 20, keep), 0);
    assert_int_equal(keep[at(MIDDLE, MIDDLE)], 0);
    assert_int_equal(keep_patches(&mesh, 100, keep), 1);
    assert_int_equal(keep[at(MIDDLE, MIDDLE)], 1);
    splat_mesh_free(&mesh);
}

/* A patch around an island of support has rims of 64 and 24, so lids of 326 and 46. With a ridge its area is above 1.5
 * times that, but below 1.5 times a circle as long as both rims together. */
static void each_loop_of_a_rim_has_its_own_lid(void **state)
{
    (void)state;
    splat_mesh mesh = make_sheet();
    uint8_t keep[VERTICES];
    memset(keep, 1, sizeof keep);
    clear(keep, MIDDLE, MIDDLE, 7);
    for (int j = -3; j <= 3; j++)
        for (int i = -3; i <= 3; i++) keep[at(MIDDLE + i, MIDDLE + j)] = 1;
    for (int j = -6; j <= 6; j++)
        for (int i = -6; i <= 6; i++)
            if (!keep[at(MIDDLE + i, MIDDLE + j)]) mesh.vertices[3 * at(MIDDLE + i, MIDDLE + j) + 2] = 6;
    assert_int_equal(keep_patches(&mesh, 1000, keep), 0);
    assert_int_equal(keep[at(MIDDLE + 5, MIDDLE)], 0);
    splat_mesh_free(&mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lids_stay),           cmocka_unit_test(the_end_of_a_mesh_stays_open),
        cmocka_unit_test(bubbles_go),          cmocka_unit_test(a_near_camera_looks_through),
        cmocka_unit_test(each_loop_of_a_rim_has_its_own_lid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
