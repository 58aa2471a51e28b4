/* Two views support a plane: it holds if the edges around its segment fall onto each other in their photos. */
#include "plane_fixture.h"
#include "surface/planes/plane_confirm.h"
#include "surface/planes/plane_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { N = 2, WIDTH = 240, HEIGHT = 240, SIDE = 40 };

/* A square of the floor, 2 x 2, and a segment in each photo that it bounds. */
typedef struct square {
    splat_view_maps maps;
    plane_view views[N];
    plane_segment segments[N];
    plane_hypothesis hypotheses[N];
    plane_rim rims[N][4 * SIDE];
} square;

static void look_at(square *s, int v)
{
    static const float directions[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}}; /* out of the square */
    const splat_camera *c = &s->maps.views[v].camera;
    plane_view *view = &s->views[v];
    *view = (plane_view){.labels = calloc(WIDTH * HEIGHT, sizeof *view->labels), .segments = &s->segments[v],
                         .hypotheses = &s->hypotheses[v], .rims = s->rims[v], .n_segments = 1, .n_hypotheses = 1};
    s->segments[v] = (plane_segment){.n_planes = 1, .n_strong = 1, .planes = {0}};
    s->hypotheses[v] = (plane_hypothesis){.view = (uint32_t)v, .plane = 0};
    for (int i = 0; i < 4 * SIDE; i++) {
        const float *out = directions[i / SIDE], t = 1.9f * ((float)(i % SIDE) + 0.5f) / SIDE - 0.95f;
        float at[3] = {0}, beyond[3] = {0}, inside[3] = {0};
        const float places[3][3] = {{out[0] + t * out[1], out[1] + t * out[0], 0},
                                    {1.05f * out[0] + t * out[1], 1.05f * out[1] + t * out[0], 0},
                                    {0.9f * out[0] + t * out[1], 0.9f * out[1] + t * out[0], 0}};
        assert_true(splat_camera_project(c, places[0], at) && splat_camera_project(c, places[1], beyond) &&
                    splat_camera_project(c, places[2], inside));
        const float length = hypotf(beyond[0] - at[0], beyond[1] - at[1]);
        plane_rim *rim = &view->rims[view->n_rims++];
        *rim = (plane_rim){at[0], at[1], {(beyond[0] - at[0]) / length, (beyond[1] - at[1]) / length},
                           (uint32_t)((int)inside[1] * WIDTH + (int)inside[0])};
        view->labels[rim->own] = 1 | 1 << PLANE_LABEL_SHIFT;
    }
}

static void make(square *s)
{
    static const double from[N][3] = {{0.5, 0.4, 3}, {-0.5, -0.45, 3}}, to[3] = {0, 0, 0};
    splat_camera cameras[N];
    splat_error error;
    memset(s, 0, sizeof *s);
    for (int v = 0; v < N; v++) cameras[v] = room_camera(from[v], to, WIDTH, HEIGHT, 240);
    assert_int_equal(splat_view_maps_init(&s->maps, N, cameras, &error), SPLAT_OK);
    for (int v = 0; v < N; v++) look_at(s, v);
}

static void done(square *s)
{
    for (int v = 0; v < N; v++) free(s->views[v].labels);
    splat_view_maps_free(&s->maps);
}

/* How many of a plane at a height, and one that nothing shows, are left. */
static size_t count_left(double height, uint32_t n_views)
{
    square s;
    splat_error error;
    plane_global planes[2] = {{.fit = {{0, 0, 1}, height, {0, 0, height}, {{1, 0, 0}, {0, 1, 0}}, {1, 1, 0}},
                               .n_views = n_views},
                              {.fit = {{1, 0, 0}, -9, {-9, 0, 0}, {{0, 1, 0}, {0, 0, 1}}, {1, 1, 0}}, .n_views = 2}};
    size_t n = 2;
    make(&s);
    assert_int_equal(plane_confirm(&s.maps, s.views, planes, &n, 2, &error), SPLAT_OK);
    assert_int_equal(s.hypotheses[0].plane, n ? 0 : -1);
    done(&s);
    return n;
}

static void photos_confirm_a_plane_of_two_views(void **state)
{
    (void)state;
    assert_int_equal(count_left(0, 2), 1);
    assert_int_equal(count_left(0.5, 2), 0);
}

static void three_views_need_no_more(void **state)
{
    (void)state;
    assert_int_equal(count_left(0.5, 3), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(photos_confirm_a_plane_of_two_views),
                                       cmocka_unit_test(three_views_need_no_more)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
