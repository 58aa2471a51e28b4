/* Cylinders and balls: through two places, along rays, moved, and found. */
#include "plane_fixture.h"
#include "surface/planes/plane_round_shape.h"
#include "surface/planes/plane_round_touch.h"
#include "surface/planes/plane_votes.h"

static const plane_round pillar = {.axis = {0, 0, 1}, .center = {1, 2, 0}, .radius = 0.5};
static const plane_round dome = {.center = {1, 2, 3}, .radius = 2};

/* A place at an angle and a height of a pillar, or at two angles of a dome, seen from outside (1) or inside (-1). */
static plane_round_place place_on(const plane_round *round, double angle, double up, int side)
{
    plane_round_place place = {.depth = 4};
    const double flat = plane_round_is_ball(round) ? cos(up) : 1;
    const double outward[3] = {flat * cos(angle), flat * sin(angle), plane_round_is_ball(round) ? sin(up) : 0};
    for (int k = 0; k < 3; k++) {
        place.position[k] = (float)(round->center[k] + round->radius * outward[k]);
        place.normal[k] = (float)(side * outward[k]);
    }
    if (!plane_round_is_ball(round)) place.position[2] += (float)up;
    return place;
}

static void two_places_tell_a_surface(void **state)
{
    (void)state;
    const plane_round *const rounds[2] = {&pillar, &dome};
    for (int i = 0; i < 2; i++)
        for (int side = -1; side < 2; side += 2) {
            const plane_round_place a = place_on(rounds[i], 0.3, 0.2, side), b = place_on(rounds[i], 1.4, 0.7, side);
            plane_round found;
            assert_true(plane_round_of_two(&a, &b, i == 1 ? PLANE_ROUND_BALL : PLANE_ROUND_CYLINDER, NULL, &found));
            assert_true(plane_round_is_ball(&found) == (i == 1) && fabs(found.radius - rounds[i]->radius) < 1e-5);
            assert_true(plane_round_is_like(&found, rounds[i]));
            assert_int_equal(plane_round_side(&found, &a), side);
        }
    const plane_round_place a = place_on(&pillar, 0.3, 0, 1), same = place_on(&pillar, 0.3, 1, 1);
    const plane_round_place inside = place_on(&pillar, 1.4, 0, -1);
    plane_round found;
    assert_false(plane_round_of_two(&a, &same, PLANE_ROUND_CYLINDER, NULL, &found)); /* parallel normals */
    assert_false(plane_round_of_two(&a, &inside, PLANE_ROUND_CYLINDER, NULL, &found));
}

static void rays_meet_both_sheets(void **state)
{
    (void)state;
    const double from[3] = {-3, 2, 0.5}, to[3] = {1, 2, 0.5};
    const splat_camera camera = room_camera(from, to, 100, 100, 100);
    plane_slant slant;
    bool is_far;
    assert_true(plane_round_slant(&camera, &pillar, 50, 50, false, &slant));
    assert_true(fabsf(1 / slant.q - 3.5f) < 1e-4f && fabsf(slant.right) < 1e-4f);
    assert_true(plane_round_slant(&camera, &pillar, 50, 50, true, &slant));
    assert_true(fabsf(1 / slant.q - 4.5f) < 1e-4f);
    assert_false(plane_round_slant(&camera, &pillar, 90, 50, false, &slant)); /* past it */
    plane_round boxed = pillar;
    for (int k = 0; k < 3; k++) {
        boxed.low[k] = -10;
        boxed.high[k] = 10;
    }
    assert_true(plane_round_nearest(&camera, &boxed, 50, 50, 1 / 4.4f, 0.2f, &is_far, &slant) && is_far);
    assert_true(plane_round_nearest(&camera, &boxed, 50, 50, 1 / 3.4f, 0.2f, &is_far, &slant) && !is_far);
    assert_false(plane_round_nearest(&camera, &boxed, 50, 50, 1 / 8.0f, 0.2f, &is_far, &slant));
    boxed.high[0] = 1; /* the far sheet is outside */
    assert_false(plane_round_nearest(&camera, &boxed, 50, 50, 1 / 4.6f, 0.1f, &is_far, &slant));
}

