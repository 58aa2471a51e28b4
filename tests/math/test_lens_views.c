/* math/lens.h: the views that wide photos are cut into cover what the lens shows, and nothing but that. */
#include "math/lens_views.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define PI 3.14159265358979323846

static splat_lens make(splat_lens_model model, int width, int height, const double *parameters)
{
    splat_lens lens = {.width = width, .height = height};
    splat_lens_set(&lens, model, parameters);
    return lens;
}

/* The place of a lens's ray in a crop; false: outside. */
static bool find(const splat_lens_crop *crop, const double ray[3])
{
    double at[3];
    for (int r = 0; r < 3; r++)
        at[r] = crop->turn[3 * r] * ray[0] + crop->turn[3 * r + 1] * ray[1] + crop->turn[3 * r + 2] * ray[2];
    double x = crop->frame.fx * at[0] / at[2] + crop->frame.cx, y = crop->frame.fy * at[1] / at[2] + crop->frame.cy;
    return at[2] > 0 && x >= 0 && y >= 0 && x <= crop->frame.width && y <= crop->frame.height;
}

/* The share of the photo's pixels that see something and that no crop shows. */
static double share_unseen(const splat_lens *lens, const splat_lens_crop *crops, int n)
{
    long n_pixels = 0, n_unseen = 0;
    for (int y = 0; y < lens->height; y += 2)
        for (int x = 0; x < lens->width; x += 2) {
            double ray[3];
            bool is_found = false;
            if (!splat_lens_unproject(lens, (const double[]){x + 0.5, y + 0.5}, ray)) continue;
            for (int i = 0; i < n && !is_found; i++) is_found = find(&crops[i], ray);
            n_pixels++;
            n_unseen += !is_found;
        }
    assert_true(n_pixels > 1000);
    return (double)n_unseen / (double)n_pixels;
}

static void expect_rotations(const splat_lens_crop *crops, int n)
{
    for (int i = 0; i < n; i++) {
        const double *m = crops[i].turn;
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) {
                double dot = m[3 * r] * m[3 * c] + m[3 * r + 1] * m[3 * c + 1] + m[3 * r + 2] * m[3 * c + 2];
                assert_float_equal(dot, r == c, 1e-12);
            }
        double determinant = m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
                             m[2] * (m[3] * m[7] - m[4] * m[6]);
        assert_float_equal(determinant, 1, 1e-12);
    }
}

/* front, right, left, down, up, back; as fine as the panorama at its horizon. */
static void panoramas_are_cubes(void **state)
{
    (void)state;
    static const double directions[6][3] = {{0, 0, 1}, {1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, -1}};
    splat_lens lens = make(SPLAT_LENS_EQUIRECTANGULAR, 1000, 500, (const double[]){1000, 500});
    splat_lens_crop crops[SPLAT_LENS_CROPS];
    assert_int_equal(splat_lens_make_crops(&lens, crops), 6);
    expect_rotations(crops, 6);
    for (int i = 0; i < 6; i++) {
        const splat_lens_frame *f = &crops[i].frame;
        assert_float_equal(f->fx, 1000 / (2 * PI), 1e-9);
        assert_float_equal(f->fy, f->fx, 0);
        assert_int_equal(f->width, (int)rint(2 * f->fx * tan(47 * PI / 180)));
        assert_int_equal(f->height, f->width);
        assert_float_equal(f->cx, 0.5 * f->width, 1e-9);
        assert_float_equal(f->cy, 0.5 * f->height, 1e-9);
        assert_false(crops[i].leaves_blank);
        for (int k = 0; k < 3; k++) assert_float_equal(crops[i].turn[6 + k], directions[i][k], 1e-12);
    }
    assert_true(share_unseen(&lens, crops, 6) == 0);
}

static void fisheyes_are_covered(void **state)
{
    (void)state;
    /* 180 degrees over the width of a wide photo, over the height of a square one, and 190 */
    static const struct { int width, height; double f; int n; double unseen; } cases[] = {
        {1000, 600, 1000 / PI, 5, 0}, {1000, 1000, 1000 / PI, 5, 0}, {1000, 1000, 1000 / (190 * PI / 180), 5, 0},
        {1000, 500, 1000 / PI, 3, 0.005}, /* nothing above and below that the middle does not show */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double c[2] = {0.5 * cases[i].width, 0.5 * cases[i].height};
        splat_lens lens = make(SPLAT_LENS_FISHEYE, cases[i].width, cases[i].height,
                               (const double[]){cases[i].f, cases[i].f, c[0], c[1]});
        lens.max_angle = 95 * PI / 180;
        splat_lens_crop crops[SPLAT_LENS_CROPS];
        assert_int_equal(splat_lens_make_crops(&lens, crops), cases[i].n);
        expect_rotations(crops, cases[i].n);
        double unseen = share_unseen(&lens, crops, cases[i].n);
        if (unseen > cases[i].unseen) fail_msg("case %zu: %g of the photo is in no view", i, unseen);
        for (int k = 0; k < cases[i].n; k++) {
            assert_float_equal(crops[k].frame.fx, cases[i].f, 1e-9);
            assert_true(crops[k].frame.width <= 2.8 * cases[i].f && crops[k].frame.height <= 2.8 * cases[i].f);
        }
    }
}

