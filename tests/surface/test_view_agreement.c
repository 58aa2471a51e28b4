/* Agreement of views, with maps that are exact except for faults that a test puts into some of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "backend/backend.h"
#include "backend/cpu.h"
#include "surface/planes/plane_spread.h"
#include "surface/extract/extraction.h"
#include "surface/extract/point_cells.h"
#include "surface/extract/surface_agreed.h"
#include "surface/extract/surface_points.h"
#include "surface/extract/view_agreement.h"
#include "view_maps_fixture.h"

#include <stdlib.h>
#include <string.h>

#define W 160
#define H 120

static what_is_hit hit_at(const splat_view_map *view, size_t i, double place[3], double normal[3])
{
    double origin[3], direction[3], t;
    ray_of(&view->camera, i, origin, direction);
    what_is_hit what = hit_world(origin, direction, &t, normal);
    for (int k = 0; k < 3 && what != SKY; k++) place[k] = origin[k] + t * direction[k];
    return what;
}

/* How far a place is from the nearest surface of the world. */
static double off_surface(const float p[3])
{
    double to_ball = 0, to_ground = fabs((double)p[2]);
    for (int k = 0; k < 3; k++) to_ball += pow((double)p[k] - ball_center[k], 2);
    to_ball = fabs(sqrt(to_ball) - BALL_RADIUS);
    double x = (double)p[0] - rod_place[0], y = (double)p[1] - rod_place[1];
    double to_rod = fmax(fabs(sqrt(x * x + y * y) - ROD_RADIUS), (double)p[2] - ROD_HEIGHT);
    for (int k = 0; k < 2; k++) to_ground = fmax(to_ground, fabs((double)p[k]) - GROUND_SIDE);
    return fmin(to_ground, fmin(to_ball, to_rod));
}

/* Pixels of all views: kept of those with depth, by what they see. The rod is 1.2 pixels wide. */
static void the_truth_is_kept(void **state)
{
    (void)state;
    splat_view_maps maps = make_truth(W, H);
    size_t n[4] = {0}, n_kept[4] = {0}, n_against = 0;
    double off = 0, cosine = 0;
    for (size_t v = 0; v < maps.n; v++)
        for (size_t i = 0; i < W * H; i++) {
            double place[3], normal[3];
            splat_agreement a;
            what_is_hit what = hit_at(&maps.views[v], i, place, normal);
            bool asked = splat_view_agreement(&maps, v, i, &a);
            if (what == SKY) assert_false(asked);
            if (!asked) continue;
            n[what]++;
            n_against += a.n_against > a.n_agree;
            if (!splat_agreement_holds(&a, maps.views[v].n_neighbors)) continue;
            n_kept[what]++;
            double off_here = off_surface(a.position);
            off += off_here;
            assert_true(off_here < 0.02); /* a pixel is 0.025 wide */
            assert_true(a.n_agree <= maps.views[v].n_neighbors);
            for (int k = 0; k < 3; k++) cosine += normal[k] * (double)a.normal[k];
        }
    double all = (double)(n_kept[GROUND] + n_kept[BALL] + n_kept[ROD]);
    print_message("kept: ground %zu of %zu, ball %zu of %zu, rod %zu of %zu; %.5f off, normals %.4f\n", n_kept[GROUND],
                  n[GROUND], n_kept[BALL], n[BALL], n_kept[ROD], n[ROD], off / all, cosine / all);
    assert_true((double)n_kept[GROUND] > 0.95 * (double)n[GROUND]); /* corners are out of the neighbours' pictures */
    assert_true((double)n_kept[BALL] > 0.95 * (double)n[BALL]);
    assert_true((double)n_kept[ROD] > 0.9 * (double)n[ROD]);
    assert_true(n_against * 1000 < n[GROUND] + n[BALL] + n[ROD]);
    assert_true(off / all < 0.0005 && cosine / all > 0.99);
    splat_view_maps_free(&maps);
}

