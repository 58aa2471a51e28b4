/* math/lens.h: every camera model against its formulas' fixed points, its own inverse and numeric derivatives, and
 * the frames that COLMAP 3.8's image_undistorter wrote. */
#include "math/lens_views.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static splat_lens make(splat_lens_model model, int width, int height, const double *parameters)
{
    splat_lens lens = {.width = width, .height = height};
    splat_lens_set(&lens, model, parameters);
    return lens;
}

/* A lens of each model as people have them, of 1000 x 750 pixels. */
static const struct { splat_lens_model model; double parameters[SPLAT_LENS_PARAMETERS]; } samples[] = {
    {SPLAT_LENS_SIMPLE_PINHOLE, {800, 500, 375}},
    {SPLAT_LENS_PINHOLE, {800, 790, 500, 375}},
    {SPLAT_LENS_SIMPLE_RADIAL, {800, 500, 375, -0.12}},
    {SPLAT_LENS_RADIAL, {700, 500, 375, 0.15, 0.02}},
    {SPLAT_LENS_OPENCV, {812.5, 809.25, 507.5, 371.25, -0.28, 0.09, 0.0011, -0.0007}},
    {SPLAT_LENS_OPENCV_FISHEYE, {420, 421, 505, 370, 0.03, -0.01, 0.002, -0.0005}},
    {SPLAT_LENS_FULL_OPENCV, {800, 805, 495, 380, -0.3, 0.12, 0.001, -0.002, 0.01, -0.05, 0.02, 0.003}},
    {SPLAT_LENS_FOV, {600, 605, 500, 375, 0.9}},
    {SPLAT_LENS_FOV, {600, 605, 500, 375, 0.005}},
    {SPLAT_LENS_SIMPLE_RADIAL_FISHEYE, {420, 500, 375, 0.02}},
    {SPLAT_LENS_RADIAL_FISHEYE, {420, 500, 375, 0.02, -0.004}},
    {SPLAT_LENS_THIN_PRISM_FISHEYE, {420, 418, 500, 375, 0.02, -0.01, 0.001, -0.0008, 0.003, -0.0004, 0.0005, -0.0006}},
    {SPLAT_LENS_RAD_TAN_THIN_PRISM_FISHEYE,
     {420, 418, 500, 375, 0.02, -0.01, 0.003, -0.0004, 0.0001, -0.00001, 0.001, -0.0008, 0.0005, -0.0001, -0.0006,
      0.0002}},
    {SPLAT_LENS_SIMPLE_DIVISION, {800, 500, 375, -0.15}},
    {SPLAT_LENS_DIVISION, {800, 790, 500, 375, 0.1}},
    {SPLAT_LENS_SIMPLE_FISHEYE, {420, 500, 375}},
    {SPLAT_LENS_FISHEYE, {420, 410, 500, 375}},
    {SPLAT_LENS_EUCM, {500, 505, 500, 375, 0.6, 1.1}},
    {SPLAT_LENS_EQUIRECTANGULAR, {1000, 750}},
    {SPLAT_LENS_NERFSTUDIO, {800, 805, 495, 380, -0.2, 0.08, -0.01, 0.002, 0.001, -0.002}},
};
#define N_SAMPLES (sizeof samples / sizeof samples[0])

static void each_model_inverts_itself(void **state)
{
    (void)state;
    bool seen[SPLAT_LENS_MODELS] = {0};
    for (size_t i = 0; i < N_SAMPLES; i++) {
        splat_lens lens = make(samples[i].model, 1000, 750, samples[i].parameters);
        seen[lens.model] = true;
        for (int y = 0; y <= 10; y++)
            for (int x = 0; x <= 10; x++) {
                const double pixel[2] = {0.5 + 99.9 * x, 0.5 + 74.9 * y};
                double ray[3], back[2];
                assert_true(splat_lens_unproject(&lens, pixel, ray));
                assert_true(fabs(ray[0] * ray[0] + ray[1] * ray[1] + ray[2] * ray[2] - 1) < 1e-12);
                assert_true(splat_lens_project(&lens, ray, back));
                if (hypot(back[0] - pixel[0], back[1] - pixel[1]) < 1e-6) continue;
                fail_msg("%s: pixel %g %g comes back as %g %g", splat_lens_form_get(lens.model)->name, pixel[0],
                         pixel[1], back[0], back[1]);
            }
    }
    for (int i = 0; i < SPLAT_LENS_MODELS; i++) assert_true(seen[i]);
}

/* The axis is seen in the principal point, and near it a lens is the pinhole camera of its focal lengths, but for
 * the models that say otherwise. */
