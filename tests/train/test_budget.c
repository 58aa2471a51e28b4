/* The density strategy budget as a whole: its cap and its growth, what the draw leaves, determinism, checkpoints, every
 * storage, memory limits, ranks' rows, and what it cannot be combined with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "checkpoint_fixture.h"
#include "scene_fixture.h"
#include "strategy_fixture.h"
#include "train/density/budget.h"
#include "train/density/default.h"
#include "train/density/strategy.h"
#include "view_job_fixture.h"

#define STEPS 60
#define CAP 320

/* Rounds at 15, 20, ..., 40; resets are too near to one another, so that there are none. */
static splat_train_options budget_options(int iterations)
{
    splat_train_options o;
    splat_train_options_init_strategy(&o, splat_strategy_find("default"));
    splat_train_options_set_steps(&o, STEPS);
    o.iterations = iterations;
    o.densify_from_iter = 10;
    o.densification_interval = 5;
    o.densify_until_iter = 45;
    o.densify_grad_threshold = 1e-6f;
    o.target_gaussian_count = CAP;
    o.pixels_per_gaussian = 0;
    return o;
}

/* ---------------------------------------------------------------- the cap and the schedule */

static splat_dataset dataset_of(splat_dataset_view *view, uint32_t *train, size_t n_train, size_t n_points)
{
    for (size_t i = 0; i < n_train; i++) train[i] = 0;
    return (splat_dataset){.views = view, .n_views = 1, .train = train, .n_train = n_train, .n_points = n_points};
}

static void the_photos_decide_the_cap(void **state)
{
    (void)state;
    static uint32_t train[1000];
    splat_dataset_view view = {.camera = {.width = 1000, .height = 1000}};
    splat_dataset usual = dataset_of(&view, train, 100, 1000);
    splat_train_options o;
    splat_train_options_init_strategy(&o, splat_strategy_find("default"));
    assert_int_equal(splat_budget_cap(&o, &usual), 100000000 / 155); /* a hundred million pixels */
    usual.n_train = 1000;
    assert_in_range(splat_budget_cap(&o, &usual), 3628000, 3629000); /* ten times as many: 10^0.75 times */
    usual.n_train = 10;
    assert_in_range(splat_budget_cap(&o, &usual), 203900, 204100); /* a tenth as many: 10^-0.5 times */
    view.camera.width = view.camera.height = 10; /* small photos count as 405,000 pixels */
    assert_in_range(splat_budget_cap(&o, &usual), 129800, 129900);
    usual.n_points = 150000;
    assert_int_equal(splat_budget_cap(&o, &usual), 150000);
    assert_int_equal(splat_budget_first(&o, &usual), 75000);
    usual.n_points = 900000; /* points of more photos than these */
    assert_in_range(splat_budget_cap(&o, &usual), 259600, 259700);
    o.target_gaussian_count = 5000;
    assert_int_equal(splat_budget_cap(&o, &usual), 5000);
    assert_int_equal(splat_budget_first(&o, &usual), 2500);
    usual.n_points = 1250;
    assert_int_equal(splat_budget_first(&o, &usual), 1250);
    usual.n_points = 1249; /* few: a dense start adds others */
    assert_int_equal(splat_budget_first(&o, &usual), 2500);
    usual.random_points = true;
    assert_int_equal(splat_budget_first(&o, &usual), 1249);
    usual.random_points = false;
    o.dense_start = false;
    usual.n_points = 300;
    assert_int_equal(splat_budget_first(&o, &usual), 300);
    o.target_gaussian_count = 0;
    o.pixels_per_gaussian = 0;
    assert_int_equal(splat_budget_cap(&o, &usual), 0);
    assert_int_equal(splat_budget_first(&o, &usual), 300);
}

