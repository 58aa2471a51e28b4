/* A plane that leaves a sloping ceiling at a wall and ends at a beam is the ceiling, if the ceiling meets the gable. */
#include "plane_fixture.h"
#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_segments.h"
#include "surface/planes/plane_twins.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { N_VIEWS = 8, N_EDGES = 50, WIDTH = 640, HEIGHT = 480, N_PLANES = 5 };
enum { CEILING, WALL, GABLE, BEAM, TWIN }; /* planes, and segments of every view */

/* A ceiling that rises by 1 from a wall at y = 2, z = 2, a twin of it that rises by 0.9, a gable at x = 1. What they
 * end at is level, at y = 1. Pixel k of every view shows plane k, and others the doubted one. */
typedef struct attic {
    splat_view_maps maps;
    plane_view views[N_VIEWS];
    plane_global planes[PLANE_MAX_PLANES];
} attic;

static plane_fit slope(double rise)
{
    const double root = sqrt(1 + rise * rise), n[3] = {0, -rise / root, -1 / root};
    return (plane_fit){{n[0], n[1], n[2]}, 2 * (n[1] + n[2]), {0, 2, 2}, {{1, 0, 0}, {0, n[2], -n[1]}}, {1, 1, 0}};
}

static void make(attic *a, double rise_of_end, int doubted)
{
    const plane_fit fits[N_PLANES] = {
        slope(1),
        {{0, -1, 0}, -2, {0, 2, 1}, {{1, 0, 0}, {0, 0, 1}}, {1, 1, 0}},
        {{-1, 0, 0}, -1, {1, 1, 1}, {{0, 1, 0}, {0, 0, 1}}, {1, 1, 0}},
        {{0, 0, -1}, -2 - rise_of_end, {0, 1, 2 + rise_of_end}, {{1, 0, 0}, {0, 1, 0}}, {1, 1, 0}},
        slope(0.9),
    };
    splat_camera cameras[N_VIEWS];
    splat_error error;
    memset(a, 0, sizeof *a);
    for (int k = 0; k < N_PLANES; k++)
        a->planes[k] = (plane_global){.fit = fits[k], .low = {-1, -1}, .high = {1, 1}};
    a->planes[TWIN].high[0] = 3;
    for (int i = 0; i < N_VIEWS; i++) {
        const double from[3] = {0.2 * i - 1, -1 + 0.2 * (i % 4), 0.6 + 0.2 * (i % 3)}, to[3] = {0.6, 1.5, 2.5};
        cameras[i] = room_camera(from, to, WIDTH, HEIGHT, 400);
    }
    assert_int_equal(splat_view_maps_init(&a->maps, N_VIEWS, cameras, &error), SPLAT_OK);
    for (int i = 0; i < N_VIEWS; i++) {
        plane_view *v = &a->views[i];
        *v = (plane_view){.labels = calloc(WIDTH * HEIGHT, sizeof *v->labels),
                          .segments = calloc(N_PLANES, sizeof *v->segments),
                          .edges = calloc(4 * N_EDGES, sizeof *v->edges), .n_segments = N_PLANES};
        for (uint16_t k = 0; k < N_PLANES; k++)
            v->segments[k] = (plane_segment){.n_planes = 1, .n_strong = 1, .planes = {k}};
        for (size_t p = 0; p < WIDTH * HEIGHT; p++) {
            float place[3] = {0};
            const float z = plane_depth(&cameras[i], &fits[doubted], p);
            splat_camera_unproject(&cameras[i], (float)(p % WIDTH) + 0.5f, (float)(p / WIDTH) + 0.5f, z, place);
            const bool is_doubted = z < INFINITY && fabsf(place[0]) < 1 && place[1] > 1 && place[1] < 2;
            if (!is_doubted && p >= N_PLANES) continue;
            v->labels[p] = (uint16_t)((p < N_PLANES ? p + 1 : (size_t)doubted + 1) | 1 << PLANE_LABEL_SHIFT);
        }
    }
}

static void done(attic *a)
{
    for (int i = 0; i < N_VIEWS; i++) plane_view_free(&a->views[i]);
    splat_view_maps_free(&a->maps);
}

/* Edges of two planes in every view. */
static void add_edges(attic *a, uint32_t one, uint32_t other, const double from[3], const double to[3])
{
    for (int i = 0; i < N_VIEWS; i++)
        for (int k = 0; k < N_EDGES; k++) {
            float place[3], image[3];
            for (int j = 0; j < 3; j++) place[j] = (float)(from[j] + (to[j] - from[j]) * k / N_EDGES);
            if (!splat_camera_project(&a->maps.views[i].camera, place, image)) continue;
            a->views[i].edges[a->views[i].n_edges++] = (plane_edge){image[0], image[1], one, other};
        }
}