static void lenses_begin_as_pinholes(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SAMPLES; i++) {
        splat_lens lens = make(samples[i].model, 1000, 750, samples[i].parameters);
        const double axis[3] = {0, 0, 2}, beside[3] = {1e-6, -2e-6, 1};
        double pixel[2];
        assert_true(splat_lens_project(&lens, axis, pixel));
        assert_true(fabs(pixel[0] - lens.cx) < 1e-9 && fabs(pixel[1] - lens.cy) < 1e-9);
        if (lens.model == SPLAT_LENS_FOV) continue; /* its middle is magnified by 2 tan(omega / 2) / omega */
        assert_true(splat_lens_project(&lens, beside, pixel));
        assert_true(fabs((pixel[0] - lens.cx) - 1e-6 * lens.fx) < 1e-8);
        assert_true(fabs((pixel[1] - lens.cy) + 2e-6 * lens.fy) < 1e-8);
    }
}

/* One ray through every formula, worked out by hand in long form: what an inverse alone cannot find, such as p1 and p2
 * exchanged in both directions. u = 0.3, v = -0.2, t = 0.13. */
static void formulas(void **state)
{
    (void)state;
    const double ray[3] = {0.3, -0.2, 1}, u = 0.3, v = -0.2, t = 0.13, uv = -0.06;
    double pixel[2];
    const double *c = samples[4].parameters + 4; /* OPENCV */
    splat_lens lens = make(SPLAT_LENS_OPENCV, 1000, 750, samples[4].parameters);
    double rho = c[0] * t + c[1] * t * t;
    assert_true(splat_lens_project(&lens, ray, pixel));
    assert_true(fabs(pixel[0] - (812.5 * (u + u * rho + 2 * c[2] * uv + c[3] * (t + 2 * u * u)) + 507.5)) < 1e-9);
    assert_true(fabs(pixel[1] - (809.25 * (v + v * rho + 2 * c[3] * uv + c[2] * (t + 2 * v * v)) + 371.25)) < 1e-9);

    c = samples[6].parameters + 4; /* FULL_OPENCV */
    lens = make(SPLAT_LENS_FULL_OPENCV, 1000, 750, samples[6].parameters);
    double q = (1 + c[0] * t + c[1] * t * t + c[4] * t * t * t) / (1 + c[5] * t + c[6] * t * t + c[7] * t * t * t);
    assert_true(splat_lens_project(&lens, ray, pixel));
    assert_true(fabs(pixel[0] - (800 * (u * q + 2 * c[2] * uv + c[3] * (t + 2 * u * u)) + 495)) < 1e-9);

    double r = sqrt(t), theta = atan(r), a = u * theta / r, b = v * theta / r, t2 = theta * theta;
    c = samples[11].parameters + 4; /* THIN_PRISM_FISHEYE */
    lens = make(SPLAT_LENS_THIN_PRISM_FISHEYE, 1000, 750, samples[11].parameters);
    rho = c[0] * t2 + c[1] * t2 * t2 + c[4] * pow(t2, 3) + c[5] * pow(t2, 4);
    assert_true(splat_lens_project(&lens, ray, pixel));
    assert_true(fabs(pixel[0] -
                     (420 * (a + a * rho + 2 * c[2] * a * b + c[3] * (t2 + 2 * a * a) + c[6] * t2) + 500)) < 1e-9);
    assert_true(fabs(pixel[1] -
                     (418 * (b + b * rho + 2 * c[3] * a * b + c[2] * (t2 + 2 * b * b) + c[7] * t2) + 375)) < 1e-9);

    c = samples[12].parameters + 4; /* RAD_TAN_THIN_PRISM_FISHEYE: k0..k5 p0 p1 s0..s3 */
    lens = make(SPLAT_LENS_RAD_TAN_THIN_PRISM_FISHEYE, 1000, 750, samples[12].parameters);
    double h = 1;
    for (int i = 0; i < 6; i++) h += c[i] * pow(t2, i + 1);
    double x = h * a, y = h * b, R = x * x + y * y;
    assert_true(splat_lens_project(&lens, ray, pixel));
    assert_true(fabs(pixel[0] -
                     (420 * (x + 2 * c[7] * x * y + c[6] * (R + 2 * x * x) + c[8] * R + c[9] * R * R) + 500)) < 1e-9);
    assert_true(fabs(pixel[1] -
                     (418 * (y + 2 * c[6] * x * y + c[7] * (R + 2 * y * y) + c[10] * R + c[11] * R * R) + 375)) < 1e-9);

    lens = make(SPLAT_LENS_FOV, 1000, 750, samples[7].parameters);
    assert_true(splat_lens_project(&lens, ray, pixel));
    assert_true(fabs(pixel[0] - (600 * u * atan(2 * r * tan(0.45)) / (r * 0.9) + 500)) < 1e-9);

    lens = make(SPLAT_LENS_DIVISION, 1000, 750, samples[14].parameters); /* (u, v) = m / (1 + k |m|²) */
    assert_true(splat_lens_project(&lens, ray, pixel));
    double m = (pixel[0] - 500) / 800, n = (pixel[1] - 375) / 790;
    assert_true(fabs(m / (1 + 0.1 * (m * m + n * n)) - u) < 1e-12);

    lens = make(SPLAT_LENS_EUCM, 1000, 750, samples[17].parameters);
    assert_true(splat_lens_project(&lens, ray, pixel));
    assert_true(fabs(pixel[0] - (500 * u / (0.6 * sqrt(1.1 * t + 1) + 0.4) + 500)) < 1e-9);

    lens = make(SPLAT_LENS_EQUIRECTANGULAR, 1000, 750, samples[18].parameters);
    const double right[3] = {1, 0, 0}, up[3] = {0, -1, 1};
    assert_true(splat_lens_project(&lens, right, pixel) && fabs(pixel[0] - 750) < 1e-9 && fabs(pixel[1] - 375) < 1e-9);
    assert_true(splat_lens_project(&lens, up, pixel) && fabs(pixel[0] - 500) < 1e-9 && fabs(pixel[1] - 187.5) < 1e-9);

    c = samples[19].parameters + 4; /* Nerfstudio: k1 k2 k3 k4 p1 p2, all radial ones in one polynomial */
    lens = make(SPLAT_LENS_NERFSTUDIO, 1000, 750, samples[19].parameters);
    rho = c[0] * t + c[1] * t * t + c[2] * t * t * t + c[3] * pow(t, 4);
    assert_true(splat_lens_project(&lens, ray, pixel));
    assert_true(fabs(pixel[0] - (800 * (u + u * rho + 2 * c[4] * uv + c[5] * (t + 2 * u * u)) + 495)) < 1e-9);
}

