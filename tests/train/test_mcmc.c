/* The density strategy mcmc as a whole: its schedule and growth, the exact cap, determinism, checkpoints, every
 * storage, memory limits, and what it cannot be combined with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "checkpoint_fixture.h"
#include "scene_fixture.h"
#include "strategy_fixture.h"
#include "train/density/density.h"
#include "train/schedule.h"
#include "train/density/mcmc.h"
#include "train/density/strategy.h"
#include "view_job_fixture.h"

#include <math.h>

#define STEPS 60
#define CAP 520

/* Rounds at 20, 30 and 40, a late filter at none; more Gaussians than points in the end. */
static splat_train_options mcmc_options(int iterations)
{
    splat_train_options o;
    splat_train_options_init_strategy(&o, splat_strategy_find("mcmc"));
    o.iterations = iterations;
    o.densify_from_iter = 10;
    o.densification_interval = 10;
    o.densify_until_iter = 45;
    o.target_gaussian_count = CAP;
    o.lr_decay_from_iter = 15; /* rates fall within the test */
    o.position_lr_max_steps = STEPS;
    return o;
}

/* ---------------------------------------------------------------- the schedule */

static void the_schedule_is_the_published_one(void **state)
{
    (void)state;
    splat_train_options o;
    splat_train_options_init_strategy(&o, splat_strategy_find("mcmc"));
    assert_string_equal(o.strategy->name, "mcmc");
    assert_true(o.opacity_reg == 0.01f && o.scale_reg == 0.01f && o.noise_lr == 5e5f && o.opacity_lr == 0.05f);
    assert_true(o.lr_final_factor == 0.05f && o.lr_decay_from_iter == 15000);
    assert_true(o.init_opacity == 0.5f && o.init_scale == 0.1f && o.target_gaussian_count == 1000000);
    int n = 0, first = 0, last = 0, ordered = 0;
    for (int i = 0; i <= o.iterations; i++) {
        assert_false(o.strategy->wants_statistics(&o, i));
        ordered += splat_mcmc_reorders_after(&o, i);
        if (!splat_mcmc_refines_after(&o, i)) continue;
        first = first ? first : i;
        last = i;
        n++;
    }
    assert_true(first == 600 && last == 24900 && n == 244);
    assert_int_equal(ordered, 25); /* 1000, ..., 25000 */
}

static void it_grows_by_a_twentieth_to_the_cap(void **state)
{
    (void)state;
    splat_train_options o;
    splat_train_options_init_strategy(&o, splat_strategy_find("mcmc"));
    uint32_t n = 100198;
    int rounds = 0;
    for (int i = 0; i <= 30000 && n < 1000000; i++)
        if (splat_mcmc_refines_after(&o, i)) {
            uint32_t grown = splat_mcmc_grown(&o, 1000000, n);
            assert_true(grown > n && grown <= 1000000 && (grown == 1000000 || grown == (uint32_t)(1.05 * n)));
            n = grown;
            rounds++;
            if (n == 1000000) assert_int_equal(i, 5300);
        }
    assert_int_equal(rounds, 48);
    assert_int_equal(splat_mcmc_grown(&o, 1000000, 1000000), 1000000);
    assert_int_equal(splat_mcmc_grown(&o, 1000000, 1200000), 1200000); /* the cap itself is another matter */
    o.max_gaussians = 200000; /* what memory allows */
    assert_int_equal(splat_mcmc_grown(&o, 1000000, 199999), 200000);
}

static void photos_bound_the_cap_where_pixels_are_named(void **state)
{
    (void)state;
    static uint32_t train[60];
    splat_dataset_view view = {.camera = {.width = 100, .height = 80}};
    splat_dataset dataset = {.views = &view, .n_views = 1, .train = train, .n_train = 20, .n_points = 500};
    splat_train_options o;
    splat_train_options_init_strategy(&o, splat_strategy_find("mcmc"));
    assert_int_equal(splat_mcmc_cap(&o, &dataset), 1000000);
    o.pixels_per_gaussian = 16;
    assert_int_equal(splat_mcmc_cap(&o, &dataset), 20 * 8000 / 16);
    dataset.n_points = 30000;
    assert_int_equal(splat_mcmc_cap(&o, &dataset), 30000); /* no point goes */
    view.camera.width = 10000;
    assert_int_equal(splat_mcmc_cap(&o, &dataset), 1000000);
}

/* ---------------------------------------------------------------- training */