/* The edges of a plane that rises by `own` with the wall and with what it ends at. */
static void add_ends(attic *a, uint32_t plane, double own)
{
    add_edges(a, plane, WALL, (const double[3]){-0.5, 2, 2}, (const double[3]){1, 2, 2});
    add_edges(a, plane, BEAM, (const double[3]){-0.5, 1, 2 + own}, (const double[3]){1, 1, 2 + own});
}

/* And those with the gable, where a plane that rises by `rise` meets it. */
static void add_gable(attic *a, uint32_t plane, double rise)
{
    add_edges(a, plane, GABLE, (const double[3]){1, 1.7, 2 + 0.3 * rise}, (const double[3]){1, 1.1, 2 + 0.9 * rise});
}

static size_t join(attic *a)
{
    splat_error error;
    size_t n = N_PLANES;
    assert_int_equal(plane_twins_join(&a->maps, a->views, a->planes, N_PLANES, &n, &error), SPLAT_OK);
    return n;
}

static void the_plane_up_to_a_beam_is_the_ceiling_behind_it(void **state)
{
    (void)state;
    attic a;
    make(&a, 0.9, TWIN);
    add_ends(&a, TWIN, 0.9);
    add_gable(&a, TWIN, 1);
    assert_int_equal(join(&a), N_PLANES - 1);
    for (int i = 0; i < N_VIEWS; i++) {
        assert_int_equal(plane_of_label(&a.views[i], a.views[i].labels[TWIN]), CEILING);
        for (int k = 0; k < TWIN; k++) assert_int_equal(plane_of_label(&a.views[i], a.views[i].labels[k]), k);
    }
    assert_true(a.planes[CEILING].high[0] > 2.9 && a.planes[CEILING].high[1] < 1.1); /* as wide as both */
    done(&a);
}

/* Without the gable nothing says which one is right, and nothing says so where the gable's edge is elsewhere. */
static void a_plane_stays_that_nothing_contradicts(void **state)
{
    (void)state;
    attic a;
    for (int has_gable = 0; has_gable < 2; has_gable++) {
        make(&a, 0.9, TWIN);
        add_ends(&a, TWIN, 0.9);
        if (has_gable) add_gable(&a, TWIN, 0.95);
        assert_int_equal(join(&a), N_PLANES);
        done(&a);
    }
}

/* The other way round: what the ceiling ends at is behind the twin, and hides nothing of it. */
static void the_ceiling_does_not_become_a_plane_before_its_end(void **state)
{
    (void)state;
    attic a;
    make(&a, 1, CEILING);
    add_ends(&a, CEILING, 1);
    add_gable(&a, CEILING, 0.9);
    assert_int_equal(join(&a), N_PLANES);
    done(&a);
}

/* A segment that had both has one slot less, and its pixels know. */
static void a_segment_has_a_plane_once(void **state)
{
    (void)state;
    attic a;
    make(&a, 0.9, TWIN);
    add_ends(&a, TWIN, 0.9);
    add_gable(&a, TWIN, 1);
    plane_segment *segment = &a.views[0].segments[TWIN];
    *segment = (plane_segment){.n_planes = 3, .n_strong = 3, .planes = {TWIN, CEILING, WALL}};
    a.views[0].labels[0] = (TWIN + 1) | 2 << PLANE_LABEL_SHIFT;
    a.views[0].labels[1] = (TWIN + 1) | 3 << PLANE_LABEL_SHIFT;
    assert_int_equal(join(&a), N_PLANES - 1);
    assert_int_equal(segment->n_planes, 2);
    assert_int_equal(plane_of_label(&a.views[0], a.views[0].labels[TWIN]), CEILING);
    assert_int_equal(plane_of_label(&a.views[0], a.views[0].labels[0]), CEILING);
    assert_int_equal(plane_of_label(&a.views[0], a.views[0].labels[1]), WALL);
    done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plane_up_to_a_beam_is_the_ceiling_behind_it),
        cmocka_unit_test(a_plane_stays_that_nothing_contradicts),
        cmocka_unit_test(the_ceiling_does_not_become_a_plane_before_its_end),
        cmocka_unit_test(a_segment_has_a_plane_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
