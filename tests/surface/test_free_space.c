/* Free space: places in a world of exact maps, and faces of meshes that views look through or see from behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "mesh/mesh_raster.h"
#include "scene/scene.h"
#include "surface/extract/extract_free.h"
#include "surface/extract/free_space.h"
#include "surface/extract/surface_views.h"
#include "mesh_fixture.h"
#include "view_maps_fixture.h"
#include "sphere_fixture.h" /* after math/camera.h, whose names it hides */

#include <stdlib.h>
#include <string.h>

#define N_EACH 200

/* Places by kind, N_EACH of each. */
enum { ON_GROUND, ON_BALL, ON_ROD, IN_BALL, UNDER_GROUND, OUTSIDE, IN_AIR, N_KINDS };

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
            {3 * cos(a), 3 * sin(a), 7 + s}, /* above all pictures */
            {1.2 * cos(a), 1.2 * sin(a), 0.5 + 0.2 * s}};
        for (int k = 0; k < N_KINDS; k++)
            for (int c = 0; c < 3; c++) places[3 * (N_EACH * (size_t)k + i) + (size_t)c] = (float)kinds[k][c];
    }
}

static bool is_sky_around(const splat_view_map *map, int x, int y)
{
    for (int k = 0; k < 25; k++)
        if (map->depth[splat_view_map_pixel(map, x + k % 5 - 2, y + k / 5 - 2)] > 0) return false;
    return true;
}

/* The world, with all surface and the sky but for its rim trusted. */
static splat_view_maps make_trusted(int width)
{
    splat_view_maps maps = make_truth(width, width * 3 / 4);
    for (size_t v = 0; v < maps.n; v++) {
        splat_view_map *map = &maps.views[v];
        for (size_t i = 0; i < splat_camera_pixels(&map->camera); i++) {
            bool is_sky = is_sky_around(map, (int)(i % (size_t)width), (int)(i / (size_t)width));
            map->state[i] = map->depth[i] > 0 ? SPLAT_PIXEL_FITTED : is_sky ? SPLAT_PIXEL_SKY : SPLAT_PIXEL_SILENT;
        }
    }
    return maps;
}

static bool is_kept(const splat_view_maps *maps, const float place[3], float tolerance)
{
    splat_free_space space;
    splat_error error;
    uint8_t keep;
    size_t n_found;
    must(splat_free_space_begin(maps, 2, &space, &error), &error);
    must(splat_free_space_finish(maps, 2, &space, &error), &error);
    splat_free_space_find(&space, SPLAT_FREE_BY_ALL, place, 1, tolerance, 1, &keep, &n_found);
    assert_int_equal(keep, !n_found);
    splat_free_space_free(&space);
    return keep;
}

static void only_places_in_the_air_are_free(void **state)
{
    (void)state;
    splat_view_maps maps = make_trusted(160);
    splat_free_space space;
    static float places[3 * N_KINDS * N_EACH];
    static uint8_t keep[N_KINDS * N_EACH], again[N_KINDS * N_EACH];
    size_t n_found, n_again, n_kept[N_KINDS] = {0}, n = 0;
    splat_error error;
    put_places(places);
    must(splat_free_space_begin(&maps, 2, &space, &error), &error);
    must(splat_free_space_finish(&maps, 2, &space, &error), &error);
    splat_free_space_find(&space, SPLAT_FREE_BY_ALL, places, N_KINDS * N_EACH, SPLAT_FREE_TOLERANCE, 1, keep, &n_found);
    for (size_t i = 0; i < N_KINDS * N_EACH; i++) {
        n_kept[i / N_EACH] += keep[i];
        n += !keep[i];
    }
    print_message("kept of %d: ground %zu, ball %zu, rod %zu, in the ball %zu, below %zu, outside %zu, air %zu\n",
                  N_EACH, n_kept[ON_GROUND], n_kept[ON_BALL], n_kept[ON_ROD], n_kept[IN_BALL], n_kept[UNDER_GROUND],
                  n_kept[OUTSIDE], n_kept[IN_AIR]);
    assert_int_equal(n, n_found);
    for (int k = 0; k < IN_AIR; k++) assert_int_equal(n_kept[k], N_EACH);
    assert_int_equal(n_kept[IN_AIR], 0);
    splat_free_space_find(&space, SPLAT_FREE_BY_ALL, places, N_KINDS * N_EACH, SPLAT_FREE_TOLERANCE, 3, again,
                          &n_again);
    assert_memory_equal(keep, again, sizeof keep);
    splat_free_space_free(&space);
    splat_view_maps_free(&maps);
}

