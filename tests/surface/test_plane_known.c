/* Known surfaces take what the splat has wrong in plain segments, and nothing else. */
#include "plane_fixture.h"
#include "surface/planes/plane_choose.h"
#include "surface/planes/plane_known.h"
#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_seen.h"
#include "surface/planes/plane_segments.h"
#include "surface/planes/plane_settle_seeds.h"

enum { WIDTH = 96, HEIGHT = 80, N_VIEWS = 5, OWN = 2, BORDER = 4 };
static const float far = 5, near = 4.7f, hovering = 2.8f;

/* Photos of a plain wall at z = 5, of one segment; some of it may stand at z = 4.7. */
typedef struct wall {
    splat_view_maps maps;
    plane_view views[N_VIEWS];
    plane_global plane;
    plane_shade shade;
} wall;

static size_t n_edges = 3; /* the middle begins and ends such a part of the picture from its sides */

static bool is_middle(size_t pixel)
{
    const size_t x = pixel % WIDTH, y = pixel / WIDTH, side = WIDTH / n_edges, above = HEIGHT / n_edges;
    return x >= side && x < WIDTH - side && y >= above && y < HEIGHT - above;
}

/* The depth that the splat has in the middle of a view, and around it. is_shaped: photos show a middle at z = 4.7. */
static void make_view(wall *w, int v, float middle, float around, bool is_shaped)
{
    splat_view_map *map = &w->maps.views[v];
    plane_view *view = &w->views[v];
    const splat_camera *c = &map->camera;
    const float towards[3] = {0, 0, -1};
    uint8_t *rgb = malloc(3 * WIDTH * HEIGHT);
    const float gains[3] = {1, 1, 1};
    splat_error error;
    view->labels = malloc(WIDTH * HEIGHT * sizeof *view->labels);
    view->segments = calloc(1, sizeof *view->segments);
    view->surfaces = calloc(1, sizeof *view->surfaces);
    view->seeds = calloc(WIDTH * HEIGHT, sizeof *view->seeds);
    view->n_segments = 1;
    view->segments[0].n_pixels = WIDTH * HEIGHT;
    for (size_t p = 0; p < WIDTH * HEIGHT; p++) {
        const float x = (float)(p % WIDTH) + 0.5f, y = (float)(p / WIDTH) + 0.5f;
        float place[3];
        splat_camera_unproject(c, x, y, is_shaped ? near : far, place);
        const bool is_near = is_shaped && fabsf(place[0]) < 0.8f && fabsf(place[1]) < 0.65f;
        if (!is_near) splat_camera_unproject(c, x, y, far, place);
        for (size_t k = 0; k < 3; k++) rgb[3 * p + k] = (uint8_t)(120 + (is_shaped ? 30 * room_noise(place, 0.5f) : 0));
        map->depth[p] = is_middle(p) ? middle : around;
        map->alpha[p] = 255;
        splat_normal_encode(towards, map->normal + 2 * p);
        view->labels[p] = 1;
        const size_t left = p % WIDTH, top = p / WIDTH;
        if (left >= BORDER && left < WIDTH - BORDER && top >= BORDER && top < HEIGHT - BORDER) continue;
        plane_seed *seed = &view->seeds[view->n_seeds++];
        seed->pixel = (uint32_t)p;
        seed->depth = map->depth[p];
        splat_camera_unproject(c, x, y, seed->depth, seed->position);
    }
    view->segments[0].n_seeds = view->n_seeds;
    const int box[4] = {0, 0, WIDTH - 1, HEIGHT - 1};
    assert_int_equal(plane_shade_make(c, rgb, view, &error), SPLAT_OK);
    assert_int_equal(plane_shade_hide(map, view, &error), SPLAT_OK);
    plane_shade_even(view, gains);
    assert_int_equal(plane_smooth_make(c, view, 0, box, &view->surfaces[0].smooth, &error), SPLAT_OK);
    const size_t n = (view->surfaces[0].smooth.width - 1) * (view->surfaces[0].smooth.height - 1);
    view->surfaces[0].choices = malloc(n * sizeof *view->surfaces[0].choices);
    view->surfaces[0].first = malloc(n * sizeof *view->surfaces[0].first);
    for (size_t i = 0; i < n; i++) view->surfaces[0].choices[i] = view->surfaces[0].first[i] = PLANE_CHOICE_SPLAT;
    free(rgb);
}