/* The photo goes on beyond the image circle: the views end where that does. */
static void the_image_circle_bounds(void **state)
{
    (void)state;
    splat_lens lens = make(SPLAT_LENS_FISHEYE, 1000, 1000, (const double[]){300, 300, 500, 500});
    splat_lens_crop crops[SPLAT_LENS_CROPS];
    double ray[3] = {sin(1.45), 0, cos(1.45)}, pixel[2];
    assert_true(splat_lens_project(&lens, ray, pixel));
    lens.max_angle = 80 * PI / 180;
    assert_false(splat_lens_project(&lens, ray, pixel)); /* 83 degrees */
    assert_false(splat_lens_unproject(&lens, (const double[]){500 + 300 * 1.45, 500}, ray));
    assert_true(splat_lens_unproject(&lens, (const double[]){500 + 300 * 1.35, 500}, ray));
    assert_int_equal(splat_lens_make_crops(&lens, crops), 5);
    assert_true(crops[1].leaves_blank && !crops[0].leaves_blank);
    /* of the view to the right, 10 to 80 degrees and a step of the grid (1.8 degrees at most) are left */
    double farthest = atan((crops[1].frame.width - crops[1].frame.cx) / crops[1].frame.fx) * 180 / PI + 55;
    assert_true(farthest >= 80 && farthest < 82);
    assert_true(share_unseen(&lens, crops, 5) < 0.001);
}

/* A lens that sees up to 70 degrees has one view, even in a wider photo: a small image circle, and a polynomial that
 * folds at 1 radian. */
static void small_circles_are_one_view(void **state)
{
    (void)state;
    splat_lens lens = make(SPLAT_LENS_FISHEYE, 1000, 1000, (const double[]){300, 300, 500, 500});
    splat_lens_crop crops[SPLAT_LENS_CROPS];
    lens.max_angle = 50 * PI / 180;
    assert_int_equal(splat_lens_make_crops(&lens, crops), 1);
    assert_true(crops[0].leaves_blank && share_unseen(&lens, crops, 1) == 0);
    assert_in_range(crops[0].frame.width, 2 * 300 * tan(50 * PI / 180), 2 * 300 * tan(54 * PI / 180));
    lens = make(SPLAT_LENS_SIMPLE_RADIAL_FISHEYE, 1000, 1000, (const double[]){500, 500, 500, -1.0 / 3});
    assert_float_equal(lens.max_radius, 1, 1e-6);
    assert_int_equal(splat_lens_make_crops(&lens, crops), 1);
    assert_true(crops[0].leaves_blank && share_unseen(&lens, crops, 1) == 0);
}

static void hostile_lenses(void **state)
{
    (void)state;
    static const double values[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308, 1e-308, 0, -1, 5};
    double parameters[SPLAT_LENS_PARAMETERS];
    splat_lens_crop crops[SPLAT_LENS_CROPS];
    for (int model = 0; model < SPLAT_LENS_MODELS; model++)
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
            for (int which = 0; which < SPLAT_LENS_PARAMETERS; which++)
                for (int size = 0; size < 2; size++) {
                    for (int k = 0; k < SPLAT_LENS_PARAMETERS; k++) parameters[k] = k < 4 ? 5 + k : 0.01;
                    parameters[which] = values[i];
                    splat_lens lens = make((splat_lens_model)model, 20 * size, 15 * size, parameters);
                    int n = splat_lens_make_crops(&lens, crops);
                    assert_true(n >= 0 && n <= SPLAT_LENS_CROPS);
                    for (int k = 0; k < n; k++)
                        assert_true(crops[k].frame.width >= 1 && crops[k].frame.width <= 120 * size &&
                                    crops[k].frame.height >= 1 && crops[k].frame.height <= 120 * size);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panoramas_are_cubes),     cmocka_unit_test(fisheyes_are_covered),
        cmocka_unit_test(the_image_circle_bounds), cmocka_unit_test(small_circles_are_one_view),
        cmocka_unit_test(hostile_lenses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