/* In the middle of view 0's picture, 12 x 12 pixels at another depth. */
static void what_one_view_sees_is_dropped(void **state)
{
    (void)state;
    static const double toward[3] = {1, 0, 0}; /* view 0 */
    const double parts[2] = {0.7, 1.2};        /* a floater, a hole */
    for (int p = 0; p < 2; p++) {
        splat_view_maps maps = make_truth(W, H);
        splat_view_map *view = &maps.views[0];
        size_t n_against = 0;
        for (size_t y = 54; y < 66; y++)
            for (size_t x = 74; x < 86; x++)
                set_pixel(view, y * W + x, parts[p] * (double)view->depth[y * W + x], toward, 9);
        for (size_t y = 54; y < 66; y++)
            for (size_t x = 74; x < 86; x++) {
                splat_agreement a;
                assert_true(splat_view_agreement(&maps, 0, y * W + x, &a));
                assert_false(splat_agreement_holds(&a, view->n_neighbors));
                n_against += a.n_against >= 3;
                if (p == 1) assert_int_equal(a.n_against, 0); /* it is hidden from all */
            }
        assert_int_equal(n_against, p == 0 ? 144 : 0);
        splat_view_maps_free(&maps);
    }
}

/* Left: what agrees by chance. Right: a surface with gaps. Before the left: a rod that agrees, a pixel of a plane. */
static void spots_are_dropped(void **state)
{
    (void)state;
    splat_view_maps maps = make_truth(W, H);
    splat_view_map *view = &maps.views[0];
    const size_t fitted = 30 * W + 20;
    uint32_t random = 1;
    for (size_t i = 0; i < W * H; i++) {
        const size_t x = i % W;
        random = random * 1664525u + 1013904223u;
        const bool is_sure = (random >> 24) < (x < W / 2 ? 102 : 205); /* 40 and 80 % */
        view->depth[i] = x == 40 ? 1 : 2;
        view->state[i] = is_sure || x == 40 ? SPLAT_PIXEL_AGREED : SPLAT_PIXEL_SILENT;
        view->alpha[i] = 200;
    }
    view->state[fitted] = SPLAT_PIXEL_FITTED;
    splat_view_maps_drop_spots(&maps, 2);
    size_t n_left = 0, n_right = 0;
    for (size_t i = 0; i < W * H; i++) {
        const size_t x = i % W;
        const bool is_sure = view->state[i] >= SPLAT_PIXEL_AGREED;
        if (x == 40 || i == fitted) assert_true(is_sure && view->depth[i] > 0);
        n_left += x < W / 2 - 4 && x != 40 && i != fitted && is_sure;
        n_right += x >= W / 2 + 4 && is_sure;
        if (view->depth[i] == 0) assert_true(view->alpha[i] == 255 && view->state[i] == SPLAT_PIXEL_SILENT);
    }
    print_message("%zu of about 3600 spots stay, %zu of about 7300 pixels of a surface\n", n_left, n_right);
    assert_true(n_left < 100 && n_right > 6900);
    splat_view_maps_free(&maps);
}

/* AGREED is what agreement says, is asked again, and other states stay. */
static void pixels_that_agree_are_marked(void **state)
{
    (void)state;
    static const double toward[3] = {1, 0, 0}; /* view 0 */
    splat_view_maps maps = make_truth(W, H);
    splat_view_map *view = &maps.views[0];
    const size_t middle = 60 * W + 80, fitted = middle - 2, sky = middle + 2;
    view->state[fitted] = SPLAT_PIXEL_FITTED;
    view->state[sky] = SPLAT_PIXEL_SKY;
    for (int is_wrong = 0; is_wrong < 2; is_wrong++) {
        if (is_wrong) set_pixel(view, middle, 0.7 * (double)view->depth[middle], toward, 9);
        splat_view_maps_mark_agreed(&maps, 1 + 2 * is_wrong);
        for (size_t v = 0; v < maps.n; v++)
            for (size_t i = 0; i < W * H; i++) {
                splat_agreement a;
                bool holds = splat_view_agreement(&maps, v, i, &a) &&
                             splat_agreement_holds(&a, maps.views[v].n_neighbors);
                if (v == 0 && (i == fitted || i == sky)) continue;
                assert_int_equal(maps.views[v].state[i], holds ? SPLAT_PIXEL_AGREED : SPLAT_PIXEL_SILENT);
                assert_int_equal(splat_view_map_trusted(&maps.views[v], i), holds);
            }
        assert_int_equal(view->state[middle], is_wrong ? SPLAT_PIXEL_SILENT : SPLAT_PIXEL_AGREED);
        assert_int_equal(view->state[fitted], SPLAT_PIXEL_FITTED);
        assert_int_equal(view->state[sky], SPLAT_PIXEL_SKY);
        assert_true(splat_view_map_reach(view, sky) == INFINITY);
        assert_true(splat_view_map_reach(view, fitted) == view->depth[fitted]);
    }
    view->depth[fitted] = 0;
    assert_false(splat_view_map_trusted(view, fitted));
    splat_view_maps_free(&maps);
}

