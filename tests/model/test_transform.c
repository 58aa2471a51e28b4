/* A splat that was turned and scaled shows the same pictures to a camera that went with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "math/gaussian.h"
#include "math/sh.h"
#include "math/sh_rotation.h"
#include "model/files.h"
#include "trainer_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 200, PIXELS = WIDTH * HEIGHT };

static const double turn[4] = {0.5, -0.3, 0.7, 0.2}; /* not of length 1 */

/* From -1 to 1, of a counter. */
static float noise(uint32_t i)
{
    i = (i ^ 61u) ^ (i >> 16), i *= 9u, i ^= i >> 4, i *= 0x27d4eb2du, i ^= i >> 15;
    return (float)i / 2147483648.0f - 1.0f;
}

static void matrix_of(const double q[4], double m[9])
{
    double l = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    splat_rotation r = splat_rotation_make((float)(q[0] / l), (float)(q[1] / l), (float)(q[2] / l), (float)(q[3] / l));
    const float rows[9] = {r.r00, r.r01, r.r02, r.r10, r.r11, r.r12, r.r20, r.r21, r.r22};
    for (int i = 0; i < 9; i++) m[i] = (double)rows[i];
}

static void turn_place(const double m[9], const double place[3], double turned[3])
{
    for (int k = 0; k < 3; k++)
        turned[k] = m[3 * k] * place[0] + m[3 * k + 1] * place[1] + m[3 * k + 2] * place[2];
}

static double color(const float *rest, int degree, const double d[3], int channel)
{
    float b[16], x = (float)d[0], y = (float)d[1], z = (float)d[2];
    double sum = 0;
    splat_sh_band1(x, y, z, b, 1);
    splat_sh_band2(x, y, z, b, 1);
    splat_sh_band3(x, y, z, b, 1);
    for (int k = 1; k < (degree + 1) * (degree + 1); k++)
        sum += (double)b[k] * (double)rest[3 * (k - 1) + channel];
    return sum;
}

/* Every degree, in turned directions, for a general turn and for a quarter of one. */
static void harmonics_show_the_same_in_turned_directions(void **state)
{
    (void)state;
    static const double turns[2][4] = {{0.5, -0.3, 0.7, 0.2}, {1, 1, 0, 0}};
    for (uint32_t t = 0; t < 8; t++) {
        int degree = (int)t % 4;
        float before[45 + 1], after[45 + 1];
        double m[9], worst = 0;
        splat_sh_rotation rotation;
        for (uint32_t i = 0; i < 46; i++) before[i] = after[i] = noise(100 * t + i);
        matrix_of(turns[t / 4], m);
        splat_sh_rotation_make(&rotation, m);
        splat_sh_rotate(&rotation, degree, after);
        for (uint32_t i = 0; i < 100; i++) {
            double d[3], turned[3], length = 0;
            for (uint32_t k = 0; k < 3; k++) d[k] = (double)noise(5000 + 3 * i + k), length += d[k] * d[k];
            for (int k = 0; k < 3; k++) d[k] /= sqrt(length);
            turn_place(m, d, turned);
            for (int c = 0; c < 3; c++)
                worst = fmax(worst, fabs(color(before, degree, d, c) - color(after, degree, turned, c)));
        }
        assert_true(worst < 1e-5);
        size_t n = splat_sh_rest_floats(degree); /* and nothing beyond the degree is touched */
        assert_memory_equal(before + n, after + n, (46 - n) * sizeof(float));
    }
}

static splat_model *make_splat(splat_context *context, bool has_filter)
{
    splat_cloud cloud;
    splat_model *model;
    splat_error error;
    must(splat_cloud_make(&cloud, N, 3, has_filter, &error), &error);
    for (uint32_t i = 0; i < N; i++) {
        for (uint32_t k = 0; k < 3; k++) {
            cloud.means[3 * i + k] = noise(70 * i + k);
            cloud.scales[3 * i + k] = -3 + noise(70 * i + 3 + k);
            cloud.sh_dc[3 * i + k] = noise(70 * i + 6 + k);
        }
        for (uint32_t k = 0; k < 4; k++) cloud.rotations[4 * i + k] = noise(70 * i + 9 + k);
        for (uint32_t k = 0; k < 45; k++) cloud.sh_rest[45 * i + k] = 0.3f * noise(70 * i + 13 + k);
        cloud.opacities[i] = 2 * noise(70 * i + 60);
        if (has_filter) cloud.filter_3d[i] = 0.03f;
    }
    must(splat_model_create(context, 3, SPLAT_SH_FLOAT32, SPLAT_ON_DEVICE, &model, &error), &error);
    must(splat_model_resize(model, N, &error), &error);
    must(splat_model_upload(model, &cloud, &error), &error);
    model->has_filter_3d = has_filter;
    splat_cloud_free(&cloud);
    return model;
}