/* middles: [N_VIEWS] */
static void make(wall *w, const float *middles, float around, bool is_shaped)
{
    splat_camera cameras[N_VIEWS];
    splat_error error;
    memset(w, 0, sizeof *w);
    for (int v = 0; v < N_VIEWS; v++) {
        static const float identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
        cameras[v] = (splat_camera){.width = WIDTH, .height = HEIGHT, .fx = 100, .fy = 100, .cx = 0.5f * WIDTH,
                                    .cy = 0.5f * HEIGHT, .center = {0.4f * (float)(v - 2), 0.3f * (float)(v % 2), 0}};
        memcpy(cameras[v].rotation, identity, sizeof identity);
    }
    assert_int_equal(splat_view_maps_init(&w->maps, N_VIEWS, cameras, &error), SPLAT_OK);
    for (int v = 0; v < N_VIEWS; v++) make_view(w, v, middles[v], around, is_shaped);
    w->plane = (plane_global){.fit = {.normal = {0, 0, -1}, .offset = -5, .centroid = {0, 0, 5},
                                      .axes = {{1, 0, 0}, {0, 1, 0}}},
                              .low = {-5, -5}, .high = {5, 5}, .n_views = N_VIEWS, .cell = 1, .n_cells = {10, 10}};
    w->shade = (plane_shade){&w->maps, w->views};
}

static void release(wall *w)
{
    for (int v = 0; v < N_VIEWS; v++) plane_view_free(&w->views[v]);
    splat_view_maps_free(&w->maps);
}

/* The parts of a view's pixels that take the plane, of the middle and of all others. middles: [N_VIEWS];
 * is_asked: the view asks the others. */
static void choose_among(const float *middles, float around, bool is_shaped, bool is_asked, double part[2])
{
    const plane_rounds rounds = {.n = 0};
    size_t n[2] = {0}, n_plane[2] = {0};
    splat_error error;
    wall w;
    plane_seen seen;
    make(&w, middles, around, is_shaped);
    assert_int_equal(plane_seen_take(&w.shade, &w.plane, 1, &seen, &error), SPLAT_OK);
    assert_int_equal(plane_known_choose(&w.shade, &w.plane, 1, &rounds, is_asked ? &seen : NULL, 0.1f, OWN, &error),
                     SPLAT_OK);
    plane_seen_free(&seen);
    for (size_t p = 0; p < WIDTH * HEIGHT; p++) {
        plane_slant slant;
        uint16_t plane = 1;
        const int choice = plane_choice_at(&w.maps.views[OWN].camera, &w.views[OWN], p, &slant, &plane);
        n[!is_middle(p)]++;
        n_plane[!is_middle(p)] += choice < PLANE_CHOICE_KEEP && plane == 0;
    }
    for (int k = 0; k < 2; k++) part[k] = (double)n_plane[k] / (double)n[k];
    print_message("on the plane: %.3f of the middle, %.3f around it\n", part[0], part[1]);
    release(&w);
}

/* The same where all views have the same depth, and are not asked. */
static void choose(float middle, float around, bool is_shaped, double part[2])
{
    const float middles[N_VIEWS] = {middle, middle, middle, middle, middle};
    choose_among(middles, around, is_shaped, false, part);
}

static void a_boulder_of_the_splat_becomes_the_wall(void **state)
{
    double part[2];
    (void)state;
    choose(near, far, false, part);
    assert_true(part[0] == 1 && part[1] == 1);
}

