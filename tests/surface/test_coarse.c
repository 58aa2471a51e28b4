/* SuGaR's coarse training: where it begins, its clock, what its losses do to the Gaussians, and that a run that was
 * stopped anywhere is the same run. The losses themselves are tested with their ops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "coarse_fixture.h"
#include "io/splat/formats.h"
#include "math/density.h"
#include "option_effects.h"
#include "surface/coarse/coarse_schedule.h"
#include "surface/coarse/coarse_step.h"
#include "train/density/default.h"
#include "train/schedule.h"
#include "train/train_options.h"

#include <math.h>

#define AFTER 130
#define LAST 430

/* The whole schedule within a few hundred steps. */
static splat_train_options short_options(splat_regularization regularization)
{
    splat_train_options o = coarse_options(regularization, AFTER, LAST);
    o.coarse.neighbor_interval = 25;
    o.coarse.n_samples = 2000;
    return o;
}

static splat_trainer *start(const tiny_place *p, const splat_train_options *o)
{
    make_splat_of(open_tiny, 800);
    return start_with(p, o, SPLAT);
}

/* ---------------------------------------------------------------- the options */

/* The model after the first losses of the surface; the caller frees. */
static uint8_t *early_result(const tiny_place *p, const splat_train_options *o, size_t *size)
{
    return result_after(start(p, o), 12, size);
}

/* Those lines of train_options.def that have this effect; the others are tested in test_trainer. */
static void check_effects(splat_option_effect effect, splat_regularization regularization)
{
    tiny_place p = open_tiny(2);
    splat_train_options usual = short_options(regularization);
    usual.coarse.regularize_after = FIRST + 3;
    usual.coarse.neighbor_interval = 4;
    usual.coarse.entropy_factor = 1;
    usual.flat_factor = 100;
    assert_true(check_option_effects(&p, &usual, effect, early_result) > 0);
    close_tiny(&p);
}

static void every_option_does_what_its_line_says(void **state)
{
    (void)state;
    check_effects(SPLAT_CHANGES_COARSE, SPLAT_REGULARIZE_DN_CONSISTENCY);
    check_effects(SPLAT_CHANGES_SDF, SPLAT_REGULARIZE_SDF);
}

/* ---------------------------------------------------------------- the clock */

static void the_clock(void **state)
{
    (void)state;
    splat_train_options o, plain;
    splat_train_options_init_coarse(&o, SPLAT_REGULARIZE_DENSITY);
    splat_train_options_init(&plain);
    assert_int_equal(o.iterations, 15000);
    assert_int_equal(splat_schedule_sh_degree(&o, 7001), 3);
    assert_true(splat_coarse_has_entropy(&o, 7001) && splat_coarse_has_entropy(&o, 8999));
    assert_false(splat_coarse_has_entropy(&o, 9000));
    assert_false(splat_coarse_regularizes(&o, 9000));
    assert_true(splat_coarse_regularizes(&o, 9001));
    assert_true(splat_coarse_searches_neighbors(&o, 9001) && splat_coarse_searches_neighbors(&o, 9500));
    assert_false(splat_coarse_searches_neighbors(&o, 9002) || splat_coarse_searches_neighbors(&o, 8500));
    for (int i = 7000; i <= 15000; i++) {
        assert_int_equal(splat_coarse_prunes_after(&o, i), i == 9000);
        assert_false(splat_default_densifies_after(&o, i) || splat_default_resets_opacity_after(&o, true, i) ||
                     splat_schedule_filters_after(&o, i) || splat_default_wants_statistics(&o, i));
        assert_false(splat_coarse_regularizes(&plain, i) || splat_coarse_has_entropy(&plain, i) ||
                     splat_coarse_prunes_after(&plain, i));
    }
    /* 7000 of 30000 steps down from 1.6e-4 to 1.6e-6 is a factor of 100^(-7/30) */
    for (int i = 9001; i <= 15000; i++) assert_true(splat_coarse_fade(&o, i) == 1);
    o.surface_fade = 0.5f; /* the last 3000 of 6000 steps */
    assert_true(splat_coarse_fade(&o, 9001) == 1 && splat_coarse_fade(&o, 12000) == 1);
    assert_true(splat_coarse_fade(&o, 13500) == 0.5 && splat_coarse_fade(&o, 14250) == 0.25);
    assert_true(splat_coarse_fade(&o, 15000) == 0);
    assert_true(fabs((double)splat_schedule_position_lr(&o, 1, 7000) / 1.6e-4 - 0.3415) < 1e-3);
}