/* Depth that is half a hundredth off is noise; a neighbour that sees a twentieth farther looks through the place. */
static void a_twentieth_is_looked_through(void **state)
{
    (void)state;
    static const double toward[3] = {1, 0, 0}; /* view 0 */
    for (int noisy = 0; noisy < 2; noisy++) {
        splat_view_maps maps = make_truth(W, H);
        splat_view_map *view = &maps.views[0];
        for (size_t y = 54; y < 66; y++)
            for (size_t x = 74; x < 86; x++) {
                splat_agreement a;
                size_t i = y * W + x;
                set_pixel(view, i, (noisy ? 0.995 : 0.95) * (double)view->depth[i], toward, 9);
                assert_true(splat_view_agreement(&maps, 0, i, &a));
                if (noisy) assert_int_equal(a.n_against, 0);
                else assert_true(a.n_against >= 3);
            }
        splat_view_maps_free(&maps);
    }
}

/* A small ball in the air before the big one, which only three views side by side show: two agree with the third, and
 * all other neighbours look through it. Seen by all views it is as real as anything. */
static void floaters_of_a_few_views_are_outvoted(void **state)
{
    (void)state;
    static const double floater[3] = {1.5, 0, 0.6};
    for (size_t n_showing = 3; n_showing <= N_AROUND; n_showing += N_AROUND - 3) {
        splat_view_maps maps = make_truth(W, H);
        size_t n = 0, n_agreed = 0, n_held = 0;
        uint8_t *shows = calloc(maps.n, W * H);
        for (size_t v = 0; v < maps.n; v++) {
            if (v > 1 && v < N_AROUND - 1 && n_showing == 3) continue; /* views 23, 0, 1 */
            draw_ball(&maps.views[v], floater, 0.2, shows + v * W * H);
        }
        for (size_t i = 0; i < W * H; i++) {
            splat_agreement a;
            if (!shows[i] || !splat_view_agreement(&maps, 0, i, &a)) continue;
            n++;
            n_agreed += a.n_agree >= 2;
            n_held += splat_agreement_holds(&a, maps.views[0].n_neighbors);
        }
        print_message("shown by %zu views: %zu pixels, %zu with two that agree, %zu held\n", n_showing, n, n_agreed,
                      n_held);
        assert_true(n > 100 && n_agreed > n / 2);
        if (n_showing == 3)
            assert_true(n_held * 20 < n);
        else
            assert_true(n_held * 10 > n * 9);
        free(shows);
        splat_view_maps_free(&maps);
    }
}

/* Depth that is nearer by 0.8 % passes for the same depth, but 15 degrees away it lies more than a pixel off. */
static void a_pixel_is_the_limit(void **state)
{
    (void)state;
    enum { WIDE = 640, HIGH = 480 };
    static const double toward[3] = {1, 0, 0}; /* view 0 */
    for (int moved = 0; moved < 2; moved++) {
        splat_view_maps maps = make_truth(WIDE, HIGH);
        splat_view_map *view = &maps.views[0];
        size_t n = 0, n_agree = 0;
        for (size_t y = HIGH / 2 - 10; y < HIGH / 2 + 10; y++)
            for (size_t x = WIDE / 2 - 10; x < WIDE / 2 + 10; x++) {
                splat_agreement a;
                size_t i = y * WIDE + x;
                if (moved) set_pixel(view, i, 0.992 * (double)view->depth[i], toward, 9);
                assert_true(splat_view_agreement(&maps, 0, i, &a));
                n += view->n_neighbors;
                n_agree += a.n_agree;
            }
        print_message("%s: %zu of %zu agree\n", moved ? "nearer" : "truth", n_agree, n);
        assert_int_equal(n_agree, moved ? 0 : n);
        splat_view_maps_free(&maps);
    }
}