/* One colour says nothing of depth, but the rims stand before the wall. */
/* A part of the wall between two bars, a 300th of the picture, is a segment of its own. */
static void a_small_segment_becomes_the_wall(void **state)
{
    (void)state;
    const float middles[N_VIEWS] = {far, far, near, far, far};
    const plane_rounds rounds = {.n = 0};
    size_t n = 0, n_plane = 0;
    splat_error error;
    wall w;
    make(&w, middles, far, false);
    plane_view *view = &w.views[OWN];
    view->segments[0].n_seeds = view->n_seeds = 0;
    for (size_t p = 0; p < WIDTH * HEIGHT; p++) {
        const size_t x = p % WIDTH, y = p / WIDTH;
        view->labels[p] = x >= 48 && x < 50 && y >= 34 && y < 46;
        n += view->labels[p];
    }
    view->segments[0].n_pixels = (uint32_t)n;
    plane_surfaces_free(view);
    assert_int_equal(plane_choose(&w.shade, &w.plane, 1, 0.1f, OWN, &error), SPLAT_OK);
    assert_int_equal(plane_known_choose(&w.shade, &w.plane, 1, &rounds, NULL, 0.1f, OWN, &error), SPLAT_OK);
    for (size_t p = 0; p < WIDTH * HEIGHT; p++) {
        plane_slant slant;
        uint16_t plane = 1;
        if (!view->labels[p]) continue;
        const int choice = plane_choice_at(&w.maps.views[OWN].camera, view, p, &slant, &plane);
        n_plane += choice < PLANE_CHOICE_KEEP && plane == 0;
    }
    print_message("on the plane: %zu of %zu pixels\n", n_plane, n);
    assert_true(n_plane == n);
    release(&w);
}

static void a_box_of_one_colour_stays_before_the_wall(void **state)
{
    double part[2];
    (void)state;
    choose(near, near, false, part);
    assert_true(part[0] == 0 && part[1] == 0);
}

static void what_the_photos_show_before_the_wall_stays(void **state)
{
    double part[2];
    (void)state;
    choose(near, far, true, part);
    assert_true(part[0] < 0.2 && part[1] > 0.8);
}

/* No cell moves by two fifths of its depth, unless others look through what it has at what is there. */
static void what_others_look_through_becomes_the_wall(void **state)
{
    const float middles[N_VIEWS] = {far, far, hovering, far, far};
    double part[2];
    (void)state;
    choose_among(middles, far, false, false, part);
    assert_true(part[0] < 0.1); /* cells at its border */
    choose_among(middles, far, false, true, part);
    assert_true(part[0] == 1 && part[1] == 1);
}

static void a_box_that_others_see_stays_before_the_wall(void **state)
{
    const float middles[N_VIEWS] = {near, near, near, near, near};
    double part[2];
    (void)state;
    choose_among(middles, near, false, true, part);
    assert_true(part[0] == 0 && part[1] == 0);
}

/* One view sees the wall behind the box, next to it, as the plane goes on there. */
static void a_view_does_not_look_through_what_others_see(void **state)
{
    const float middles[N_VIEWS] = {near, near, near, near, far};
    double part[2];
    (void)state;
    n_edges = 6;
    choose_among(middles, far, false, true, part);
    n_edges = 3;
    assert_true(part[0] < 0.5 && part[1] > 0.9); /* next to its border others see the wall */
}

/* The others alone make a wall of which each residual is small. */
static void the_own_photo_may_differ_from_the_others(void **state)
{
    const float middles[N_VIEWS] = {far, far, far, far, far};
    const plane_slant slant = {1 / far, 0, 0};
    plane_site site = {.view = OWN, .x = 0.5f * WIDTH, .y = 0.5f * HEIGHT};
    wall w;
    (void)state;
    make(&w, middles, far, false);
    plane_shade_look(&w.shade, &slant, &site);
    assert_int_equal(site.n_views, N_VIEWS);
    assert_float_equal(plane_shade_own_off(&w.shade, &site, &slant), 0, 1e-3f);
    plane_view *own = &w.views[OWN];
    const size_t n = (size_t)own->shade_width * (size_t)own->shade_height;
    for (size_t i = 0; i < n; i++) own->shade[i] = (uint16_t)(own->shade[i] + 10 * PLANE_SHADE_LEVEL);
    assert_float_equal(plane_shade_own_off(&w.shade, &site, &slant), 10, 1e-2f);
    assert_float_equal(plane_shade_residual(&w.shade, &site, &slant), 0, 1e-2f);
    site.n_views = 1;
    assert_float_equal(plane_shade_own_off(&w.shade, &site, &slant), 0, 0);
    release(&w);
}

/* Each view has something else in the middle. Nobody sees the wall there, so it takes nothing from so far. */
static void what_nobody_sees_takes_nothing(void **state)
{
    const float middles[N_VIEWS] = {2, 2.3f, hovering, 3.5f, 3.9f};
    double part[2];
    (void)state;
    n_edges = 6; /* as large a middle as hides the wall from all views */
    choose_among(middles, far, false, true, part);
    n_edges = 3;
    assert_true(part[0] < 0.7 && part[1] > 0.9); /* some cells next to its border are seen */
}

