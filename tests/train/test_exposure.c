/* Exposure and white balance: known gains are found, the gauge holds, runs resume bit for bit, and threads change
 * nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "checkpoint_fixture.h"
#include "exif_photo_fixture.h"
#include "train/parts/exposure.h"
#include "train/parts/regularizer.h"
#include "train/step.h"

#include <math.h>

/* ---------------------------------------------------------------- a scene with known gains */

#define SPREAD_SCENE "spread"
#define N_STEPS 900

static splat_scene *open_spread(splat_context *context)
{
    splat_error error;
    splat_scene *scene;
    splat_scene_options options;
    if (!splat_path_exists(SPREAD_SCENE)) {
        splat_sample_options sample;
        splat_sample_options_init(&sample);
        sample.width = 96;
        sample.height = 72;
        sample.n_cameras = 24;
        sample.n_points = 1500;
        sample.n_truth = 100;
        sample.supersample = 2;
        sample.exposure_spread = 1;
        must(splat_sample_write(context, SPREAD_SCENE, &sample, &error), &error);
    }
    splat_scene_options_init(&options);
    options.source_path = SPREAD_SCENE;
    options.eval = true;
    must(splat_scene_open(context, &options, &scene, &error), &error);
    return scene;
}

static splat_metrics test_views(splat_model *model, splat_scene *scene)
{
    splat_metrics mean;
    splat_error error;
    splat_view_job job = job_on(SPLAT_VIEWS_TEST, NULL, NULL);
    job.color_correct = true;
    must(splat_model_evaluate(model, scene, &job, &mean, &error), &error);
    return mean;
}

/* The PSNR of the training views with the exposures of their photos (a file) or neutral (NULL). */
static double train_psnr(splat_model *model, splat_scene *scene, const char *exposures)
{
    splat_metrics mean;
    splat_error error;
    splat_view_job job = job_on(SPLAT_VIEWS_TRAIN, NULL, NULL);
    job.exposures = exposures;
    must(splat_model_evaluate(model, scene, &job, &mean, &error), &error);
    return mean.psnr;
}

static splat_metrics train_and_measure(splat_context *context, splat_scene *scene, bool exposure,
                                       splat_exposures *found)
{
    splat_train_options o;
    splat_error error;
    splat_train_options_init(&o);
    o.iterations = N_STEPS;
    o.exposure = exposure;
    splat_trainer *t = new_trainer(context, scene, &o);
    run_steps(t, N_STEPS);
    must(splat_exposures_get(t, found, &error), &error);
    splat_model *model = splat_trainer_get_model(t);
    splat_metrics measured = test_views(model, scene);
    if (exposure) { /* a photo of half a stop more or less is 15 dB away from the neutral picture */
        must(splat_exposures_write(SPLAT_EXPOSURE_FILE, found, &error), &error);
        double neutral = train_psnr(model, scene, NULL), own = train_psnr(model, scene, SPLAT_EXPOSURE_FILE);
        print_message("training views: %.2f dB neutral, %.2f with their own exposures\n", neutral, own);
        assert_true(own > neutral + 4);
    }
    splat_trainer_destroy(t);
    return measured;
}

/* Log2 gains of a photo: e, a, b. */
static void rows_of(const splat_photo_exposure *photo, double row[3])
{
    row[0] = photo->ev;
    row[1] = log2(photo->gain[0]) - photo->ev;
    row[2] = log2(photo->gain[2]) - photo->ev;
}

/* ---------------------------------------------------------------- EXIF */

static splat_train_options exposed_options(int iterations)
{
    splat_train_options o = tiny_options(iterations);
    o.exposure = true;
    return o;
}

static tiny_place open_phone(void)
{
    splat_error error;
    tiny_place p = open_tiny(1);
    splat_scene_options options;
    write_phone_scene(p.context, 6);
    for (int i = 0; i < 5; i++) put_exif(i, 1u << i);
    splat_scene_close(p.scene);
    splat_scene_options_init(&options);
    options.source_path = PHONE_SCENE;
    must(splat_scene_open(p.context, &options, &p.scene, &error), &error);
    return p;
}

