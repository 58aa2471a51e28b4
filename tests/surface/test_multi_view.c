/* Coarse training with pairs of views: the neighbour of a step's view, its photo, that the views come to agree, and
 * that a run stopped anywhere is the same run. Op multi_view tests the losses themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "coarse_fixture.h"
#include "math/camera.h"
#include "option_effects.h"
#include "surface/coarse/coarse_multi_view.h"
#include "train/train_options.h"

#include <math.h>

#define MOST 48

/* Cameras by centre and heading (radians around y), all of them training views. */
typedef struct place {
    splat_dataset dataset;
    splat_dataset_view views[MOST];
    uint32_t train[MOST];
} place;

static void add(place *p, double x, double y, double z, double heading)
{
    double rotation[9] = {cos(heading), 0, -sin(heading), 0, 1, 0, sin(heading), 0, cos(heading)};
    double center[3] = {x, y, z}, translation[3];
    size_t n = p->dataset.n_views;
    for (int k = 0; k < 3; k++)
        translation[k] =
            -(rotation[3 * k] * center[0] + rotation[3 * k + 1] * center[1] + rotation[3 * k + 2] * center[2]);
    memset(&p->views[n], 0, sizeof p->views[n]);
    splat_camera_set_pose(&p->views[n].camera, rotation, translation);
    p->train[n] = (uint32_t)n;
    p->dataset.views = p->views;
    p->dataset.train = p->train;
    p->dataset.n_views = p->dataset.n_train = n + 1;
}

/* A ring around what is looked at, 36 cameras 10 degrees apart. */
static void make_ring(place *p)
{
    for (int i = 0; i < 36; i++) {
        double angle = i * 3.14159265358979 / 18;
        add(p, -4 * sin(angle), 0, -4 * cos(angle), angle);
    }
    p->dataset.extent = 4.4f;
}

static void neighbors_are_near_and_look_the_same_way(void **state)
{
    (void)state;
    place p = {.dataset = {.n_views = 0}};
    make_ring(&p);
    for (uint32_t v = 0; v < 36; v++) {
        size_t times[MOST] = {0}, n_different = 0;
        for (int iteration = 1; iteration <= 400; iteration++) {
            uint32_t n = splat_coarse_choose_neighbor(&p.dataset, 7, iteration, v);
            assert_true(n < 36 && n != v);
            assert_int_equal(n, splat_coarse_choose_neighbor(&p.dataset, 7, iteration, v));
            uint32_t steps = (n + 36 - v) % 36;
            assert_true(steps <= 2 || steps >= 34); /* 30 degrees are too many, and 2.07 are beyond 0.4 extents */
            times[n]++;
        }
        for (int n = 0; n < 36; n++) n_different += times[n] > 60; /* of 400, a quarter each */
        assert_int_equal(n_different, 4);
    }
    size_t n_same = 0;
    for (int i = 1; i <= 100; i++) {
        uint32_t one = splat_coarse_choose_neighbor(&p.dataset, 7, i, 3);
        n_same += one == splat_coarse_choose_neighbor(&p.dataset, 8, i, 3);
    }
    assert_true(n_same < 60); /* another seed, other choices */
}

/* Along a wall 40 cameras look the same way: the nearest eight, four on each side. */
static void the_nearest_eight(void **state)
{
    (void)state;
    place p = {.dataset = {.n_views = 0}};
    for (int i = 0; i < 40; i++) add(&p, 0.1 * i, 0, 0, 0);
    p.dataset.extent = 2.2f;
    size_t times[MOST] = {0};
    for (int iteration = 1; iteration <= 1000; iteration++)
        times[splat_coarse_choose_neighbor(&p.dataset, 1, iteration, 20)]++;
    for (int i = 0; i < 40; i++) assert_int_equal(times[i] > 80, i != 20 && i >= 16 && i <= 24);
}