/* The others keep what belongs to them: the number of each is in its normal, colour, weight and size. */
static void points_in_the_air_go(void **state)
{
    (void)state;
    splat_view_maps maps = make_trusted(160);
    splat_free_space space;
    splat_surface_points points;
    static float places[3 * N_KINDS * N_EACH];
    size_t n_found;
    splat_error error;
    put_places(places);
    must(splat_free_space_begin(&maps, 2, &space, &error), &error);
    must(splat_free_space_finish(&maps, 2, &space, &error), &error);
    must(splat_surface_points_make(&points, N_KINDS * N_EACH, &error), &error);
    must(splat_surface_points_weigh(&points, &error), &error);
    for (size_t i = 0; i < N_KINDS * N_EACH; i++) { /* the kinds by turns */
        const size_t place = i % N_KINDS * N_EACH + i / N_KINDS;
        const float normal[3] = {(float)place, 0, 0};
        const uint8_t color[3] = {(uint8_t)(place % 256), (uint8_t)(place / 256), 0};
        points.weights[i] = points.sizes[i] = (float)place;
        splat_surface_points_add(&points, places + 3 * place, normal, color);
    }
    must(splat_free_space_remove_points(&space, SPLAT_FREE_BY_ALL, &points, 3, &n_found, &error), &error);
    assert_int_equal(n_found, N_EACH);
    assert_int_equal(points.n, IN_AIR * N_EACH);
    for (size_t i = 0; i < points.n; i++) {
        const size_t place = i % IN_AIR * N_EACH + i / IN_AIR;
        assert_memory_equal(points.positions + 3 * i, places + 3 * place, 3 * sizeof *places);
        assert_true(points.normals[3 * i] == (float)place && points.weights[i] == (float)place);
        assert_true(points.sizes[i] == (float)place);
        assert_int_equal(points.colors[4 * i] + 256 * points.colors[4 * i + 1], place);
    }
    splat_surface_points_free(&points);
    splat_free_space_free(&space);
    splat_view_maps_free(&maps);
}

/* A place a twentieth before the surface, and one almost a fifth before it. Cameras are 1.6 above the ground, so a
 * place at height h has 1 - h / 1.6 of the ground's depth in all views. */
static void the_tolerance_decides_before_a_surface(void **state)
{
    (void)state;
    splat_view_maps maps = make_trusted(320);
    const float low[3] = {1.2f, 0, 0.08f}, high[3] = {1.2f, 0, 0.3f};
    assert_false(is_kept(&maps, low, SPLAT_FREE_TOLERANCE));
    assert_true(is_kept(&maps, low, 0.1f));
    assert_false(is_kept(&maps, high, 0.1f));
    splat_view_maps_free(&maps);
}

/* A place in the air seen by some views of the arc; pixels of the others say nothing. */
static bool is_kept_by(size_t n_trusted, size_t n_showing, size_t n_circle, const float place[3])
{
    static const double center_of_ball[3] = {1.2, 0, 0.5};
    splat_view_maps maps = make_arc(160, 120, 8, n_circle);
    for (size_t v = 0; v < maps.n; v++) {
        splat_view_map *map = &maps.views[v];
        if (v < n_showing) draw_ball(map, center_of_ball, 0.1, NULL);
        memset(map->state, v < n_trusted ? SPLAT_PIXEL_FITTED : SPLAT_PIXEL_SILENT,
               splat_camera_pixels(&map->camera));
    }
    bool keep = is_kept(&maps, place, SPLAT_FREE_TOLERANCE);
    splat_view_maps_free(&maps);
    return keep;
}

/* One view of a surface not twice as far is not enough, two are; but not if they stand within 5 degrees. */
static void two_views_are_needed(void **state)
{
    (void)state;
    const float place[3] = {0.9f, 0.9f, 0.2f};
    assert_true(is_kept_by(1, 0, 24, place));
    assert_false(is_kept_by(2, 0, 24, place));
    assert_true(is_kept_by(2, 0, 24 * 4, place));
}

/* ---------------------------------------------------------------- faces */

