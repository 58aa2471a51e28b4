/* Planes of single segments that are one plane of the scene, and those that are not. */
#include "plane_fixture.h"
#include "surface/planes/plane_fit.h"
#include "surface/planes/plane_merge.h"
#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_segments.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_VIEWS = 12, SIDE = 8, N_SEEDS = SIDE * SIDE };

/* People who walk along a road, 1.6 above it, and look across it. Segment 0 of every view is the road, 1 the pavement
 * on its other side. */
typedef struct street {
    splat_view_maps maps;
    plane_view views[N_VIEWS];
    plane_global planes[PLANE_MAX_PLANES];
    size_t n_planes;
} street;

/* A place at the height z; wrong: by so much of the depth it is too far along its ray. */
static plane_seed seed_at(const splat_camera *c, double x, double y, double z, double wrong, uint16_t segment)
{
    const double place[3] = {x, y, z};
    plane_seed seed = {.segment = segment};
    for (int k = 0; k < 3; k++) {
        const float way = (float)((1 + wrong) * (place[k] - (double)c->center[k]));
        seed.position[k] = c->center[k] + way;
        seed.depth += c->rotation[6 + k] * way;
    }
    return seed;
}

static void add_segment(street *s, uint32_t number, uint16_t segment, double x, double z, double wrong)
{
    plane_view *view = &s->views[number];
    plane_moments moments = {0};
    plane_hypothesis *h = &view->hypotheses[view->n_hypotheses++];
    *h = (plane_hypothesis){.n_seeds = N_SEEDS, .view = number, .segment = segment, .plane = -1};
    view->segments[segment] = (plane_segment){.first_seed = view->n_seeds, .n_seeds = N_SEEDS, .n_rim = N_SEEDS};
    for (int k = 0; k < N_SEEDS; k++) {
        const plane_seed seed = seed_at(&s->maps.views[number].camera, x + 2.0 * (k % SIDE) / SIDE,
                                        4.0 * (k / SIDE) / SIDE - 2, z, (k + k / SIDE) % 2 ? wrong : -wrong, segment);
        h->depth += (double)seed.depth / N_SEEDS;
        plane_moments_add(&moments, seed.position, 1);
        view->seeds[view->n_seeds++] = seed;
    }
    assert_true(plane_fit_make(&moments, &h->fit));
    if (!plane_faces(&s->maps.views[number].camera, &h->fit)) plane_turn(&h->fit);
}

/* The height of a plane in the middle of both segments. */
static double height_of(const plane_fit *fit)
{
    return (fit->offset - 8 * fit->normal[0]) / fit->normal[2];
}

static void street_make(street *s, double kerb, double wrong)
{
    splat_camera cameras[N_VIEWS];
    splat_error error;
    for (int i = 0; i < N_VIEWS; i++) {
        const double from[3] = {0, 0.5 * i - 3, 1.6}, to[3] = {8, 0, 0};
        cameras[i] = room_camera(from, to, 640, 480, 400);
    }
    memset(s, 0, sizeof *s);
    assert_int_equal(splat_view_maps_init(&s->maps, N_VIEWS, cameras, &error), SPLAT_OK);
    for (uint32_t i = 0; i < N_VIEWS; i++) {
        plane_view *view = &s->views[i];
        view->segments = calloc(2, sizeof *view->segments);
        view->seeds = calloc(2 * N_SEEDS, sizeof *view->seeds);
        view->hypotheses = calloc(2, sizeof *view->hypotheses);
        view->n_segments = 2;
        add_segment(s, i, 0, 6, 0, wrong);
        add_segment(s, i, 1, 8, kerb, wrong);
    }
    assert_int_equal(plane_merge(&s->maps, s->views, s->planes, &s->n_planes, &error), SPLAT_OK);
    for (size_t i = 0; i < s->n_planes; i++)
        print_message("height %.4f, %.5f a unit\n", height_of(&s->planes[i].fit), -s->planes[i].fit.normal[0]);
}

static void street_free(street *s)
{
    for (int i = 0; i < N_VIEWS; i++) plane_view_free(&s->views[i]);
    splat_view_maps_free(&s->maps);
}

/* 6 cm are 0.8 % of the depth: what counts is that a place would have to move by 3.8 % of it along its ray. */
static void a_pavement_is_another_plane_than_its_road(void **state)
{
    (void)state;
    street *s = calloc(1, sizeof *s);
    street_make(s, 0.06, 0.002);
    assert_int_equal(s->n_planes, 2);
    for (int i = 0; i < 2; i++) {
        const double height = height_of(&s->planes[i].fit);
        assert_true(fabs(height) < 0.003 || fabs(height - 0.06) < 0.003);
        assert_true(s->planes[i].fit.normal[2] > 0.9999);
    }
    assert_true(fabs(height_of(&s->planes[0].fit) - height_of(&s->planes[1].fit)) > 0.05);
    street_free(s);
    free(s);
}

static void parts_of_one_road_are_one_plane(void **state)
{
    (void)state;
    street *s = calloc(1, sizeof *s);
    street_make(s, 0, 0.002);
    assert_int_equal(s->n_planes, 1);
    assert_int_equal(s->planes[0].n_views, N_VIEWS);
    assert_true(fabs(height_of(&s->planes[0].fit)) < 0.003);
    street_free(s);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pavement_is_another_plane_than_its_road),
        cmocka_unit_test(parts_of_one_road_are_one_plane),
    };
    return cmocka_run_group_tests_name("plane merge", tests, NULL, NULL);
}
