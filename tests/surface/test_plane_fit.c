/* A plane through weighted places: its normal, its axes and how far the places spread along them. Seeds of planes,
 * sorted by their segments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "surface/planes/plane_fit.h"
#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_seeds.h"

#include <math.h>
#include <string.h>

/* Right-handed axes that are parallel to no axis of the world. */
static const double axes[3][3] = {
    {2.0 / 3, 2.0 / 3, 1.0 / 3}, {-2.0 / 3, 1.0 / 3, 2.0 / 3}, {1.0 / 3, -2.0 / 3, 2.0 / 3}};
static const double middle[3] = {3, -1, 0.5};

static void put(plane_moments *m, double a, double b, double c, double weight)
{
    float place[3];
    for (int k = 0; k < 3; k++) place[k] = (float)(middle[k] + a * axes[0][k] + b * axes[1][k] + c * axes[2][k]);
    plane_moments_add(m, place, weight);
}

static double along(const double a[3], const double b[3])
{
    return fabs(a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
}

/* A box of 4 x 2 x 0.2, by its corners: it spreads by 2, 1 and 0.1 around its middle. */
static void axes_are_those_of_the_places(void **state)
{
    (void)state;
    static const double sigma[3] = {2, 1, 0.1};
    plane_moments m = {0};
    plane_fit fit;
    for (int i = 0; i < 8; i++) put(&m, i & 1 ? 2 : -2, i & 2 ? 1 : -1, i & 4 ? 0.1 : -0.1, 1);
    assert_true(plane_fit_make(&m, &fit));
    for (int k = 0; k < 3; k++) {
        assert_float_equal(fit.sigma[k], sigma[k], 1e-5);
        assert_float_equal(fit.centroid[k], middle[k], 1e-6);
    }
    for (int k = 0; k < 2; k++) assert_float_equal(along(fit.axes[k], axes[k]), 1, 1e-9);
    assert_float_equal(along(fit.normal, axes[2]), 1, 1e-9);
    assert_float_equal(fabs(fit.offset), along(axes[2], middle), 1e-6);
    const float above[3] = {(float)(middle[0] + 0.3 * fit.normal[0]), (float)(middle[1] + 0.3 * fit.normal[1]),
                            (float)(middle[2] + 0.3 * fit.normal[2])};
    assert_float_equal(plane_distance(&fit, above), 0.3, 1e-6);
}

static void a_weight_of_two_is_the_place_twice(void **state)
{
    (void)state;
    plane_moments twice = {0}, heavy = {0};
    plane_fit a, b;
    for (int i = 0; i < 6; i++) {
        put(&twice, i, i * i % 5, 0.1 * (i % 3), 1);
        if (i > 3) put(&twice, i, i * i % 5, 0.1 * (i % 3), 1);
        put(&heavy, i, i * i % 5, 0.1 * (i % 3), i > 3 ? 2 : 1);
    }
    assert_true(plane_fit_make(&twice, &a) && plane_fit_make(&heavy, &b));
    assert_float_equal(a.offset, b.offset, 1e-12);
    for (int k = 0; k < 3; k++) {
        assert_float_equal(a.centroid[k], b.centroid[k], 1e-12);
        assert_float_equal(a.normal[k], b.normal[k], 1e-12);
        assert_float_equal(a.sigma[k], b.sigma[k], 1e-12);
    }
}

static void three_places_make_a_plane(void **state)
{
    (void)state;
    plane_moments m = {0};
    plane_fit fit;
    assert_false(plane_fit_make(&m, &fit));
    put(&m, 1, 0, 0, 1);
    put(&m, 0, 1, 0, 1);
    assert_false(plane_fit_make(&m, &fit)); /* a line */
    put(&m, -1, -1, 0, 1);
    assert_true(plane_fit_make(&m, &fit));
    assert_float_equal(along(fit.normal, axes[2]), 1, 1e-6);
    assert_true(fit.sigma[2] < 1e-3);
    put(&m, NAN, 0, 0, 1);
    assert_false(plane_fit_make(&m, &fit));
}

/* Segments know where their seeds begin and how many there are; what lies after the last segment is not touched. */
static void seeds_are_counted_by_segment(void **state)
{
    (void)state;
    enum { N = 9, SEGMENTS = 4 };
    static const uint16_t of[N] = {2, 0, 2, 3, 0, 2, 0, 0, 2}; /* none of segment 1 */
    static const uint32_t first[SEGMENTS] = {0, 4, 4, 8}, counts[SEGMENTS] = {4, 0, 4, 1};
    plane_seed seeds[N] = {{.depth = 0}};
    plane_segment segments[SEGMENTS + 1] = {{.n_seeds = 77}};
    plane_view view = {.seeds = seeds, .segments = segments, .n_seeds = N, .n_segments = SEGMENTS};
    for (uint32_t i = 0; i < N; i++) seeds[i] = (plane_seed){.segment = of[i], .pixel = 100 - i, .depth = (float)i};
    segments[SEGMENTS].n_seeds = segments[SEGMENTS].first_seed = 99;
    plane_seeds_sort(&view);
    for (int s = 0; s < SEGMENTS; s++) {
        assert_int_equal(segments[s].first_seed, first[s]);
        assert_int_equal(segments[s].n_seeds, counts[s]);
        for (uint32_t i = first[s]; i < first[s] + counts[s]; i++) {
            assert_int_equal(seeds[i].segment, s);
            assert_int_equal(seeds[i].pixel, 100 - (uint32_t)seeds[i].depth); /* whole seeds move */
            if (i > first[s]) assert_true(seeds[i].pixel > seeds[i - 1].pixel);
        }
    }
    assert_true(segments[SEGMENTS].n_seeds == 99 && segments[SEGMENTS].first_seed == 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_are_those_of_the_places),
        cmocka_unit_test(a_weight_of_two_is_the_place_twice),
        cmocka_unit_test(three_places_make_a_plane),
        cmocka_unit_test(seeds_are_counted_by_segment),
    };
    return cmocka_run_group_tests_name("plane fit", tests, NULL, NULL);
}