static void it_learns_and_the_cap_is_exact(void **state)
{
    (void)state;
    splat_error error;
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_scene(context);
    splat_train_options o = mcmc_options(200);
    o.densify_until_iter = 180;
    o.position_lr_max_steps = 30000;
    splat_trainer *t = new_trainer(context, scene, &o);
    splat_metrics before, after;
    splat_step_info info;
    size_t last = 0, relocated = 0;
    splat_step_info_init(&info);
    must(evaluate_set(splat_trainer_get_model(t), scene, SPLAT_VIEWS_TRAIN, false, &before, &error), &error);
    for (int i = 1; i <= 200; i++) {
        must(splat_trainer_step(t, &info, &error), &error);
        assert_true(info.n_gaussians <= CAP && info.n_gaussians >= last);
        assert_int_equal(last ? last + info.n_added - info.n_removed : info.n_gaussians, info.n_gaussians);
        if (last && splat_mcmc_refines_after(&o, i - 1))
            assert_int_equal(info.n_gaussians, splat_mcmc_grown(&o, CAP, (uint32_t)last));
        relocated += info.n_removed;
        last = info.n_gaussians;
    }
    assert_int_equal(last, CAP);
    must(evaluate_set(splat_trainer_get_model(t), scene, SPLAT_VIEWS_TRAIN, false, &after, &error), &error);
    print_message("train PSNR %.2f -> %.2f dB, %zu moved\n", before.psnr, after.psnr, relocated);
    assert_true(after.psnr > before.psnr + 3);
    assert_true(relocated > 0);
    close_training(NULL, NULL, t);
    o.target_gaussian_count = 100; /* fewer than points */
    t = new_trainer(context, scene, &o);
    assert_int_equal(run_steps(t, 60).n_gaussians, 100);
    close_training(context, scene, t);
}

static void the_first_gaussians_are_as_asked(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_scene(context);
    splat_train_options o = mcmc_options(10), usual;
    splat_train_options_init(&usual);
    splat_trainer *t = new_trainer(context, scene, &o), *u = new_trainer(context, scene, &usual);
    const splat_gaussians *a = &splat_trainer_get_model(t)->gaussians, *b = &splat_trainer_get_model(u)->gaussians;
    assert_int_equal(a->n, b->n);
    for (uint32_t i = 0; i < a->n; i++) {
        assert_true(fabsf(a->p.opacities[i]) < 1e-6f && fabsf(b->p.opacities[i] + 2.1972246f) < 1e-6f);
        assert_true(fabsf(a->p.scales[3 * i + 1] - b->p.scales[3 * i + 1] + 2.3025851f) < 1e-5f);
    }
    splat_trainer_destroy(u);
    close_training(context, scene, t);
}

static void the_filter_follows_every_round(void **state)
{
    (void)state;
    splat_error error;
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_scene(context);
    splat_train_options o = mcmc_options(STEPS);
    o.noise_lr = 0; /* it comes after the filter */
    splat_trainer *t = new_trainer(context, scene, &o);
    run_steps(t, 20);
    must(splat_density_control_after(t, 20, &error), &error);
    const splat_gaussians *g = &splat_trainer_get_model(t)->gaussians;
    float *filter = malloc(g->n * sizeof *filter);
    memcpy(filter, g->filter_3d, g->n * sizeof *filter);
    must(splat_density_update_filter(t, &error), &error);
    assert_memory_equal(filter, g->filter_3d, g->n * sizeof *filter);
    free(filter);
    close_training(context, scene, t);
}

static void threads_and_simd_do_not_change_a_byte(void **state)
{
    (void)state;
    splat_train_options o = mcmc_options(STEPS);
    assert_threads_and_simd_agree(&o, STEPS);
}

static void every_option_of_it_changes_the_result(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_train_options usual = mcmc_options(STEPS);
    size_t sizes[2];
    uint8_t *first = bytes_after(context, &usual, 39, &sizes[0]);
    for (int i = 0; i < 9; i++) {
        splat_train_options o = usual;
        if (i == 0) o.noise_lr = 0;
        if (i == 1) o.opacity_reg = 0;
        if (i == 2) o.scale_reg = 0;
        if (i == 3) o.seed = 1;
        if (i == 4) o.min_opacity_threshold = 0.3f;
        if (i == 5) o.densification_interval = 15;
        if (i == 6) o.target_gaussian_count = 410;
        if (i == 7) o.lr_final_factor = 1;
        if (i == 8) o.lr_decay_from_iter = 30;
        uint8_t *other = bytes_after(context, &o, 39, &sizes[1]);
        if (sizes[0] == sizes[1] && memcmp(first, other, sizes[0]) == 0) fail_msg("variant %d changed nothing", i);
        free(other);
    }
    free(first);
    splat_context_destroy(context);
}

/* ---------------------------------------------------------------- storages and checkpoints */