static void a_sky_is_no_surface(void **state)
{
    (void)state;
    splat_view_maps maps = make_truth(W, H);
    static const double toward[3] = {1, 0, 0};
    size_t n = 0;
    for (size_t i = 0; i < W * H; i++)
        if (!(maps.views[0].depth[i] > 0)) set_pixel(&maps.views[0], i, 30, toward, 9);
    for (size_t i = 0; i < W * H; i++) {
        splat_agreement a;
        if (maps.views[0].depth[i] < 29 || !splat_view_agreement(&maps, 0, i, &a)) continue;
        n++;
        assert_int_equal(a.n_agree, 0);
    }
    assert_true(n > 1000);
    splat_view_maps_free(&maps);
}

/* ---------------------------------------------------------------- points */

static splat_mesh_extract_options usual_options(void)
{
    splat_mesh_extract_options o;
    splat_mesh_extract_options_init(&o);
    o.points = SPLAT_MESH_POINTS_VIEWS;
    return o;
}

static splat_surface_points agree_on(splat_view_maps *maps, splat_backend *backend, const splat_mesh_extract_options *o,
                                     size_t capacity, int threads, splat_surface_agreed *agreed)
{
    splat_surface_points points;
    splat_error error;
    must(splat_surface_points_make(&points, capacity, &error), &error);
    must(splat_surface_points_weigh(&points, &error), &error);
    must(splat_surface_agree(maps, NULL, backend, o, NULL, threads, &points, agreed, &error), &error);
    return points;
}

static splat_surface_points agree_with(splat_view_maps *maps, const splat_mesh_extract_options *o, size_t capacity,
                                       int threads, splat_surface_agreed *agreed)
{
    return agree_on(maps, NULL, o, capacity, threads, agreed);
}

static splat_surface_points agree(splat_view_maps *maps, size_t capacity, int threads, splat_surface_agreed *agreed)
{
    splat_mesh_extract_options o = usual_options();
    return agree_with(maps, &o, capacity, threads, agreed);
}

