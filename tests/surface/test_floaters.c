/* Floaters: a splat with Gaussians in the air. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "model/files.h"
#include "scene/scene.h"
#include "trainer_fixture.h"
#include "sphere_fixture.h" /* after math/camera.h, whose names it hides */

#include <stdlib.h>
#include <string.h>

#define GRID 101 /* discs of the floor along a side */
enum { N_FLOOR = GRID * GRID, N_AIR = 50, N_ALL = N_FLOOR + N_DISCS + N_AIR };

/* The sphere's discs above a floor of larger ones, and every 121st Gaussian faint and in the air around the sphere. */
static splat_cloud make_splat(void)
{
    splat_cloud sphere, all;
    splat_error error;
    write_discs("sphere.ply", N_DISCS, center, 6, 0.005f); /* a filter that leaves them opaque */
    must(splat_cloud_read("sphere.ply", &sphere, &error), &error);
    must(splat_cloud_make(&all, N_ALL, 0, true, &error), &error);
    all.render_mode = sphere.render_mode;
    for (size_t i = 0, solid = 0, air = 0; i < N_ALL; i++) {
        bool is_air = i % 121 == 120 && air < N_AIR, is_floor = !is_air && solid < N_FLOOR;
        size_t from = is_air || is_floor ? 0 : solid - N_FLOOR;
        memcpy(all.means + 3 * i, sphere.means + 3 * from, 12);
        memcpy(all.sh_dc + 3 * i, sphere.sh_dc + 3 * from, 12);
        memcpy(all.scales + 3 * i, sphere.scales + 3 * from, 12);
        memcpy(all.rotations + 4 * i, sphere.rotations + 4 * from, 16);
        all.opacities[i] = is_air ? -3 : 6;
        all.filter_3d[i] = sphere.filter_3d[0] * (1 + 1e-5f * (float)i);
        double a = 2.39996322972865 * (double)air;
        float *p = all.means + 3 * i, *r = all.rotations + 4 * i;
        if (is_air) {
            p[0] = (float)(1.8 * cos(a)), p[1] = -0.6f, p[2] = (float)(1.8 * sin(a));
        } else if (is_floor) { /* y points down; the disc's axis is turned from z to -y */
            p[0] = 0.06f * ((float)(solid % GRID) - GRID / 2), p[1] = 0.2f;
            p[2] = 0.06f * ((float)(solid / GRID) - GRID / 2);
            r[0] = r[1] = 0.70710678f, r[2] = r[3] = 0;
            for (int k = 0; k < 3; k++) all.scales[3 * i + (size_t)k] = logf(k == 2 ? 0.002f : 0.04f);
        }
        air += is_air;
        solid += !is_air;
    }
    splat_cloud_free(&sphere);
    return all;
}

static void a_splat_loses_them_and_nothing_else(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_scene(context);
    splat_cloud all = make_splat(), left;
    splat_model *model;
    splat_error error;
    size_t n_removed, n_air = 0, at = 0;
    must(splat_cloud_write("floaters.ply", &all, NULL, &error), &error);
    must(splat_model_load(context, "floaters.ply", &model, &error), &error);
    must(splat_model_remove_floaters(scene, model, NULL, &n_removed, &error), &error);
    must(splat_model_download(model, &left, &error), &error);
    for (size_t i = 0; i < left.n; i++) n_air += left.opacities[i] < 0;
    print_message("%zu of %d removed, %zu of %d in the air left\n", n_removed, N_ALL, n_air, N_AIR);
    assert_int_equal(left.n + n_removed, N_ALL);
    assert_true(n_air * 3 < 2 * N_AIR); /* 14 views of 100 x 70 pixels do not agree on all of the floor */
    assert_int_equal(n_removed, N_AIR - n_air);
    for (size_t i = 0; i < left.n; i++, at++) { /* in their order, with all their parameters */
        while (at < N_ALL && memcmp(all.means + 3 * at, left.means + 3 * i, 12) != 0) at++;
        assert_true(at < N_ALL);
        assert_memory_equal(all.sh_dc + 3 * at, left.sh_dc + 3 * i, 12);
        assert_memory_equal(all.scales + 3 * at, left.scales + 3 * i, 12);
        assert_memory_equal(all.rotations + 4 * at, left.rotations + 4 * i, 16);
        assert_true(all.opacities[at] == left.opacities[i] && all.filter_3d[at] == left.filter_3d[i]);
    }
    splat_cloud_free(&all);
    splat_cloud_free(&left);
    splat_model_destroy(model);
    close_training(context, scene, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_splat_loses_them_and_nothing_else),
    };
    return cmocka_run_group_tests_name("floaters", tests, NULL, NULL);
}
