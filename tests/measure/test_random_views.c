/* Novel views: where their cameras are, and that what is written is a scene that shows them. */
#include "scene_fixture.h"

#include "io/json.h"
#include "io/transforms.h"
#include "measure/random_views.h"
#include "scene/scene.h"
#include "training_group.h"
#include "view_job_fixture.h"

#include <math.h>

enum { N = 200 };

static splat_random_views_options options_of(float position, float rotation, uint64_t seed)
{
    splat_random_views_options options;
    splat_random_views_options_init(&options);
    options.n = N;
    options.position_deviation = position;
    options.rotation_deviation_deg = rotation;
    options.seed = seed;
    return options;
}

static double length_of(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static double distance(const float a[3], const float b[3])
{
    const double d[3] = {(double)a[0] - (double)b[0], (double)a[1] - (double)b[1], (double)a[2] - (double)b[2]};
    return length_of(d);
}

/* Degrees between two rotations: trace(A B^T) = 1 + 2 cos. */
static double angle_between(const float a[9], const float b[9])
{
    double trace = 0;
    for (int k = 0; k < 9; k++) trace += (double)a[k] * (double)b[k];
    return acos(fmin(fmax((trace - 1) / 2, -1), 1)) * 57.29577951308232;
}

/* How far p is from the line between a and b; *part: where. */
static double off_line(const float p[3], const float a[3], const float b[3], double *part)
{
    double along = 0, square = 0, off[3];
    for (int k = 0; k < 3; k++) {
        along += ((double)p[k] - (double)a[k]) * ((double)b[k] - (double)a[k]);
        square += pow((double)b[k] - (double)a[k], 2);
    }
    *part = along / square;
    for (int k = 0; k < 3; k++) off[k] = (double)p[k] - (double)a[k] - *part * ((double)b[k] - (double)a[k]);
    return length_of(off);
}

/* A pair of training cameras that the view lies between, in position and in rotation. */
static bool is_between(const splat_camera *c)
{
    for (size_t i = 0; i < scene->dataset.n_train; i++)
        for (size_t j = 0; j < scene->dataset.n_train; j++) {
            const splat_camera *a = &scene->train_cameras[i], *b = &scene->train_cameras[j];
            double part;
            if (i == j || off_line(c->center, a->center, b->center, &part) > 1e-5 || part < -1e-6 || part > 1) continue;
            double whole = angle_between(a->rotation, b->rotation);
            if (fabs(angle_between(a->rotation, c->rotation) - part * whole) < 0.05 &&
                fabs(angle_between(c->rotation, b->rotation) - (1 - part) * whole) < 0.05) /* acos of floats near 1 */
                return true;
        }
    return false;
}

static void test_between(void **state)
{
    static splat_camera cameras[N], noisy[N];
    splat_random_views_options options = options_of(0, 0, 1);
    splat_error error;
    (void)state;
    ASSERT_OK(splat_random_views_make(scene, &options, cameras, &error));
    for (int i = 0; i < N; i++) {
        if (!is_between(&cameras[i])) fail_msg("view %d is not between two cameras", i);
        assert_int_equal(cameras[i].width, WIDTH);
        for (int k = 0; k < 3; k++) { /* pose and centre agree */
            double c = 0;
            for (int r = 0; r < 3; r++)
                c -= (double)cameras[i].rotation[3 * r + k] * (double)cameras[i].translation[r];
            assert_true(fabs(c - (double)cameras[i].center[k]) < 1e-5);
        }
    }
    /* Noise: the same draws, moved by normal numbers of the given deviation. A chi with 3 degrees of freedom has the
     * mean 1.596; of 200 it scatters by 0.048. */
    double spacing = 0, moved = 0, turned = 0;
    for (size_t i = 0; i < scene->dataset.n_train; i++) {
        double least = 1e30;
        for (size_t j = 0; j < scene->dataset.n_train; j++)
            if (j != i)
                least = fmin(least, distance(scene->train_cameras[i].center, scene->train_cameras[j].center));
        spacing += least / (double)scene->dataset.n_train;
    }
    options = options_of(0.5f, 3, 1);
    ASSERT_OK(splat_random_views_make(scene, &options, noisy, &error));
    for (int i = 0; i < N; i++) {
        moved += distance(noisy[i].center, cameras[i].center) / N;
        turned += angle_between(noisy[i].rotation, cameras[i].rotation) / N;
        /* Whatever the pose, its turn is as large as the drawn vector. */
        float n[4];
        splat_random4 first = splat_random(1, SPLAT_STREAM_RANDOM_VIEWS, 1, (uint64_t)i);
        splat_random4 second = splat_random(1, SPLAT_STREAM_RANDOM_VIEWS, 2, (uint64_t)i);
        splat_normal2(first.x[2], first.x[3], &n[0], &n[1]);
        splat_normal2(second.x[0], second.x[1], &n[2], &n[3]);
        const double vector[3] = {(double)n[1], (double)n[2], (double)n[3]};
        assert_true(fabs(angle_between(noisy[i].rotation, cameras[i].rotation) - 3 * length_of(vector)) < 0.05);
    }
    assert_true(fabs(moved / (0.5 * spacing) - 1.596) < 0.15);
    assert_true(fabs(turned / 3 - 1.596) < 0.15);
}

static void test_deterministic(void **state)
{
    static splat_camera first[N], second[N], other[N];
    splat_random_views_options options = options_of(0.1f, 2, 7);
    splat_error error;
    (void)state;
    ASSERT_OK(splat_random_views_make(scene, &options, first, &error));
    ASSERT_OK(splat_random_views_make(scene, &options, second, &error));
    assert_memory_equal(first, second, sizeof first);
    options.n = 10; /* fewer are the first ones */
    ASSERT_OK(splat_random_views_make(scene, &options, second, &error));
    assert_memory_equal(first, second, 10 * sizeof *first);
    options = options_of(0.1f, 2, 8);
    ASSERT_OK(splat_random_views_make(scene, &options, other, &error));
    for (int i = 0; i < N; i++) assert_true(distance(first[i].center, other[i].center) > 0);
}

static void assert_same_camera(const splat_camera *a, const splat_camera *b)
{
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->height, b->height);
    assert_true(fabsf(a->fx - b->fx) < 1e-3f && fabsf(a->fy - b->fy) < 1e-3f && fabsf(a->cx - b->cx) < 1e-3f);
    for (int k = 0; k < 9; k++) assert_true(fabsf(a->rotation[k] - b->rotation[k]) < 2e-6f); /* floats, once re-made */
    assert_true(distance(a->center, b->center) < 2e-5);
}