/* Nothing is begun with while one of a camera's photos does not tell. */
static void exif_is_what_exposures_begin_with(void **state)
{
    (void)state;
    splat_error error;
    splat_exposures begun;
    tiny_place p = open_phone();
    for (int all = 0; all < 2; all++) {
        if (all) put_exif(5, 1u << 5);
        splat_train_options o = exposed_options(30);
        splat_trainer *t = tiny_trainer(&p, &o);
        must(splat_exposures_get(t, &begun, &error), &error);
        for (size_t i = 0; i < begun.n_photos; i++) { /* in the order of their names */
            double expected = all ? ((double)i - 2.5) / 2.2 : 0;
            assert_true(fabs(begun.photos[i].ev - expected) < 1e-6);
        }
        splat_exposures_file_free(&begun);
        splat_trainer_destroy(t);
        assert_int_equal(p.log->n_warnings, 0);
        o.exposure = false;
        t = tiny_trainer(&p, &o);
        assert_int_equal(p.log->n_warnings, all);
        assert_true(!all == !strstr(p.log->text, "`exposure`"));
        splat_trainer_destroy(t);
    }
    close_tiny(&p);
}

/* A photo that the file lacks stays as its EXIF says. */
static void exif_stays_where_a_file_says_nothing(void **state)
{
    (void)state;
    splat_error error;
    splat_exposures begun;
    static const char text[] = "{\"photos\": {\"image_000.jpg\": {\"ev\": 1, \"gain\": [2, 2, 2], \"camera\": \"0\"}}, "
                               "\"cameras\": {\"0\": [0, 0, 0]}}";
    tiny_place p = open_phone();
    put_exif(5, 1u << 5);
    splat_train_options o = exposed_options(30);
    splat_trainer *t = tiny_trainer(&p, &o);
    must(splat_file_write("one.json", text, sizeof text - 1, &error), &error);
    must(splat_trainer_load_exposures(t, "one.json", &error), &error);
    must(splat_exposures_get(t, &begun, &error), &error);
    double first = begun.photos[0].ev, second = begun.photos[1].ev;
    assert_true(fabs(begun.photos[5].ev - second - 4 / 2.2) < 1e-6); /* 4 stops */
    assert_true(fabs(first - second - (1 + 1.5 / 2.2)) < 1e-6);
    splat_exposures_file_free(&begun);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* The largest difference of a number of the rows from what the scene was made with, up to what all photos share. */
static double largest_error(const splat_exposures *found, const splat_exposures *truth, int k)
{
    double sum = 0, worst = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < found->n_photos; i++) {
            double row[3], true_row[3];
            const splat_photo_exposure *true_photo = splat_exposures_find(truth, found->photos[i].name);
            assert_non_null(true_photo);
            rows_of(&found->photos[i], row);
            rows_of(true_photo, true_row);
            double difference = row[k] - true_row[k];
            if (!pass) sum += difference;
            else worst = fmax(worst, fabs(difference - sum / (double)found->n_photos));
        }
    return worst;
}

/* Gains of 2^-1 to 2^1. What a splat of 900 steps is blurred by leaves a tenth of a stop in single photos (0.015 after
 * 1500 steps at 200x150); without gains the splat is the mean of photos that disagree. */
static void known_gains_are_found(void **state)
{
    (void)state;
    splat_error error;
    splat_exposures found, none, truth;
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_spread(context);
    must(splat_exposures_read(SPREAD_SCENE "/ground_truth_exposure.json", &truth, &error), &error);
    splat_metrics without = train_and_measure(context, scene, false, &none);
    splat_metrics with = train_and_measure(context, scene, true, &found);
    assert_int_equal(none.n_photos, 0);
    assert_int_equal(found.n_photos, 21);
    assert_int_equal(found.n_cameras, 1);
    for (int k = 0; k < 3; k++)
        print_message("%c: error at most %.4f\n", "eab"[k], largest_error(&found, &truth, k));
    print_message("colours corrected: %.2f dB without, %.2f with; plain %.2f, %.2f\n", without.cc_psnr, with.cc_psnr,
                  without.psnr, with.psnr);
    assert_true(largest_error(&found, &truth, 0) < 0.2);
    assert_true(largest_error(&found, &truth, 1) < 0.04);
    assert_true(largest_error(&found, &truth, 2) < 0.04);
    assert_true(with.cc_psnr > without.cc_psnr + 1.5);
    double sum = 0;
    for (size_t i = 0; i < found.n_photos; i++) sum += found.photos[i].ev;
    assert_true(fabs(sum) < 1e-5); /* the mean was taken away */
    splat_exposures_file_free(&found);
    splat_exposures_file_free(&truth);
    close_training(context, scene, NULL);
}

