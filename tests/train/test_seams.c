/* Two seams of the trainer, proved by a strategy and a regularizer of toys (test_binding_seam has the third): what they
 * keep is resized, planned, checkpointed and resumed; what they ask for happens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "checkpoint_fixture.h"
#include "scene_fixture.h"
#include "train/density/density.h"
#include "train/density/strategies.h"
#include "train/parts/regularizer.h"
#include "train/resize.h"

#include <math.h>

/* ---------------------------------------------------------------- a strategy */

enum { SEEN, WORK, N_TOY_ARRAYS };

static const splat_extra_array toy_arrays[N_TOY_ARRAYS] = {
    [SEEN] = {"toy.seen", 3, false, SPLAT_ROWS_KEPT},
    [WORK] = {"toy.work", 1, false, SPLAT_ROWS_SCRATCH},
};

#define PRUNE_AFTER 20
#define LAST 40

static bool toy_statistics(const splat_train_options *o, int iteration)
{
    (void)o;
    (void)iteration;
    return false;
}

/* Scales stay as they are. */
static void toy_updates(const splat_trainer *t, int iteration, splat_adam *adam)
{
    (void)t;
    (void)iteration;
    adam->update[SPLAT_TENSOR_scales] = false;
}

/* Each row counts its iterations (in its second float), which moves the Gaussian: a state that is lost or reset gives
 * another model. Once, some rows are removed. */
static splat_status toy_after(splat_trainer *t, int iteration, splat_error *error)
{
    uint32_t old_n = t->model->gaussians.n;
    float *seen = splat_extra_rows_data(&t->strategy_rows, SEEN), *means = t->model->gaussians.p.means;
    float *work = splat_extra_rows_data(&t->strategy_rows, WORK);
    for (uint32_t i = 0; i < old_n; i++) {
        seen[3 * i + 1] += 1;
        work[i] = 1e-4f * seen[3 * i + 1];
        means[3 * i] += work[i];
    }
    if (iteration != PRUNE_AFTER) return SPLAT_OK;
    void *unused;
    SPLAT_TRY(splat_density_begin(t, 0, &unused, error));
    struct splat_density_prune_args args = {.min_opacity = 0, .target_count = old_n - 30};
    SPLAT_TRY(splat_density_prune(t, iteration, args, "none", error));
    return splat_density_end(t, old_n, error);
}

static size_t toy_work_bytes(bool on_device, size_t n)
{
    (void)on_device;
    return 1000 * n;
}

static const splat_strategy toy_strategy = {
    .name = "toy",
    .arrays = toy_arrays,
    .n_arrays = N_TOY_ARRAYS,
    .wants_statistics = toy_statistics,
    .updates = toy_updates,
    .after = toy_after,
    .work_bytes = toy_work_bytes,
};

static splat_train_options toy_options(void)
{
    splat_train_options o = tiny_options(LAST);
    o.target_gaussian_count = 0;
    o.strategy = &toy_strategy;
    return o;
}

