/* A plane between an edge on a wall and one before it is none, unless it has sides, or ends at two planes that it does
 * not hide. */
#include "plane_fixture.h"
#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_sheets.h"
#include "surface/planes/plane_square.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SIZE = 120, SEEDS = 60, FLOOR_ROWS = 4, VIEWS = 3 };

/* A wall at z = 0, a plane that leaves it at y = 0 and ends at y = 0.4, z = 0.2, and one at y = 0.4 in the first rows.
 * The views are the same; the first has the seeds. */
typedef struct shelf {
    splat_view_maps maps;
    plane_view views[VIEWS];
    plane_segment segments[VIEWS][3];
    plane_edge edges[2 * SEEDS];
    plane_hypothesis hypotheses[3];
    plane_seed seeds[4 * SEEDS];
    plane_global planes[PLANE_MAX_PLANES];
} shelf;

static plane_global plane_of(double x, double y, double z, double offset)
{
    return (plane_global){.fit = {{x, y, z}, offset, {x * offset, y * offset, z * offset}, {{0}}, {1, 1, 0}},
                          .low = {-1, -1}, .high = {1, 1}};
}

static void add_seed(shelf *s, float x, float y, float z)
{
    const float place[3] = {x, y, z};
    const splat_camera *c = &s->maps.views[0].camera;
    float image[3] = {0};
    assert_true(splat_camera_project(c, place, image));
    plane_seed *seed = &s->seeds[s->views[0].n_seeds++];
    *seed = (plane_seed){.position = {x, y, z}, .depth = image[2], .segment = 1,
                         .pixel = (uint32_t)((int)image[1] * SIZE + (int)image[0])};
    s->views[0].labels[seed->pixel] = 2 | 1 << PLANE_LABEL_SHIFT;
}

static uint32_t pixel_at(const shelf *s, float x, float y, float z, float image[3])
{
    assert_true(splat_camera_project(&s->maps.views[0].camera, (float[3]){x, y, z}, image));
    return (uint32_t)((int)image[1] * SIZE + (int)image[0]);
}

/* Edges of all views: at the wall, and where has_upper is set at the plane at y = 0.4. */
static void add_edges(shelf *s, bool has_upper)
{
    uint32_t n = 0;
    float image[3];
    for (int i = 0; i < SEEDS; i++) {
        const float x = 1.9f * ((float)i + 0.5f) / SEEDS - 0.95f;
        const uint32_t inside = pixel_at(s, x, 0.2f, 0.1f, image), below = pixel_at(s, x, -0.1f, 0, image);
        (void)pixel_at(s, x, 0, 0, image);
        s->edges[n++] = (plane_edge){image[0], image[1], inside, below};
        if (!has_upper) continue;
        (void)pixel_at(s, x, 0.4f, 0.2f, image);
        s->edges[n++] = (plane_edge){image[0], image[1], inside, 0};
    }
    for (int v = 0; v < VIEWS; v++) {
        s->views[v].edges = s->edges;
        s->views[v].n_edges = n;
    }
}

