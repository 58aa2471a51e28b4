/* A floor of which a part is known: the rest lies on its plane, as far as it looks like it and lies near it. */
#include "plane_fixture.h"
#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_spread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { N = 2, WIDTH = 160, HEIGHT = 120, KNOWN = 64, NEAR = 96, DROPPED = 128 };

static const plane_fit ground = {{0, 0, 1}, 0, {2, 0, 0}, {{1, 0, 0}, {0, 1, 0}}, {1, 1, 0}};

/* A painted floor z = 0 in two views. From left to right: known; off by 1.5 % of the depth; without depth, dropped; off
 * by a tenth, as what stands on the floor. The upper part of the picture is plain, where `is_plain`. */
static void make(splat_view_maps *maps, bool is_plain)
{
    splat_camera cameras[N];
    splat_error error;
    static const float up[3] = {0, 0, 1};
    for (int v = 0; v < N; v++) {
        const double from[3] = {0, 0.8 * v - 0.4, 1.5}, to[3] = {2, 0, 0};
        cameras[v] = room_camera(from, to, WIDTH, HEIGHT, 150);
    }
    assert_int_equal(splat_view_maps_init(maps, N, cameras, &error), SPLAT_OK);
    for (int v = 0; v < N; v++)
        for (size_t p = 0; p < WIDTH * HEIGHT; p++) {
            splat_view_map *map = &maps->views[v];
            const size_t x = p % WIDTH, y = p / WIDTH;
            const float z = plane_depth(&map->camera, &ground, p);
            if (!(z < 1e6f)) continue;
            map->alpha[p] = 255;
            splat_normal_encode(up, map->normal + 2 * p);
            memset(map->rgb + 3 * p, is_plain && y < HEIGHT / 2 ? 90 : (x + y) % 2 ? 60 : 120, 3);
            map->depth[p] = x < KNOWN      ? z * (1 + 0.001f * (float)(p % 3) - 0.001f)
                            : x < NEAR     ? 1.015f * z
                            : x < DROPPED ? 0
                                           : 0.9f * z;
            map->state[p] = x < KNOWN ? SPLAT_PIXEL_AGREED : SPLAT_PIXEL_SILENT;
        }
}

/* Part of the pixels of some columns and rows that lie on the floor. */
static double part_on(const splat_view_maps *maps, size_t from, size_t to, size_t top, size_t bottom)
{
    size_t n = 0, n_on = 0;
    for (int v = 0; v < N; v++)
        for (size_t p = 0; p < WIDTH * HEIGHT; p++) {
            const splat_view_map *map = &maps->views[v];
            const float z = plane_depth(&map->camera, &ground, p);
            if (p % WIDTH < from || p % WIDTH >= to || p / WIDTH < top || p / WIDTH >= bottom || !(z < 1e6f)) continue;
            n++;
            n_on += map->state[p] == SPLAT_PIXEL_FITTED && fabsf(map->depth[p] / z - 1) < 0.002f;
        }
    return (double)n_on / (double)(n ? n : 1);
}

static void the_rest_of_a_floor_is_found(void **state)
{
    (void)state;
    splat_view_maps maps, again;
    splat_error error;
    uint64_t n, n_again;
    make(&maps, false);
    make(&again, false);
    assert_int_equal(plane_spread(&maps, 1, 2, &n, &error), SPLAT_OK);
    assert_true(n > 0 && part_on(&maps, KNOWN, DROPPED, 0, HEIGHT) == 1);
    assert_true(part_on(&maps, DROPPED, WIDTH, 0, HEIGHT) == 0); /* what stands on it stays */
    for (size_t p = 0; p < WIDTH * HEIGHT; p++)
        if (p % WIDTH < KNOWN) assert_true(maps.views[0].state[p] != SPLAT_PIXEL_FITTED);
    assert_int_equal(plane_spread(&again, 1, 1, &n_again, &error), SPLAT_OK);
    assert_true(n == n_again);
    for (int v = 0; v < N; v++)
        assert_memory_equal(maps.views[v].depth, again.views[v].depth, WIDTH * HEIGHT * sizeof(float));
    splat_view_maps_free(&maps);
    splat_view_maps_free(&again);
}

static void plain_pixels_stay(void **state)
{
    (void)state;
    splat_view_maps maps;
    splat_error error;
    uint64_t n;
    make(&maps, true);
    assert_int_equal(plane_spread(&maps, 1, 2, &n, &error), SPLAT_OK);
    assert_true(part_on(&maps, KNOWN, DROPPED, 0, HEIGHT / 2 - 8) == 0);
    assert_true(part_on(&maps, KNOWN, DROPPED, HEIGHT / 2 + 8, HEIGHT) == 1);
    splat_view_maps_free(&maps);
}

/* One view cannot tell a plane that others share, and nothing known tells nothing. */
static void one_view_tells_nothing(void **state)
{
    (void)state;
    splat_view_maps maps;
    splat_error error;
    uint64_t n;
    make(&maps, false);
    memset(maps.views[1].state, SPLAT_PIXEL_SILENT, WIDTH * HEIGHT);
    assert_int_equal(plane_spread(&maps, 1, 2, &n, &error), SPLAT_OK);
    assert_true(n == 0);
    memset(maps.views[0].state, SPLAT_PIXEL_SILENT, WIDTH * HEIGHT);
    assert_int_equal(plane_spread(&maps, 1, 2, &n, &error), SPLAT_OK);
    assert_true(n == 0);
    splat_view_maps_free(&maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_rest_of_a_floor_is_found),
                                       cmocka_unit_test(plain_pixels_stay), cmocka_unit_test(one_view_tells_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