/* ---------------------------------------------------------------- runs */

static void a_resumed_run_is_the_same_run(void **state)
{
    (void)state;
    resumed_run run = {.options = exposed_options(90), .n_steps = 90};
    run_whole(&run, 2);
    assert_resumed_at_random(&run, 1, 3, 20);
    assert_resumed_at(&run, 2, (const int[]){1, 45, 90}, 3);
}

/* With the positions of the sampling moved, the photo is in float. */
static void threads_change_no_byte(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        tiny_place p = open_tiny(threads);
        splat_train_options o = exposed_options(40);
        o.ray_jitter = o.resample_gt_image = true;
        splat_trainer *t = tiny_trainer(&p, &o);
        run_steps(t, 40);
        save_as(t, threads == 1 ? "one.splatsmith" : "more.splatsmith", "more.ply");
        if (threads > 1) assert_true(same_checkpoints("one.splatsmith", "more.splatsmith"));
        splat_trainer_destroy(t);
        close_tiny(&p);
    }
}

static void a_checkpoint_without_it_is_refused(void **state)
{
    (void)state;
    tiny_place p = open_tiny(1);
    splat_error error;
    for (int with = 0; with < 2; with++) {
        splat_train_options o = tiny_options(10);
        o.exposure = with;
        splat_trainer *t = tiny_trainer(&p, &o);
        run_steps(t, 2);
        save_as(t, "one.splatsmith", "one.ply");
        splat_trainer_destroy(t);
        o.exposure = !with;
        t = tiny_trainer(&p, &o);
        assert_int_equal(splat_trainer_load_checkpoint(t, "one.splatsmith", &error), SPLAT_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, with ? "with `exposure`" : "without `exposure`"));
        assert_int_equal(splat_trainer_get_iteration(t), 0);
        splat_trainer_destroy(t);
    }
    close_tiny(&p);
}

/* Coarse training begins with those of the splat. */
static void gains_come_from_a_file(void **state)
{
    (void)state;
    tiny_place p = open_tiny(1);
    splat_error error;
    splat_exposures written, read;
    splat_train_options o = exposed_options(30);
    splat_trainer *t = tiny_trainer(&p, &o);
    run_steps(t, 30);
    double mean, min, max, low = 9, high = -9;
    must(splat_exposures_summary(t, &mean, &min, &max, &error), &error);
    must(splat_exposures_get(t, &written, &error), &error);
    must(splat_exposures_write(SPLAT_EXPOSURE_FILE, &written, &error), &error);
    for (size_t i = 0; i < written.n_photos; i++) {
        low = fmin(low, written.photos[i].ev);
        high = fmax(high, written.photos[i].ev);
    }
    assert_true(fabs(low + mean - min) < 1e-6 && fabs(high + mean - max) < 1e-6 && min < max);
    splat_trainer_destroy(t);
    t = tiny_trainer(&p, &o);
    must(splat_trainer_load_exposures(t, SPLAT_EXPOSURE_FILE, &error), &error);
    must(splat_exposures_get(t, &read, &error), &error);
    assert_int_equal(read.n_photos, written.n_photos);
    for (size_t i = 0; i < read.n_photos; i++) {
        assert_true(fabs(written.photos[i].ev) > 1e-5);
        assert_true(fabs(read.photos[i].ev - written.photos[i].ev) < 1e-6); /* as floats */
        for (int k = 0; k < 3; k++) assert_true(fabs(read.photos[i].gain[k] / written.photos[i].gain[k] - 1) < 1e-6);
    }
    for (int k = 0; k < 3; k++) assert_true(fabs(read.cameras[0][k] - written.cameras[0][k]) < 1e-9);
    splat_trainer_destroy(t);
    o.exposure = false;
    t = tiny_trainer(&p, &o);
    assert_int_equal(splat_trainer_load_exposures(t, SPLAT_EXPOSURE_FILE, &error), SPLAT_ERROR_ARGUMENT);
    splat_trainer_destroy(t);
    splat_exposures_file_free(&written);
    splat_exposures_file_free(&read);
    close_tiny(&p);
}

