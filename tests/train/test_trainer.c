/* The trainer as a whole, on a small sample scene: schedule, determinism, checkpoints, caps, options, evaluation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/file.h"
#include "io/picture/image.h"
#include "io/picture/image_read.h"
#include "scene_fixture.h"
#include "train/density/default.h"
#include "train/schedule.h"
#include "train/state.h"
#include "train/train_options.h"
#include "trainer_fixture.h"
#include "view_job_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct fixture {
    splat_context *context;
    splat_scene *scene;
} fixture;

static fixture open_fixture(int threads, const char *simd)
{
    fixture f = {.context = open_cpu_with(threads, simd)};
    f.scene = open_scene(f.context);
    return f;
}

static void close_fixture(fixture *f)
{
    splat_scene_close(f->scene);
    splat_memory_info memory;
    splat_context_get_memory(f->context, &memory);
    assert_int_equal(memory.bytes, 0); /* every block was given back */
    splat_context_destroy(f->context);
}

static splat_trainer *make_trainer(const fixture *f, const splat_train_options *options)
{
    return new_trainer(f->context, f->scene, options);
}

static void assert_same_model(splat_trainer *a, splat_trainer *b)
{
    size_t size_a, size_b;
    uint8_t *bytes_a = model_bytes(splat_trainer_get_model(a), "a.ply", &size_a),
            *bytes_b = model_bytes(splat_trainer_get_model(b), "b.ply", &size_b);
    assert_int_equal(size_a, size_b);
    assert_memory_equal(bytes_a, bytes_b, size_a);
    free(bytes_a);
    free(bytes_b);
}

/* ---------------------------------------------------------------- schedule */

static void schedule_is_the_published_one(void **state)
{
    (void)state;
    splat_train_options o;
    splat_train_options_init(&o);
    assert_true(fabsf(splat_schedule_position_lr(&o, 2, 0) / 3.2e-4f - 1) < 1e-5f);
    assert_true(fabsf(splat_schedule_position_lr(&o, 2, 30000) / 3.2e-6f - 1) < 1e-5f);
    assert_true(fabsf(splat_schedule_position_lr(&o, 2, 15000) / 3.2e-5f - 1) < 1e-5f); /* geometric middle */
    assert_true(splat_schedule_position_lr(&o, 2, 60000) == splat_schedule_position_lr(&o, 2, 30000));
    assert_int_equal(splat_schedule_sh_degree(&o, 999), 0);
    assert_int_equal(splat_schedule_sh_degree(&o, 1000), 1);
    assert_int_equal(splat_schedule_sh_degree(&o, 30000), 3);
    int densified = 0, reset = 0, filtered = 0, first = 0, last = 0;
    for (int i = 1; i <= o.iterations; i++) {
        if (splat_default_densifies_after(&o, i)) {
            densified++;
            first = first ? first : i;
            last = i;
        }
        reset += splat_default_resets_opacity_after(&o, false, i);
        filtered += splat_schedule_filters_after(&o, i);
    }
    assert_int_equal(first, 600);
    assert_int_equal(last, 14900);
    assert_int_equal(densified, 144);
    assert_int_equal(reset, 4);      /* 3000, 6000, 9000, 12000 */
    assert_int_equal(filtered, 148); /* 15100, ..., 29800 */
    assert_true(splat_default_resets_opacity_after(&o, true, 500));
    assert_false(splat_default_prunes_large(&o, 3000));
    assert_true(splat_default_prunes_large(&o, 3001));
}

static int late_prunes(const splat_train_options *o, int *first, int *last)
{
    int n = 0;
    *first = *last = 0;
    for (int i = 1; i <= o->iterations; i++) {
        if (!splat_default_prunes_late_after(o, i)) continue;
        n++;
        *first = *first ? *first : i;
        *last = i;
    }
    return n;
}