/* EUCM of alpha 0.3 sees as far behind as z = -w d with w = alpha / (1 - alpha), here with d = 1 (beta 1). */
static void eucm_ends_at_its_horizon(void **state)
{
    (void)state;
    splat_lens lens = make(SPLAT_LENS_EUCM, 1000, 750, (const double[]){500, 505, 500, 375, 0.3, 1.0});
    const double w = 0.3 / 0.7;
    for (int side = -1; side <= 1; side += 2) {
        const double z = -(w + side * 0.01), ray[3] = {sqrt(1 - z * z), 0, z};
        double pixel[2];
        assert_int_equal(splat_lens_project(&lens, ray, pixel), side < 0);
    }
}

/* A fisheye sees to the side, and behind. */
static void fisheyes_see_beyond_90_degrees(void **state)
{
    (void)state;
    splat_lens lens = make(SPLAT_LENS_FISHEYE, 2000, 1000, (const double[]){300, 300, 1000, 500});
    const double behind[3] = {sin(2.0), 0, cos(2.0)};
    double pixel[2], ray[3];
    assert_true(splat_lens_project(&lens, behind, pixel));
    assert_true(fabs(pixel[0] - 1600) < 1e-9 && fabs(pixel[1] - 500) < 1e-9);
    assert_true(splat_lens_unproject(&lens, pixel, ray));
    assert_true(fabs(ray[0] - behind[0]) < 1e-12 && fabs(ray[2] - behind[2]) < 1e-12);
    splat_lens pinhole = make(SPLAT_LENS_PINHOLE, 2000, 1000, (const double[]){300, 300, 1000, 500});
    assert_false(splat_lens_project(&pinhole, behind, pixel));
}

/* r - r³/2 turns at r = sqrt(2/3): what is seen beyond it would be mirrored. */
static void folds_are_outside(void **state)
{
    (void)state;
    const double fold = sqrt(2.0 / 3);
    splat_lens lens = make(SPLAT_LENS_SIMPLE_RADIAL, 1000, 750, (const double[]){500, 500, 375, -0.5});
    double pixel[2], ray[3];
    assert_true(fabs(lens.max_radius - fold) < 1e-9);
    const double inside[3] = {0.99 * fold, 0, 1}, outside[3] = {1.01 * fold, 0, 1};
    assert_true(splat_lens_project(&lens, inside, pixel));
    assert_false(splat_lens_project(&lens, outside, pixel));
    const double corner[2] = {0.5, 0.5}; /* no ray arrives there: the profile's top is 0.544 */
    assert_false(splat_lens_unproject(&lens, corner, ray));
}

