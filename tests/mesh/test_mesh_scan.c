/* Rays against a mesh, and the virtual scan: a sheet in front of everything is invented, a missing half a hole, and the
 * sky and the background count apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "mesh/measure/mesh_scan.h"
#include "mesh/mesh_bvh.h"
#include "mesh_fixture.h"

enum { PHOTOS = 9 };

static const double thresholds[2] = {0.01, 0.05};

/* A square in the plane z, from (x0, y0) to (x1, y1). */
static void put_square(splat_mesh *mesh, double x0, double y0, double x1, double y1, double z)
{
    size_t first = mesh->n_vertices;
    put_vertex(mesh, x0, y0, z);
    put_vertex(mesh, x1, y0, z);
    put_vertex(mesh, x1, y1, z);
    put_vertex(mesh, x0, y1, z);
    put_face(mesh, first, first + 1, first + 2);
    put_face(mesh, first, first + 2, first + 3);
}

/* Cameras in the plane z = 0 that look along +z, 53 degrees across. */
static void make_photos(splat_scan_photo photos[PHOTOS])
{
    for (int i = 0; i < PHOTOS; i++)
        photos[i] = (splat_scan_photo){.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                                       .center = {0.2 * (i % 3 - 1), 0.2 * (i / 3 - 1), 0}, .fx = 400, .fy = 400,
                                       .cx = 200, .cy = 150, .width = 400, .height = 300};
}

static splat_mesh_scan scan(const splat_mesh *mesh, const splat_mesh *truth, int threads)
{
    splat_scan_photo photos[PHOTOS];
    splat_mesh_scan result;
    splat_error error;
    make_photos(photos);
    ASSERT_OK(splat_mesh_scan_make(mesh, truth, photos, PHOTOS, thresholds, 2, 3, threads, &result, &error));
    return result;
}

static void test_rays(void **state)
{
    (void)state;
    splat_mesh mesh = make_crumpled_sphere(16, 1);
    splat_mesh_bvh bvh;
    splat_error error;
    int n_hits = 0;
    ASSERT_OK(splat_mesh_bvh_make(&mesh, 2, &bvh, &error));
    splat_mesh *faces = malloc(mesh.n_faces * sizeof *faces);
    splat_mesh_bvh *leaves = malloc(mesh.n_faces * sizeof *leaves); /* trees of one face */
    assert_true(faces && leaves);
    for (uint32_t f = 0; f < mesh.n_faces; f++) {
        faces[f] = mesh;
        faces[f].faces = mesh.faces + 3 * f;
        faces[f].n_faces = 1;
        ASSERT_OK(splat_mesh_bvh_make(&faces[f], 2, &leaves[f], &error));
    }
    for (uint64_t i = 0; i < 300; i++) {
        splat_random4 a = splat_random(1, SPLAT_STREAM_TEST, 1, i), b = splat_random(1, SPLAT_STREAM_TEST, 2, i);
        double origin[3], direction[3], best = INFINITY;
        uint32_t face, of_best = 0;
        for (int k = 0; k < 3; k++) {
            origin[k] = 4 * (double)splat_uniform(a.x[k]) - 2;
            direction[k] = (double)splat_uniform(b.x[k]) - 0.5 - 0.2 * origin[k];
        }
        double t = splat_mesh_bvh_hit(&bvh, origin, direction, INFINITY, &face);
        for (uint32_t f = 0; f < mesh.n_faces; f++) {
            double place = splat_mesh_bvh_hit(&leaves[f], origin, direction, INFINITY, NULL);
            if (place < best) best = place, of_best = f;
        }
        assert_true(t == best);
        if (isinf(t)) continue;
        n_hits++;
        assert_int_equal(face, of_best);
        assert_true(isinf(splat_mesh_bvh_hit(&bvh, origin, direction, t, NULL)));
        double place[3];
        for (int k = 0; k < 3; k++) place[k] = origin[k] + t * direction[k];
        assert_true(splat_mesh_bvh_nearest(&bvh, place, NULL) < 1e-6);
    }
    assert_in_range(n_hits, 60, 290);
    for (uint32_t f = 0; f < mesh.n_faces; f++) splat_mesh_bvh_free(&leaves[f]);
    free(leaves);
    free(faces);
    splat_mesh_bvh_free(&bvh);
    splat_mesh_free(&mesh);
}