/* The cell of a point, in cells of `side`. */
static uint64_t cell_of(const splat_surface_points *points, size_t i, double side)
{
    uint64_t key = (uint64_t)round(log2(side * 1e6));
    int axis = 0;
    const float *n = points->normals + 3 * i;
    for (int k = 0; k < 3; k++) {
        key = key << 18 | (uint64_t)(floor((double)points->positions[3 * i + (size_t)k] / side) + (1 << 17));
        if (fabsf(n[k]) > fabsf(n[axis])) axis = k;
    }
    return key << 3 | (uint64_t)(2 * axis + (n[axis] < 0));
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Share of keys[n] that stand there twice; n becomes the number of different ones, sorted. */
static size_t count_same(uint64_t *keys, size_t *n)
{
    size_t n_same = 0, n_kept = 0;
    qsort(keys, *n, sizeof *keys, compare_keys);
    for (size_t i = 0; i < *n; i++) {
        if (i > 0 && keys[i] == keys[i - 1])
            n_same++;
        else
            keys[n_kept++] = keys[i];
    }
    *n = n_kept;
    return n_same;
}

/* The other views know nothing: on a plane a pixel makes a point all the same, unless one looks through it. */
static void fitted_pixels_need_no_other_view(void **state)
{
    (void)state;
    static const uint8_t states[3] = {SPLAT_PIXEL_SILENT, SPLAT_PIXEL_FITTED, SPLAT_PIXEL_SHADED};
    for (int what = 0; what < 3; what++)
        for (int through = 0; through < 2; through++) {
            splat_view_maps maps = make_truth(W, H);
            splat_surface_agreed agreed;
            splat_surface_points points;
            size_t n = 0;
            for (size_t v = 1; v < maps.n; v++)
                for (size_t i = 0; i < W * H; i++) {
                    maps.views[v].depth[i] = through ? 1000 : 0;
                    maps.views[v].alpha[i] = 255;
                }
            memset(maps.views[0].state, states[what], W * H);
            for (size_t i = 0; i < W * H; i++) n += maps.views[0].depth[i] > 0;
            points = agree(&maps, 200000, 2, &agreed);
            assert_true(n > W * H / 4);
            if (what && !through) {
                assert_true(agreed.n_kept > n / 2 && agreed.n_kept <= n);
                assert_true(points.n > 0 && points.weights[0] > 0);
            } else /* a few pixels lie outside of all other pictures */
                assert_true(agreed.n_kept <= (what ? n / 20 : 0));
            splat_surface_points_free(&points);
            splat_view_maps_free(&maps);
        }
}

/* Three cameras 0.5 above the ground, 4.5 and more before its far half: 4 to 6 degrees. */
static splat_view_maps make_flat_views(void)
{
    splat_view_maps maps;
    splat_error error;
    splat_camera cameras[3];
    for (size_t v = 0; v < 3; v++) {
        const double from[3] = {-4.5, 0.5 * (double)v - 0.5, 0.5}, at[3] = {2, 0, 0};
        cameras[v] = look_at(from, at, W, H);
    }
    must(splat_view_maps_init(&maps, 3, cameras, &error), &error);
    for (size_t v = 0; v < 3; v++)
        for (size_t i = 0; i < W * H; i++) {
            double origin[3], direction[3], normal[3], t;
            ray_of(&maps.views[v].camera, i, origin, direction);
            const what_is_hit what = hit_world(origin, direction, &t, normal);
            if (what != SKY) set_pixel(&maps.views[v], i, t, normal, (uint8_t)(50 * what));
        }
    must(splat_view_maps_find_neighbors(&maps, 2, &error), &error);
    return maps;
}

/* The splat has no depth of ground at so flat an angle, but a plane of the scene has, unless others look through it. */
static void flat_ground_needs_a_plane(void **state)
{
    (void)state;
    for (int what = 0; what < 3; what++) {
        splat_view_maps maps = make_flat_views();
        splat_surface_agreed agreed;
        size_t n = 0;
        if (what > 0) memset(maps.views[0].state, SPLAT_PIXEL_FITTED, W * H);
        for (size_t i = 0; i < 2 * W * H && what == 2; i++) maps.views[1 + i / (W * H)].depth[i % (W * H)] = 1000;
        splat_surface_points points = agree(&maps, 200000, 2, &agreed);
        for (size_t i = 0; i < points.n; i++) {
            const float *p = points.positions + 3 * i;
            n += p[0] > 0.8f && fabsf(p[2]) < 0.01f;
        }
        print_message("%s: %zu points of far ground\n", what ? what == 1 ? "plane" : "looked through" : "splat", n);
        assert_true(what == 1 ? n > 50 : n == 0);
        splat_surface_points_free(&points);
        splat_view_maps_free(&maps);
    }
}

static void points_are_even_and_on_the_surface(void **state)
{
    (void)state;
    splat_view_maps maps = make_truth(W, H);
    splat_surface_agreed agreed;
    splat_surface_points points = agree(&maps, 200000, 2, &agreed);
    uint64_t *keys = malloc(points.n * sizeof *keys);
    size_t n_rod = 0, n_keys = points.n;
    double off = 0, worst = 0, weights = 0, largest = 0;
    for (size_t i = 0; i < points.n; i++) {
        const float *p = points.positions + 3 * i, *n = points.normals + 3 * i;
        double here = off_surface(p), length = sqrt((double)(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]));
        double level = log2((double)points.sizes[i] / agreed.cell);
        off += here;
        worst = fmax(worst, here);
        largest = fmax(largest, level);
        weights += (double)points.weights[i];
        n_rod += points.colors[4 * i] == 50 * ROD && points.colors[4 * i + 3] == 255;
        assert_true(fabs(length - 1) < 1e-4 && points.weights[i] > 0);
        assert_true(level >= 0 && fabs(level - round(level)) < 1e-6);
        keys[i] = cell_of(&points, i, (double)points.sizes[i]);
    }
    size_t n_same = count_same(keys, &n_keys);
    print_message("%zu points of %zu pixels (%zu seen) in cells of %.4f and %.0f larger sizes: %.5f off, at worst "
                  "%.5f; %zu only of the rod, %zu share a cell\n", points.n, agreed.n_kept, agreed.n_seen, agreed.cell,
                  largest, off / (double)points.n, worst, n_rod, n_same);
    assert_true(largest >= 1);
    assert_true(off / (double)points.n < 0.001 && worst < 0.03); /* chords of the rod and the ball */
    assert_true(n_rod > 15);
    assert_true(n_same * 50 < points.n); /* a mean normal may turn over a corner */
    assert_true(points.n > 2000 && points.n * 4 < agreed.n_kept);
    assert_true(weights < 8 * (double)agreed.n_kept);
    free(keys);
    splat_surface_points_free(&points);
    splat_view_maps_free(&maps);
}