static void fixed_ones_move_less(void **state)
{
    (void)state;
    plane_round fixed = pillar;
    const double unknowns[PLANE_ROUND_UNKNOWNS] = {0.1, 0.2, 0, 0.3, 0};
    fixed.is_fixed = true;
    assert_true(plane_round_unknowns(&pillar) == 5 && plane_round_unknowns(&fixed) == 3);
    assert_true(plane_round_unknowns(&dome) == 4);
    const plane_round moved = plane_round_moved(&pillar, unknowns, 2);
    double length = 0, apart = 0;
    for (int k = 0; k < 3; k++) {
        length += moved.axis[k] * moved.axis[k];
        apart += (moved.center[k] - pillar.center[k]) * (moved.center[k] - pillar.center[k]);
    }
    assert_true(fabs(moved.radius - 0.7) < 1e-12 && fabs(length - 1) < 1e-12 && fabs(sqrt(apart) - 0.4) < 1e-12);
    assert_true(moved.axis[2] < 0.99);
}

/* Rims pull a surface that is off by a tenth to where they are, one in four of them somewhere else. */
static void rims_pull_a_surface(void **state)
{
    (void)state;
    enum { N = 80 };
    plane_seed seeds[N];
    const plane_seed *list[N];
    plane_round_places places = {.noise = 0.1f};
    for (int i = 0; i < N; i++) {
        const plane_round_place at = place_on(&pillar, 0.07 * i, i % 2 ? 0 : 2, 1);
        seeds[i] = (plane_seed){.depth = 4};
        for (int k = 0; k < 3; k++) seeds[i].position[k] = at.position[k] + (i % 4 ? 0 : 0.3f);
        list[i] = &seeds[i];
    }
    plane_round_fitter f = {.s = &places, .seeds = list, .n_rims = N, .length = 4, .round = pillar};
    f.round.center[0] += 0.06;
    f.round.radius -= 0.05;
    assert_true(plane_round_rims(&f) < 0.5);
    for (f.error = 8 * PLANE_ROUND_RIM_ERROR; f.error >= PLANE_ROUND_RIM_ERROR; f.error /= 2)
        plane_round_descend(&f, plane_round_cost_of_rims, 2 * f.error, 200);
    print_message("radius %.4f, at %.4f %.4f; %.3f of the rims\n", f.round.radius, f.round.center[0], f.round.center[1],
                  plane_round_rims(&f));
    assert_true(fabs(f.round.radius - 0.5) < 2e-3 && plane_round_rims(&f) > 0.74);
}

/* Two walls that face each other, with a floor between them, and seeds. */
typedef struct passage {
    plane_global walls[3];
    plane_view view;
    splat_view_maps maps;
    plane_shade shade;
    plane_round_places places;
} passage;

static void passage_make(passage *p, plane_seed *seeds, uint32_t n)
{
    *p = (passage){
        .walls = {{.fit = {.normal = {0, 1, 0}, .offset = 1.5, .centroid = {0, 1.5, 1}}},
                  {.fit = {.normal = {0, -1, 0}, .offset = -2.5, .centroid = {0, 2.5, 1}}},
                  {.fit = {.normal = {0, 0, 1}, .centroid = {1, 2, 0}}}},
        .view = {.seeds = seeds, .n_seeds = n},
        .maps = {.n = 1},
    };
    p->shade = (plane_shade){&p->maps, &p->view};
    p->places = (plane_round_places){.shade = &p->shade, .planes = p->walls, .n_planes = 3, .walls = {0, 1, 2},
                                     .n_walls = 3, .axes = {{.direction = {0, 0, 1}, .weight = 1}}, .n_axes = 1,
                                     .threads = 2};
}

