/* A plane through weighted places: its normal, its axes and how far the places spread along them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "sugar/planes/plane_parts.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_are_those_of_the_places),
        cmocka_unit_test(a_weight_of_two_is_the_place_twice),
        cmocka_unit_test(three_places_make_a_plane),
    };
    return cmocka_run_group_tests_name("plane fit", tests, NULL, NULL);
}
