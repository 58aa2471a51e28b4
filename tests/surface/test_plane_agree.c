/* Planes moved by shading: a wall seen by twenty views in a row, with light that changes along it. */
#include "plane_fixture.h"
#include "surface/planes/plane_agree.h"
#include "surface/planes/plane_segments.h"

enum { N_VIEWS = 20, WIDTH = 160, HEIGHT = 120 };

static const double distance_of_wall = 5;

/* How bright a place of the wall is, in levels. */
typedef double (*light_function)(const float place[3], int view);

typedef struct wall {
    splat_view_maps maps;
    plane_view views[N_VIEWS];
} wall;

static void wall_make(wall *w, light_function light)
{
    splat_camera cameras[N_VIEWS];
    splat_error error;
    uint8_t *rgb = malloc(3 * WIDTH * HEIGHT);
    memset(w, 0, sizeof *w);
    for (int v = 0; v < N_VIEWS; v++)
        cameras[v] = (splat_camera){.width = WIDTH, .height = HEIGHT, .fx = 150, .fy = 150, .cx = 0.5f * WIDTH,
                                    .cy = 0.5f * HEIGHT, .rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                                    .center = {0.2f * (float)v - 2, 0.4f * (float)(v % 5) - 0.8f,
                                               0.5f * (float)(v % 3)}};
    must(splat_view_maps_init(&w->maps, N_VIEWS, cameras, &error), &error);
    for (int v = 0; v < N_VIEWS; v++) {
        plane_view *view = &w->views[v];
        view->labels = malloc(WIDTH * HEIGHT * sizeof *view->labels);
        view->segments = calloc(1, sizeof *view->segments);
        view->segments[0] = (plane_segment){.n_planes = 1, .planes = {0}};
        for (int p = 0; p < WIDTH * HEIGHT; p++) {
            const splat_camera *c = &cameras[v];
            float place[3];
            splat_camera_unproject(c, (float)(p % WIDTH) + 0.5f, (float)(p / WIDTH) + 0.5f,
                                   (float)distance_of_wall - c->center[2], place);
            for (int k = 0; k < 3; k++) rgb[3 * p + k] = (uint8_t)(light(place, v) + 0.5);
            view->labels[p] = 1 | 1 << PLANE_LABEL_SHIFT;
        }
        must(plane_shade_make(&cameras[v], rgb, view, &error), &error);
        must(plane_shade_hide(&w->maps.views[v], view, &error), &error);
        plane_shade_even(view, (const float[3]){1, 1, 1});
    }
    free(rgb);
}

/* Ten places of each view, which the splat shows `off` before the wall. */
static void add_seeds(wall *w, double off)
{
    enum { N_SEEDS = 10 };
    for (int v = 0; v < N_VIEWS; v++) {
        plane_view *view = &w->views[v];
        const splat_camera *c = &w->maps.views[v].camera;
        const float depth = (float)(distance_of_wall - off) - c->center[2];
        view->hypotheses = calloc(1, sizeof *view->hypotheses);
        view->seeds = calloc(N_SEEDS, sizeof *view->seeds);
        view->n_hypotheses = 1;
        view->n_seeds = view->segments[0].n_seeds = N_SEEDS;
        for (int k = 0; k < N_SEEDS; k++)
            plane_seed_put(&view->seeds[k], c, 16.0f * (float)k + 8, 12.0f * (float)(3 * k % 10) + 6, depth);
    }
}

static void wall_free(wall *w)
{
    for (int v = 0; v < N_VIEWS; v++) plane_view_free(&w->views[v]);
    splat_view_maps_free(&w->maps);
}

/* Moves a plane that is `off` before the wall and turned by `turn` radians; the splat's places are off as well. */
static plane_global move_plane(light_function light, double off, double turn, double seeds_off)
{
    plane_global plane = {0};
    plane_fit *fit = &plane.fit;
    splat_error error;
    wall w;
    wall_make(&w, light);
    add_seeds(&w, seeds_off);
    fit->normal[0] = sin(turn);
    fit->normal[2] = -cos(turn);
    fit->axes[0][0] = cos(turn);
    fit->axes[0][2] = sin(turn);
    fit->axes[1][1] = 1;
    fit->centroid[2] = distance_of_wall - off;
    fit->offset = fit->normal[2] * fit->centroid[2];
    const plane_shade shade = {&w.maps, w.views};
    must(plane_agree(&shade, &plane, 1, 0.1f, 2, &error), &error);
    wall_free(&w);
    return plane;
}

/* How far before the wall a plane is, 2 to the side of its middle. */
static double off_at(const plane_global *plane, double side)
{
    const plane_fit *fit = &plane->fit;
    return distance_of_wall - (fit->offset - fit->normal[0] * side) / fit->normal[2];
}

static double smooth_light(const float place[3], int view)
{
    (void)view;
    return 120 + 40 * sin(1.5 * (double)place[0]) + 20 * sin(1.1 * (double)place[1]);
}

/* Each photo has noise of its own and no light that changes. */
static double no_light(const float place[3], int view)
{
    const float at[3] = {place[0], place[1], (float)view};
    return 120 + 4 * (double)room_noise(at, 0.3f);
}

/* Gloss: each view sees something else besides. */
static double glossy_light(const float place[3], int view)
{
    return smooth_light(place, view) + no_light(place, view) - 120;
}

static void a_wall_moves_to_where_views_agree(void **state)
{
    (void)state;
    const plane_global plane = move_plane(smooth_light, 0.15, 0.02, 0.01);
    print_message("off by %.4f and %.4f\n", off_at(&plane, -2), off_at(&plane, 2));
    assert_true(fabs(off_at(&plane, -2)) < 0.015 && fabs(off_at(&plane, 2)) < 0.015);
}

static void a_wall_that_is_right_stays(void **state)
{
    (void)state;
    const plane_global plane = move_plane(smooth_light, 0, 0, 0);
    assert_true(fabs(off_at(&plane, -2)) < 0.005 && fabs(off_at(&plane, 2)) < 0.005);
}

static void a_wall_without_shading_stays(void **state)
{
    (void)state;
    const plane_global plane = move_plane(no_light, 0.1, 0, 0);
    assert_true(off_at(&plane, -2) == off_at(&plane, 2) && fabs(off_at(&plane, 0) - 0.1) < 1e-12);
}

static void a_glossy_wall_stays(void **state)
{
    (void)state;
    const plane_global plane = move_plane(glossy_light, 0.15, 0, 0);
    assert_true(fabs(off_at(&plane, 0) - 0.15) < 1e-12);
}

/* A floor that mirrors its lamps looks as if it were lower. */
static void a_wall_stays_where_the_splat_has_it(void **state)
{
    (void)state;
    const plane_global plane = move_plane(smooth_light, 0.15, 0, 0.15);
    assert_true(fabs(off_at(&plane, 0) - 0.15) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wall_moves_to_where_views_agree),
        cmocka_unit_test(a_wall_that_is_right_stays),
        cmocka_unit_test(a_wall_without_shading_stays),
        cmocka_unit_test(a_glossy_wall_stays),
        cmocka_unit_test(a_wall_stays_where_the_splat_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