/* Its memory of the frame is the planned one, up to the alignment of two buffers; without exposure there is none. */
static void its_memory_is_what_plans_count(void **state)
{
    (void)state;
    size_t used[2], bytes[2];
    for (int with = 0; with < 2; with++) {
        tiny_place p = open_tiny(1);
        splat_train_options o = tiny_options(10);
        o.exposure = with;
        splat_trainer *t = tiny_trainer(&p, &o);
        run_steps(t, 1);
        used[with] = splat_trainer_get_model(t)->frame.region.used;
        bytes[with] = splat_exposures_view_bytes(&o, 64, 48);
        splat_trainer_destroy(t);
        close_tiny(&p);
    }
    assert_int_equal(bytes[0], 0);
    assert_true(used[1] >= used[0] + bytes[1] && used[1] <= used[0] + bytes[1] + 2 * 256);
}

/* The way of a gain in Adam with a gradient of 1 every n-th step after `first`, which is the farthest possible. */
static double way_of_a_gain(const splat_train_options *o, int n_photos, int first)
{
    double x = 0, m = 0, v = 0;
    for (int k = 1; k <= o->iterations - first; k++) {
        double g = k % n_photos == 0;
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g;
        double rate = (double)splat_exposures_rate(o, (uint32_t)n_photos, first + k);
        if (v > 0) x += rate * m / (1 - pow(0.9, k)) / sqrt(v / (1 - pow(0.999, k)));
    }
    return x;
}

/* About four stops, less a part for what the warm-up leaves and the first epoch. */
static void short_runs_and_many_photos_get_as_far(void **state)
{
    (void)state;
    static const int lengths[] = {1000, 7000, 30000}, counts[] = {20, 150, 600};
    for (int i = 0; i < 9; i++) {
        splat_train_options o;
        splat_train_options_init(&o);
        o.iterations = lengths[i / 3];
        if (counts[i % 3] > o.iterations / 10) continue;
        double way = way_of_a_gain(&o, counts[i % 3], 0);
        print_message("%d steps, %d photos: %.2f stops\n", o.iterations, counts[i % 3], way);
        assert_true(way > 3 && way < 5);
        float peak = splat_exposures_rate(&o, 20, o.iterations / 60);
        assert_true(splat_exposures_rate(&o, 20, 1) < 0.1f * peak);
        assert_true(splat_exposures_rate(&o, 20, o.iterations) < 0.012f * peak);
    }
}

/* A coarse training goes on with the exposures of its splat: a gain moves by a tenth of that. */
static void coarse_trainings_move_gains_a_tenth_as_far(void **state)
{
    (void)state;
    static const splat_regularizer regularizer = {.continues_splat = true};
    splat_train_options o;
    splat_train_options_init(&o);
    o.regularizer = &regularizer;
    o.coarse.first_iteration = 7000;
    o.iterations = 22000;
    double later = way_of_a_gain(&o, 150, 7000);
    print_message("15000 steps of a coarse training: %.2f stops\n", later);
    assert_true(later > 0.3 && later < 0.5);
    float peak = splat_exposures_rate(&o, 150, 7000 + 15000 / 60);
    assert_true(splat_exposures_rate(&o, 150, 7001) < 0.1f * peak);
    assert_true(splat_exposures_rate(&o, 150, 22000) < 0.012f * peak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_gains_are_found),        cmocka_unit_test(a_resumed_run_is_the_same_run),
        cmocka_unit_test(threads_change_no_byte),       cmocka_unit_test(a_checkpoint_without_it_is_refused),
        cmocka_unit_test(gains_come_from_a_file),       cmocka_unit_test(exif_is_what_exposures_begin_with),
        cmocka_unit_test(exif_stays_where_a_file_says_nothing),
        cmocka_unit_test(its_memory_is_what_plans_count),
        cmocka_unit_test(short_runs_and_many_photos_get_as_far),
        cmocka_unit_test(coarse_trainings_move_gains_a_tenth_as_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