static void others_speak_for_what_they_look_at(void **state)
{
    const float at[3] = {0, 0, 5}, before[3] = {0, 0, 3}, behind[3] = {0, 0, 8};
    splat_error error;
    plane_seen seen;
    wall w;
    (void)state;
    const float middles[N_VIEWS] = {far, far, far, far, far};
    make(&w, middles, far, false);
    assert_int_equal(plane_seen_take(&w.shade, &w.plane, 2, &seen, &error), SPLAT_OK);
    const float p = 0.05f * N_VIEWS;
    assert_float_equal(plane_seen_against(&seen, OWN, at), p / (N_VIEWS - 1 + p), 1e-6f);
    assert_float_equal(plane_seen_against(&seen, OWN, before), 1, 1e-6f);
    assert_float_equal(plane_seen_against(&seen, OWN, behind), 1, 1e-6f);
    plane_seen_free(&seen);
    release(&w);
}

/* Seeds of the border next to a plane lie on it, unless the splat shows something else there. */
static void seeds_settle_on_the_plane_beside_them(void **state)
{
    (void)state;
    enum { SETTLED, ELSEWHERE, NO_EDGE, N };
    static const float depths[N] = {1.02f * 5, 1.2f * 5, 1.02f * 5}, expected[N] = {5, 1.2f * 5, 1.02f * 5};
    const float middles[N_VIEWS] = {far, far, far, far, far};
    splat_error error;
    wall w;
    make(&w, middles, far, false);
    plane_view *view = &w.views[OWN];
    const plane_smooth *smooth = &view->surfaces[0].smooth;
    const size_t n = (smooth->width - 1) * (smooth->height - 1);
    plane_edge edges[N];
    for (uint32_t i = 0; i < N; i++) {
        plane_seed *seed = &view->seeds[10 + i];
        const float x = (float)(seed->pixel % WIDTH) + 0.5f, y = (float)(seed->pixel / WIDTH) + 0.5f;
        plane_seed_put(seed, &w.maps.views[OWN].camera, x, y, depths[i]);
        edges[i] = (plane_edge){x, y, seed->pixel, seed->pixel + WIDTH};
    }
    view->edges = edges;
    for (int is_plane = 0; is_plane <= 1; is_plane++) {
        const uint16_t choice = is_plane ? PLANE_CHOICE_PLANE : PLANE_CHOICE_SPLAT;
        for (size_t i = 0; i < n; i++) view->surfaces[0].choices[i] = choice;
        view->n_edges = NO_EDGE;
        assert_int_equal(plane_settle_seeds(&w.shade, view, &w.plane, (bool[]){true}, OWN, &error), SPLAT_OK);
        for (int i = 0; i < N; i++) {
            const float z = is_plane ? expected[i] : depths[i];
            assert_float_equal(view->seeds[10 + i].depth, z, 1e-5);
            assert_float_equal(view->seeds[10 + i].position[2], z, 1e-5);
        }
    }
    view->edges = NULL;
    release(&w);
}

/* The rim of a dome lies in a plane, which all views give to the dome. Photos then show another plane in most of it: no
 * seed settles on the lid, not even where they left it. */
static void no_seed_settles_on_a_lid(void **state)
{
    (void)state;
    enum { ALL, MOST, FEW, NONE, N };
    const float middles[N_VIEWS] = {far, far, far, far, far};
    const size_t parts[N] = {10, 7, 3, 0}; /* tenths of the cells that show the plane */
    for (int i = 0; i < N; i++) {
        splat_error error;
        wall w;
        bool are_kept[2];
        make(&w, middles, far, false);
        plane_global planes[2] = {w.plane, w.plane};
        planes[1].fit.offset *= 2;
        for (int v = 0; v < N_VIEWS; v++) {
            plane_view *view = &w.views[v];
            const plane_smooth *smooth = &view->surfaces[0].smooth;
            const size_t n = (smooth->width - 1) * (smooth->height - 1);
            view->segments[0].n_planes = 1;
            view->segments[0].n_taken = WIDTH * HEIGHT;
            for (size_t p = 0; p < WIDTH * HEIGHT; p++) view->labels[p] = 1 | 1 << PLANE_LABEL_SHIFT;
            for (size_t c = 0; c < n; c++)
                view->surfaces[0].choices[c] = 10 * c < parts[i] * n ? PLANE_CHOICE_PLANE : PLANE_CHOICE_PLANE + 1;
        }
        plane_kept_mark(&w.shade, 2, 2, are_kept);
        assert_true(are_kept[0] == (i <= MOST) && are_kept[1]);

        plane_view *view = &w.views[OWN]; /* at the first cells, which show the lid in all but the last case */
        plane_seed *seed = &view->seeds[WIDTH / 2];
        const float x = (float)(seed->pixel % WIDTH) + 0.5f, y = (float)(seed->pixel / WIDTH) + 0.5f;
        plane_edge edge = {x, y, seed->pixel, seed->pixel + WIDTH};
        plane_seed_put(seed, &w.maps.views[OWN].camera, x, y, 1.02f * far);
        view->edges = &edge;
        view->n_edges = 1;
        assert_int_equal(plane_settle_seeds(&w.shade, view, planes, are_kept, OWN, &error), SPLAT_OK);
        assert_float_equal(view->seeds[WIDTH / 2].depth, are_kept[0] ? far : 1.02f * far, 1e-5);
        view->edges = NULL;
        release(&w);
    }
}