/* Rims of an apse between two walls, a column's edge with as many rims, and rims anywhere: votes find the apse. */
static void rims_vote_for_a_cylinder_between_walls(void **state)
{
    (void)state;
    enum { ARC = 120, EDGE = 300, OTHERS = 200, N = ARC + EDGE + OTHERS };
    plane_seed seeds[N] = {{.depth = 0}};
    passage p;
    for (int i = 0; i < N; i++) {
        const plane_round_place at = place_on(&pillar, 0.018 * (i - ARC / 2), i % 2 ? 0 : 2, -1);
        const float edge[3] = {0.4f, 2.1f, 0.007f * (float)i};
        const float other[3] = {-0.5f + 0.0193f * (float)(i * 37 % 100), 1.55f + 0.9f * (float)(i * 61 % 97) / 97, 1};
        seeds[i].depth = 2;
        memcpy(seeds[i].position, i < ARC ? at.position : i < ARC + EDGE ? edge : other, sizeof edge);
    }
    passage_make(&p, seeds, N);
    plane_round found[PLANE_ROUND_TOUCHING];
    assert_true(plane_rounds_between_walls(&p.places, found) > 0);
    print_message("radius %.4f, at %.4f %.4f\n", found[0].radius, found[0].center[0], found[0].center[1]);
    assert_true(found[0].is_touching && found[0].is_fixed && plane_round_unknowns(&found[0]) == 1);
    assert_true(fabs(found[0].radius - 0.5) < 1e-9 && fabs(found[0].center[1] - 2) < 1e-9);
    assert_true(fabs(found[0].center[0] - 1) < 0.02);
    const double along[PLANE_ROUND_UNKNOWNS] = {0.1};
    const plane_round moved = plane_round_moved(&found[0], along, 2);
    assert_true(fabs(fabs(moved.center[0] - found[0].center[0]) - 0.2) < 1e-9 && moved.radius == found[0].radius);
    p.view.n_seeds = 0;
    assert_int_equal(plane_rounds_between_walls(&p.places, found), 0);
    p.view.n_seeds = N;
    for (int k = 0; k < 3; k++) p.walls[1].fit.normal[k] = p.walls[0].fit.normal[k]; /* they do not face each other */
    assert_int_equal(plane_rounds_between_walls(&p.places, found), 0);
}

/* A row of arches has more rims than the apse at its end: the apse is looked at, too. */
static void an_apse_behind_arches_is_found(void **state)
{
    (void)state;
    enum { ARCHES = 10, EACH = 120, APSE = 70, N = ARCHES * EACH + APSE };
    static plane_seed seeds[N];
    static plane_round found[PLANE_ROUND_TOUCHING];
    passage p;
    for (int i = 0; i < N; i++) {
        const int arch = i / EACH, n = arch < ARCHES ? EACH : APSE;
        const plane_round_place at = place_on(&pillar, 0.02 * (i % EACH - n / 2), i % 2 ? 0 : 2, -1);
        seeds[i].depth = 2;
        memcpy(seeds[i].position, at.position, sizeof at.position);
        seeds[i].position[0] -= arch < ARCHES ? 1.37f * (float)(arch + 1) : 0;
    }
    passage_make(&p, seeds, N);
    const int n = plane_rounds_between_walls(&p.places, found);
    int apse = 0;
    while (apse < n && !(fabs(found[apse].center[0] - 1) < 0.02)) apse++;
    print_message("the apse is %d of %d\n", apse + 1, n);
    assert_true(apse >= 8 && apse < n);
}

