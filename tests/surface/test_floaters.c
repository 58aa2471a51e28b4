/* Floaters: places in a world of exact maps, and a splat with Gaussians in the air. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "model/files.h"
#include "scene/scene.h"
#include "surface/extract/floaters.h"
#include "view_maps_fixture.h"
#include "sphere_fixture.h" /* after math/camera.h, whose names it hides */

#include <stdlib.h>
#include <string.h>

#define N_EACH 200

/* Places by kind, N_EACH of each. */
enum { ON_GROUND, ON_BALL, ON_ROD, IN_BALL, UNDER_GROUND, IN_SKY, IN_AIR, N_KINDS };

static void put_places(float *places)
{
    for (size_t i = 0; i < N_EACH; i++) {
        double a = 2.39996322972865 * (double)i, s = ((double)i + 0.5) / N_EACH, z = 1 - s, r = sqrt(1 - z * z);
        const double kinds[N_KINDS][3] = {
            {1.5 * sqrt(s) * cos(a), 1.5 * sqrt(s) * sin(a), 0},
            {0.5 * r * cos(a), 0.5 * r * sin(a), 0.5 + 0.5 * z},
            {rod_place[0] + ROD_RADIUS * cos(a), rod_place[1] + ROD_RADIUS * sin(a), 0.05 + 1.1 * s},
            {0.35 * r * cos(a), 0.35 * r * sin(a), 0.5 + 0.35 * z},
            {1.5 * sqrt(s) * cos(a), 1.5 * sqrt(s) * sin(a), -0.2},
            {3 * cos(a), 3 * sin(a), 3 + s}, /* above all that is seen */
            {1.2 * cos(a), 1.2 * sin(a), 0.5 + 0.2 * s}};
        for (int k = 0; k < N_KINDS; k++)
            for (int c = 0; c < 3; c++) places[3 * (N_EACH * (size_t)k + i) + (size_t)c] = (float)kinds[k][c];
    }
}

static void only_places_in_the_air_are_floaters(void **state)
{
    (void)state;
    splat_view_maps maps = make_truth(160, 120);
    static float places[3 * N_KINDS * N_EACH];
    static uint8_t keep[N_KINDS * N_EACH], again[N_KINDS * N_EACH];
    size_t n_floaters, n_again, n_kept[N_KINDS] = {0}, n = 0;
    splat_error error;
    put_places(places);
    must(splat_find_floaters(&maps, places, N_KINDS * N_EACH, 1, keep, &n_floaters, &error), &error);
    for (size_t i = 0; i < N_KINDS * N_EACH; i++) {
        n_kept[i / N_EACH] += keep[i];
        n += !keep[i];
    }
    print_message("kept of %d: ground %zu, ball %zu, rod %zu, in the ball %zu, below %zu, sky %zu, air %zu\n",
                  N_EACH, n_kept[ON_GROUND], n_kept[ON_BALL], n_kept[ON_ROD], n_kept[IN_BALL], n_kept[UNDER_GROUND],
                  n_kept[IN_SKY], n_kept[IN_AIR]);
    assert_int_equal(n, n_floaters);
    for (int k = 0; k < IN_AIR; k++) assert_int_equal(n_kept[k], N_EACH);
    assert_true(n_kept[IN_AIR] * 20 < N_EACH);
    must(splat_find_floaters(&maps, places, N_KINDS * N_EACH, 3, again, &n_again, &error), &error);
    assert_memory_equal(keep, again, sizeof keep);
    splat_view_maps_free(&maps);
}

/* Two views do not suffice, and nothing is said where no other view confirms what is behind. */
static void three_views_are_needed(void **state)
{
    (void)state;
    splat_view_maps maps = make_truth(160, 120);
    const float place[3] = {1.2f, 0, 0.5f};
    uint8_t keep;
    size_t n;
    splat_error error;
    must(splat_find_floaters(&maps, place, 1, 1, &keep, &n, &error), &error);
    assert_int_equal(keep, 0);
    for (size_t v = 0; v < maps.n; v++) maps.views[v].n_neighbors = v < 2 ? maps.views[v].n_neighbors : 0;
    must(splat_find_floaters(&maps, place, 1, 1, &keep, &n, &error), &error);
    assert_int_equal(keep, 1);
    splat_view_maps_free(&maps);
}

/* Three views that look through the place are enough. */
static void three_views_suffice(void **state)
{
    (void)state;
    const float place[3] = {1.2f, 0, 0.5f};
    uint8_t keep;
    size_t n;
    splat_error error;
    splat_view_maps maps = make_truth(160, 120);
    for (size_t v = 0; v < maps.n; v++) /* the others confirm nothing behind it */
        maps.views[v].n_neighbors = v < 3 ? maps.views[v].n_neighbors : 0;
    must(splat_find_floaters(&maps, place, 1, 1, &keep, &n, &error), &error);
    assert_int_equal(keep, 0);
    assert_int_equal(n, 1);
    splat_view_maps_free(&maps);
}

/* Depths of a splat are not exact: a place a twentieth before the surface belongs to it, almost a fifth before it does
 * not. Cameras are 1.6 above the ground, so a place at height h has 1 - h / 1.6 of the ground's depth in all views. */
static void places_just_before_a_surface_are_kept(void **state)
{
    (void)state;
    splat_view_maps maps = make_truth(160, 120);
    for (int far = 0; far < 2; far++) {
        const float place[3] = {1.2f, 0, far ? 0.3f : 0.08f};
        uint8_t keep;
        size_t n;
        splat_error error;
        must(splat_find_floaters(&maps, place, 1, 1, &keep, &n, &error), &error);
        assert_int_equal(keep, !far);
    }
    splat_view_maps_free(&maps);
}

/* In a ball in the air that only some views show: as many look through the place as do not show it. */
static void more_must_look_through_than_at(void **state)
{
    (void)state;
    static const double center_of_ball[3] = {1.2, 0, 0.5};
    const float place[3] = {1.2f, 0, 0.5f};
    for (size_t n_showing = 5; n_showing <= 19; n_showing += 14) {
        splat_view_maps maps = make_truth(160, 120);
        uint8_t keep;
        size_t n;
        splat_error error;
        for (size_t i = 0; i < n_showing; i++) draw_ball(&maps.views[i], center_of_ball, 0.1, NULL);
        must(splat_find_floaters(&maps, place, 1, 1, &keep, &n, &error), &error);
        assert_int_equal(keep, n_showing == 19);
        splat_view_maps_free(&maps);
    }
}

/* ---------------------------------------------------------------- a splat */

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
    assert_true(n_air * 2 < N_AIR); /* 14 views of 100 x 70 pixels do not agree on all of the floor */
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
        cmocka_unit_test(only_places_in_the_air_are_floaters),
        cmocka_unit_test(three_views_are_needed),
        cmocka_unit_test(three_views_suffice),
        cmocka_unit_test(places_just_before_a_surface_are_kept),
        cmocka_unit_test(more_must_look_through_than_at),
        cmocka_unit_test(a_splat_loses_them_and_nothing_else),
    };
    return cmocka_run_group_tests_name("floaters", tests, NULL, NULL);
}