static void the_number_grows_like_a_square_root(void **state)
{
    (void)state;
    splat_train_options o;
    splat_train_options_init_strategy(&o, splat_strategy_find("default"));
    assert_true(o.iterations == 25000 && o.densify_from_iter == 500 && o.densify_until_iter == 12500);
    assert_int_equal(splat_budget_at(&o, 1000, 5000, 0), 1000);
    assert_int_equal(splat_budget_at(&o, 1000, 5000, 500), 1000);
    assert_int_equal(splat_budget_at(&o, 1000, 5000, 3500), 3000); /* a quarter of the time, half of the growth */
    assert_int_equal(splat_budget_at(&o, 1000, 5000, 12500), 5000);
    assert_int_equal(splat_budget_at(&o, 1000, 5000, 25000), 5000);
    assert_int_equal(splat_budget_at(&o, 6000, 5000, 3500), 5000); /* begun above it */
    int resets = 0, prunes = 0, unrecovered = 0, last = 0;
    for (int i = 1; i <= o.iterations; i++) {
        resets += splat_default_resets_opacity_after(&o, false, i);
        prunes += splat_default_prunes_late_after(&o, i);
        unrecovered += splat_budget_prunes_unrecovered_after(&o, 1000, i);
        last = splat_budget_prunes_unrecovered_after(&o, 1000, i) ? i : last;
        assert_int_equal(splat_budget_prunes_unrecovered_after(&o, 10, i), i == 2800 || i == 5300);
        assert_false(splat_budget_prunes_unrecovered_after(&o, 3000, i)); /* the next reset would come first */
    }
    assert_true(unrecovered == 2 && last == 6200); /* 1.2 steps a photo */
    assert_int_equal(resets, 4); /* 2500, 5000, 7500, 10000 */
    assert_int_equal(prunes, 4); /* 12500, 15000, 17500, 20000 */
}

/* ---------------------------------------------------------------- training */