/* A wall with sky around, its mesh, and the mesh with a fault. */
static void test_faults(void **state)
{
    (void)state;
    splat_mesh truth = {0}, sheet = {0}, half = {0}, shifted = {0};
    put_square(&truth, -1.2, -0.9, 1.2, 0.9, 3);
    put_square(&sheet, -1.2, -0.9, 1.2, 0.9, 3);
    put_square(&sheet, -5, -5, 5, 5, 2);
    put_square(&half, 0, -0.9, 1.2, 0.9, 3);
    put_square(&shifted, -1.2, -0.9, 1.2, 0.9, 3.02);
    splat_mesh_scan same = scan(&truth, &truth, 1);
    assert_int_equal(same.n_rays, 200 * 80 * 60);
    assert_true(same.n_sky > same.n_rays / 10 && same.n_near + same.n_sky == same.n_rays && same.n_far == 0);
    for (int i = 0; i < 2; i++) {
        assert_true(same.rows[i].precision == 1 && same.rows[i].recall == 1 && same.rows[i].f_score == 1);
        assert_true(same.rows[i].invented == 0 && same.rows[i].hole == 0);
    }
    assert_true(same.sky_covered == 0);

    splat_mesh_scan hidden = scan(&sheet, &truth, 1);
    assert_true(hidden.rows[0].precision == 0 && hidden.rows[0].recall == 0 && hidden.rows[0].hole == 0);
    assert_float_equal(hidden.rows[0].invented, 1, 1e-3);
    assert_float_equal(hidden.rows[1].invented, 1, 1e-3);
    assert_float_equal(hidden.sky_covered, 1, 1e-3);

    splat_mesh_scan open = scan(&half, &truth, 1);
    assert_float_equal(open.rows[0].hole, 0.5, 0.02);
    assert_float_equal(open.rows[0].recall, 1 - open.rows[0].hole, 1e-9);
    assert_true(open.rows[0].precision == 1 && open.rows[0].invented == 0);

    /* 2 cm are wrong at 1 cm, right at 5 cm, and no hole; a footprint of 3 units / 400 pixels is 7.5 mm */
    splat_mesh_scan off = scan(&shifted, &truth, 1);
    assert_true(off.rows[0].recall < 1e-3 && off.rows[0].hole < 0.01); /* rays pass the edge by */
    assert_true(off.rows[1].recall > 0.97 && off.footprints[0].recall < 1e-3 && off.footprints[2].recall > 0.95);
    splat_mesh_scan again = scan(&shifted, &truth, 3);
    assert_memory_equal(&off, &again, sizeof off);
    splat_mesh_free(&truth);
    splat_mesh_free(&sheet);
    splat_mesh_free(&half);
    splat_mesh_free(&shifted);
}

/* A hill behind the wall is background: its errors do not count in the rows, and a mesh that ends before it is not
 * invented there, but a sheet near by is. */
static void test_background(void **state)
{
    (void)state;
    splat_mesh truth = {0}, without = {0}, wrong = {0};
    put_square(&truth, -1.2, -0.9, 1.2, 0.9, 3);
    put_square(&truth, -80, -80, 80, 80, 60);
    put_square(&without, -1.2, -0.9, 1.2, 0.9, 3);
    put_square(&wrong, -1.2, -0.9, 1.2, 0.9, 3);
    put_square(&wrong, -80, -80, 80, 80, 50);
    splat_mesh_scan same = scan(&truth, &truth, 2), absent = scan(&without, &truth, 2), near = scan(&wrong, &truth, 2);
    assert_true(same.n_sky == 0 && same.n_far > same.n_rays / 10 && same.far_recall == 1);
    assert_true(absent.far_recall == 0 && near.far_recall == 0);
    for (int i = 0; i < 2; i++) {
        assert_true(absent.rows[i].f_score == 1 && absent.rows[i].hole == 0);
        assert_true(near.rows[i].f_score == 1 && near.rows[i].invented == 0);
    }
    splat_mesh_free(&truth);
    splat_mesh_free(&without);
    splat_mesh_free(&wrong);
}

static void test_refused(void **state)
{
    (void)state;
    splat_scan_photo photos[PHOTOS], *read;
    splat_mesh truth = {0};
    splat_mesh_scan result;
    splat_error error;
    size_t n;
    make_photos(photos);
    put_square(&truth, -1, -1, 1, 1, -3); /* behind all cameras */
    assert_int_equal(splat_mesh_scan_make(&truth, &truth, photos, PHOTOS, thresholds, 2, 0, 1, &result, &error),
                     SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_mesh_scan_make(&truth, &truth, photos, 0, thresholds, 2, 0, 1, &result, &error),
                     SPLAT_ERROR_ARGUMENT);
    assert_int_not_equal(splat_scan_photos_read("nowhere/truth.ply", &read, &n, &error), SPLAT_OK);
    assert_null(read);
    splat_mesh_free(&truth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rays),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_background),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