/* ---------------------------------------------------------------- the beginning */

/* The largest difference of two pictures of the first view. */
static double difference(const tiny_place *p, splat_model *a, splat_model *b)
{
    splat_error error;
    splat_view_info view;
    const float black[3] = {0, 0, 0};
    must(splat_scene_get_view(p->scene, 0, &view, &error), &error);
    size_t n = 3 * (size_t)view.camera.width * (size_t)view.camera.height;
    float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    must(splat_model_render(a, &view.camera, black, x, &error), &error);
    must(splat_model_render(b, &view.camera, black, y, &error), &error);
    double worst = 0;
    for (size_t i = 0; i < n; i++) worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
    free(x);
    free(y);
    return worst;
}

/* It looks as the splat does, in the mode that the splat asks for, with the filter fused and all SH bands. */
static void it_begins_with_the_splat(void **state)
{
    (void)state;
    splat_error error;
    splat_model_info info;
    splat_model *splat;
    splat_train_options o = short_options(SPLAT_REGULARIZE_DENSITY);
    tiny_place p = open_tiny(2);
    splat_trainer *t = start(&p, &o);
    must(splat_model_load(p.context, SPLAT, &splat, &error), &error);
    splat_model_get_info(splat_trainer_get_model(t), &info);
    assert_int_equal(info.render_mode, SPLAT_RENDER_MIP);
    assert_false(info.has_filter_3d);
    assert_int_equal(splat_trainer_get_iteration(t), FIRST);
    assert_int_equal(splat_trainer_get_model(t)->gaussians.active_sh_degree, 3);
    double worst = difference(&p, splat, splat_trainer_get_model(t));
    assert_true(worst < 1e-4); /* scales and opacities were rounded once more */
    splat_model_destroy(splat);

    splat_cloud host; /* a classic splat stays classic */
    must(splat_cloud_read(SPLAT, &host, &error), &error);
    free(host.filter_3d);
    host.filter_3d = NULL;
    host.render_mode = SPLAT_RENDER_AUTO;
    must(splat_cloud_write("classic.ply", &host, NULL, &error), &error);
    splat_cloud_free(&host);
    must(splat_trainer_start_coarse(t, "classic.ply", &error), &error);
    splat_model_get_info(splat_trainer_get_model(t), &info);
    assert_int_equal(info.render_mode, SPLAT_RENDER_CLASSIC);
    must(splat_model_load(p.context, "classic.ply", &splat, &error), &error);
    assert_true(difference(&p, splat, splat_trainer_get_model(t)) < 1e-6);
    splat_model_destroy(splat);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

static void what_cannot_begin(void **state)
{
    (void)state;
    splat_error error;
    tiny_place p = open_tiny(1);
    splat_train_options o = short_options(SPLAT_REGULARIZE_SDF), plain = tiny_options(100);
    splat_trainer *t = start(&p, &o), *first_stage = tiny_trainer(&p, &plain);
    assert_failure(splat_trainer_start_coarse(first_stage, SPLAT, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "without coarse options");
    assert_failure(splat_trainer_start_coarse(t, "none.ply", &error), SPLAT_ERROR_IO, &error, "none.ply");

    splat_cloud host;
    must(splat_cloud_read(SPLAT, &host, &error), &error);
    size_t n = host.n;
    host.n = 15;
    must(splat_cloud_write("few.ply", &host, NULL, &error), &error);
    host.n = 0;
    must(splat_cloud_write("empty.ply", &host, NULL, &error), &error);
    host.n = n;
    for (size_t i = 0; i < n; i++) host.means[3 * i + 1] += 1000; /* another world */
    must(splat_cloud_write("elsewhere.ply", &host, NULL, &error), &error);
    splat_cloud_free(&host);
    assert_failure(splat_trainer_start_coarse(t, "elsewhere.ply", &error), SPLAT_ERROR_FORMAT, &error,
                   "no training view of tiny sees this splat");
    assert_failure(splat_trainer_start_coarse(t, "few.ply", &error), SPLAT_ERROR_NUMERIC, &error,
                   "15 Gaussians do not make a surface");
    splat_trainer_destroy(t);
    t = start(&p, &o);
    assert_failure(splat_trainer_start_coarse(t, "empty.ply", &error), SPLAT_ERROR_FORMAT, &error, "0 Gaussians");
    splat_trainer_destroy(t);

    run_steps(first_stage, 3); /* a checkpoint of the other stage */
    must(splat_trainer_save_checkpoint(first_stage, "first.splatsmith", &error), &error);
    splat_trainer_destroy(first_stage);
    t = start(&p, &o);
    assert_failure(splat_trainer_load_checkpoint(t, "first.splatsmith", &error), SPLAT_ERROR_ARGUMENT, &error,
                   "stage train");
    const char *source = getenv("SPLATSMITH_SOURCE"); /* the published trainers' are all of the first stage */
    char *path = splat_format("%s/tests/golden/torch_checkpoint.pth", source ? source : ".");
    assert_failure(splat_trainer_load_checkpoint(t, path, &error), SPLAT_ERROR_ARGUMENT, &error, "stage coarse");
    free(path);
    assert_int_equal(splat_trainer_get_iteration(t), FIRST);
    splat_trainer_destroy(t);
    o.densify_until_iter = 10;
    assert_failure(splat_trainer_create(p.context, p.scene, &o, &t, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "density control");
    o.densify_until_iter = 0;
    o.iterations = FIRST;
    assert_failure(splat_trainer_create(p.context, p.scene, &o, &t, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "counts from 100");
    o.iterations = LAST;
    o.coarse.regularize_after = FIRST - 1; /* nothing would be pruned */
    assert_failure(splat_trainer_create(p.context, p.scene, &o, &t, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "regularize_after");
    o.coarse.regularize_after = AFTER;
    o.coarse.n_samples = 0;
    assert_failure(splat_trainer_create(p.context, p.scene, &o, &t, &error), SPLAT_ERROR_ARGUMENT, &error, "n_samples");
    close_tiny(&p);
}

/* ---------------------------------------------------------------- the run */

/* Means over the Gaussians: of the smallest scale over the middle one, and of opacity. */
static void shape_of(const splat_model *model, double *flatness, double *opacity, double *least_opacity)
{
    const splat_gaussians *g = &model->gaussians; /* the CPU's memory is the host's */
    *flatness = *opacity = 0;
    *least_opacity = 1;
    for (uint32_t i = 0; i < g->n; i++) {
        const float *s = g->p.scales + 3 * i;
        double low = fmin(fmin((double)s[0], (double)s[1]), (double)s[2]);
        double high = fmax(fmax((double)s[0], (double)s[1]), (double)s[2]);
        double middle = (double)s[0] + (double)s[1] + (double)s[2] - low - high;
        double o = 1 / (1 + exp(-(double)g->p.opacities[i]));
        *flatness += exp(low - middle) / g->n;
        *opacity += o / g->n;
        *least_opacity = fmin(*least_opacity, o);
    }
}

#define MEAN_STEPS 20

static double mean_estimation(splat_trainer *t)
{
    double sum = 0;
    for (int i = 0; i < MEAN_STEPS; i++) {
        run_steps(t, 1);
        sum += loss_of(t, "estimation") / MEAN_STEPS;
    }
    return sum;
}

static void each_loss_at_its_time(void **state)
{
    (void)state;
    static const splat_regularization modes[] = {SPLAT_REGULARIZE_DENSITY, SPLAT_REGULARIZE_SDF,
                                                 SPLAT_REGULARIZE_DN_CONSISTENCY};
    for (int m = 0; m < 3; m++) {
        double flat[2], opacity[2], least;
        tiny_place p = open_tiny(2);
        splat_train_options o = short_options(modes[m]);
        o.prune_keep = 0; /* as SuGaR */
        o.coarse.prune_opacity = 0.5f;
        splat_trainer *t = start(&p, &o);
        double before = psnr_of(&p, splat_trainer_get_model(t));
        size_t n = splat_trainer_get_model(t)->gaussians.n;
        run_steps(t, AFTER - FIRST - 1);
        assert_true(loss_of(t, "entropy") > 0 && loss_of(t, "entropy") < 0.6932);
        assert_true(isnan(loss_of(t, "estimation")) && isnan(loss_of(t, "normal")));
        run_steps(t, 1); /* 9000 of the usual clock: no loss of its own */
        assert_true(isnan(loss_of(t, "entropy")) && isnan(loss_of(t, "estimation")));
        shape_of(splat_trainer_get_model(t), &flat[0], &opacity[0], &least);
        assert_int_equal(splat_trainer_get_model(t)->gaussians.n, n);
        splat_step_info step = run_steps(t, 1);
        assert_true(step.n_removed > 0 && step.n_gaussians == n - step.n_removed);
        shape_of(splat_trainer_get_model(t), &flat[0], &opacity[0], &least);
        assert_true(least > 0.45); /* a step after those below 0.5 went */
        assert_true(isnan(loss_of(t, "entropy")) && loss_of(t, "estimation") > 0 && loss_of(t, "normal") > 0);
        double sampled = loss_of(t, "sampled_gaussians");
        bool is_sdf = modes[m] == SPLAT_REGULARIZE_SDF; /* about half have a depth, and within the field's range */
        assert_true(loss_of(t, "samples") > (is_sdf ? 500 : 1999));
        assert_true(sampled > 0 && sampled <= (double)step.n_gaussians);
        assert_int_equal(isnan(loss_of(t, "depth_normal")), modes[m] != SPLAT_REGULARIZE_DN_CONSISTENCY);
        double first = mean_estimation(t), last;
        run_steps(t, LAST - AFTER - 1 - 2 * MEAN_STEPS);
        last = mean_estimation(t);
        shape_of(splat_trainer_get_model(t), &flat[1], &opacity[1], &least);
        double after = psnr_of(&p, splat_trainer_get_model(t));
        print_message("mode %d: PSNR %.2f -> %.2f, %zu -> %u Gaussians, flatness %.3f -> %.3f, opacity %.3f -> %.3f, "
                      "loss %.4f -> %.4f\n", (int)modes[m], before, after, n, splat_trainer_get_model(t)->gaussians.n,
                      flat[0], flat[1], opacity[0], opacity[1], first, last);
        assert_true(last < 0.9 * first);
        assert_true(after > before - 1.5);
        splat_trainer_destroy(t);
        close_tiny(&p);
    }
}

/* Photos, entropy and prune alone: the base for the cost of a mode. Nothing else is computed, nor searched. */
static void without_factors_only_photos_are_trained_on(void **state)
{
    (void)state;
    splat_train_options o = short_options(SPLAT_REGULARIZE_DENSITY);
    o.coarse.regularize_after = FIRST + 2;
    tiny_place p = open_tiny(2);
    for (int k = 0; k < 2; k++) {
        splat_error error;
        splat_tensors gradients;
        bool any = true;
        o.coarse.normal_factor = k ? 0 : 0.2f;
        o.coarse.estimation_factor = 0;
        splat_trainer *t = start(&p, &o);
        run_steps(t, 4);
        assert_true((t->regularizer_rows.n_cached > 0) == (k == 0));
        assert_true(isnan(loss_of(t, "estimation")) == (k == 1) && isnan(loss_of(t, "entropy")));
        must(splat_coarse_step(t, FIRST + 5, 0, &gradients, &any, &error), &error);
        assert_true(any == (k == 0));
        splat_trainer_destroy(t);
    }
    close_tiny(&p);
}

/* The mean of the smallest scale over the middle one after training with the losses of the surface. */
static double flatness_with(const tiny_place *p, float factor, float ratio, double *share)
{
    double flat, opacity, least;
    splat_train_options o = short_options(SPLAT_REGULARIZE_DENSITY);
    o.coarse.estimation_factor = o.coarse.normal_factor = 0;
    o.flat_factor = factor;
    o.flat_ratio = ratio;
    splat_trainer *t = start(p, &o);
    run_steps(t, LAST - FIRST);
    shape_of(splat_trainer_get_model(t), &flat, &opacity, &least);
    *share = loss_of(t, "thick_share");
    assert_true(isnan(loss_of(t, "thickness")) == (factor <= 0));
    splat_trainer_destroy(t);
    return flat;
}

/* Without a hinge all Gaussians count to the end. With one those below it do not, and it stops where it stands. */
static void thick_gaussians_are_flattened(void **state)
{
    (void)state;
    double shares[3], flat[3];
    tiny_place p = open_tiny(2);
    flat[0] = flatness_with(&p, 0, 0, &shares[0]);
    flat[1] = flatness_with(&p, 400, 0, &shares[1]);
    flat[2] = flatness_with(&p, 400, 0.4f, &shares[2]);
    print_message("flatness %.3f, flattened %.3f, with a hinge %.3f; too thick %.3f, %.3f\n", flat[0], flat[1], flat[2],
                  shares[1], shares[2]);
    assert_true(isnan(shares[0]) && shares[1] == 1 && shares[2] < 0.9);
    assert_true(flat[1] < 0.5 * flat[0] && flat[1] < flat[2] && flat[2] < 0.8 * flat[0]);
    close_tiny(&p);
}

/* Stops at random places, before and after pruning and searches of neighbours. Threads differ, too. */
static void a_stopped_run_is_the_same_run(void **state)
{
    (void)state;
    static const splat_regularization modes[] = {SPLAT_REGULARIZE_SDF, SPLAT_REGULARIZE_DN_CONSISTENCY};
    for (int m = 0; m < 2; m++) {
        resumed_run run = {.options = short_options(modes[m]), .n_steps = LAST - FIRST, .begin = start};
        run.options.prune_keep = 0.8f; /* more than are above 1/2: the pivot is one of the run */
        run.options.trim_views = 1;
        run_whole(&run, 1);
        assert_resumed_at_random(&run, 3, 3, 17);
    }
}

/* Copies a checkpoint with one index among its neighbours changed, and with right checksums. */
static void write_with_neighbor(const char *path, const char *to, size_t place, uint32_t index)
{
    splat_error error;
    splat_tensor_reader file;
    splat_tensor_writer writer;
    must(splat_tensor_reader_open(&file, path, &error), &error);
    must(splat_tensor_writer_open(&writer, to, file.header, file.entries, file.n, &error), &error);
    for (size_t i = 0; i < file.n; i++) {
        size_t size = (size_t)file.entries[i].bytes;
        uint32_t *data = malloc(size + 1);
        must(splat_tensor_reader_read(&file, &file.entries[i], 0, data, size, &error), &error);
        if (strcmp(file.entries[i].name, "neighbors") == 0) {
            assert_true(place < size / sizeof *data);
            data[place] = index;
        }
        must(splat_tensor_writer_write(&writer, data, size, &error), &error);
        free(data);
    }
    must(splat_tensor_writer_commit(&writer, &error), &error);
    splat_tensor_reader_close(&file);
}

/* Neighbours are indices: a file that was made by hand must not lead out of the arrays. */
static void neighbors_stay_inside(void **state)
{
    (void)state;
    splat_error error;
    splat_train_options o = short_options(SPLAT_REGULARIZE_DENSITY);
    o.coarse.regularize_after = FIRST + 1;
    tiny_place p = open_tiny(1);
    splat_trainer *t = start(&p, &o);
    run_steps(t, 3);
    uint32_t n = splat_trainer_get_model(t)->gaussians.n;
    must(splat_trainer_save_checkpoint(t, "neighbors.splatsmith", &error), &error);
    write_with_neighbor("neighbors.splatsmith", "inside.splatsmith", (size_t)n * SPLAT_NEIGHBORS - 1, n - 1);
    write_with_neighbor("neighbors.splatsmith", "outside.splatsmith", (size_t)n * SPLAT_NEIGHBORS - 1, n);
    must(splat_trainer_load_checkpoint(t, "inside.splatsmith", &error), &error);
    run_steps(t, 1);
    assert_failure(splat_trainer_load_checkpoint(t, "outside.splatsmith", &error), SPLAT_ERROR_FORMAT, &error,
                   "a Gaussian that does not exist");
    assert_failure(splat_trainer_save_checkpoint(t, "never.splatsmith", &error), SPLAT_ERROR_UNSUPPORTED, &error,
                   "halfway");
    must(splat_trainer_load_checkpoint(t, "neighbors.splatsmith", &error), &error); /* and all is well again */
    run_steps(t, 1);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* The model of a checkpoint is rendered as the run renders it. */
static void a_checkpoint_is_a_splat(void **state)
{
    (void)state;
    splat_error error;
    splat_model *loaded;
    splat_model_info info;
    splat_train_options o = short_options(SPLAT_REGULARIZE_DENSITY);
    tiny_place p = open_tiny(1);
    splat_trainer *t = start(&p, &o);
    must(splat_trainer_start_coarse(t, "classic.ply", &error), &error);
    run_steps(t, 2);
    must(splat_trainer_save_checkpoint(t, "classic.splatsmith", &error), &error);
    must(splat_model_load(p.context, "classic.splatsmith", &loaded, &error), &error);
    splat_model_get_info(loaded, &info);
    assert_int_equal(info.render_mode, SPLAT_RENDER_CLASSIC);
    assert_true(difference(&p, loaded, splat_trainer_get_model(t)) == 0);
    must(splat_model_describe("classic.splatsmith", &info, &error), &error);
    assert_int_equal(info.n_gaussians, splat_trainer_get_model(t)->gaussians.n);
    assert_int_equal(info.render_mode, SPLAT_RENDER_CLASSIC);
    must(splat_model_describe(SPLAT, &info, &error), &error);
    assert_true(info.has_filter_3d && info.sh_degree == 3 && info.render_mode == SPLAT_RENDER_MIP);
    splat_model_destroy(loaded);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* ---------------------------------------------------------------- memory */

static void keep_limit(const char *scene, splat_regularization mode, int threads, int after, int n_steps)
{
    splat_train_options o = short_options(mode);
    o.coarse.regularize_after = after;
    make_splat_of(open_tiny, 800);
    tiny_place p = open_tiny_at(scene, threads);
    assert_plan_is_kept(&p, &o, n_steps);
    close_tiny(&p);
}

static void a_limit_is_kept(void **state)
{
    (void)state;
    keep_limit(TINY_SCENE, SPLAT_REGULARIZE_DN_CONSISTENCY, 2, AFTER, LAST - FIRST);
    /* many threads have much working memory of their own; a step on each side of the pruning sees all of it */
    keep_limit(TINY_SCENE, SPLAT_REGULARIZE_SDF, 200, FIRST + 1, 2);
}

/* A scene with far more points than the splat has Gaussians: they are of no use here, and must not need memory. */
static void points_of_the_scene_take_no_memory(void **state)
{
    (void)state;
    tiny_place p = open_tiny(2);
    make_tiny_scene("points", p.context, 20000, 0);
    close_tiny(&p);
    keep_limit("points", SPLAT_REGULARIZE_DENSITY, 2, FIRST + 1, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_does_what_its_line_says),
        cmocka_unit_test(the_clock),
        cmocka_unit_test(it_begins_with_the_splat),
        cmocka_unit_test(what_cannot_begin),
        cmocka_unit_test(each_loss_at_its_time),
        cmocka_unit_test(without_factors_only_photos_are_trained_on),
        cmocka_unit_test(thick_gaussians_are_flattened),
        cmocka_unit_test(a_stopped_run_is_the_same_run),
        cmocka_unit_test(neighbors_stay_inside),
        cmocka_unit_test(a_checkpoint_is_a_splat),
        cmocka_unit_test(a_limit_is_kept),
        cmocka_unit_test(points_of_the_scene_take_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