static void make(shelf *s, bool has_sides)
{
    static const double from[3] = {0.1, 0.3, 3}, to[3] = {0, 0.2, 0};
    const splat_camera camera = room_camera(from, to, SIZE, SIZE, 100), cameras[VIEWS] = {camera, camera, camera};
    const double root = sqrt(1.25);
    splat_error error;
    memset(s, 0, sizeof *s);
    s->planes[0] = (plane_global){.fit = {{0, 0, 1}, 0, {0, 0, 0}, {{1, 0, 0}, {0, 1, 0}}, {1, 1, 0}},
                                  .low = {-2, -2}, .high = {2, 2}};
    s->planes[1] = (plane_global){
        .fit = {{0, -0.5 / root, 1 / root}, 0, {0, 0.2, 0.1}, {{1, 0, 0}, {0, 1 / root, 0.5 / root}}, {1, 0.2, 0}},
        .low = {-1, -0.25}, .high = {1, 0.25}};
    s->planes[2] = plane_of(0, 1, 0, 0.4);
    assert_int_equal(splat_view_maps_init(&s->maps, VIEWS, cameras, &error), SPLAT_OK);
    for (int v = 0; v < VIEWS; v++) {
        s->views[v] = (plane_view){.labels = calloc(SIZE * SIZE, sizeof *s->views[v].labels),
                                   .segments = s->segments[v], .n_segments = 3};
        for (uint16_t i = 0; i < 3; i++)
            s->segments[v][i] = (plane_segment){.n_planes = 1, .n_strong = 1, .n_taken = SIZE * SIZE, .planes = {i}};
    }
    for (uint16_t i = 0; i < 3; i++) s->hypotheses[i] = (plane_hypothesis){.segment = i, .plane = i};
    s->views[0].hypotheses = s->hypotheses;
    s->views[0].n_hypotheses = 3;
    s->views[0].seeds = s->seeds;
    for (size_t p = 0; p < SIZE * SIZE; p++) {
        float place[3];
        const float z = plane_depth(&camera, &s->planes[1].fit, p);
        splat_camera_unproject(&camera, (float)(p % SIZE) + 0.5f, (float)(p / SIZE) + 0.5f, z, place);
        const bool is_shelf = fabsf(place[0]) < 1 && place[1] > 0 && place[1] < 0.4f;
        s->views[0].labels[p] = (uint16_t)((p < FLOOR_ROWS * SIZE ? 3 : is_shelf ? 2 : 1) | 1 << PLANE_LABEL_SHIFT);
    }
    for (int i = 0; i < SEEDS; i++) {
        const float t = ((float)i + 0.5f) / SEEDS, x = 1.9f * t - 0.95f;
        add_seed(s, x, 0, 0);
        add_seed(s, x, 0.39f, 0.195f);
        if (!has_sides) continue;
        add_seed(s, -0.98f, 0.4f * t, 0.2f * t);
        add_seed(s, 0.98f, 0.4f * t, 0.2f * t);
    }
    for (int v = 1; v < VIEWS; v++)
        memcpy(s->views[v].labels, s->views[0].labels, SIZE * SIZE * sizeof *s->views[v].labels);
}

static void done(shelf *s)
{
    for (int v = 0; v < VIEWS; v++) free(s->views[v].labels);
    splat_view_maps_free(&s->maps);
}

/* Pixels of the second segment that have a plane. */
static size_t count_labelled(const shelf *s)
{
    size_t n = 0;
    for (size_t p = 0; p < SIZE * SIZE; p++)
        n += (s->views[0].labels[p] & PLANE_LABEL_SEGMENT) == 2 && s->views[0].labels[p] >> PLANE_LABEL_SHIFT;
    return n;
}

static size_t remove_from(shelf *s)
{
    splat_error error;
    size_t n = 3;
    assert_int_equal(plane_sheets_remove(&s->maps, s->views, s->planes, &n, 0, 2, &error), SPLAT_OK);
    return n;
}

static void what_has_two_lines_alone_is_the_wall_behind(void **state)
{
    (void)state;
    shelf s;
    make(&s, false);
    const size_t n_before = count_labelled(&s);
    assert_int_equal(remove_from(&s), 2);
    assert_true(s.segments[0][1].n_planes == 1 && s.segments[0][1].planes[0] == 0 && s.segments[0][2].planes[0] == 1);
    assert_true(s.hypotheses[0].plane == 0 && s.hypotheses[1].plane == -1 && s.hypotheses[2].plane == 1);
    assert_true(s.planes[0].fit.normal[2] == 1 && s.planes[1].fit.normal[1] == 1);
    assert_true(n_before > 500 && count_labelled(&s) == n_before && s.segments[0][1].n_taken == SIZE * SIZE);
    done(&s);
}

