/* The sky behind a model: turned with it, and as Gaussians for programs that know no dome. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "check.h"
#include "io/dome_file.h"
#include "math/camera.h"
#include "model/dome.h"
#include "model/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { W = 60, H = 45, N = W * H };

static splat_context *context;

/* One Gaussian before the camera, and colours of directions without a sharp edge. */
static splat_model *make_model(float radius)
{
    static float colors[SPLAT_DOME_NODES][3];
    splat_cloud cloud;
    splat_model *model;
    splat_error error;
    ASSERT_OK(splat_cloud_make(&cloud, 1, 1, true, &error));
    cloud.means[2] = 4;
    for (int k = 0; k < 3; k++) cloud.scales[k] = -1;
    cloud.rotations[0] = 1;
    cloud.opacities[0] = 2;
    ASSERT_OK(splat_model_from_cloud(context, "", &cloud, &model, &error));
    splat_cloud_free(&cloud);
    for (size_t i = 0; i < SPLAT_DOME_NODES; i++) {
        float d[3];
        splat_dome_node_direction(i, d);
        const float length = sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        for (int k = 0; k < 3; k++) colors[i][k] = 0.5f + 0.4f * d[k] / length;
    }
    const splat_dome dome = {.colors = colors[0], .center = {0.5f, 0, 0}, .radius = radius};
    ASSERT_OK(splat_model_set_dome(model, &dome, &error));
    return model;
}

static splat_camera make_camera(void)
{
    splat_camera camera = {.width = W, .height = H, .fx = 45, .fy = 45, .cx = W / 2.0f, .cy = H / 2.0f};
    const double rotation[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, translation[3] = {0.2, 0, 0};
    splat_camera_set_pose(&camera, rotation, translation);
    return camera;
}

static double largest_difference(const float *a, const float *b)
{
    double most = 0;
    for (size_t i = 0; i < 3 * N; i++) most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

static void a_turned_sky_looks_the_same(void **state)
{
    (void)state;
    static float before[3 * N], after[3 * N];
    const float black[3] = {0, 0, 0}, radii[2] = {0, 9};
    const double q[4] = {0.6, 0.3, -0.5, 0.4}, scale = 2.5;
    splat_error error;
    for (int i = 0; i < 2; i++) {
        splat_model *model = make_model(radii[i]);
        splat_camera camera = make_camera();
        ASSERT_OK(splat_model_render(model, &camera, black, before, &error));
        assert_true(before[0] > 0.1f); /* a corner shows sky */
        ASSERT_OK(splat_model_transform(model, q, scale, &error));
        splat_camera_transform(&camera, q, scale);
        ASSERT_OK(splat_model_render(model, &camera, black, after, &error));
        print_message("turned: %g\n", largest_difference(before, after)); /* a node's step is 0.03 */
        assert_true(largest_difference(before, after) < 0.002);
        splat_model_destroy(model);
    }
}

static void gaussians_show_the_sky(void **state)
{
    (void)state;
    static float before[3 * N], after[3 * N];
    const float black[3] = {0, 0, 0}, radii[2] = {0, 300};
    splat_error error;
    splat_model_info info;
    for (int i = 0; i < 2; i++) {
        splat_model *model = make_model(radii[i]);
        const splat_camera camera = make_camera();
        ASSERT_OK(splat_model_render(model, &camera, black, before, &error));
        if (i == 0) { /* one Gaussian has no median distance */
            ASSERT_OK(splat_model_add_sky(model, 1, &error));
            splat_model_destroy(model);
            continue;
        }
        ASSERT_OK(splat_model_add_sky(model, 2000, &error));
        splat_model_get_info(model, &info);
        assert_int_equal(info.n_gaussians, 2001);
        assert_true(info.has_filter_3d);
        model->dome.colors = NULL; /* a program that knows none */
        ASSERT_OK(splat_model_render(model, &camera, black, after, &error));
        print_message("as Gaussians: %g\n", largest_difference(before, after));
        assert_true(largest_difference(before, after) < 0.05); /* light passes between them */
        splat_model_destroy(model);
    }
}

static void a_splat_without_sky_gets_none(void **state)
{
    (void)state;
    splat_error error;
    splat_model *model = make_model(0);
    assert_int_equal(splat_model_add_sky(model, 0, &error), SPLAT_ERROR_ARGUMENT);
    model->dome.colors = NULL;
    assert_int_equal(splat_model_add_sky(model, 10, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "sky.safetensors"));
    splat_model_destroy(model);
}

static int begin(void **state)
{
    (void)state;
    splat_context_options options;
    splat_error error;
    splat_context_options_init(&options);
    options.backend = "cpu";
    return splat_context_create(&options, &context, &error) == SPLAT_OK ? 0 : 1;
}

static int end(void **state)
{
    (void)state;
    splat_context_destroy(context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_turned_sky_looks_the_same),
                                       cmocka_unit_test(gaussians_show_the_sky),
                                       cmocka_unit_test(a_splat_without_sky_gets_none)};
    return cmocka_run_group_tests(tests, begin, end);
}
