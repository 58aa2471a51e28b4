/* The edge of a vault tells its end wall. */
#include "plane_fixture.h"
#include "surface/planes/plane_arches.h"
#include "surface/planes/plane_choose.h"
#include "surface/planes/plane_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 800, N_VIEWS = 5, ARCH = 120, OTHERS = 80, N_EDGES = ARCH + OTHERS };
static const float end = 4;

/* Views of a vault of radius 1 along z, whose edges are those of its end wall and others before it. */
typedef struct hall {
    splat_view_maps maps;
    plane_view views[N_VIEWS];
    plane_rounds rounds;
    plane_surface surfaces[N_VIEWS][2];
    uint16_t vault;
} hall;

/* An edge between the vault (pixel 1) and the other segment (pixel 0) where a view sees a place of the vault. */
static void add_edge(plane_view *view, const splat_camera *c, double angle, double z, float noise)
{
    const float place[3] = {(float)cos(angle), (float)sin(angle), (float)z};
    float image[3];
    if (!splat_camera_project(c, place, image)) return;
    view->edges[view->n_edges++] = (plane_edge){image[0] + noise, image[1] - noise, 1, 0};
}

/* before: how far before the end wall the other edges lie on the mean; below 0: behind it. */
static void make(hall *h, double before)
{
    static const float identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    splat_camera cameras[N_VIEWS];
    splat_error error;
    memset(h, 0, sizeof *h);
    h->rounds.n = 1;
    h->rounds.all[0] = (plane_round){.axis = {0, 0, 1}, .radius = 1};
    h->vault = PLANE_CHOICE_ROUND + 1; /* from inside the farther sheet is seen */
    for (int v = 0; v < N_VIEWS; v++) {
        cameras[v] = (splat_camera){.width = SIDE, .height = SIDE, .fx = 1000, .fy = 1000, .cx = 0.5f * SIDE,
                                    .cy = 0.5f * SIDE, .center = {0.25f * (float)(v - 2), 0.1f, 0}};
        memcpy(cameras[v].rotation, identity, sizeof identity);
    }
    assert_int_equal(splat_view_maps_init(&h->maps, N_VIEWS, cameras, &error), SPLAT_OK);
    for (int v = 0; v < N_VIEWS; v++) {
        plane_view *view = &h->views[v];
        view->labels = calloc(SIDE * SIDE, sizeof *view->labels);
        view->edges = calloc(N_EDGES, sizeof *view->edges);
        view->labels[1] = 1;
        view->labels[0] = 2;
        view->n_segments = 2;
        h->surfaces[v][0] = (plane_surface){.smooth = {.step = SIDE, .width = 2, .height = 2}, .choices = &h->vault};
        view->surfaces = h->surfaces[v];
        view->rounds = &h->rounds;
        for (int i = 0; i < ARCH; i++)
            add_edge(view, &cameras[v], 3.14 * i / ARCH, (double)end, 0.3f * (float)((i * 7 + v) % 5 - 2) / 2);
        for (int i = 0; i < OTHERS; i++) {
            const double z = (double)end - before * (0.5 + (i * 37 % OTHERS) / (double)OTHERS);
            add_edge(view, &cameras[v], 3.14 * i / OTHERS, z, 0);
        }
    }
}

static void release(hall *h)
{
    for (int v = 0; v < N_VIEWS; v++) {
        free(h->views[v].labels);
        free(h->views[v].edges);
    }
    splat_view_maps_free(&h->maps);
}

static size_t find(hall *h, plane_global *planes, size_t *n)
{
    size_t n_found;
    splat_error error;
    assert_int_equal(plane_arches_find(&h->maps, h->views, &h->rounds, 2, planes, n, &n_found, &error), SPLAT_OK);
    return n_found;
}

static void an_end_wall_is_found(void **state)
{
    (void)state;
    plane_global *planes = calloc(PLANE_MAX_PLANES, sizeof *planes);
    size_t n = 0;
    hall h;
    make(&h, 1.5);
    assert_int_equal(find(&h, planes, &n), 1);
    print_message("at %.4f, of %u views\n", -planes[0].fit.offset, planes[0].n_views);
    assert_int_equal(n, 1);
    assert_float_equal(planes[0].fit.normal[2], -1, 1e-9); /* towards the views */
    assert_float_equal(planes[0].fit.offset, -end, 5e-3);
    assert_int_equal(planes[0].n_views, N_VIEWS);
    assert_true(planes[0].cell > 0 && planes[0].high[0] - planes[0].low[0] > 1.9);
    release(&h);
    free(planes);
}

static void a_vault_that_goes_on_has_no_end(void **state)
{
    (void)state;
    plane_global *planes = calloc(PLANE_MAX_PLANES, sizeof *planes);
    size_t n = 0;
    hall h;
    make(&h, -1.5);
    assert_int_equal(find(&h, planes, &n), 0);
    assert_int_equal(n, 0);
    release(&h);
    free(planes);
}

/* A plane that fewer views tell takes the place of the end wall; one that more tell stays. */
static void the_plane_of_more_views_counts(void **state)
{
    (void)state;
    plane_global *planes = calloc(PLANE_MAX_PLANES, sizeof *planes);
    hall h;
    make(&h, 1.5);
    for (uint32_t n_views = N_VIEWS - 1; n_views <= N_VIEWS; n_views++) {
        size_t n = 1;
        planes[0] = (plane_global){.fit = {.normal = {0.02, 0, -0.9998}, .offset = -3.98, .centroid = {0, 0, 3.98},
                                           .axes = {{1, 0, 0.02}, {0, 1, 0}}},
                                   .low = {-1, -1}, .high = {1, 1}, .n_views = n_views};
        const bool is_better = n_views < N_VIEWS;
        assert_int_equal(find(&h, planes, &n), is_better);
        assert_int_equal(n, 1);
        assert_float_equal(planes[0].fit.offset, is_better ? -end : -3.98, 5e-3);
        assert_float_equal(planes[0].fit.normal[0], is_better ? 0 : 0.02, 1e-6);
    }
    release(&h);
    free(planes);
}

/* Edges that planes share place them better than edges on a vault. */
static void a_tied_plane_stays(void **state)
{
    (void)state;
    plane_global *planes = calloc(PLANE_MAX_PLANES, sizeof *planes);
    size_t n = 1;
    hall h;
    make(&h, 1.5);
    planes[0] = (plane_global){.fit = {.normal = {0, 0, -1}, .offset = -3.98, .centroid = {0, 0, 3.98},
                                       .axes = {{1, 0, 0}, {0, 1, 0}}},
                               .low = {-1, -1}, .high = {1, 1}, .n_views = N_VIEWS - 1, .is_tied = true};
    assert_int_equal(find(&h, planes, &n), 0);
    assert_int_equal(n, 1);
    assert_float_equal(planes[0].fit.offset, -3.98, 1e-9);
    release(&h);
    free(planes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_wall_is_found),
        cmocka_unit_test(a_vault_that_goes_on_has_no_end),
        cmocka_unit_test(the_plane_of_more_views_counts),
        cmocka_unit_test(a_tied_plane_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
