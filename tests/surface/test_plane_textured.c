/* A painted floor is a plane that walls meet, though no plain segment shows it. */
#include "plane_fixture.h"
#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_segments.h"
#include "surface/planes/plane_textured.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { N = 3, WIDTH = 160, HEIGHT = 120 };

static const plane_fit ground = {{0, 0, 1}, 0, {2, 0, 0}, {{1, 0, 0}, {0, 1, 0}}, {1, 1, 0}};

typedef struct floor_scene {
    splat_view_maps maps;
    plane_view views[N];
} floor_scene;

/* The floor z = 0 in three views; its left half belongs to a plain segment if half_is_plain, and lies 3 % too near. */
static void make(floor_scene *s, bool half_is_plain)
{
    static const float up[3] = {0, 0, 1};
    splat_camera cameras[N];
    splat_error error;
    memset(s, 0, sizeof *s);
    for (int v = 0; v < N; v++) {
        const double from[3] = {0, 0.6 * v - 0.6, 1.5}, to[3] = {2, 0, 0};
        cameras[v] = room_camera(from, to, WIDTH, HEIGHT, 150);
    }
    assert_int_equal(splat_view_maps_init(&s->maps, N, cameras, &error), SPLAT_OK);
    for (int v = 0; v < N; v++) {
        splat_view_map *map = &s->maps.views[v];
        s->views[v] = (plane_view){.labels = calloc(WIDTH * HEIGHT, sizeof *s->views[v].labels)};
        for (size_t p = 0; p < WIDTH * HEIGHT; p++) {
            const float z = plane_depth(&map->camera, &ground, p);
            const bool is_plain = half_is_plain && p % WIDTH < WIDTH / 2;
            if (!(z < 1e6f)) continue;
            map->depth[p] = is_plain ? 0.97f * z : z * (1 + 0.001f * (float)(p % 3) - 0.001f);
            splat_normal_encode(up, map->normal + 2 * p);
            s->views[v].labels[p] = is_plain;
        }
    }
}

static void free_scene(floor_scene *s)
{
    for (int v = 0; v < N; v++) plane_view_free(&s->views[v]);
    splat_view_maps_free(&s->maps);
}

static void a_floor_is_found_where_it_has_texture(void **state)
{
    (void)state;
    for (int half_is_plain = 0; half_is_plain < 2; half_is_plain++) {
        static plane_global planes[PLANE_MAX_PLANES], again[PLANE_MAX_PLANES];
        floor_scene s;
        splat_error error;
        size_t n = 0, n_again = 0;
        make(&s, half_is_plain);
        assert_int_equal(plane_textured_add(&s.maps, s.views, 1, 2, planes, &n, &error), SPLAT_OK);
        assert_int_equal(plane_textured_add(&s.maps, s.views, 1, 1, again, &n_again, &error), SPLAT_OK);
        assert_true(n == 1 && n_again == 1);
        assert_memory_equal(planes, again, sizeof planes[0]);
        assert_true(planes[0].fit.normal[2] > 0.99999 && fabs(planes[0].fit.offset) < 0.001);
        assert_int_equal(planes[0].n_views, N);
        assert_true(plane_is_inside(&planes[0], (const float[3]){2, half_is_plain ? -0.2f : 0, 0}));
        assert_false(plane_is_inside(&planes[0], (const float[3]){2, 40, 0}));
        free_scene(&s);
    }
}

static void a_known_floor_is_not_found_again(void **state)
{
    (void)state;
    static plane_global planes[PLANE_MAX_PLANES];
    floor_scene s;
    splat_error error;
    size_t n = 1;
    make(&s, false);
    planes[0].fit = ground;
    assert_int_equal(plane_textured_add(&s.maps, s.views, 1, 2, planes, &n, &error), SPLAT_OK);
    assert_int_equal(n, 1);
    planes[0].fit.offset = 0.2; /* a stage over the floor is another plane */
    assert_int_equal(plane_textured_add(&s.maps, s.views, 1, 2, planes, &n, &error), SPLAT_OK);
    assert_int_equal(n, 2);
    n = PLANE_MAX_PLANES; /* no room */
    assert_int_equal(plane_textured_add(&s.maps, s.views, 1, 2, planes, &n, &error), SPLAT_OK);
    assert_int_equal(n, PLANE_MAX_PLANES);
    free_scene(&s);
}

static void plain_pixels_make_no_plane(void **state)
{
    (void)state;
    static plane_global planes[PLANE_MAX_PLANES];
    floor_scene s;
    splat_error error;
    size_t n = 0;
    make(&s, false);
    for (int v = 0; v < N; v++)
        for (size_t p = 0; p < WIDTH * HEIGHT; p++) s.views[v].labels[p] = 1;
    assert_int_equal(plane_textured_add(&s.maps, s.views, 1, 2, planes, &n, &error), SPLAT_OK);
    assert_int_equal(n, 0);
    free_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_floor_is_found_where_it_has_texture),
        cmocka_unit_test(a_known_floor_is_not_found_again),
        cmocka_unit_test(plain_pixels_make_no_plane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
