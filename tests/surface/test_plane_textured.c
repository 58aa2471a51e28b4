/* Textured pixels near a plane lie on it, as far as pixels can show. */
#include "plane_fixture.h"
#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_segments.h"
#include "surface/planes/plane_textured.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { WIDTH = 160, HEIGHT = 120, RUG = 64 };
#define CAMERA_HEIGHT 1.5

/* A floor z = 0, seen from 1.5 above; the splat has it off by so many pixels at each place. */
typedef struct floor_view {
    splat_view_maps maps;
    plane_view view;
    plane_global plane;
} floor_view;

static double bumps(size_t pixel)
{
    return pixel % 3 == 0 ? 1.2 : -0.6;
}

static double rug(size_t pixel)
{
    return pixel % WIDTH < RUG ? 1.5 : bumps(pixel);
}

static void make(floor_view *f, double (*off)(size_t pixel), const float normal[3])
{
    const double from[3] = {0, 0, CAMERA_HEIGHT}, to[3] = {2, 0, 0};
    splat_camera camera = room_camera(from, to, WIDTH, HEIGHT, 150);
    splat_error error;
    memset(f, 0, sizeof *f);
    f->plane.fit = (plane_fit){{0, 0, 1}, 0, {2, 0, 0}, {{1, 0, 0}, {0, 1, 0}}, {1, 1, 0}};
    assert_int_equal(splat_view_maps_init(&f->maps, 1, &camera, &error), SPLAT_OK);
    f->view.labels = calloc(WIDTH * HEIGHT, sizeof *f->view.labels);
    for (size_t p = 0; p < WIDTH * HEIGHT; p++) {
        const double z = (double)plane_depth(&camera, &f->plane.fit, p);
        if (!(z < 1e6)) continue;
        f->maps.views[0].depth[p] = (float)(CAMERA_HEIGHT / (CAMERA_HEIGHT / z + off(p) / 150));
        splat_normal_encode(normal, f->maps.views[0].normal + 2 * p);
    }
}

static void done(floor_view *f)
{
    free(f->view.labels);
    splat_view_maps_free(&f->maps);
}

/* Part of the pixels from a column on, left of another, that lie on the floor. */
static double part_on(const floor_view *f, size_t from, size_t to)
{
    size_t n = 0, n_on = 0;
    for (size_t p = 0; p < WIDTH * HEIGHT; p++) {
        const splat_view_map *map = &f->maps.views[0];
        if (!(map->depth[p] > 0) || p % WIDTH < from || p % WIDTH >= to) continue;
        n++;
        n_on += fabsf(map->depth[p] / plane_depth(&map->camera, &f->plane.fit, p) - 1) < 1e-5f &&
                map->state[p] == SPLAT_PIXEL_FITTED;
    }
    return (double)n_on / (double)n;
}

static void bumps_go_and_a_rug_stays(void **state)
{
    (void)state;
    static const float up[3] = {0, 0, 1};
    splat_error error;
    uint64_t n;
    floor_view f;
    make(&f, bumps, up);
    assert_int_equal(plane_textured_set(&f.maps.views[0], &f.view, &f.plane, 1, &n, &error), SPLAT_OK);
    assert_true(n > 0 && part_on(&f, 0, WIDTH) == 1);
    done(&f);
    make(&f, rug, up);
    assert_int_equal(plane_textured_set(&f.maps.views[0], &f.view, &f.plane, 1, &n, &error), SPLAT_OK);
    assert_true(part_on(&f, 0, RUG - 16) == 0 && part_on(&f, RUG + 16, WIDTH) == 1);
    done(&f);
}

/* Plain pixels, those of which more is known, and those whose normal is another's keep their depth. */
static void others_keep_their_depth(void **state)
{
    (void)state;
    static const float up[3] = {0, 0, 1}, aside[3] = {-0.7071f, 0, 0.7071f};
    splat_error error;
    uint64_t n;
    floor_view f;
    make(&f, bumps, aside);
    assert_int_equal(plane_textured_set(&f.maps.views[0], &f.view, &f.plane, 1, &n, &error), SPLAT_OK);
    assert_int_equal(n, 0);
    done(&f);
    make(&f, bumps, up);
    for (size_t p = 0; p < WIDTH * HEIGHT; p++) {
        if (p % WIDTH < WIDTH / 2) f.view.labels[p] = 1;
        else f.maps.views[0].state[p] = SPLAT_PIXEL_SHADED;
    }
    assert_int_equal(plane_textured_set(&f.maps.views[0], &f.view, &f.plane, 1, &n, &error), SPLAT_OK);
    assert_int_equal(n, 0);
    done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bumps_go_and_a_rug_stays),
        cmocka_unit_test(others_keep_their_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