static void strategies_are_found_by_name(void **state)
{
    (void)state;
    splat_train_options o;
    splat_train_options_init(&o);
    assert_string_equal(splat_strategy_of(&o)->name, "default"); /* that of coarse training and of older checkpoints */
    assert_ptr_equal(splat_strategy_of_checkpoint("default"), splat_strategy_of(&o));
    assert_ptr_equal(splat_strategy_of_checkpoint("budget"), splat_strategy_find("default"));
    assert_null(splat_strategy_find("none of these"));
    assert_null(splat_strategy_of_checkpoint("none of these"));
    splat_train_options_init_strategy(&o, NULL);
    assert_string_equal(splat_strategy_of(&o)->name, "budget");
    splat_train_options_init_strategy(&o, splat_strategy_find("fast"));
    assert_string_equal(splat_strategy_of(&o)->name, "budget_fast");
    assert_true(o.iterations == 12000 && o.position_lr_max_steps == 12000 && o.densify_until_iter == 6000);
    assert_true(o.lr_decay_from_iter == 8400 && o.target_gaussian_count == 330000 && o.sh_rest_lr == 0.001f);
    splat_train_options_set_steps(&o, 4000);
    assert_true(o.iterations == 4000 && o.position_lr_max_steps == 4000 && o.densify_until_iter == 2000);
    assert_true(o.lr_decay_from_iter == 2800 && o.densify_from_iter == 100 && o.opacity_reset_interval == 400);
    assert_int_equal(o.densification_interval, 33);
    splat_train_options_set_steps(&o, 400);
    assert_int_equal(o.densification_interval, 25);
    splat_train_options_set_steps(&o, 800);
    assert_int_equal(o.densification_interval, 25);
    splat_train_options_init_strategy(&o, splat_strategy_find("default"));
    splat_train_options_fit_photos(&o, 42); /* 600 steps for each would be more */
    assert_int_equal(o.iterations, 25000);
    splat_train_options_fit_photos(&o, 21);
    assert_true(o.iterations == 12600 && o.densify_until_iter == 6300 && o.position_lr_max_steps == 12600);
    splat_train_options_fit_photos(&o, 2);
    assert_int_equal(o.iterations, 7000);
    splat_train_options_fit_rates(&o, 250);
    assert_true(o.sh_rest_lr == 0.0005f);
    splat_train_options_fit_rates(&o, 100);
    assert_float_equal(o.sh_rest_lr, 0.0002f, 1e-9f);
    splat_train_options_fit_rates(&o, 1); /* not below the published rate */
    assert_true(o.sh_rest_lr == 0.000125f);
    splat_train_options_init_strategy(&o, splat_strategy_find("mcmc"));
    splat_train_options_fit_photos(&o, 2);
    splat_train_options_fit_rates(&o, 2);
    assert_true(o.iterations == 30000 && o.sh_rest_lr == 0);
    splat_train_options_init_strategy(&o, splat_strategy_of_checkpoint("fast")); /* of older checkpoints */
    assert_true(o.iterations == 20000 && o.target_gaussian_count == 300000 && o.sh_rest_lr == 0.0005f);
    splat_train_options_init_strategy(&o, splat_strategy_find("classic"));
    assert_string_equal(splat_strategy_of(&o)->name, "classic");
    assert_true(o.late_prune_opacity == 0 && o.pixels_per_gaussian == 0);
    splat_train_options_set_steps(&o, 7000);
    assert_true(o.iterations == 7000 && o.densify_until_iter == 15000 && o.target_gaussian_count == 0);
    splat_train_options_init(&o);
    assert_true(o.late_prune_opacity == 0.05f);
    o.strategy = &toy_strategy;
    assert_ptr_equal(splat_strategy_of(&o), &toy_strategy);
}