static void what_is_nearly_transparent_goes_after_densification(void **state)
{
    (void)state;
    splat_train_options o;
    int first, last;
    splat_train_options_init(&o);
    assert_int_equal(late_prunes(&o, &first, &last), 4);
    assert_true(first == 15000 && last == 24000);
    o.densify_until_iter = 0; /* coarse training, and runs without density control */
    assert_int_equal(late_prunes(&o, &first, &last), 0);
    splat_train_options_init(&o);
    o.iterations = 7000;
    assert_int_equal(late_prunes(&o, &first, &last), 0);
    splat_train_options_init(&o);
    o.opacity_reset_interval = 499; /* all would be transparent so soon after a reset */
    assert_int_equal(late_prunes(&o, &first, &last), 0);
    o.opacity_reset_interval = 500;
    assert_int_equal(late_prunes(&o, &first, &last), 29);
    static const char *const others[] = {"classic", "mcmc"};
    for (int i = 0; i < 2; i++) {
        splat_train_options_init_strategy(&o, splat_strategy_find(others[i]));
        assert_int_equal(late_prunes(&o, &first, &last), 0);
    }
}

static void the_photos_bound_the_growth(void **state)
{
    (void)state;
    splat_dataset_view views[3] = {{.camera = {.width = 1000, .height = 900}}, {.camera = {.width = 1, .height = 1}},
                                   {.camera = {.width = 800, .height = 600}}};
    uint32_t train[2] = {0, 2};
    splat_dataset dataset = {.views = views, .n_views = 3, .train = train, .n_train = 2, .n_points = 100};
    splat_train_options o;
    splat_train_options_init(&o);
    assert_int_equal(splat_default_cap(&o, &dataset), (900000 + 480000) / 90);
    o.pixels_per_gaussian = 1000;
    assert_int_equal(splat_default_cap(&o, &dataset), 1380);
    views[2].camera.height = 1; /* reduced: it shows as much */
    assert_int_equal(splat_default_cap(&o, &dataset), 900 + 405);
    dataset.n_points = 2000;
    assert_int_equal(splat_default_cap(&o, &dataset), 2000);
    o.target_gaussian_count = 500; /* the lower one of both */
    assert_int_equal(splat_default_cap(&o, &dataset), 500);
    o.pixels_per_gaussian = 0;
    assert_int_equal(splat_default_cap(&o, &dataset), 500);
    splat_train_options_init_strategy(&o, splat_strategy_find("classic"));
    assert_int_equal(splat_default_cap(&o, &dataset), 0);
}

/* As a cap that is named. */
static void growth_ends_at_what_the_photos_allow(void **state)
{
    (void)state;
    fixture f = open_fixture(2, "auto");
    splat_train_options o = busy_options(60), named = o;
    o.pixels_per_gaussian = 405000 * (float)f.scene->dataset.n_train / 450.4f;
    named.pixels_per_gaussian = 0;
    named.target_gaussian_count = 450;
    assert_true(f.scene->dataset.n_points < 450);
    splat_trainer *t = make_trainer(&f, &o), *other = make_trainer(&f, &named);
    assert_int_equal(run_steps(t, 60).n_gaussians, 450);
    run_steps(other, 60);
    assert_same_model(t, other);
    splat_trainer_destroy(other);
    splat_trainer_destroy(t);
    close_fixture(&f);
}

static size_t n_below(splat_trainer *t, float opacity)
{
    const splat_gaussians *g = &splat_trainer_get_model(t)->gaussians;
    size_t n = 0;
    for (uint32_t i = 0; i < g->n; i++) n += 1 / (1 + expf(-g->p.opacities[i])) < opacity;
    return n;
}

/* The schedule of late_options, and after LATE + 46 the nearly transparent go. */
static splat_trainer *trainer_before_a_late_prune(const fixture *f, splat_train_options o)
{
    o.opacity_reset_interval = LATE + 46;
    o.iterations = 3 * LATE;
    splat_trainer *t = make_trainer(f, &o);
    t->iteration = LATE;
    return t;
}

