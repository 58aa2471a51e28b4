/* The vertical of a scene and its unit, by its cameras and its format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "math/vec3.h"
#include "scene/scene.h"

#include <math.h>

#define N 40
#define DEGREE (3.14159265358979 / 180)

/* Orthonormal axes of a world that stands askew: the second is up. */
static const double axes[3][3] = {{0.8, 0.36, 0.48}, {-0.6, 0.48, 0.64}, {0, -0.8, 0.6}};

/* Angles in degrees: to the side, down, around the axis of the lens. */
static void turn_camera(splat_camera *camera, double yaw, double pitch, double roll)
{
    const double cy = cos(yaw * DEGREE), sy = sin(yaw * DEGREE), cp = cos(pitch * DEGREE), sp = sin(pitch * DEGREE);
    const double cr = cos(roll * DEGREE), sr = sin(roll * DEGREE);
    const double right[3] = {cy, 0, -sy}, down[3] = {-sp * sy, -cp, -sp * cy}, forward[3] = {cp * sy, -sp, cp * cy};
    for (int k = 0; k < 3; k++) {
        double row[3] = {0};
        for (int j = 0; j < 3; j++) {
            row[0] += (cr * right[j] + sr * down[j]) * axes[j][k];
            row[1] += (cr * down[j] - sr * right[j]) * axes[j][k];
            row[2] += forward[j] * axes[j][k];
        }
        for (int j = 0; j < 3; j++) camera->rotation[3 * j + k] = (float)row[j];
    }
}

typedef struct posed {
    splat_scene scene;
    splat_dataset_view views[N];
    uint32_t train[N];
} posed;

static void open_posed(posed *p)
{
    *p = (posed){.scene.dataset = {.n_train = N}};
    p->scene.dataset.views = p->views;
    p->scene.dataset.train = p->train;
    for (uint32_t i = 0; i < N; i++) p->train[i] = i;
}

/* Degrees between the scene's up and `wanted`. */
static double error_of(const posed *p, const double wanted[3])
{
    float up[3];
    splat_scene_up(&p->scene, up);
    const double found[3] = {(double)up[0], (double)up[1], (double)up[2]};
    assert_true(fabs(splat_dot3(found, found) - 1) < 1e-6);
    return acos(fmin(splat_dot3(found, wanted), 1)) / DEGREE;
}

/* Cameras that look down on one side only: the mean of their tops leans by 10 degrees and more. */
static void level_rows_are_across_up(void **state)
{
    (void)state;
    posed p;
    open_posed(&p);
    for (int i = 0; i < N; i++) turn_camera(&p.views[i].camera, 9 * i, i < N / 2 ? 60 : 0, 0);
    assert_true(error_of(&p, axes[1]) < 1);
    for (int i = 0; i < N; i++) turn_camera(&p.views[i].camera, 9 * i, i < N / 2 ? 60 : 0, i % 5 - 2);
    assert_true(error_of(&p, axes[1]) < 1.5); /* hands do not hold cameras quite level */
}

/* Rows of pixels that are all parallel leave up open: then it is the mean of the tops. */
static void parallel_cameras_have_their_tops_up(void **state)
{
    (void)state;
    posed p;
    double top[3];
    open_posed(&p);
    for (int i = 0; i < N; i++) turn_camera(&p.views[i].camera, 30, 25, 0);
    for (int k = 0; k < 3; k++) top[k] = -(double)p.views[0].camera.rotation[3 + k];
    assert_true(error_of(&p, top) < 0.1);
}

static void cameras_that_do_not_agree_have_no_up(void **state)
{
    (void)state;
    posed p;
    float up[3] = {1, 1, 1};
    open_posed(&p);
    for (int i = 0; i < N; i++) turn_camera(&p.views[i].camera, 9 * i, 90, 0); /* straight down */
    splat_scene_up(&p.scene, up);
    for (int k = 0; k < 3; k++) assert_true(up[k] == 0);
    p.scene.dataset.n_train = 0;
    up[0] = 1;
    splat_scene_up(&p.scene, up);
    assert_true(up[0] == 0);
}

static void only_polycams_unit_is_known(void **state)
{
    (void)state;
    splat_scene scene = {.dataset.format = "polycam"};
    assert_true(splat_scene_is_metric(&scene));
    scene.dataset.format = "colmap";
    assert_false(splat_scene_is_metric(&scene));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(level_rows_are_across_up),
        cmocka_unit_test(parallel_cameras_have_their_tops_up),
        cmocka_unit_test(cameras_that_do_not_agree_have_no_up),
        cmocka_unit_test(only_polycams_unit_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