/* The cells of far views go if a near view sees the place. */
static void near_views_replace_far_ones(void **state)
{
    (void)state;
    splat_point_cells cells;
    splat_surface_points points;
    splat_error error;
    splat_cell_sample samples[4] = {{.size = 0.2f}, {.size = 0.1f}, {.size = 0.1f}, {.size = 0.2f}};
    static const float places[4][3] = {{0.15f, 0.05f, 0.05f}, {0.05f, 0.05f, 0.05f}, {0.05f, 0.15f, 0.05f},
                                       {0.45f, 0.05f, 0.05f}};
    for (int i = 0; i < 4; i++) {
        memcpy(samples[i].position, places[i], sizeof places[i]);
        samples[i].normal[0] = samples[i].weight = 1;
    }
    for (int n = 2; n <= 4; n += 2) { /* one cell of four does not replace the large one, two do */
        const uint8_t valid[4] = {1, 1, n > 2, 1};
        must(splat_point_cells_init(&cells, 0.1, 100, 2, &error), &error);
        must(splat_point_cells_add(&cells, samples, valid, 4, &error), &error);
        splat_point_cells_drop_replaced(&cells);
        must(splat_surface_points_make(&points, 100, &error), &error);
        must(splat_surface_points_weigh(&points, &error), &error);
        splat_point_cells_collect(&cells, &points);
        size_t n_large = 0;
        float weights[2] = {0};
        for (size_t i = 0; i < points.n; i++) {
            bool is_large = points.sizes[i] > 0.15f;
            n_large += is_large;
            weights[is_large] = points.weights[i];
        }
        assert_true(weights[1] == 4 * weights[0]); /* by the area, for as many views */
        assert_int_equal(points.n, 3);
        assert_int_equal(n_large, n > 2 ? 1 : 2);
        splat_surface_points_free(&points);
        splat_point_cells_free(&cells);
    }
}

/* Slots of views on a device, which the host plays: too little memory for more than some of the views, for all of them,
 * and for any. Points and marks have the bytes of the host's, and the device's memory is given back. */