/* The next step does the work that belongs after an iteration; until then both runs are the same. */
static void late_pruning_removes_the_transparent_alone(void **state)
{
    (void)state;
    fixture f = open_fixture(2, "auto");
    splat_train_options o = late_options(60), classic = o;
    o.late_prune_opacity = 0.1f;
    classic.strategy = splat_strategy_find("classic");
    classic.late_prune_opacity = 0;
    splat_trainer *t = trainer_before_a_late_prune(&f, o), *other = trainer_before_a_late_prune(&f, classic);
    run_steps(t, 46);
    run_steps(other, 46);
    assert_same_model(t, other);
    size_t n_transparent = n_below(t, 0.1f), n = run_steps(other, 1).n_gaussians;
    splat_step_info info = run_steps(t, 1);
    assert_true(n_transparent > 0 && n_transparent < n);
    assert_int_equal(info.n_removed, n_transparent);
    assert_int_equal(info.n_gaussians, n - n_transparent);
    splat_trainer_destroy(other);
    splat_trainer_destroy(t);
    close_fixture(&f);
}

static void a_run_resumed_before_late_pruning_is_the_same_run(void **state)
{
    (void)state;
    splat_error error;
    fixture f = open_fixture(2, "auto");
    splat_train_options o = late_options(60);
    o.late_prune_opacity = 0.1f;
    splat_trainer *t = trainer_before_a_late_prune(&f, o), *resumed = trainer_before_a_late_prune(&f, o);
    run_steps(t, 46);
    must(splat_trainer_save_checkpoint(t, "late.splatsmith", &error), &error);
    must(splat_trainer_load_checkpoint(resumed, "late.splatsmith", &error), &error);
    assert_true(run_steps(t, 1).n_removed > 0);
    run_steps(t, 4);
    run_steps(resumed, 5);
    assert_same_model(t, resumed);
    splat_trainer_destroy(resumed);
    splat_trainer_destroy(t);
    close_fixture(&f);
}

static void other_rates_fall_when_asked(void **state)
{
    (void)state;
    splat_train_options o;
    splat_train_options_init(&o);
    const splat_tensor_rate *scales = &splat_gaussian_rates[SPLAT_TENSOR_scales];
    const splat_tensor_rate *sh = &splat_gaussian_rates[SPLAT_TENSOR_sh_rest];
    assert_true(splat_tensor_rate_at(scales, &o, 2, 1) == o.scaling_lr &&
                splat_tensor_rate_at(scales, &o, 2, 30000) == o.scaling_lr); /* as published */
    o.lr_final_factor = 0.04f;
    assert_true(splat_tensor_rate_at(scales, &o, 2, 15000) == o.scaling_lr);
    assert_true(splat_tensor_rate_at(scales, &o, 2, 15001) < o.scaling_lr);
    assert_true(fabsf(splat_tensor_rate_at(scales, &o, 2, 22500) / o.scaling_lr / 0.2f - 1) < 1e-5f);
    assert_true(fabsf(splat_tensor_rate_at(sh, &o, 2, 30000) / o.feature_lr * 20 / 0.04f - 1) < 1e-5f);
    assert_true(splat_tensor_rate_at(sh, &o, 2, 60000) == splat_tensor_rate_at(sh, &o, 2, 30000));
    assert_true(splat_tensor_rate_at(&splat_gaussian_rates[SPLAT_TENSOR_means], &o, 2, 25000) ==
                splat_schedule_position_lr(&o, 2, 25000)); /* it falls by itself */
    o.sh_rest_lr = 0.001f; /* of these bands alone; they fall with the others */
    assert_true(splat_tensor_rate_at(sh, &o, 2, 15000) == 0.001f);
    assert_true(fabsf(splat_tensor_rate_at(sh, &o, 2, 30000) / 0.00004f - 1) < 1e-5f);
    assert_true(splat_tensor_rate_at(&splat_gaussian_rates[SPLAT_TENSOR_sh_dc], &o, 2, 1) == o.feature_lr);
    o.lr_decay_from_iter = 40000; /* after the end of the schedule: at once */
    assert_true(splat_schedule_lr_factor(&o, 40000) == 1 && splat_schedule_lr_factor(&o, 40001) == 0.04f);
}

