/* Faces that cameras see, and the removal of the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "mesh/mesh_clean.h"
#include "mesh/mesh_visibility.h"
#include "mesh_fixture.h"

/* Looks along +z from (x, y, z); the picture is as wide as its distance. */
static splat_camera camera_at(float x, float y, float z, int side)
{
    splat_camera c = {.width = side, .height = side, .fx = (float)side, .fy = (float)side, .cx = 0.5f * (float)side,
                      .cy = 0.5f * (float)side, .rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    const float center[3] = {x, y, z};
    for (int k = 0; k < 3; k++) {
        c.center[k] = center[k];
        c.translation[k] = -center[k];
    }
    return c;
}

/* From below, the lower half of a ball: exactly the faces that turn towards the camera, if none is smaller than the
 * pixels. A second ball shows what the first hides. */
static void test_ball(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh ball = make_sphere(12, 1);
    splat_camera cameras[2] = {camera_at(0, 0, -6, 600), camera_at(0, 0, -6, 600)};
    splat_mesh_visibility_options options;
    splat_mesh_visibility_options_init(&options);
    float *seen = malloc(ball.n_faces * sizeof *seen);
    ASSERT_OK(splat_mesh_find_visible(&ball, cameras, 1, &options, seen, &error));
    for (size_t i = 0; i < ball.n_faces; i++) {
        double n[3], towards = 0;
        const float *p = ball.vertices + 3 * (size_t)ball.faces[3 * i];
        splat_mesh_face_cross(&ball, i, n);
        for (int k = 0; k < 3; k++) towards += n[k] * ((double)cameras[0].center[k] - (double)p[k]);
        assert_int_equal(seen[i] > 0, towards > 0);
    }
    for (int k = 0; k < 9; k++) cameras[1].rotation[k] = k % 4 ? 0 : k == 0 ? 1 : -1; /* turned around x */
    cameras[1].center[2] = cameras[1].translation[2] = 6;
    ASSERT_OK(splat_mesh_find_visible(&ball, cameras, 2, &options, seen, &error));
    size_t n_unseen = 0;
    for (size_t i = 0; i < ball.n_faces; i++) n_unseen += !(seen[i] > 0);
    assert_int_equal(n_unseen, 96); /* the two rings of 48 around its middle: 7.5 degrees are less than asin(1 / 6) */
    free(seen);
    splat_mesh_free(&ball);
}

/* One camera under a large sheet sees a square of it; a second sheet above is hidden, and so are all its faces. */
static splat_mesh two_sheets(size_t n)
{
    splat_mesh mesh = make_sheet(n, NULL), other = make_sheet(n, NULL);
    splat_error error;
    for (size_t i = 0; i < other.n_vertices; i++) other.vertices[3 * i + 2] = 1;
    ASSERT_OK(splat_mesh_append(&mesh, &other, &error));
    splat_mesh_free(&other);
    return mesh;
}

static void test_pieces(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = two_sheets(40);
    splat_camera camera = camera_at(0.5f, 0.5f, -0.21f, 400); /* sees 0.21 of 1 along each side: 8.4 of 40 squares */
    splat_mesh_visibility_options options;
    splat_mesh_visibility_info info;
    splat_mesh_visibility_options_init(&options);
    options.rim = -1;
    ASSERT_OK(splat_mesh_remove_invisible(&mesh, &camera, 1, &options, &info, &error));
    assert_int_equal(info.n_pieces, 1);
    assert_int_equal(info.n_piece_faces, 3200);
    assert_int_equal(info.n_invisible_faces, 0);
    assert_true(info.n_seen >= 2 * 64 && info.n_seen <= 2 * 100);
    assert_int_equal(mesh.n_faces, 3200);
    assert_int_equal(mesh.n_vertices, 41 * 41);
    for (size_t i = 0; i < mesh.n_vertices; i++) assert_true(mesh.vertices[3 * i + 2] == 0);
    options.least_share = (double)info.n_seen / 3200; /* seen as much: stays */
    ASSERT_OK(splat_mesh_remove_invisible(&mesh, &camera, 1, &options, &info, &error));
    assert_int_equal(mesh.n_faces, 3200);
    options.least_share *= 1.001;
    ASSERT_OK(splat_mesh_remove_invisible(&mesh, &camera, 1, &options, &info, &error));
    assert_int_equal(mesh.n_faces, 0);
    assert_int_equal(mesh.n_vertices, 0);
    splat_mesh_free(&mesh);
}

/* The rim is so many pixels wide, however large the faces, whatever the threads. */
static void test_rim(void **state)
{
    (void)state;
    splat_error error;
    splat_camera camera = camera_at(0.5f, 0.5f, -0.21f, 400);
    splat_mesh_visibility_options options;
    splat_mesh_visibility_info info;
    splat_mesh_visibility_options_init(&options);
    options.least_share = 0;
    for (double rim = 0; rim < 1000; rim += 100) {
        splat_mesh mesh = two_sheets(40), copy = two_sheets(40);
        options.rim = rim;
        options.threads = 1;
        ASSERT_OK(splat_mesh_remove_invisible(&mesh, &camera, 1, &options, &info, &error));
        options.threads = 3;
        ASSERT_OK(splat_mesh_remove_invisible(&copy, &camera, 1, &options, NULL, &error));
        assert_int_equal(mesh.n_faces, copy.n_faces);
        assert_memory_equal(mesh.faces, copy.faces, 12 * mesh.n_faces);
        assert_int_equal(info.n_pieces, 0);
        assert_int_equal(info.n_invisible_faces, 6400 - mesh.n_faces);
        double reach = 0, least = 1; /* from the middle, along the axes */
        for (size_t i = 0; i < mesh.n_vertices; i++) {
            const float *p = mesh.vertices + 3 * i;
            assert_true(p[2] == 0);
            double d = fmax(fabs((double)p[0] - 0.5), fabs((double)p[1] - 0.5));
            reach = fmax(reach, d);
            least = fmin(least, d);
        }
        /* 0.105 is seen, to the next whole square 0.125; beyond, squares whose middle the rim reaches */
        const double wide = rim * 0.21 / 400;
        assert_true(reach > fmin(0.499, 0.125 + wide - 0.025) && reach < fmin(0.501, 0.126 + wide + 0.0125));
        assert_true(rim > 0 || reach < 0.126);
        assert_true(least < 0.02);
        splat_mesh_free(&mesh);
        splat_mesh_free(&copy);
    }
}

/* Pixels that count: of camera 0 those left of the middle, of 1 all, of 2 none, of 3 an error. */
static splat_status keep_some(void *user, size_t i, uint8_t *kept, bool *all, splat_error *error)
{
    int side = *(int *)user;
    *all = i == 1;
    for (int k = 0; k < side * side && !*all; k++) kept[k] = i == 0 && k % side < side / 2;
    return i == 3 ? splat_fail(error, SPLAT_ERROR_FORMAT, "no mask") : SPLAT_OK;
}

/* The camera looks at a sheet of 40 x 40 squares, two faces each, from where it sees all of it. */
static void test_pixels_that_do_not_look(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh sheet = make_sheet(40, NULL);
    int side = 400;
    splat_camera camera = camera_at(0.5f, 0.5f, -1, side), cameras[4] = {camera, camera, camera, camera};
    splat_mesh_visibility_options options;
    splat_mesh_visibility_options_init(&options);
    options.kept = keep_some;
    options.kept_user = &side;
    float *seen = malloc(sheet.n_faces * sizeof *seen);
    ASSERT_OK(splat_mesh_find_visible(&sheet, cameras, 1, &options, seen, &error));
    for (size_t i = 0; i < sheet.n_faces; i++) {
        double x = 0;
        for (int k = 0; k < 3; k++) x += (double)sheet.vertices[3 * (size_t)sheet.faces[3 * i + (size_t)k]] / 3;
        assert_int_equal(seen[i] > 0, x < 0.5);
    }
    for (int from = 1; from < 3; from++) { /* one that looks with all pixels, and one that does with none */
        ASSERT_OK(splat_mesh_find_visible(&sheet, cameras, 3, &options, seen, &error));
        for (size_t i = 0; i < sheet.n_faces; i++) assert_float_equal(seen[i], 1.0 / side, 1e-6);
        options.threads = 3;
    }
    assert_int_equal(splat_mesh_find_visible(&sheet, cameras, 4, &options, seen, &error), SPLAT_ERROR_FORMAT);
    free(seen);
    splat_mesh_free(&sheet);
}

/* Many cameras at random and few threads, the other way round, none, and an empty mesh. */
static void test_edges_of_it(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh torus = make_torus(60, 30, 1, 0.4), empty = {0};
    splat_camera cameras[9];
    float *seen[2] = {malloc(torus.n_faces * sizeof(float)), malloc(torus.n_faces * sizeof(float))};
    splat_mesh_visibility_options options;
    splat_mesh_visibility_info info;
    splat_mesh_visibility_options_init(&options);
    for (uint64_t i = 0; i < 9; i++) {
        splat_random4 r = splat_random(1, SPLAT_STREAM_TEST, 7, i);
        cameras[i] = camera_at(splat_uniform(r.x[0]), splat_uniform(r.x[1]), -2 * splat_uniform(r.x[2]),
                               20 + 9 * (int)i);
    }
    for (int threads = 2; threads < 16; threads += 11) {
        options.threads = 1;
        ASSERT_OK(splat_mesh_find_visible(&torus, cameras, 9, &options, seen[0], &error));
        options.threads = threads;
        ASSERT_OK(splat_mesh_find_visible(&torus, cameras, 9, &options, seen[1], &error));
        assert_memory_equal(seen[0], seen[1], torus.n_faces * sizeof(float));
    }
    ASSERT_OK(splat_mesh_remove_invisible(&empty, cameras, 9, &options, &info, &error));
    ASSERT_OK(splat_mesh_remove_invisible(&torus, cameras, 0, &options, &info, &error));
    assert_int_equal(torus.n_faces, 0);
    splat_mesh_free(&torus);
    torus = make_torus(60, 30, 1, 0.4);
    cameras[4].fx = NAN;
    assert_int_equal(splat_mesh_remove_invisible(&torus, cameras, 9, &options, &info, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(torus.n_faces, 3600);
    assert_non_null(strstr(error.message, "camera"));
    cameras[4].fx = 50;
    options.threads = 0;
    assert_int_equal(splat_mesh_remove_invisible(&torus, cameras, 9, &options, &info, &error), SPLAT_ERROR_ARGUMENT);
    free(seen[0]);
    free(seen[1]);
    splat_mesh_free(&torus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ball),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_rim),
        cmocka_unit_test(test_pixels_that_do_not_look),
        cmocka_unit_test(test_edges_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