/* A plane explains the places near its rectangle, unless the photos have left the plane. */
static void planes_that_photos_left_explain_nothing(void **state)
{
    (void)state;
    enum { W = 32, H = 24 };
    static uint16_t labels[W * H];
    static float depth[W * H];
    static int16_t normal[2 * W * H];
    const double from[3] = {0, 0, 0}, to[3] = {0, 1, 0};
    const float towards[3] = {0, -1, 0};
    plane_segment segment = {.n_pixels = W * H};
    plane_view view = {.labels = labels, .segments = &segment, .n_segments = 1, .shade_width = W, .shade_height = H,
                       .shade_side = 1};
    splat_view_map map = {.camera = room_camera(from, to, W, H, 30), .depth = depth, .normal = normal};
    const splat_view_maps maps = {.n = 1, .views = &map};
    const plane_shade shade = {&maps, &view};
    plane_global lid = {.fit = {.normal = {0, -1, 0}, .offset = -2, .centroid = {0, 2, 0},
                                .axes = {{1, 0, 0}, {0, 0, 1}}}, .low = {-3, -3}, .high = {3, 3}, .n_views = 3};
    for (int i = 0; i < W * H; i++) {
        labels[i] = 1;
        depth[i] = 2;
        splat_normal_encode(towards, normal + 2 * i);
    }
    plane_lay_cells(&lid, 0);
    for (int is_kept = 0; is_kept < 2; is_kept++) {
        const bool are_kept[1] = {is_kept};
        plane_round_places places = {.shade = &shade, .planes = &lid, .are_kept = are_kept, .n_planes = 1,
                                     .threads = 1};
        uint32_t n_flat = 0;
        assert_true(plane_round_places_take(&places));
        assert_true(places.n > 20);
        for (uint32_t i = 0; i < places.n; i++) n_flat += places.places[i].is_flat;
        assert_int_equal(n_flat, is_kept ? places.n : 0);
        plane_round_places_free(&places);
    }
}

/* A vault along x takes places of the apse at its end; those nearer to the apse are the apse's as well. */
static void a_vault_leaves_the_apse_its_places(void **state)
{
    (void)state;
    static const plane_round apse = {.axis = {0, 0, 1}, .center = {5, 0, 0}, .radius = 3, .is_fixed = true,
                                     .is_touching = true, .along = {1, 0, 0}};
    static const float of_apse[3] = {8.1f, 0, 1}, of_vault[3] = {5.5f, 2.9f, 2.1f};
    plane_rounds rounds = {.n = 1};
    plane_round_place place = {.depth = 10};
    uint8_t taker = 0;
    plane_round_places places = {.places = &place, .taker = &taker, .rounds = &rounds, .n = 1};
    plane_round_fitter f = {.s = &places, .round = apse};
    rounds.all[0] = (plane_round){.axis = {1, 0, 0}, .center = {0, 0, 2}, .radius = 3};
    memcpy(place.position, of_apse, sizeof of_apse);
    assert_true(plane_round_is_free(&f, 0)); /* nobody took it */
    taker = PLANE_ROUND_LEFT;
    assert_false(plane_round_is_free(&f, 0));
    taker = 1;
    assert_true(plane_round_is_free(&f, 0));
    memcpy(place.position, of_vault, sizeof of_vault);
    assert_false(plane_round_is_free(&f, 0));
    memcpy(place.position, of_apse, sizeof of_apse);
    f.round.is_touching = false;
    assert_false(plane_round_is_free(&f, 0));
    f.round.is_touching = true;
    rounds.all[0] = apse; /* those of another apse, a tenth away, are not */
    f.round.center[0] += 0.1;
    assert_false(plane_round_is_free(&f, 0));
}

/* Rims on planes say alone where a cylinder between walls is, if there are 40, and surely more than elsewhere. Fewer do
 * not, nor those that lie elsewhere, nor for another cylinder. Rims of a segment count once, however often its places
 * come. */