static void every_epoch_is_a_permutation(void **state)
{
    (void)state;
    uint32_t order[7], epoch = 0, first_epoch[7];
    bool differs = false;
    for (int e = 0; e < 3; e++) {
        bool seen[7] = {false};
        for (int i = 0; i < 7; i++) {
            uint32_t view = splat_schedule_view(3, 7, 7 * e + i + 1, order, &epoch);
            assert_true(view < 7 && !seen[view]);
            seen[view] = true;
            if (e == 0) first_epoch[i] = view;
            differs = differs || view != first_epoch[i];
        }
    }
    assert_true(differs);
    /* the order is a function of the iteration: jumping back gives the same view */
    assert_int_equal(splat_schedule_view(3, 7, 3, order, &epoch), first_epoch[2]);
}

/* ---------------------------------------------------------------- training */

static void a_photo_reads_as_its_file(void **state)
{
    (void)state;
    fixture f = open_fixture(2, "auto");
    uint8_t rgb[3 * WIDTH * HEIGHT];
    splat_image file;
    splat_view_info view;
    splat_error error;
    must(splat_scene_get_view(f.scene, 5, &view, &error), &error);
    must(splat_scene_read_photo(f.scene, 5, rgb, &error), &error);
    char *path = splat_format("%s/images/%s", SCENE, view.name);
    must(splat_image_read(path, &file, &error), &error);
    assert_true(file.width == WIDTH && file.height == HEIGHT && file.channels == 3);
    assert_memory_equal(rgb, file.pixels, sizeof rgb);
    splat_image_free(&file);
    free(path);
    assert_int_equal(splat_scene_read_photo(f.scene, 17, rgb, &error), SPLAT_ERROR_ARGUMENT);
    close_fixture(&f);
}

static splat_metrics measure(const fixture *f, splat_trainer *trainer, splat_view_set set)
{
    splat_metrics mean;
    splat_error error;
    must(evaluate_set(splat_trainer_get_model(trainer), f->scene, set, false, &mean, &error), &error);
    return mean;
}

static void training_learns_and_densifies(void **state)
{
    (void)state;
    fixture f = open_fixture(2, "auto");
    splat_train_options o = busy_options(200);
    o.opacity_reset_interval = 1000;
    splat_trainer *trainer = make_trainer(&f, &o);
    splat_metrics before = measure(&f, trainer, SPLAT_VIEWS_TRAIN);
    splat_step_info first = run_steps(trainer, 1), last = run_steps(trainer, 199);
    splat_metrics after = measure(&f, trainer, SPLAT_VIEWS_TRAIN), test = measure(&f, trainer, SPLAT_VIEWS_TEST);
    assert_int_equal(before.n_views, 14);
    assert_int_equal(test.n_views, 3); /* every 8th of 17 */
    print_message("train PSNR %.2f -> %.2f dB, test %.2f, loss %.4f -> %.4f\n", before.psnr, after.psnr, test.psnr,
                  first.loss, last.loss);
    assert_true(after.psnr > before.psnr + 3);
    assert_true(test.psnr > 14.5); /* few views, few steps: the demo judges quality */
    assert_true(last.loss < 0.7f * first.loss);
    assert_true(last.n_gaussians > first.n_gaussians);
    assert_true(after.ssim > before.ssim && after.l1 < before.l1);
    splat_trainer_destroy(trainer);
    close_fixture(&f);
}

static void threads_and_simd_do_not_change_a_byte(void **state)
{
    (void)state;
    static const struct { int threads; const char *simd; } variants[] = {{2, "auto"}, {5, "auto"}, {1, "c"}};
    fixture f = open_fixture(1, "auto");
    splat_train_options o = busy_options(60);
    splat_trainer *reference = make_trainer(&f, &o);
    run_steps(reference, 60);
    for (size_t i = 0; i < 3; i++) {
        fixture g = open_fixture(variants[i].threads, variants[i].simd);
        splat_trainer *other = make_trainer(&g, &o);
        run_steps(other, 60);
        assert_same_model(reference, other);
        splat_trainer_destroy(other);
        close_fixture(&g);
    }
    o.seed = 1; /* and the seed does */
    splat_trainer *other = make_trainer(&f, &o);
    run_steps(other, 60);
    size_t size_a, size_b;
    uint8_t *a = model_bytes(splat_trainer_get_model(reference), "a.ply", &size_a),
            *b = model_bytes(splat_trainer_get_model(other), "b.ply", &size_b);
    assert_true(size_a != size_b || memcmp(a, b, size_a) != 0);
    free(a);
    free(b);
    splat_trainer_destroy(other);
    splat_trainer_destroy(reference);
    close_fixture(&f);
}