/* In each storage: interrupted before a round, at one, and later, a run is the same run. */
static void a_resumed_run_is_the_same_run(void **state)
{
    (void)state;
    static const int stops[] = {1, 20, 31, 40, STEPS};
    splat_error error;
    for (int storage = 0; storage < N_STORAGES; storage++) {
        resumed_run run = {.options = mcmc_options(STEPS), .n_steps = STEPS};
        run.options.target_gaussian_count = 400;
        run.options.sh_offload = storage == 3;
        set_storages(&run.options, storage);
        assert_true(run_whole(&run, 2) > TINY_POINTS);
        assert_resumed_at(&run, 2, stops, 5);
    }
    splat_tensor_reader file;
    must(splat_tensor_reader_open(&file, "whole.splatsmith", &error), &error);
    assert_string_equal(json_string_value(json_object_get(file.header, "strategy")), "mcmc");
    assert_int_equal(splat_tensor_reader_find(&file, "statistics.grad")->bytes, 0);
    splat_tensor_reader_close(&file);
}

static void a_lower_cap_is_kept_after_a_resume(void **state)
{
    (void)state;
    splat_error error;
    tiny_place p = open_tiny(2);
    splat_train_options o = mcmc_options(STEPS);
    o.target_gaussian_count = 400;
    splat_trainer *t = tiny_trainer(&p, &o);
    uint32_t n = run_steps(t, 35).n_gaussians < 400 ? splat_trainer_get_model(t)->gaussians.n : 400;
    save_as(t, "high.splatsmith", "high.ply");
    splat_trainer_destroy(t);
    o.target_gaussian_count = n - 30;
    t = tiny_trainer(&p, &o);
    must(splat_trainer_load_checkpoint(t, "high.splatsmith", &error), &error);
    assert_int_equal(run_steps(t, STEPS - 35).n_gaussians, n - 30);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* ---------------------------------------------------------------- memory */

static size_t planned_bytes(const tiny_place *p, const char *strategy, size_t n, size_t limit,
                            splat_train_options *chosen)
{
    splat_error error;
    splat_plan plan;
    splat_plan_options wanted;
    splat_train_options o;
    splat_train_options_init_strategy(&o, splat_strategy_find(strategy));
    o.target_gaussian_count = n;
    splat_plan_options_init(&wanted);
    splat_plan_init(&plan);
    splat_train_options_init(chosen);
    wanted.limit_bytes = limit;
    must(splat_plan_make(p->context, p->scene, &o, &wanted, chosen, &plan, &error), &error);
    return plan.total_bytes;
}

static void a_million_need_no_more_than_with_the_classic(void **state)
{
    (void)state;
    tiny_place p = open_tiny(2);
    splat_train_options chosen;
    size_t usual = planned_bytes(&p, "classic", 1000000, (size_t)1 << 44, &chosen);
    assert_true(planned_bytes(&p, "mcmc", 1000000, (size_t)1 << 44, &chosen) < usual);
    assert_int_equal(chosen.target_gaussian_count, 1000000);
    planned_bytes(&p, "mcmc", 1000000, (size_t)64 << 20, &chosen); /* the plan knows the cap, and lowers it */
    assert_true(chosen.target_gaussian_count < 1000000 && chosen.target_gaussian_count > 1000);
    assert_string_equal(chosen.strategy->name, "mcmc");
    close_tiny(&p);
}

/* Growth that memory refuses is left out with a warning, and the limit is kept. */
static void a_memory_limit_is_kept(void **state)
{
    (void)state;
    splat_train_options o = mcmc_options(STEPS);
    o.target_gaussian_count = 100000;
    o.max_gaussians = 0;
    assert_limit_is_kept(&o, 19, STEPS);
}

/* ---------------------------------------------------------------- what it cannot be combined with */

static void what_does_not_go_together_is_refused(void **state)
{
    (void)state;
    splat_error error;
    tiny_place p = open_tiny(1);
    splat_trainer *t;
    splat_train_options o = mcmc_options(STEPS);
    o.target_gaussian_count = 0;
    assert_failure(splat_trainer_create(p.context, p.scene, &o, &t, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "`target_gaussian_count`");
    splat_train_options_init_coarse(&o, SPLAT_REGULARIZE_DENSITY);
    o.strategy = splat_strategy_find("mcmc");
    o.target_gaussian_count = 1000;
    assert_failure(splat_trainer_create(p.context, p.scene, &o, &t, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "'mcmc' trains from points");
    close_tiny(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_schedule_is_the_published_one),
        cmocka_unit_test(it_grows_by_a_twentieth_to_the_cap),
        cmocka_unit_test(photos_bound_the_cap_where_pixels_are_named),
        cmocka_unit_test(it_learns_and_the_cap_is_exact),
        cmocka_unit_test(the_first_gaussians_are_as_asked),
        cmocka_unit_test(the_filter_follows_every_round),
        cmocka_unit_test(threads_and_simd_do_not_change_a_byte),
        cmocka_unit_test(every_option_of_it_changes_the_result),
        cmocka_unit_test(a_resumed_run_is_the_same_run),
        cmocka_unit_test(a_lower_cap_is_kept_after_a_resume),
        cmocka_unit_test(a_million_need_no_more_than_with_the_classic),
        cmocka_unit_test(a_memory_limit_is_kept),
        cmocka_unit_test(what_does_not_go_together_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