static void exact_rims_speak_alone(void **state)
{
    (void)state;
    enum { N = 300, ENOUGH = 40, FAR_OFF = 10 };
    static plane_seed seeds[N];
    plane_segment segments[2] = {{.n_seeds = N}, {.n_seeds = 0}};
    plane_round_place of_rows[3] = {{.depth = 2}, {.depth = 2, .segment = 1}, {.depth = 2}};
    uint32_t first_segment[2] = {0, 2};
    uint8_t taker[3] = {0};
    for (int n_settled = ENOUGH - 1; n_settled <= ENOUGH; n_settled++)
        for (int kind = 0; kind < 4; kind++) {
            const bool is_touching = kind & 1, is_elsewhere = kind & 2;
            plane_round_fitter f;
            passage p;
            for (int i = 0; i < N; i++) {
                const plane_round_place at = place_on(&pillar, 0.003 * (i - N / 2), 0, -1);
                seeds[i].depth = 2;
                memcpy(seeds[i].position, at.position, sizeof at.position);
                seeds[i].position[0] += i < FAR_OFF ? 1 : 0;
                seeds[i].is_settled = i % 2 && i / 2 < n_settled + FAR_OFF / 2;
                seeds[i].position[0] += is_elsewhere && seeds[i].is_settled ? 0.1f : 0;
            }
            passage_make(&p, seeds, N);
            p.view.segments = segments;
            p.places.places = of_rows;
            p.places.taker = taker;
            p.places.first_segment = first_segment;
            p.places.n = 3;
            assert_true(plane_round_fitter_make(&f, &p.places));
            for (uint32_t i = 0; i < p.places.n; i++) f.inliers[i] = i;
            f.n = p.places.n;
            f.round = pillar;
            f.round.is_touching = is_touching;
            f.round.along[0] = 1;
            plane_round_look_at_rims(&f);
            uint32_t n = 0;
            for (uint32_t i = 0; i < f.n_rims; i++) n += f.seeds[i]->is_settled;
            const bool is_alone = is_touching && n_settled == ENOUGH && !is_elsewhere;
            assert_int_equal(n, n_settled);
            assert_int_equal(f.is_settled, is_alone);
            assert_int_equal(f.n_rims, is_alone ? n_settled : N - FAR_OFF);
            plane_round_fitter_free(&f);
        }
}

/* Rims that few others stand next to tell where a cylinder between walls is, whatever the shading says. With columns
 * before it shading must agree, and rims that lie anywhere tell nothing. */
static void rims_tell_a_place_alone_or_with_the_shading(void **state)
{
    (void)state;
    enum { ARC = 200, MOST = 190 };
    static plane_seed seeds[ARC + MOST];
    plane_round_fitter f;
    passage p;
    passage_make(&p, seeds, 0);
    p.places.noise = 0.05f;
    p.places.first_segment = (uint32_t[2]){0, 1};
    assert_true(plane_round_fitter_make(&f, &p.places));
    f.round = pillar;
    f.round.is_touching = f.round.is_fixed = true;
    f.round.along[0] = 1;
    for (int i = 0; i < ARC + MOST; i++) { /* columns stand a tenth of the radius before the arc */
        const plane_round_place at = place_on(&pillar, 0.006 * (i % ARC - ARC / 2), 0, -1);
        seeds[i].depth = 2;
        memcpy(seeds[i].position, at.position, sizeof at.position);
        seeds[i].position[0] -= i < ARC ? 0 : 0.1f * (float)pillar.radius;
        f.seeds[i] = &seeds[i];
    }
    static const struct {
        uint32_t n_columns;
        double noises;
        bool is_told;
    } cases[] = {{0, 20, true}, {15, 20, true}, {60, 20, false}, {60, 5, true}, {MOST, 5, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        f.n_rims = ARC + cases[i].n_columns;
        assert_int_equal(plane_round_is_told_by_rims(&f, 0.05 * cases[i].noises), cases[i].is_told);
    }
    plane_round_fitter_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_places_tell_a_surface),
        cmocka_unit_test(rays_meet_both_sheets),
        cmocka_unit_test(fixed_ones_move_less),
        cmocka_unit_test(rims_pull_a_surface),
        cmocka_unit_test(rims_vote_for_a_cylinder_between_walls),
        cmocka_unit_test(an_apse_behind_arches_is_found),
        cmocka_unit_test(planes_that_photos_left_explain_nothing),
        cmocka_unit_test(a_vault_leaves_the_apse_its_places),
        cmocka_unit_test(exact_rims_speak_alone),
        cmocka_unit_test(rims_tell_a_place_alone_or_with_the_shading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