static void or_nothing_without_a_wall(void **state)
{
    (void)state;
    shelf s;
    make(&s, false);
    s.planes[0].low[0] = 1.5; /* the wall is elsewhere */
    const size_t n_before = count_labelled(&s);
    assert_int_equal(remove_from(&s), 2);
    assert_true(s.segments[0][1].n_planes == 0 && s.segments[0][1].n_strong == 0 && count_labelled(&s) == 0);
    assert_int_equal(s.segments[0][1].n_taken, SIZE * SIZE - n_before);
    done(&s);
}

static void a_ramp_stays(void **state)
{
    (void)state;
    shelf s;
    make(&s, true);
    assert_int_equal(remove_from(&s), 3);
    assert_true(s.segments[0][1].planes[0] == 1 && s.hypotheses[1].plane == 1);
    done(&s);
}

static void a_ceiling_between_two_planes_stays(void **state)
{
    (void)state;
    shelf s;
    make(&s, false);
    s.planes[0].low[0] = 1.5;
    add_edges(&s, true);
    assert_int_equal(remove_from(&s), 3);
    assert_true(s.segments[0][1].planes[0] == 1 && s.segments[2][1].planes[0] == 1);
    done(&s);
}

static void what_meets_one_plane_goes(void **state)
{
    (void)state;
    shelf s;
    make(&s, false);
    s.planes[0].low[0] = 1.5;
    add_edges(&s, false);
    assert_int_equal(remove_from(&s), 2);
    assert_true(s.segments[0][1].n_planes == 0 && s.segments[2][1].n_planes == 0);
    done(&s);
}

static void so_does_what_two_views_see_meet(void **state)
{
    (void)state;
    shelf s;
    make(&s, false);
    s.planes[0].low[0] = 1.5;
    add_edges(&s, true);
    s.views[2].n_edges = 0;
    assert_int_equal(remove_from(&s), 2);
    done(&s);
}

static void and_what_hides_one_of_the_two(void **state)
{
    (void)state;
    shelf s;
    make(&s, false);
    add_edges(&s, true);
    assert_int_equal(remove_from(&s), 2);
    assert_true(s.segments[0][1].n_planes == 1 && s.segments[0][1].planes[0] == 0);
    done(&s);
}

/* A road that bends makes tilted planes of many pixels. Walls stand square to what most views show. */
static void walls_are_square_to_what_most_views_show(void **state)
{
    (void)state;
    const double tilt = 2 * 3.14159265358979 / 180;
    enum { ROAD, FLOOR, FRONT, SIDE, RAMP, N };
    plane_global planes[N];
    const double normals[N][3] = {{0, cos(tilt), sin(tilt)}, {0, 1, 0}, {0, 0, 1}, {1, 0, 0}, {0, 0.6, 0.8}};
    const uint32_t n_views[N] = {4, 20, 3, 3, 9};
    bool are_square[N];
    for (int i = 0; i < N; i++) {
        planes[i] = plane_of(normals[i][0], normals[i][1], normals[i][2], 1);
        planes[i].n_views = n_views[i];
    }
    assert_true(plane_square_mark(planes, N, are_square));
    assert_true(are_square[FLOOR] && are_square[FRONT] && are_square[SIDE] && !are_square[ROAD] && !are_square[RAMP]);
    planes[FLOOR].n_views = 0; /* then the ramp and the side, or the road and the side */
    assert_true(plane_square_mark(planes, N, are_square) && are_square[SIDE] && are_square[RAMP] && !are_square[FRONT]);
    assert_false(plane_square_mark(planes, 2, are_square)); /* nothing stands up */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_has_two_lines_alone_is_the_wall_behind),
                                       cmocka_unit_test(or_nothing_without_a_wall), cmocka_unit_test(a_ramp_stays),
                                       cmocka_unit_test(a_ceiling_between_two_planes_stays),
                                       cmocka_unit_test(what_meets_one_plane_goes),
                                       cmocka_unit_test(so_does_what_two_views_see_meet),
                                       cmocka_unit_test(and_what_hides_one_of_the_two),
                                       cmocka_unit_test(walls_are_square_to_what_most_views_show)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