static void the_cap_is_exact(void **state)
{
    (void)state;
    fixture f = open_fixture(2, "auto");
    splat_train_options o = busy_options(60);
    o.target_gaussian_count = 450;
    o.min_opacity_threshold = 0;
    splat_trainer *trainer = make_trainer(&f, &o);
    splat_step_info info;
    splat_error error;
    splat_step_info_init(&info);
    bool reached = false;
    size_t n_before = 0, n_exchanged = 0;
    for (int i = 0; i < 60; i++) {
        must(splat_trainer_step(trainer, &info, &error), &error);
        assert_true(info.n_gaussians <= 450);
        if (reached) assert_true(info.n_added <= 2 * (450 / 20 + 450 - n_before)); /* splits are two rows for one */
        reached = reached || info.n_gaussians == 450;
        n_exchanged += reached ? info.n_added : 0;
        n_before = info.n_gaussians;
    }
    assert_true(reached && n_exchanged > 0);
    splat_trainer_destroy(trainer);
    o.target_gaussian_count = 100; /* below the number of points: starts with so many */
    trainer = make_trainer(&f, &o);
    assert_int_equal(run_steps(trainer, 1).n_gaussians, 100);
    splat_trainer_destroy(trainer);
    close_fixture(&f);
}

#define EFFECT_STEPS 29 /* the last one is not that of a densification: no option is hidden by it */

/* The model after as many steps from iteration LATE on; the caller frees. */
static uint8_t *late_result(const fixture *f, const splat_train_options *options, size_t *size)
{
    splat_trainer *trainer = make_trainer(f, options);
    trainer->iteration = LATE;
    run_steps(trainer, EFFECT_STEPS);
    uint8_t *bytes = model_bytes(splat_trainer_get_model(trainer), "result.ply", size);
    splat_trainer_destroy(trainer);
    return bytes;
}

/* Each option of train_options.def against a training without it: those whose effect is `effect` must change the
 * result, and with NOTHING must not. */
static void check_effects(const fixture *f, splat_option_effect effect)
{
    splat_train_options usual = late_options(EFFECT_STEPS);
    if (effect == SPLAT_CHANGES_LATE_PRUNE) {
        usual.densify_until_iter = LATE + 15;
        usual.opacity_reset_interval = LATE / 2 + 10; /* after LATE + 20; no reset within these steps */
        usual.iterations = 2 * LATE;
    }
    if (effect == SPLAT_CHANGES_BUDGET) {
        usual.strategy = splat_strategy_find("default");
        usual.target_gaussian_count = 20000;
    }
    splat_train_options jittered = usual;
    size_t sizes[2], size, n_checked = 0, n_wrong = 0;
    jittered.ray_jitter = true;
    uint8_t *results[2] = {late_result(f, &usual, &sizes[0]), late_result(f, &jittered, &sizes[1])};
    for (size_t i = 0; i < splat_train_options_table.n; i++) {
        const splat_option_row *row = &splat_train_options_table.rows[i].row;
        const splat_option_trial *trial = &splat_train_option_trials[i];
        if (!row->kind || trial->effect != effect) continue;
        bool needs_jitter = strcmp(row->name, "resample_gt_image") == 0;
        splat_train_options o = needs_jitter ? jittered : usual;
        splat_option_set(row, &o, trial->other);
        uint8_t *bytes = late_result(f, &o, &size);
        bool same = size == sizes[needs_jitter] && memcmp(bytes, results[needs_jitter], size) == 0;
        free(bytes);
        bool wrong = same != (effect == SPLAT_CHANGES_NOTHING);
        if (wrong) print_error("%s changed %s\n", row->name, same ? "nothing" : "the result");
        n_wrong += wrong;
        n_checked++;
    }
    assert_true(n_checked > 0);
    assert_int_equal(n_wrong, 0);
    free(results[0]);
    free(results[1]);
}