static void test_files(void **state)
{
    static splat_camera cameras[N];
    splat_random_views_options options = options_of(0.1f, 2, 3);
    splat_error error;
    splat_scene_options scene_options;
    splat_scene *written;
    splat_view_info view;
    splat_transforms transforms;
    stop_after stop = {.last = 3};
    (void)state;
    options.n = 5;
    ASSERT_OK(splat_folder_delete("novel", &error));
    ASSERT_OK(splat_random_views_make(scene, &options, cameras, &error));
    options.visit = stop_after_view;
    options.user = &stop;
    assert_failure(splat_random_views_write(splat_trainer_get_model(trainer), scene, &options, "novel", &error),
                   SPLAT_ERROR_STOPPED, &error, "after 3 of 5");
    assert_int_equal(stop.n_done, 3);
    assert_false(splat_path_exists("novel/transforms.json"));
    options.visit = NULL;
    ASSERT_OK(splat_random_views_write(splat_trainer_get_model(trainer), scene, &options, "novel", &error));
    splat_scene_options_init(&scene_options); /* as COLMAP */
    scene_options.source_path = "novel";
    ASSERT_OK(splat_scene_open(context, &scene_options, &written, &error));
    assert_int_equal(written->dataset.n_views, 5);
    for (size_t i = 0; i < 5; i++) {
        static float render[3 * WIDTH * HEIGHT];
        static uint8_t photo[3 * WIDTH * HEIGHT];
        const float black[3] = {0};
        ASSERT_OK(splat_scene_get_view(written, i, &view, &error));
        assert_same_camera(&view.camera, &cameras[i]);
        ASSERT_OK(splat_scene_read_photo(written, i, photo, &error));
        ASSERT_OK(splat_model_render(splat_trainer_get_model(trainer), &cameras[i], black, render, &error));
        for (int p = 0; p < WIDTH * HEIGHT; p++) {
            float wanted = 255 * fminf(fmaxf(render[p], 0), 1);
            assert_true(fabsf(wanted - (float)photo[3 * p]) < 0.501f);
        }
    }
    splat_scene_close(written);
    ASSERT_OK(splat_transforms_read("novel", &transforms, &error)); /* as Nerfstudio */
    assert_int_equal(transforms.n_frames, 5);
    for (size_t i = 0; i < 5; i++) {
        const double *pose = transforms.frames[i].world_to_camera;
        assert_int_equal(transforms.frames[i].width, WIDTH);
        assert_true(fabs(transforms.frames[i].fx - (double)cameras[i].fx) < 1e-6);
        for (int r = 0; r < 3; r++) {
            for (int k = 0; k < 3; k++)
                assert_true(fabs(pose[4 * r + k] - (double)cameras[i].rotation[3 * r + k]) < 2e-6);
            assert_true(fabs(pose[4 * r + 3] - (double)cameras[i].translation[r]) < 2e-5);
        }
    }
    splat_transforms_free(&transforms);
}

static void test_errors(void **state)
{
    static splat_camera cameras[N];
    splat_error error;
    splat_random_views_options options = options_of(-1, 0, 0);
    (void)state;
    assert_failure(splat_random_views_make(scene, &options, cameras, &error), SPLAT_ERROR_ARGUMENT, &error, "-1");
    options = options_of(0, 181, 0);
    assert_failure(splat_random_views_make(scene, &options, cameras, &error), SPLAT_ERROR_ARGUMENT, &error, "181");
    options = options_of(0, NAN, 0);
    assert_failure(splat_random_views_make(scene, &options, cameras, &error), SPLAT_ERROR_ARGUMENT, &error, "nan");
    options.n = 0;
    assert_failure(splat_random_views_write(splat_trainer_get_model(trainer), scene, &options, "none", &error),
                   SPLAT_ERROR_ARGUMENT, &error, "not 0");
    options = options_of(0, 0, 0);
    size_t n_train = scene->dataset.n_train;
    scene->dataset.n_train = 1;
    assert_failure(splat_random_views_make(scene, &options, cameras, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "two training");
    scene->dataset.n_train = n_train;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_between), cmocka_unit_test(test_deterministic),
                                       cmocka_unit_test(test_files), cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, open_training_group, close_group);
}
