/* splat_model_near_light: the light of near Gaussians is that of a model without the others, as they stand in front; on
 * the CPU and, where there is one, on a GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "gpu_fixture.h"
#include "math/camera.h"
#include "model/init_points.h"
#include "model/render.h"

#include <math.h>
#include <stdlib.h>

enum { N_NEAR = 8, N_FAR = 192, N_POINTS = N_NEAR + N_FAR };

/* The first points lie at depths 1 to 2 of the camera, the others at 4 to 6. */
static void make_points(splat_point points[N_POINTS])
{
    for (int i = 0; i < N_POINTS; i++) {
        const float a = (float)(i * 37 % 101) / 101 - 0.5f, b = (float)(i * 53 % 97) / 97 - 0.5f;
        const float z = i < N_NEAR ? 1 + (float)i / N_NEAR : 4 + 2 * (float)(i * 17 % N_FAR) / N_FAR;
        points[i] = (splat_point){.position = {a * z, b * z, z}, .color = {10, 200, 90}};
    }
}

static splat_model *make_model(splat_context *context, const splat_point *points, size_t n)
{
    splat_error error;
    splat_model *model;
    const splat_first_gaussians first = {.opacity = 0.4f, .scale = 0.2f};
    must(splat_model_create(context, 0, SPLAT_SH_FLOAT32, SPLAT_ON_DEVICE, &model, &error), &error);
    must(splat_model_init_from_points(model, points, n, &first, &error), &error);
    return model;
}

static const splat_camera camera = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .fx = 70, .fy = 70, .cx = 40, .cy = 31,
                                    .width = 81, .height = 63};

static splat_model_light light_before(splat_model *model, float depth)
{
    splat_model_light light;
    splat_error error;
    must(splat_model_near_light(model, &camera, depth, &light, &error), &error);
    return light;
}

/* A Gaussian of opacity e^-50 is not drawn. */
static void hide_far(splat_model *model, float depth)
{
    splat_error error;
    const splat_gaussians *g = &model->gaussians;
    float means[N_POINTS][3], opacities[N_POINTS];
    must(splat_backend_download(model->backend, means, g->p.means, sizeof means, &error), &error);
    must(splat_backend_download(model->backend, opacities, g->p.opacities, sizeof opacities, &error), &error);
    for (int i = 0; i < N_POINTS; i++)
        if (means[i][2] > depth) opacities[i] = -50;
    must(splat_backend_upload(model->backend, g->p.opacities, opacities, sizeof opacities, &error), &error);
    must(splat_backend_synchronize(model->backend, &error), &error);
}

/* Sums of 5103 pixels, each below 1 and rounded to float32. */
static void check_near_light(const char *backend)
{
    static splat_point points[N_POINTS];
    const double rounding = 1e-2;
    place p = open_place(backend, false);
    make_points(points);
    splat_model *both = make_model(p.context, points, N_POINTS), *alone = make_model(p.context, points, N_POINTS);
    hide_far(alone, 3);
    const splat_model_light light = light_before(both, 3), near = light_before(alone, 3);
    assert_true(near.near > 10 && fabs(near.near - near.all) < rounding);
    assert_true(fabs(light.near - near.all) < rounding);
    assert_true(light.all > 1.1 * light.near);
    const splat_model_light none = light_before(both, 0.5f), all = light_before(both, 10);
    assert_true(none.near == 0 && fabs(none.all - light.all) < rounding);
    assert_true(fabs(all.near - all.all) < rounding);
    splat_model_destroy(both);
    splat_model_destroy(alone);
    close_place(&p);
}

static void near_gaussians_stand_in_front(void **state)
{
    (void)state;
    check_near_light("cpu");
}

static void near_gaussians_stand_in_front_on_a_gpu(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    check_near_light(device);
}

int main(int argc, char **argv)
{
    find_device(argc, argv, "near light");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_gaussians_stand_in_front),
        cmocka_unit_test(near_gaussians_stand_in_front_on_a_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