static void a_strategy_decides_what_a_step_does(void **state)
{
    (void)state;
    splat_train_options o = toy_options();
    tiny_place p = open_tiny(2);
    splat_trainer *t = tiny_trainer(&p, &o);
    const splat_gaussians *g = &splat_trainer_get_model(t)->gaussians;
    uint32_t n = g->n;
    float scale = g->p.scales[0], opacity = g->p.opacities[0];
    assert_int_equal(t->n_statistics, 0); /* it wants none */
    run_steps(t, PRUNE_AFTER);
    assert_true(g->p.scales[0] == scale);
    assert_false(g->p.opacities[0] == opacity);
    assert_int_equal(t->n_statistics, 0);
    assert_int_equal(g->n, n);
    splat_step_info step = run_steps(t, 1);
    assert_int_equal(g->n, n - 30);
    assert_int_equal(step.n_removed, 30);
    const float *seen = splat_extra_rows_data(&t->strategy_rows, SEEN);
    for (uint32_t i = 0; i < g->n; i++) assert_true(seen[3 * i + 1] == PRUNE_AFTER + 1 && seen[3 * i] == 0);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* Rows that grow are zero, and those that were keep what they held. */
static void kept_rows_grow_with_the_model(void **state)
{
    (void)state;
    splat_error error;
    splat_train_options o = toy_options();
    tiny_place p = open_tiny(2);
    splat_trainer *t = tiny_trainer(&p, &o);
    uint32_t n = splat_trainer_get_model(t)->gaussians.n;
    run_steps(t, 5);
    must(splat_trainer_resize(t, n + 7, &error), &error);
    const float *seen = splat_extra_rows_data(&t->strategy_rows, SEEN);
    assert_int_equal(t->strategy_rows.rows[SPLAT_ROWS_KEPT].blocks[0].bytes, (n + 7) * 3 * sizeof *seen);
    for (uint32_t i = 0; i < n + 7; i++) assert_true(seen[3 * i + 1] == (i < n ? 5 : 0));
    splat_trainer_destroy(t);
    close_tiny(&p);
}

static void a_strategy_is_resumed_bit_for_bit(void **state)
{
    (void)state;
    splat_error error;
    static const int stops[] = {13, PRUNE_AFTER, PRUNE_AFTER + 1, LAST};
    resumed_run run = {.options = toy_options(), .n_steps = LAST};
    run_whole(&run, 2);
    assert_resumed_at(&run, 2, stops, 4);

    splat_tensor_reader file;
    must(splat_tensor_reader_open(&file, "whole.splatsmith", &error), &error);
    assert_string_equal(json_string_value(json_object_get(file.header, "strategy")), "toy");
    assert_non_null(splat_tensor_reader_find(&file, "toy.seen"));
    assert_null(splat_tensor_reader_find(&file, "toy.work")); /* of a step only */
    splat_tensor_reader_close(&file);

    splat_train_options o = run.options;
    o.strategy = NULL; /* another strategy would make something else of it */
    tiny_place p = open_tiny(2);
    splat_trainer *t = tiny_trainer(&p, &o);
    assert_failure(splat_trainer_load_checkpoint(t, "whole.splatsmith", &error), SPLAT_ERROR_ARGUMENT, &error,
                   "density strategy 'toy', and this run has 'default'");
    run_steps(t, 1);
    must(splat_trainer_save_checkpoint(t, "default.splatsmith", &error), &error);
    splat_trainer_destroy(t);
    o.strategy = &toy_strategy;
    t = tiny_trainer(&p, &o);
    assert_failure(splat_trainer_load_checkpoint(t, "default.splatsmith", &error), SPLAT_ERROR_ARGUMENT, &error,
                   "density strategy 'default', and this run has 'toy'");
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* Its arrays, 16 bytes a Gaussian, instead of the statistics, 12 bytes; and its working memory. */
static void a_strategy_is_planned(void **state)
{
    (void)state;
    splat_error error;
    splat_plan plan[2];
    splat_plan_options wanted;
    splat_train_options o = toy_options();
    tiny_place p = open_tiny(2);
    splat_plan_options_init(&wanted);
    wanted.n_gaussians = 1000000;
    wanted.limit_bytes = (size_t)1 << 44;
    for (int i = 0; i < 2; i++) {
        o.strategy = i ? &toy_strategy : NULL;
        splat_plan_init(&plan[i]);
        must(splat_plan_make(p.context, p.scene, &o, &wanted, NULL, &plan[i], &error), &error);
    }
    planned_near(planned(&plan[1], "statistics", NULL) / 16, planned(&plan[0], "statistics", NULL) / 12);
    assert_true(planned(&plan[0], "transients", "working memory of the ops") < 1000 * wanted.n_gaussians);
    assert_true(planned(&plan[1], "transients", "working memory of the ops") >= 1000 * wanted.n_gaussians);
    close_tiny(&p);
}

/* ---------------------------------------------------------------- a regularizer */

enum { PULL_MEANS, PULL_SCALES, PULL_ROTATIONS, PULL_OPACITIES, NEXT, N_PULL_ARRAYS };

static const splat_extra_array pull_arrays[N_PULL_ARRAYS] = {
    [PULL_MEANS] = {"pull.means", 3, false, SPLAT_ROWS_SCRATCH},
    [PULL_SCALES] = {"pull.scales", 3, false, SPLAT_ROWS_SCRATCH},
    [PULL_ROTATIONS] = {"pull.rotations", 4, false, SPLAT_ROWS_SCRATCH},
    [PULL_OPACITIES] = {"pull.opacities", 1, false, SPLAT_ROWS_SCRATCH},
    [NEXT] = {"pull.next", 1, true, SPLAT_ROWS_CACHED}, /* the Gaussian after each: an index */
};

#define PULL_FROM 5
#define PULL 10.0f

/* Pulls every Gaussian down, so that its gradient is much larger than the photo's; its loss is the mean height. The
 * cached array is made when it is absent, and needed. */
static splat_status pull_step(splat_trainer *t, int iteration, uint32_t view, splat_tensors *gradients, bool *any,
                              splat_error *error)
{
    (void)view;
    const splat_gaussians *g = &t->model->gaussians;
    splat_extra_rows *rows = &t->regularizer_rows;
    double *results, sum = 0;
    *any = iteration >= PULL_FROM;
    if (!*any) return SPLAT_OK;
    SPLAT_TRY(splat_trainer_regularizer_results(t, &results, error));
    if (rows->n_cached != g->n) {
        SPLAT_TRY(splat_extra_rows_cache(rows, t->backend, g->n, error));
        uint32_t *next = splat_extra_rows_data(rows, NEXT);
        for (uint32_t i = 0; i < g->n; i++) next[i] = (i + (uint32_t)iteration) % g->n; /* tells when it was made */
    }
    const uint32_t *next = splat_extra_rows_data(rows, NEXT);
    float *means = splat_extra_rows_data(rows, PULL_MEANS);
    for (uint32_t i = 0; i < g->n; i++) {
        means[3 * i] = 1e-3f * (g->p.means[3 * i] - g->p.means[3 * next[i]]);
        means[3 * i + 1] = PULL;
        means[3 * i + 2] = 0;
        sum += (double)g->p.means[3 * i + 1] / g->n;
    }
    results[0] = sum;
    results[1] = g->n;
    *gradients = (splat_tensors){.means = means,
                                 .scales = splat_extra_rows_data(rows, PULL_SCALES),
                                 .rotations = splat_extra_rows_data(rows, PULL_ROTATIONS),
                                 .opacities = splat_extra_rows_data(rows, PULL_OPACITIES)};
    return SPLAT_OK;
}

static size_t pull_losses(const splat_trainer *t, const double *results, splat_loss *losses)
{
    bool any = results && t->iteration >= PULL_FROM;
    losses[0] = (splat_loss){"height", "mean height", "Loss/height", any ? results[0] : (double)NAN, 0.5, false};
    losses[1] = (splat_loss){"pulled", "Gaussians", "Stats/pulled", any ? results[1] : (double)NAN, 0, true};
    return 2;
}

static splat_status pull_check(const splat_train_options *o, splat_error *error)
{
    return o->sh_degree == 2 ? splat_fail(error, SPLAT_ERROR_ARGUMENT, "nobody pulls at SH degree 2") : SPLAT_OK;
}

static void pull_work_bytes(const splat_train_options *o, const splat_work *photo, size_t *frame, size_t *scratch)
{
    (void)o;
    *frame = 2000 * photo->n;
    *scratch = 1000 * photo->n;
}

static const splat_regularizer pull = {
    .stage = "pull",
    .title = "pulling down",
    .least_gaussians = 1,
    .arrays = pull_arrays,
    .n_arrays = N_PULL_ARRAYS,
    .arrays_title = "what pulls",
    .results_name = "heights",
    .n_results = 2,
    .acts_after = "opacity_reset_interval",
    .check = pull_check,
    .step = pull_step,
    .work_bytes = pull_work_bytes,
    .losses = pull_losses,
};

static splat_train_options pull_options(void)
{
    splat_train_options o = tiny_options(LAST);
    o.regularizer = &pull;
    o.opacity_reset_interval = 1000;
    return o;
}

static double mean_height(const splat_trainer *t)
{
    const splat_gaussians *g = &t->model->gaussians;
    double sum = 0;
    for (uint32_t i = 0; i < g->n; i++) sum += (double)g->p.means[3 * i + 1] / g->n;
    return sum;
}

static void a_regularizers_gradients_are_added(void **state)
{
    (void)state;
    double heights[2];
    tiny_place p = open_tiny(2);
    for (int i = 0; i < 2; i++) {
        splat_train_options o = pull_options();
        o.densify_until_iter = 0;
        if (i == 0) o.regularizer = NULL;
        splat_trainer *t = tiny_trainer(&p, &o);
        run_steps(t, PULL_FROM - 1);
        double before = mean_height(t);
        run_steps(t, 10);
        heights[i] = mean_height(t) - before;
        splat_trainer_destroy(t);
    }
    close_tiny(&p);
    print_message("height %g without, %g with\n", heights[0], heights[1]);
    assert_true(heights[1] < -5 * fabs(heights[0])); /* Adam's full steps, all of them down */
}

static void a_regularizers_losses_are_listed(void **state)
{
    (void)state;
    splat_error error;
    splat_loss losses[SPLAT_MAX_LOSSES];
    size_t n;
    tiny_place p = open_tiny(2);
    splat_train_options o = pull_options();
    splat_trainer *t = tiny_trainer(&p, &o);
    must(splat_trainer_get_losses(t, losses, &n, &error), &error);
    assert_int_equal(n, 2);
    assert_true(isnan(losses[0].value));
    run_steps(t, PULL_FROM - 1);
    must(splat_trainer_get_losses(t, losses, &n, &error), &error);
    assert_true(isnan(losses[0].value));
    double height = mean_height(t);
    run_steps(t, 1);
    must(splat_trainer_get_losses(t, losses, &n, &error), &error);
    assert_true(losses[0].value == height && losses[0].factor == 0.5 && !losses[0].is_figure);
    assert_true(losses[1].value == t->model->gaussians.n && losses[1].is_figure);
    splat_trainer_destroy(t);
    o.regularizer = NULL;
    t = tiny_trainer(&p, &o);
    must(splat_trainer_get_losses(t, losses, &n, &error), &error);
    assert_int_equal(n, 0);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* Its curves are in the run's history and on its page, under its own names. */
static void a_regularizers_losses_are_reported(void **state)
{
    (void)state;
    splat_error error;
    uint8_t *text;
    size_t size;
    splat_run_options run;
    tiny_place p = open_tiny(2);
    splat_train_options o = pull_options();
    o.iterations = 110; /* two that are read */
    splat_trainer *t = tiny_trainer(&p, &o);
    splat_run_options_init(&run);
    run.model_path = "pulled";
    run.report = true;
    run.tensorboard = SPLAT_TENSORBOARD_DEFAULT;
    must(splat_folder_delete("pulled", &error), &error);
    must(splat_trainer_run(t, &run, &error), &error);
    must(splat_file_read("pulled/history.jsonl", &text, &size, &error), &error);
    assert_non_null(memmem(text, size, "\"pull\":{\"height\":", 17));
    assert_null(memmem(text, size, "pulled", 6)); /* a figure, no loss */
    free(text);
    must(splat_file_read("pulled/report.html", &text, &size, &error), &error);
    assert_non_null(memmem(text, size, "Losses of pulling down", 22));
    assert_non_null(memmem(text, size, "mean height", 11));
    free(text);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* The cached rows of other Gaussians are forgotten, and the arrays of a step have room for all. */
static void cached_rows_go_with_their_gaussians(void **state)
{
    (void)state;
    splat_error error;
    splat_train_options o = pull_options();
    tiny_place p = open_tiny(2);
    splat_trainer *t = tiny_trainer(&p, &o);
    uint32_t n = splat_trainer_get_model(t)->gaussians.n;
    run_steps(t, PULL_FROM);
    assert_int_equal(t->regularizer_rows.n_cached, n);
    must(splat_trainer_resize(t, n + 7, &error), &error);
    assert_int_equal(t->regularizer_rows.n_cached, 0);
    assert_int_equal(t->regularizer_rows.rows[SPLAT_ROWS_CACHED].blocks[0].bytes, 0);
    const splat_row_blocks *scratch = &t->regularizer_rows.rows[SPLAT_ROWS_SCRATCH];
    assert_int_equal(scratch->blocks[PULL_MEANS].bytes, (n + 7) * 3 * sizeof(float));
    splat_trainer_destroy(t);
    close_tiny(&p);
}

static void check_cached(const splat_trainer *t)
{
    bool has_begun = splat_trainer_get_iteration(t) >= PULL_FROM;
    assert_int_equal(t->regularizer_rows.n_cached, has_begun ? t->model->gaussians.n : 0);
}

/* Stops before it begins, when its cached array is full, and while density control empties it. */
static void a_regularizer_is_resumed_bit_for_bit(void **state)
{
    (void)state;
    splat_error error;
    static const int stops[] = {3, 8, 10, 11, 25, LAST};
    resumed_run run = {.options = pull_options(), .n_steps = LAST, .check = check_cached};
    run_whole(&run, 2);
    assert_resumed_at(&run, 2, stops, 6);

    splat_train_options o = run.options;
    o.opacity_reset_interval = 20; /* what it does once is done already, or is not */
    tiny_place p = open_tiny(2);
    splat_trainer *t = tiny_trainer(&p, &o);
    assert_failure(splat_trainer_load_checkpoint(t, "whole.splatsmith", &error), SPLAT_ERROR_ARGUMENT, &error,
                   "made with `opacity_reset_interval 1000`; with 20");
    splat_trainer_destroy(t);
    o.regularizer = NULL;
    t = tiny_trainer(&p, &o);
    assert_failure(splat_trainer_load_checkpoint(t, "whole.splatsmith", &error), SPLAT_ERROR_ARGUMENT, &error,
                   "stage pull, and this is the stage train");
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* Its arrays, its view in the frame, and its working memory; and of a stage afterwards. */
static void a_regularizer_is_planned(void **state)
{
    (void)state;
    splat_error error;
    splat_plan plain, pulled;
    splat_plan_options wanted;
    splat_train_options o = pull_options(), none = pull_options();
    none.regularizer = NULL;
    tiny_place p = open_tiny(2);
    splat_plan_options_init(&wanted);
    wanted.n_gaussians = 1000000;
    wanted.limit_bytes = (size_t)1 << 44;
    splat_plan_init(&plain);
    splat_plan_init(&pulled);
    must(splat_plan_make(p.context, p.scene, &o, &wanted, NULL, &pulled, &error), &error);
    size_t n = planned(&pulled, "statistics", NULL) / 12; /* rows of the plan: some more than what is asked for */
    planned_near(planned(&pulled, "pulling down", "what pulls"), n * 4 * (3 + 3 + 4 + 1 + 1));
    assert_true(planned(&pulled, "transients", "frame of the largest view") >= 2000 * wanted.n_gaussians);
    assert_true(planned(&pulled, "transients", "working memory of the ops") >= 1000 * wanted.n_gaussians);
    assert_int_equal(pulled.afterwards_bytes, 0);
    wanted.afterwards = &o;
    must(splat_plan_make(p.context, p.scene, &none, &wanted, NULL, &plain, &error), &error);
    assert_int_equal(planned(&plain, "pulling down", NULL), 0);
    assert_int_equal(plain.afterwards_bytes, pulled.total_bytes);
    assert_true(plain.total_bytes < pulled.total_bytes);
    close_tiny(&p);
}

static void what_a_regularizer_refuses(void **state)
{
    (void)state;
    splat_error error;
    splat_trainer *t;
    tiny_place p = open_tiny(1);
    splat_train_options o = pull_options();
    o.sh_degree = 2;
    assert_failure(splat_trainer_create(p.context, p.scene, &o, &t, &error), SPLAT_ERROR_ARGUMENT, &error, "nobody");
    o = tiny_options(LAST);
    o.coarse.regularization = SPLAT_REGULARIZE_SDF; /* without what regularizes */
    assert_failure(splat_trainer_create(p.context, p.scene, &o, &t, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "splat_train_options_init_coarse");
    close_tiny(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strategies_are_found_by_name),
        cmocka_unit_test(a_strategy_decides_what_a_step_does),
        cmocka_unit_test(kept_rows_grow_with_the_model),
        cmocka_unit_test(a_strategy_is_resumed_bit_for_bit),
        cmocka_unit_test(a_strategy_is_planned),
        cmocka_unit_test(a_regularizers_gradients_are_added),
        cmocka_unit_test(a_regularizers_losses_are_listed),
        cmocka_unit_test(a_regularizers_losses_are_reported),
        cmocka_unit_test(cached_rows_go_with_their_gaussians),
        cmocka_unit_test(a_regularizer_is_resumed_bit_for_bit),
        cmocka_unit_test(a_regularizer_is_planned),
        cmocka_unit_test(what_a_regularizer_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