static void it_learns_and_keeps_its_budget(void **state)
{
    (void)state;
    splat_error error;
    tiny_place p = open_tiny(2);
    splat_train_options o = budget_options(200);
    splat_step_info info;
    size_t added = 0;
    splat_step_info_init(&info);
    splat_trainer *t = tiny_trainer(&p, &o);
    const size_t first = splat_budget_first(&o, &p.scene->dataset);
    const double before = psnr_of(&p, splat_trainer_get_model(t));
    assert_int_equal(splat_trainer_get_model(t)->gaussians.n, first);
    for (int i = 1; i <= 200; i++) {
        must(splat_trainer_step(t, &info, &error), &error);
        assert_true(info.n_gaussians <= splat_budget_at(&o, first, CAP, i - 1) || i <= o.densify_from_iter + 1);
        added += info.n_added;
    }
    const double after = psnr_of(&p, splat_trainer_get_model(t));
    print_message("%zu added, %zu Gaussians, %.2f -> %.2f dB\n", added, info.n_gaussians, before, after);
    assert_true(added >= 100 && info.n_gaussians > first + 50);
    assert_true(after > before + 1);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

static void a_run_above_its_budget_is_cut_to_it(void **state)
{
    (void)state;
    splat_error error;
    tiny_place p = open_tiny(2);
    splat_train_options o = budget_options(STEPS);
    splat_trainer *t = tiny_trainer(&p, &o);
    run_steps(t, 35);
    const uint32_t n = splat_trainer_get_model(t)->gaussians.n;
    save_as(t, "high.splatsmith", "high.ply");
    splat_trainer_destroy(t);
    o.target_gaussian_count = n - 30;
    t = tiny_trainer(&p, &o);
    must(splat_trainer_load_checkpoint(t, "high.splatsmith", &error), &error);
    assert_true(run_steps(t, STEPS - 35).n_gaussians <= n - 30);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

static void threads_and_simd_do_not_change_a_byte(void **state)
{
    (void)state;
    splat_train_options o = budget_options(STEPS);
    assert_threads_and_simd_agree(&o, STEPS);
}

static void the_seed_and_the_options_change_the_result(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_train_options usual = budget_options(STEPS);
    size_t sizes[2];
    uint8_t *first = bytes_after(context, &usual, 39, &sizes[0]);
    for (int i = 0; i < 4; i++) {
        splat_train_options o = usual;
        if (i == 0) o.seed = 1;
        if (i == 1) o.densify_grad_threshold = 1;
        if (i == 2) o.target_gaussian_count = 280;
        if (i == 3) o.densify_until_iter = 30;
        uint8_t *other = bytes_after(context, &o, 39, &sizes[1]);
        if (sizes[0] == sizes[1] && memcmp(first, other, sizes[0]) == 0) fail_msg("variant %d changed nothing", i);
        free(other);
    }
    free(first);
    splat_context_destroy(context);
}

/* ---------------------------------------------------------------- storages, checkpoints, memory */

/* In each storage: interrupted before a round, at one, and later, a run is the same run. */
static void a_resumed_run_is_the_same_run(void **state)
{
    (void)state;
    static const int stops[] = {1, 20, 31, 40, STEPS};
    splat_error error;
    for (int storage = 0; storage < N_STORAGES; storage++) {
        resumed_run run = {.options = budget_options(STEPS), .n_steps = STEPS};
        run.options.sh_offload = storage == 3;
        set_storages(&run.options, storage);
        assert_true(run_whole(&run, 2) > CAP / 2);
        assert_resumed_at(&run, 2, stops, 5);
    }
    splat_tensor_reader file;
    must(splat_tensor_reader_open(&file, "whole.splatsmith", &error), &error);
    assert_string_equal(json_string_value(json_object_get(file.header, "strategy")), "budget");
    splat_tensor_reader_close(&file);
    splat_run_options run;
    splat_run_options_init(&run);
    run.model_path = ".";
    assert_null(splat_run_find_begun(&run).strategy);
    run.start_checkpoint = "whole.splatsmith";
    assert_ptr_equal(splat_run_find_begun(&run).strategy, splat_strategy_find("default"));
    run.start_checkpoint = "absent.splatsmith";
    assert_null(splat_run_find_begun(&run).strategy);
}

/* Between a reset and the prune of what does not recover from it, a run may stop. */
static void a_resume_after_a_reset_is_the_same_run(void **state)
{
    (void)state;
    static const int stops[] = {500, 501, 700, 800, 801, 820};
    resumed_run run = {.options = budget_options(820), .n_steps = 820};
    run.options.densify_until_iter = 810;
    run.options.opacity_reset_interval = 500;
    run_whole(&run, 2);
    assert_resumed_at(&run, 2, stops, 6);
}

/* Growth that memory refuses is left out with a warning, and the limit is kept. */
static void a_memory_limit_is_kept(void **state)
{
    (void)state;
    splat_train_options o = budget_options(STEPS);
    o.target_gaussian_count = 100000;
    o.max_gaussians = 0;
    assert_limit_is_kept(&o, 13, STEPS);
}

static void what_does_not_go_together_is_refused(void **state)
{
    (void)state;
    splat_error error;
    tiny_place p = open_tiny(1);
    splat_trainer *t;
    splat_train_options o = budget_options(STEPS);
    o.densify_grad_threshold = 0;
    assert_failure(splat_trainer_create(p.context, p.scene, &o, &t, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "`densify_grad_threshold` must be above 0");
    splat_train_options_init_coarse(&o, SPLAT_REGULARIZE_DENSITY);
    o.strategy = splat_strategy_find("default");
    assert_failure(splat_trainer_create(p.context, p.scene, &o, &t, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "'budget' trains from points");
    close_tiny(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_photos_decide_the_cap),
        cmocka_unit_test(the_number_grows_like_a_square_root),
        cmocka_unit_test(it_learns_and_keeps_its_budget),
        cmocka_unit_test(a_run_above_its_budget_is_cut_to_it),
        cmocka_unit_test(threads_and_simd_do_not_change_a_byte),
        cmocka_unit_test(the_seed_and_the_options_change_the_result),
        cmocka_unit_test(a_resumed_run_is_the_same_run),
        cmocka_unit_test(a_resume_after_a_reset_is_the_same_run),
        cmocka_unit_test(a_memory_limit_is_kept),
        cmocka_unit_test(what_does_not_go_together_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