static void where_there_are_few(void **state)
{
    (void)state;
    place p = {.dataset = {.n_views = 0, .extent = 1}};
    add(&p, 0, 0, 0, 0);
    add(&p, 0.001, 0, 0, 0);     /* the same place but for rounding */
    add(&p, 0.2, 0, 0, 3.14159); /* looks back */
    for (int i = 1; i < 20; i++) assert_int_equal(splat_coarse_choose_neighbor(&p.dataset, 1, i, 0), SPLAT_NO_VIEW);
    add(&p, 0.9, 0, 0, 0.1);
    for (int i = 1; i < 20; i++) assert_int_equal(splat_coarse_choose_neighbor(&p.dataset, 1, i, 0), 3); /* far */
    add(&p, 0.3, 0, 0, 0.1);
    for (int i = 1; i < 20; i++) assert_int_equal(splat_coarse_choose_neighbor(&p.dataset, 1, i, 0), 4);
    p.dataset.n_train = 1; /* test views are none */
    assert_int_equal(splat_coarse_choose_neighbor(&p.dataset, 1, 1, 0), SPLAT_NO_VIEW);
}

/* ---------------------------------------------------------------- photos */

static void check_photo(const tiny_place *p, uint32_t view, const splat_photo *photo)
{
    splat_error error;
    size_t bytes = 3 * splat_camera_pixels(&p->scene->dataset.views[view].camera);
    uint8_t *expected = malloc(bytes);
    must(splat_scene_read_photo(p->scene, view, expected, &error), &error);
    assert_memory_equal(photo->rgb, expected, bytes); /* the CPU's memory is the host's */
    free(expected);
}

static void photos_of_a_step_and_its_neighbor(void **state)
{
    (void)state;
    splat_error error;
    splat_photo_store store = {.last_turn = 0};
    splat_photo own, other;
    tiny_place p = open_tiny(1);
    splat_backend *b = p.context->backend;
    const splat_dataset *dataset = &p.scene->dataset;
    must(splat_photo_store_init(&store, b, dataset, false, true, &error), &error);
    for (int step = 0; step < 6; step++) {
        uint32_t view = dataset->train[step % 3], neighbor = dataset->train[(step + 1) % 3];
        int turn = step == 5 ? 0 : step % 2; /* a step that is left out, and its turn comes again */
        for (int again = 0; again < 2; again++) { /* the losses of the surface, then that of the photo */
            must(splat_photo_store_fetch(&store, b, p.scene, view, turn, &own, &error), &error);
            check_photo(&p, view, &own);
            if (!again) must(splat_photo_store_fetch_neighbor(&store, b, p.scene, neighbor, &other, &error), &error);
            check_photo(&p, neighbor, &other);
        }
    }
    splat_photo_store_free(&store, b);
    close_tiny(&p);
}

/* ---------------------------------------------------------------- the run */

#define CLOSE_SCENE "close"
#define AFTER 110
#define LAST 400

/* The built-in scene from so many sides that every view has neighbours. */
static tiny_place open_close(int threads)
{
    splat_error error;
    splat_sample_options sample;
    tiny_place p = open_tiny(1);
    splat_sample_options_init(&sample);
    sample.width = 80;
    sample.height = 60;
    sample.n_cameras = 30;
    sample.n_points = 400;
    sample.n_truth = 10;
    sample.supersample = 1;
    if (!splat_path_exists(CLOSE_SCENE)) must(splat_sample_write(p.context, CLOSE_SCENE, &sample, &error), &error);
    close_tiny(&p);
    return open_tiny_at(CLOSE_SCENE, threads);
}

static splat_train_options short_options(void)
{
    return coarse_options(SPLAT_REGULARIZE_MULTIVIEW, AFTER, LAST);
}

static splat_trainer *start(const tiny_place *p, const splat_train_options *o)
{
    make_splat_of(open_close, 700);
    return start_with(p, o, SPLAT);
}

#define MEAN_STEPS 60