static void a_device_agrees_with_the_host(void **state)
{
    (void)state;
    enum { SLOT = W * H * 12, BESIDE = W * H + (1 << 18) * sizeof(splat_agreement) };
    static const size_t device_bytes[] = {4 * (BESIDE + 11 * SLOT), (size_t)1 << 30, 4 * (BESIDE + 3 * SLOT)};
    splat_mesh_extract_options o = usual_options();
    splat_view_maps maps[2] = {make_truth(W, H)};
    splat_surface_agreed agreed[2];
    splat_backend *backend;
    splat_error error;
    uint64_t n_spread;
    assert_true(maps[0].n > 11);
    splat_surface_points host = agree(&maps[0], 5000, 2, &agreed[0]);
    for (int c = 0; c < 3; c++) {
        must(splat_backend_cpu_create(2, NULL, &backend, &error), &error);
        backend->device_bytes = device_bytes[c];
        maps[1] = make_truth(W, H);
        splat_surface_points device = agree_on(&maps[1], backend, &o, 5000, 2, &agreed[1]);
        assert_int_equal(backend->memory.device.reserved, 0);
        assert_int_equal(backend->memory.device.peak_reserved > SLOT, c < 2);
        splat_backend_destroy(backend);
        assert_memory_equal(&agreed[1], &agreed[0], sizeof *agreed);
        assert_int_equal(device.n, host.n);
        assert_memory_equal(device.positions, host.positions, 12 * host.n);
        assert_memory_equal(device.normals, host.normals, 12 * host.n);
        assert_memory_equal(device.weights, host.weights, 4 * host.n);
        assert_memory_equal(device.colors, host.colors, 4 * host.n);
        splat_surface_points_free(&device);
        for (size_t v = 0; v < maps[1].n; v++)
            assert_memory_equal(maps[1].views[v].state, maps[0].views[v].state, W * H);
        splat_view_maps_free(&maps[1]);
    }
    maps[1] = make_truth(W, H);
    splat_view_maps_mark_agreed(&maps[1], 2);
    splat_view_maps_drop_spots(&maps[1], 2);
    must(plane_spread(&maps[1], o.seed, 2, &n_spread, &error), &error);
    splat_view_maps_mark_agreed(&maps[1], 2);
    assert_true(n_spread == agreed[0].n_spread);
    for (size_t v = 0; v < maps[1].n; v++)
        assert_memory_equal(maps[1].views[v].state, maps[0].views[v].state, W * H);
    splat_surface_points_free(&host);
    for (int k = 0; k < 2; k++) splat_view_maps_free(&maps[k]);
}

/* A pixel whose depth photos match is surface, though no splat of another view has it. */
static void what_photos_match_needs_no_other_view(void **state)
{
    (void)state;
    splat_surface_agreed agreed[2];
    splat_mesh_extract_options o = usual_options();
    o.planes = false; /* they would take what is next to it */
    for (int k = 0; k < 2; k++) {
        splat_view_maps maps = make_truth(W, H);
        for (size_t v = 0; v < maps.n; v++)
            for (size_t i = 0; i < W * H; i++) {
                splat_view_map *map = &maps.views[v];
                if (v > 0) map->depth[i] = 0;
                if (v > 0) map->alpha[i] = 255;
                if (v == 0 && k == 1 && map->depth[i] > 0) map->state[i] = SPLAT_PIXEL_MATCHED;
            }
        splat_surface_points points = agree_with(&maps, &o, 5000, 2, &agreed[k]);
        assert_true(k ? points.n > 0 && agreed[k].n_kept > 0 : points.n == 0);
        splat_surface_points_free(&points);
        splat_view_maps_free(&maps);
    }
}

/* Views that agree from nearly one place know no depth; a box of the user crops. */
static void unknown_depth_and_what_is_outside_make_no_points(void **state)
{
    (void)state;
    splat_view_maps maps = make_truth(W, H);
    splat_surface_agreed agreed;
    splat_mesh_extract_options o = usual_options();
    o.has_bbox = true;
    for (int k = 0; k < 3; k++) {
        o.bbox_low[k] = -0.7;
        o.bbox_high[k] = 0.7;
    }
    splat_surface_points all = agree(&maps, 200000, 2, &agreed);
    assert_int_equal(agreed.n_vague, 0);
    splat_surface_points cropped = agree_with(&maps, &o, 200000, 2, &agreed);
    assert_true(cropped.n > 100 && cropped.n < all.n / 2);
    for (size_t i = 0; i < cropped.n; i++)
        assert_true(splat_surface_is_inside(cropped.positions + 3 * i, o.bbox_low, o.bbox_high));
    splat_view_maps_free(&maps);
    maps = make_arc(W, H, 3, 24000); /* 0.001 apart, 4 from the things: 0.04 pixels of disparity */
    for (uint32_t v = 0; v < 3; v++) {
        maps.views[v].n_neighbors = 2;
        for (uint32_t k = 0; k < 2; k++) maps.views[v].neighbors[k] = (v + 1 + k) % 3;
    }
    splat_surface_points none = agree(&maps, 200000, 2, &agreed);
    assert_true(agreed.n_vague > W * H && agreed.n_kept == 0 && none.n == 0);
    splat_surface_points_free(&none);
    splat_surface_points_free(&all);
    splat_surface_points_free(&cropped);
    splat_view_maps_free(&maps);
}