/* A weak edge has no seed. Where its own side shows no plane, the plane across it tells its place, and it makes one. */
static void weak_edges_of_what_has_no_plane_make_seeds(void **state)
{
    (void)state;
    enum { NOTHING, ALL_PLANE, ELSEWHERE, HALF_PLANE, N };
    const float middles[N_VIEWS] = {far, far, far, far, far};
    for (int i = 0; i < N; i++) {
        splat_error error;
        wall w;
        make(&w, middles, far, false);
        plane_view *view = &w.views[OWN];
        const plane_smooth *smooth = &view->surfaces[0].smooth;
        const size_t columns = smooth->width - 1, rows = smooth->height - 1;
        for (size_t c = 0; c < rows * columns; c++) {
            const bool is_plane = i == ALL_PLANE || (i != NOTHING && c / columns >= rows / 2);
            view->surfaces[0].choices[c] = is_plane ? PLANE_CHOICE_PLANE : PLANE_CHOICE_SPLAT;
        }
        const uint32_t own = HEIGHT / 4 * WIDTH + WIDTH / 2, n = view->n_seeds;
        plane_edge edge = {WIDTH / 2, HEIGHT / 2, own, own + HEIGHT / 2 * WIDTH};
        if (i == ELSEWHERE) w.maps.views[OWN].depth[own] = 1.2f * far;
        view->edges = &edge;
        view->n_edges = 1;
        assert_int_equal(plane_settle_seeds(&w.shade, view, &w.plane, (bool[]){true}, OWN, &error), SPLAT_OK);
        assert_int_equal(view->n_seeds, n + (i == HALF_PLANE));
        assert_int_equal(view->segments[0].n_seeds, view->n_seeds);
        uint32_t n_settled = 0;
        for (uint32_t k = 0; k < view->n_seeds; k++) {
            const plane_seed *seed = &view->seeds[k];
            if (!seed->is_settled) continue;
            n_settled++;
            assert_true(seed->pixel == own && seed->segment == 0);
            assert_float_equal(seed->depth, far, 1e-5);
            assert_float_equal(seed->position[2], far, 1e-5);
        }
        assert_int_equal(n_settled, i == HALF_PLANE);
        view->edges = NULL;
        release(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_boulder_of_the_splat_becomes_the_wall),
        cmocka_unit_test(a_small_segment_becomes_the_wall),
        cmocka_unit_test(a_box_of_one_colour_stays_before_the_wall),
        cmocka_unit_test(what_the_photos_show_before_the_wall_stays),
        cmocka_unit_test(what_others_look_through_becomes_the_wall),
        cmocka_unit_test(a_box_that_others_see_stays_before_the_wall),
        cmocka_unit_test(a_view_does_not_look_through_what_others_see),
        cmocka_unit_test(the_own_photo_may_differ_from_the_others),
        cmocka_unit_test(what_nobody_sees_takes_nothing),
        cmocka_unit_test(others_speak_for_what_they_look_at),
        cmocka_unit_test(seeds_settle_on_the_plane_beside_them),
        cmocka_unit_test(no_seed_settles_on_a_lid),
        cmocka_unit_test(weak_edges_of_what_has_no_plane_make_seeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