/* A camera 4 before the origin, gone with a splat that was turned by m and scaled. */
static splat_camera camera_for(const double m[9], double scale)
{
    splat_camera camera = {.rotation = {0}, .fx = 90, .fy = 90, .cx = WIDTH * 0.5f, .cy = HEIGHT * 0.5f,
                           .width = WIDTH, .height = HEIGHT};
    for (int row = 0; row < 3; row++)
        for (int k = 0; k < 3; k++) camera.rotation[3 * row + k] = (float)m[3 * k + row];
    camera.translation[2] = (float)(4 * scale);
    for (int k = 0; k < 3; k++) camera.center[k] = (float)(-4 * scale * m[3 * k + 2]);
    return camera;
}

/* Renders a turned and scaled splat with a camera that moved with it. */
static float *render(splat_context *context, const double q[4], double scale, bool has_filter)
{
    static const float black[3] = {0};
    splat_model *model = make_splat(context, has_filter);
    splat_error error;
    double m[9];
    float *picture = malloc(3 * PIXELS * sizeof *picture);
    assert_non_null(picture);
    must(splat_model_transform(model, q, scale, &error), &error);
    matrix_of(q, m);
    splat_camera camera = camera_for(m, scale);
    must(splat_model_render(model, &camera, black, picture, &error), &error);
    splat_model_destroy(model);
    return picture;
}

static void pictures_stay_the_same(void **state)
{
    static const double no_turn[4] = {1, 0, 0, 0};
    for (int i = 0; i < 6; i++) {
        float *before = render(*state, no_turn, 1, i % 2 == 1);
        float *after = render(*state, i / 2 == 1 ? no_turn : turn, i / 2 == 0 ? 1 : 2.5, i % 2 == 1);
        double difference = 0, light = 0;
        for (int p = 0; p < 3 * PIXELS; p++) {
            difference += fabs((double)(before[p] - after[p]));
            light += (double)before[p];
        }
        print_message("mean light %.4f, mean difference %.2e\n", light / (3 * PIXELS), difference / (3 * PIXELS));
        assert_true(light > 0.05 * 3 * PIXELS);
        assert_true(difference < 1e-6 * 3 * PIXELS); /* rounding at the rims of footprints */
        free(before);
        free(after);
    }
}

static void no_turn_and_no_scale_change_nothing(void **state)
{
    static const double no_turn[4] = {2, 0, 0, 0};
    splat_model *model = make_splat(*state, true);
    splat_cloud before, after;
    splat_error error;
    must(splat_model_download(model, &before, &error), &error);
    must(splat_model_transform(model, no_turn, 1, &error), &error);
    must(splat_model_download(model, &after, &error), &error);
#define SPLAT_TENSOR(name, ...)                                                                                        \
    assert_memory_equal(before.name, after.name, N * splat_tensor_channels(SPLAT_TENSOR_##name, 3) * sizeof(float));
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    splat_cloud_free(&before);
    splat_cloud_free(&after);
    splat_model_destroy(model);
}

static void what_is_no_turn_or_scale_is_refused(void **state)
{
    static const double none[4] = {0}, some[4] = {1, 0, 0, 0}, bad[4] = {NAN, 0, 0, 0};
    splat_model *model = make_splat(*state, false);
    splat_error error;
    assert_int_equal(splat_model_transform(model, none, 1, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_model_transform(model, bad, 1, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_model_transform(model, some, 0, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_model_transform(model, some, -1, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_model_transform(model, some, INFINITY, &error), SPLAT_ERROR_ARGUMENT);
    splat_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(harmonics_show_the_same_in_turned_directions),
        cmocka_unit_test(pictures_stay_the_same),
        cmocka_unit_test(no_turn_and_no_scale_change_nothing),
        cmocka_unit_test(what_is_no_turn_or_scale_is_refused),
    };
    return cmocka_run_group_tests_name("transform", tests, open_context_group, close_context_group);
}