static void every_option_does_what_its_line_says(void **state)
{
    (void)state;
    fixture f = open_fixture(2, "auto");
    check_effects(&f, SPLAT_CHANGES_TRAINING);
    check_effects(&f, SPLAT_CHANGES_NOTHING);
    check_effects(&f, SPLAT_CHANGES_LATE_PRUNE);
    check_effects(&f, SPLAT_CHANGES_BUDGET);
    for (size_t i = 0; i < f.scene->dataset.n_train; i++) f.scene->train_near_depths[i] *= 2.2f;
    check_effects(&f, SPLAT_CHANGES_FREE_SPACE);
    close_fixture(&f);
}

static void the_background_is_the_scenes(void **state)
{
    (void)state;
    fixture f = open_fixture(2, "auto");
    splat_train_options usual = late_options(EFFECT_STEPS);
    usual.densify_from_iter = 1; /* there a white background resets opacities, too */
    size_t sizes[2];
    uint8_t *black = late_result(&f, &usual, &sizes[0]);
    f.scene->options.white_background = true;
    uint8_t *white = late_result(&f, &usual, &sizes[1]);
    assert_true(sizes[0] != sizes[1] || memcmp(black, white, sizes[0]) != 0);
    free(black);
    free(white);
    close_fixture(&f);
}

/* The pictures of the usual scene are too narrow for sample_more_highres. */
static void wide_views_are_drawn_more_often(void **state)
{
    (void)state;
    splat_error error;
    splat_sample_options sample;
    splat_scene_options options;
    fixture f = {open_cpu(2), NULL};
    splat_sample_options_init(&sample);
    sample.width = 800;
    sample.height = 24;
    sample.n_cameras = 5;
    sample.n_points = 400;
    sample.n_truth = 100;
    sample.supersample = 1;
    splat_folder_delete("wide", NULL);
    must(splat_sample_write(f.context, "wide", &sample, &error), &error);
    splat_scene_options_init(&options);
    options.source_path = "wide";
    must(splat_scene_open(f.context, &options, &f.scene, &error), &error);
    check_effects(&f, SPLAT_CHANGES_WIDE);
    close_fixture(&f);
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    fixture f = open_fixture(1, "auto");
    splat_trainer *trainer;
    splat_error error;
    for (int variant = 0; variant < 5; variant++) {
        splat_train_options o = busy_options(10);
        if (variant == 0) o.iterations = 0;
        if (variant == 1) o.sh_degree = 4;
        if (variant == 2) o.lambda_dssim = NAN;
        if (variant == 3) o.resample_gt_image = true;
        if (variant == 4) o.densification_interval = 0;
        assert_int_equal(splat_trainer_create(f.context, f.scene, &o, &trainer, &error), SPLAT_ERROR_ARGUMENT);
        assert_null(trainer);
        assert_true(strlen(error.message) > 10);
    }
    close_fixture(&f);
}

/* ---------------------------------------------------------------- checkpoints */

static void dropout_is_for_few_photos(void **state)
{
    (void)state;
    splat_train_options o;
    splat_train_options_init(&o);
    assert_true(splat_schedule_dropout(&o, 10, o.iterations) == 0);
    o.dropout = 0.2f;
    assert_true(splat_schedule_dropout(&o, 30, 0) == 0 && splat_schedule_dropout(&o, 1, o.iterations) == 0.2f);
    assert_true(splat_schedule_dropout(&o, 30, o.iterations / 2) == 0.1f);
    assert_true(splat_schedule_dropout(&o, 55, o.iterations) == 0.1f);
    assert_true(splat_schedule_dropout(&o, 80, o.iterations) == 0 && splat_schedule_dropout(&o, 500, 9) == 0);
}

