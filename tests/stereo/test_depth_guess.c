/* First depths of a view from few points. */
#include "check.h"

#include "stereo/depth_guess.h"

#include "math/camera.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 37, HEIGHT = 23, PIXELS = WIDTH * HEIGHT };

/* At the origin, along z. */
static splat_camera make_camera(void)
{
    const double axes[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, none[3] = {0};
    splat_camera camera = {0};
    splat_camera_set_pose(&camera, axes, none);
    splat_camera_set_intrinsics(&camera, 30, 30, 18.5, 11.5, WIDTH, HEIGHT, WIDTH, HEIGHT);
    return camera;
}

/* The place at depth z behind the centre of a pixel. */
static void behind(const splat_camera *c, int x, int y, float z, float position[3])
{
    position[0] = ((float)x + 0.5f - c->cx) / c->fx * z;
    position[1] = ((float)y + 0.5f - c->cy) / c->fy * z;
    position[2] = z;
}

static void no_points_say_nothing(void **state)
{
    (void)state;
    splat_error error;
    const splat_camera camera = make_camera();
    const float hidden[2][3] = {{0, 0, -1}, {100, 0, 1}}; /* behind the camera, outside of the picture */
    float depth[PIXELS];
    ASSERT_OK(splat_depth_guess(&camera, hidden, 2, depth, &error));
    for (int i = 0; i < PIXELS; i++) assert_float_equal(depth[i], 0, 0);
}

static void one_point_is_everywhere(void **state)
{
    (void)state;
    splat_error error;
    const splat_camera camera = make_camera();
    float point[1][3], depth[PIXELS];
    behind(&camera, 3, 20, 2.5f, point[0]);
    ASSERT_OK(splat_depth_guess(&camera, (const float(*)[3])point, 1, depth, &error));
    for (int i = 0; i < PIXELS; i++) assert_float_equal(depth[i], 2.5f, 1e-5f);
}

/* The nearer one of two points in a pixel counts; a pixel with a point keeps it; others lie between. */
static void points_are_kept_and_gaps_lie_between(void **state)
{
    (void)state;
    splat_error error;
    const splat_camera camera = make_camera();
    float points[3][3], depth[PIXELS];
    behind(&camera, 2, 11, 1, points[0]);
    behind(&camera, 34, 11, 4, points[1]);
    behind(&camera, 34, 11, 2, points[2]);
    ASSERT_OK(splat_depth_guess(&camera, (const float(*)[3])points, 3, depth, &error));
    assert_float_equal(depth[11 * WIDTH + 2], 1, 1e-5f);
    assert_float_equal(depth[11 * WIDTH + 34], 2, 1e-5f);
    for (int i = 0; i < PIXELS; i++) assert_true(depth[i] >= 0.999f && depth[i] <= 2.001f);
    assert_true(depth[11 * WIDTH + 6] < depth[11 * WIDTH + 30]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_points_say_nothing),
        cmocka_unit_test(one_point_is_everywhere),
        cmocka_unit_test(points_are_kept_and_gaps_lie_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