static splat_mesh make_ball(const double at[3], size_t n, double radius, bool shows_inside)
{
    splat_mesh mesh = make_sphere(n, radius);
    for (size_t i = 0; i < mesh.n_vertices; i++)
        for (size_t k = 0; k < 3; k++) mesh.vertices[3 * i + k] += (float)at[k];
    if (shows_inside) splat_mesh_flip(&mesh);
    return mesh;
}

/* Makes the space that training views know if a ball is all there is. */
static splat_free_space make_space(const splat_scene *scene, const splat_mesh *ball)
{
    splat_free_space space = {.n = scene->dataset.n_train, .knows_surface = true};
    splat_error error;
    splat_mesh_raster_options options;
    splat_mesh_raster_options_init(&options);
    space.views = calloc(space.n, sizeof *space.views);
    for (size_t v = 0; v < space.n; v++) {
        splat_free_view *view = &space.views[v];
        view->number = (uint32_t)v;
        view->camera = splat_surface_camera(scene, v, 1);
        view->has_sky = true;
        size_t n = splat_camera_pixels(&view->camera);
        float *depth = malloc(n * sizeof *depth);
        uint32_t *faces = malloc(n * sizeof *faces);
        const splat_mesh_raster_maps maps = {.faces = faces, .depth = depth};
        view->codes = malloc(n * sizeof *view->codes);
        ASSERT_OK(splat_mesh_rasterize(ball, &view->camera, &options, &maps, &error));
        for (size_t i = 0; i < n; i++) view->codes[i] = faces[i] ? splat_free_code(depth[i], true) : SPLAT_FREE_SKY;
        free(depth);
        free(faces);
    }
    return space;
}

/* Returns how many faces of the ball and of the other thing are left. */
static void drop(const splat_extraction *e, const splat_mesh *ball, const splat_mesh *other, size_t left[2])
{
    splat_mesh mesh = {0};
    splat_error error;
    size_t n_gone;
    ASSERT_OK(splat_mesh_append(&mesh, ball, &error));
    ASSERT_OK(splat_mesh_append(&mesh, other, &error));
    ASSERT_OK(splat_extract_drop_free(e, &mesh, &n_gone, &error));
    assert_int_equal(n_gone + mesh.n_faces, ball->n_faces + other->n_faces);
    left[0] = left[1] = 0;
    for (size_t i = 0; i < mesh.n_faces; i++) {
        const float *at = mesh.vertices + 3 * (size_t)mesh.faces[3 * i];
        double distance = 0;
        for (int k = 0; k < 3; k++) distance += ((double)at[k] - center[k]) * ((double)at[k] - center[k]);
        left[sqrt(distance) > 1.01 * RADIUS]++;
    }
    splat_mesh_free(&mesh);
}

/* A thing next to the ball goes where two views look through it, or see its back; it stays where all but one do not
 * say, and the ball always stays. */