static void few_points_have_larger_cells(void **state)
{
    (void)state;
    splat_view_maps maps = make_truth(W, H);
    splat_surface_agreed agreed[2];
    splat_surface_points many = agree(&maps, 200000, 2, &agreed[0]), few = agree(&maps, 1500, 2, &agreed[1]);
    assert_true(few.n <= 1500 && few.n > 700);
    assert_true(agreed[1].cell > 1.5 * agreed[0].cell);
    assert_true(agreed[1].n_seen < 16 * 2 * 1500); /* of 260,000 every 19th pixel is asked */
    assert_true(agreed[1].n_seen > 16 * 1500 / 3);
    splat_surface_points_free(&many);
    splat_surface_points_free(&few);
    splat_view_maps_free(&maps);
}

static void threads_do_not_change_a_point(void **state)
{
    (void)state;
    splat_view_maps maps[2] = {make_truth(W, H), make_truth(W, H)};
    splat_surface_agreed agreed;
    splat_surface_points a = agree(&maps[0], 8000, 1, &agreed), b = agree(&maps[1], 8000, 3, &agreed);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.positions, b.positions, 12 * a.n);
    assert_memory_equal(a.normals, b.normals, 12 * a.n);
    assert_memory_equal(a.colors, b.colors, 4 * a.n);
    assert_memory_equal(a.weights, b.weights, 4 * a.n);
    assert_memory_equal(a.sizes, b.sizes, 4 * a.n);
    splat_surface_points_free(&a);
    splat_surface_points_free(&b);
    for (int k = 0; k < 2; k++) splat_view_maps_free(&maps[k]);
}

/* Pixels that are asked about together, whatever their step and number, answer as each does alone. */
static void pixels_answer_alike_in_batches(void **state)
{
    (void)state;
    splat_view_maps maps = make_truth(W, H);
    size_t n_said = 0;
    for (size_t v = 0; v < maps.n; v++)
        for (size_t step = 1; step < 4; step++)
            for (size_t first = 0, n; first < W * H; first += n * step) {
                splat_agreement many[SPLAT_AGREEMENT_BATCH], one;
                uint8_t is_said[SPLAT_AGREEMENT_BATCH];
                n = first % 3 ? SPLAT_AGREEMENT_BATCH : SPLAT_AGREEMENT_BATCH - 7;
                if (n > (W * H - first + step - 1) / step) n = (W * H - first + step - 1) / step;
                splat_view_agreements(&maps, v, first, step, n, many, is_said);
                for (size_t i = 0; i < n; i++) {
                    const bool is_one_said = splat_view_agreement(&maps, v, first + i * step, &one);
                    assert_int_equal(is_said[i] > SPLAT_AGREE_FLAT, is_one_said);
                    if (is_said[i]) assert_memory_equal(&many[i], &one, sizeof one);
                    n_said += is_said[i] > 0;
                }
            }
    assert_true(n_said > maps.n * W * H / 2);
    splat_view_maps_free(&maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_truth_is_kept),
        cmocka_unit_test(spots_are_dropped),
        cmocka_unit_test(pixels_that_agree_are_marked), cmocka_unit_test(what_one_view_sees_is_dropped),
        cmocka_unit_test(a_twentieth_is_looked_through),
        cmocka_unit_test(floaters_of_a_few_views_are_outvoted),
        cmocka_unit_test(a_pixel_is_the_limit),
        cmocka_unit_test(a_sky_is_no_surface),
        cmocka_unit_test(fitted_pixels_need_no_other_view),
        cmocka_unit_test(flat_ground_needs_a_plane),
        cmocka_unit_test(points_are_even_and_on_the_surface),
        cmocka_unit_test(near_views_replace_far_ones),
        cmocka_unit_test(a_device_agrees_with_the_host),
        cmocka_unit_test(what_photos_match_needs_no_other_view),
        cmocka_unit_test(unknown_depth_and_what_is_outside_make_no_points),
        cmocka_unit_test(few_points_have_larger_cells),
        cmocka_unit_test(threads_do_not_change_a_point),
        cmocka_unit_test(pixels_answer_alike_in_batches),
    };
    return cmocka_run_group_tests_name("view agreement", tests, NULL, NULL);
}