static void frames_are_those_of_colmap(void **state)
{
    (void)state;
    static const struct { int sample; double blank; int width, height; double cx, cy; } expected[] = {
        {2, 0, 1053, 770, 526.5, 385}, {2, 1, 1096, 822, 548, 411},
        {3, 0, 903, 677, 451.5, 338.5}, {3, 1, 934, 720, 467, 360},
        {4, 0, 1126, 799, 571.445, 395.505}, {4, 1, 1213, 912, 615.5975, 451.44},
        {5, 0, 1889, 996, 953.945, 491.36}, {5, 1, 2000, 1500, 1010, 740},
    };
    splat_lens_frame frame;
    double degrees;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        splat_lens lens = make(samples[expected[i].sample].model, 1000, 750, samples[expected[i].sample].parameters);
        assert_true(splat_lens_undistorted_frame(&lens, expected[i].blank, 89, &frame, &degrees));
        assert_int_equal(frame.width, expected[i].width);
        assert_int_equal(frame.height, expected[i].height);
        assert_true(fabs(frame.cx - expected[i].cx) < 1e-9 && fabs(frame.cy - expected[i].cy) < 1e-9);
        assert_true(frame.fx == lens.fx && frame.fy == lens.fy);
    }
    /* a phone's calibration */
    splat_lens phone = make(SPLAT_LENS_OPENCV, 1061, 1894,
                            (const double[]){1374.1880469574253, 1370.1567589345882, 530.5, 947, -0.0080916296510014363,
                                             0.0033939771702784804, 0.0039259404427085271, -0.0017194940715821035});
    assert_true(splat_lens_undistorted_frame(&phone, 0, 89, &frame, &degrees));
    assert_int_equal(frame.width, 1053);
    assert_int_equal(frame.height, 1881);
    assert_true(fabs(frame.cx - 526.5) < 1e-9 && fabs(frame.cy - 940.5) < 1e-9);
    assert_true(degrees > 30 && degrees < 45);
}

static void wide_lenses_have_no_frame(void **state)
{
    (void)state;
    splat_lens_frame frame;
    double degrees;
    splat_lens fisheye = make(SPLAT_LENS_FISHEYE, 2000, 1000, (const double[]){300, 300, 1000, 500});
    assert_false(splat_lens_undistorted_frame(&fisheye, 0, 70, &frame, &degrees));
    assert_true(degrees > 150);
    splat_lens panorama = make(SPLAT_LENS_EQUIRECTANGULAR, 2000, 1000, (const double[]){2000, 1000});
    assert_false(splat_lens_undistorted_frame(&panorama, 0, 89, &frame, &degrees));
}

static void pinholes(void **state)
{
    (void)state;
    splat_lens lens = make(SPLAT_LENS_OPENCV, 100, 75, (const double[]){80, 80, 50, 37, 0, 0, 0, 0});
    assert_true(splat_lens_is_pinhole(&lens));
    lens = make(SPLAT_LENS_SIMPLE_RADIAL, 100, 75, (const double[]){80, 50, 37, 1e-9});
    assert_true(splat_lens_is_pinhole(&lens));
    lens = make(SPLAT_LENS_SIMPLE_RADIAL, 100, 75, (const double[]){80, 50, 37, 1e-7});
    assert_false(splat_lens_is_pinhole(&lens));
    lens = make(SPLAT_LENS_FISHEYE, 100, 75, (const double[]){80, 80, 50, 37});
    assert_false(splat_lens_is_pinhole(&lens));
}

/* Numbers that no lens has: answers, not crashes or endless loops. */
static void hostile_parameters(void **state)
{
    (void)state;
    static const double values[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308, 1e-308, 0, -1, 5};
    double parameters[SPLAT_LENS_PARAMETERS], pixel[2], ray[3];
    splat_lens_frame frame;
    for (int model = 0; model < SPLAT_LENS_MODELS; model++)
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
            for (int which = 0; which < SPLAT_LENS_PARAMETERS; which++) {
                for (int k = 0; k < SPLAT_LENS_PARAMETERS; k++) parameters[k] = k < 4 ? 50 + k : 0.01;
                parameters[which] = values[i];
                splat_lens lens = make((splat_lens_model)model, 20, 15, parameters);
                const double at[2] = {3, 4}, to[3] = {0.1, 0.2, 1};
                (void)splat_lens_unproject(&lens, at, ray);
                (void)splat_lens_project(&lens, to, pixel);
                if (splat_lens_undistorted_frame(&lens, 0, 70, &frame, NULL))
                    assert_true(frame.width >= 1 && frame.width <= 40 && frame.height >= 1 && frame.height <= 30);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_model_inverts_itself), cmocka_unit_test(lenses_begin_as_pinholes),
        cmocka_unit_test(formulas),
        cmocka_unit_test(eucm_ends_at_its_horizon), cmocka_unit_test(fisheyes_see_beyond_90_degrees),
        cmocka_unit_test(folds_are_outside), cmocka_unit_test(frames_are_those_of_colmap),
        cmocka_unit_test(wide_lenses_have_no_frame),
        cmocka_unit_test(pinholes), cmocka_unit_test(hostile_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