static void faces_in_free_space_go(void **state)
{
    (void)state;
    const double aside[3] = {center[0] + 1.3 * RADIUS, center[1] - 0.7 * RADIUS, center[2]};
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_scene(context);
    splat_mesh ball = make_ball(center, 40, RADIUS, false);
    splat_mesh_extract_options options;
    splat_mesh_extract_options_init(&options);
    for (int threads = 1; threads <= 3; threads += 2) {
        splat_free_space space = make_space(scene, &ball);
        splat_extraction e = {.options = &options, .scene = scene, .space = &space, .threads = threads};
        splat_mesh thing = make_ball(aside, 8, 0.2 * RADIUS, false), inverse = make_ball(aside, 8, 0.2 * RADIUS, true);
        splat_mesh rough = make_ball(aside, 4, 0.2 * RADIUS, false); /* each of its faces has some pixels in a view */
        size_t left[2];
        drop(&e, &ball, &thing, left);
        print_message("looked through: %zu of %zu faces left, %zu of the ball\n", left[1], thing.n_faces, left[0]);
        assert_true(left[0] == ball.n_faces && left[1] * 4 < thing.n_faces); /* no view shows its lower side */
        free(space.views[0].codes); /* the others say the same without it */
        memmove(space.views, space.views + 1, --space.n * sizeof *space.views);
        drop(&e, &ball, &thing, left);
        print_message("without a view: %zu of %zu faces left, %zu of the ball\n", left[1], thing.n_faces, left[0]);
        assert_true(left[0] == ball.n_faces && left[1] * 4 < thing.n_faces);
        const size_t n_saying[] = {space.n / 3, 1, 0}; /* views that say something */
        for (size_t k = 0; k < 3; k++) {
            const size_t n_left = n_saying[k];
            for (size_t v = n_left; v < space.n; v++)
                memset(space.views[v].codes, 0, splat_camera_pixels(&space.views[v].camera) * sizeof(uint16_t));
            drop(&e, &ball, &rough, left);
            print_message("of %zu views: %zu of %zu faces left\n", n_left, left[1], rough.n_faces);
            assert_true(left[0] == ball.n_faces);
            assert_true(n_left < 2 ? left[1] == rough.n_faces : left[1] * 4 < rough.n_faces);
        }
        drop(&e, &ball, &thing, left);
        assert_true(left[0] == ball.n_faces && left[1] == thing.n_faces);
        drop(&e, &ball, &inverse, left);
        print_message("seen from behind: %zu of %zu faces left\n", left[1], inverse.n_faces);
        assert_true(left[0] == ball.n_faces && left[1] * 4 < inverse.n_faces);
        space.knows_surface = false; /* then backs do not count */
        drop(&e, &ball, &inverse, left);
        assert_true(left[0] == ball.n_faces && left[1] == inverse.n_faces);
        splat_free_space_free(&space);
        splat_mesh_free(&thing);
        splat_mesh_free(&rough);
        splat_mesh_free(&inverse);
    }
    splat_mesh_free(&ball);
    close_training(context, scene, NULL);
}

static void depths_fit_into_codes(void **state)
{
    (void)state;
    for (float depth = 1e-8f; depth < 1e9f; depth *= 1.37f) {
        for (int is_open = 0; is_open < 2; is_open++) {
            uint16_t code = splat_free_code(depth, is_open);
            float back = splat_free_depth(code);
            assert_true(back <= depth && back > 0.998f * depth && splat_free_is_open(code) == is_open);
        }
    }
    assert_true(splat_free_code(INFINITY, false) == SPLAT_FREE_SKY && isinf(splat_free_depth(SPLAT_FREE_SKY)));
    assert_true(splat_free_code(1e-20f, false) == 2 && splat_free_code(3e9f, true) == SPLAT_FREE_SKY);
    assert_true(splat_free_depth(0) == 0);
}

/* The place of a thing that the splat of some views has and a plane of the scene then hides. */
static void planes_do_not_look_through_what_the_splat_has(void **state)
{
    (void)state;
    static const double center_of_ball[3] = {1.2, 0, 0.5};
    const float place[3] = {1.2f, 0, 0.5f};
    for (int has_ball = 0; has_ball < 2; has_ball++) {
        splat_view_maps maps = make_trusted(160), truth = make_trusted(160);
        splat_free_space space;
        splat_error error;
        uint8_t keep;
        size_t n_found;
        for (size_t v = 0; v < maps.n; v++) {
            if (has_ball) draw_ball(&maps.views[v], center_of_ball, 0.2, NULL);
            for (size_t i = 0; i < splat_camera_pixels(&maps.views[v].camera); i++) /* the sky always looks through */
                if (truth.views[v].state[i] == SPLAT_PIXEL_SKY) truth.views[v].state[i] = SPLAT_PIXEL_SILENT;
        }
        must(splat_free_space_begin(&maps, 2, &space, &error), &error);
        must(splat_free_space_finish(&truth, 2, &space, &error), &error);
        splat_free_space_find(&space, SPLAT_FREE_BY_ALL, place, 1, SPLAT_FREE_TOLERANCE, 1, &keep, &n_found);
        assert_int_equal(keep, has_ball);
        splat_free_space_free(&space);
        splat_view_maps_free(&maps);
        splat_view_maps_free(&truth);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_places_in_the_air_are_free),
        cmocka_unit_test(points_in_the_air_go),
        cmocka_unit_test(the_tolerance_decides_before_a_surface),
        cmocka_unit_test(two_views_are_needed),
        cmocka_unit_test(planes_do_not_look_through_what_the_splat_has),
        cmocka_unit_test(faces_in_free_space_go),
        cmocka_unit_test(depths_fit_into_codes),
    };
    return cmocka_run_group_tests_name("free_space", tests, NULL, NULL);
}