static void mean_losses(splat_trainer *t, double *geometric, double *photometric, double *agreeing)
{
    *geometric = *photometric = *agreeing = 0;
    for (int i = 0; i < MEAN_STEPS; i++) {
        run_steps(t, 1);
        assert_true(isnan(loss_of(t, "entropy")) && loss_of(t, "depth_normal") > 0 && loss_of(t, "thickness") > 0);
        *geometric += loss_of(t, "geometric") / MEAN_STEPS;
        *photometric += loss_of(t, "photometric") / MEAN_STEPS;
        *agreeing += loss_of(t, "agreeing_pixels") / MEAN_STEPS;
        assert_true(loss_of(t, "compared_patches") <= loss_of(t, "agreeing_pixels"));
    }
}

/* Views come to agree: more pixels count, and the photos differ less across the surface. */
static void views_come_to_agree(void **state)
{
    (void)state;
    double geometric[2], photometric[2], agreeing[2];
    tiny_place p = open_close(2);
    splat_train_options o = short_options();
    assert_true(o.coarse.estimation_factor == 0 && o.coarse.normal_factor == 0 && o.flat_factor == 400);
    o.coarse.dn_factor = 0.05f; /* three times the usual weights and more, as the run is short */
    o.geo_factor = 0.03f;
    o.ncc_factor = 0.15f;
    assert_true(o.surface_fade == 0.7f);
    o.surface_fade = 0; /* to the end */
    splat_trainer *t = start(&p, &o);
    double before = psnr_of(&p, splat_trainer_get_model(t));
    run_steps(t, AFTER - FIRST);
    assert_true(isnan(loss_of(t, "geometric")) && isnan(loss_of(t, "agreeing_pixels")));
    mean_losses(t, &geometric[0], &photometric[0], &agreeing[0]);
    run_steps(t, LAST - AFTER - 2 * MEAN_STEPS);
    mean_losses(t, &geometric[1], &photometric[1], &agreeing[1]);
    double after = psnr_of(&p, splat_trainer_get_model(t));
    print_message("PSNR %.2f -> %.2f, phi %.3f -> %.3f, photos %.3f -> %.3f, pixels %.0f -> %.0f\n", before, after,
                  geometric[0], geometric[1], photometric[0], photometric[1], agreeing[0], agreeing[1]);
    assert_true(agreeing[1] > 1.05 * agreeing[0] && photometric[1] < 0.95 * photometric[0]);
    assert_true(after > before - 2);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* The model after the first losses of pairs; the caller frees. */
static uint8_t *early_result(const tiny_place *p, const splat_train_options *o, size_t *size)
{
    return result_after(start(p, o), 8, size);
}

/* The lines of train_options.def whose effect is MULTIVIEW. */
static void every_option_does_what_its_line_says(void **state)
{
    (void)state;
    tiny_place p = open_close(2);
    splat_train_options usual = short_options();
    usual.coarse.regularize_after = FIRST + 1;
    assert_int_equal(check_option_effects(&p, &usual, SPLAT_CHANGES_MULTIVIEW, early_result), 3);
    close_tiny(&p);
}

/* Stops at random places. Threads differ, too. */
static void a_stopped_run_is_the_same_run(void **state)
{
    (void)state;
    resumed_run run = {.options = short_options(), .n_steps = AFTER + 40 - FIRST, .open = open_close, .begin = start};
    run_whole(&run, 1);
    assert_resumed_at_random(&run, 3, 5, 17);
}

/* With the maps and the photo of the neighbour. */
static void a_limit_is_kept(void **state)
{
    (void)state;
    splat_train_options o = short_options();
    o.coarse.regularize_after = FIRST + 1;
    make_splat_of(open_close, 700);
    for (int full = 0; full < 2; full++) {
        tiny_place p = open_close(2);
        o.coarse.full_res_normals = full;
        assert_plan_is_kept(&p, &o, 40);
        close_tiny(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbors_are_near_and_look_the_same_way),
        cmocka_unit_test(the_nearest_eight),
        cmocka_unit_test(where_there_are_few),
        cmocka_unit_test(photos_of_a_step_and_its_neighbor),
        cmocka_unit_test(views_come_to_agree),
        cmocka_unit_test(every_option_does_what_its_line_says),
        cmocka_unit_test(a_stopped_run_is_the_same_run),
        cmocka_unit_test(a_limit_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