static void a_resumed_run_is_the_same_run(void **state)
{
    (void)state;
    fixture f = open_fixture(2, "auto");
    splat_train_options o = busy_options(60);
    o.dropout = 0.3f;
    splat_trainer *whole = make_trainer(&f, &o);
    run_steps(whole, 60);
    static const int stops[] = {0, 1, 20, 29, 50}; /* 20 and 50 just before a densification, a reset, a late filter */
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
        splat_error error;
        splat_trainer *before = make_trainer(&f, &o);
        run_steps(before, stops[i]);
        must(splat_trainer_save_checkpoint(before, "state.splatsmith", &error), &error);
        splat_trainer_destroy(before);
        splat_trainer *after = make_trainer(&f, &o);
        run_steps(after, 3); /* its own state is replaced */
        must(splat_trainer_load_checkpoint(after, "state.splatsmith", &error), &error);
        assert_int_equal(splat_trainer_get_iteration(after), stops[i]);
        run_steps(after, 60 - stops[i]);
        assert_same_model(whole, after);
        splat_trainer_destroy(after);
    }
    splat_trainer_destroy(whole);
    close_fixture(&f);
}

static void a_damaged_checkpoint_changes_nothing(void **state)
{
    (void)state;
    fixture f = open_fixture(2, "auto");
    splat_train_options o = busy_options(60);
    o.sh_degree = 0;
    splat_error error;
    splat_trainer *trainer = make_trainer(&f, &o), *untouched = make_trainer(&f, &o);
    must(splat_trainer_save_checkpoint(trainer, "good.splatsmith", &error), &error);
    uint8_t *data;
    size_t size;
    must(splat_file_read("good.splatsmith", &data, &size, &error), &error);
    for (size_t length = 0; length < size; length += length < 3000 ? 1 : 997) {
        fixture_bytes("bad.splatsmith", data, length);
        assert_int_not_equal(splat_trainer_load_checkpoint(trainer, "bad.splatsmith", &error), SPLAT_OK);
        assert_string_equal(error.file, "bad.splatsmith");
    }
    for (size_t at = 0; at < size; at += at < 3000 ? 1 : 1499) {
        data[at] ^= 0x10;
        fixture_bytes("bad.splatsmith", data, size);
        if (splat_trainer_load_checkpoint(trainer, "bad.splatsmith", &error) == SPLAT_OK)
            fail_msg("byte %zu is not protected", at);
        data[at] ^= 0x10;
    }
    free(data);
    assert_same_model(trainer, untouched);
    o.sh_degree = 1; /* another trainer refuses it with a reason */
    splat_trainer *other = make_trainer(&f, &o);
    assert_int_equal(splat_trainer_load_checkpoint(other, "good.splatsmith", &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "sh_degree 0"));
    splat_trainer_destroy(other);
    splat_trainer_destroy(trainer);
    splat_trainer_destroy(untouched);
    close_fixture(&f);
}

int main(void)
{
    splat_folder_delete(SCENE, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedule_is_the_published_one),
        cmocka_unit_test(what_is_nearly_transparent_goes_after_densification),
        cmocka_unit_test(other_rates_fall_when_asked),
        cmocka_unit_test(every_epoch_is_a_permutation),
        cmocka_unit_test(a_photo_reads_as_its_file),
        cmocka_unit_test(training_learns_and_densifies),
        cmocka_unit_test(threads_and_simd_do_not_change_a_byte),
        cmocka_unit_test(the_cap_is_exact),
        cmocka_unit_test(the_photos_bound_the_growth),
        cmocka_unit_test(growth_ends_at_what_the_photos_allow),
        cmocka_unit_test(late_pruning_removes_the_transparent_alone),
        cmocka_unit_test(a_run_resumed_before_late_pruning_is_the_same_run),
        cmocka_unit_test(every_option_does_what_its_line_says),
        cmocka_unit_test(the_background_is_the_scenes),
        cmocka_unit_test(wide_views_are_drawn_more_often),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(dropout_is_for_few_photos),
        cmocka_unit_test(a_resumed_run_is_the_same_run),
        cmocka_unit_test(a_damaged_checkpoint_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
