/* The density strategy mcmc on a GPU: counts as on the CPU, runs that repeat themselves and go on bit for bit, in every
 * storage. Without a GPU every test is skipped; `test_gpu_mcmc cpu` tries the tests with the CPU in its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/file.h"
#include "gpu_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 70

/* Rounds after 20, 30, ..., 50; with so high a threshold much is dead in each. */
static splat_train_options options_of(int storage)
{
    splat_train_options o;
    splat_train_options_init_strategy(&o, splat_strategy_find("mcmc"));
    o.iterations = STEPS;
    o.densify_from_iter = 10;
    o.densification_interval = 10;
    o.densify_until_iter = 55;
    o.target_gaussian_count = 480;
    o.min_opacity_threshold = 0.1f;
    o.lr_decay_from_iter = 25; /* rates fall within the test */
    o.position_lr_max_steps = STEPS;
    o.sh_offload = storage == 3;
    set_storages(&o, storage);
    return o;
}

static void it_grows_and_learns_as_on_the_cpu(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    place p = open_place(device, false), q = open_place("cpu", false);
    splat_train_options o = options_of(0);
    splat_trainer *here = make_trainer(&p, &o), *there = make_trainer(&q, &o);
    splat_step_info a = {0}, b = {0};
    size_t moved = 0;
    float first = 0;
    for (int i = 0; i < STEPS; i++) {
        a = run_steps(here, 1);
        b = run_steps(there, 1);
        assert_int_equal(a.n_gaussians, b.n_gaussians);
        assert_true(a.n_gaussians <= 480);
        moved += a.n_removed;
        if (i == 1) first = a.loss;
    }
    assert_int_equal(a.n_gaussians, 480);
    assert_true(moved > 0 && a.n_degenerate == 0);
    print_message("%zu moved, loss %.4f -> %.4f\n", moved, (double)first, (double)a.loss);
    assert_true(a.loss < first);
    splat_trainer_destroy(here);
    splat_trainer_destroy(there);
    close_place(&p);
    close_place(&q);
}

static void runs_repeat_themselves_and_go_on(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    static const int stops[] = {20, 33};
    splat_error error;
    for (int storage = 0; storage < N_STORAGES; storage++) {
        place p = open_place(device, true);
        splat_train_options o = options_of(storage);
        splat_trainer *whole = make_trainer(&p, &o), *other;
        run_steps(whole, STEPS);
        for (int i = 0; i < 2; i++) {
            splat_trainer *before = make_trainer(&p, &o);
            run_steps(before, stops[i]);
            must(splat_trainer_save_checkpoint(before, "mcmc.splatsmith", &error), &error);
            splat_trainer_destroy(before);
            other = make_trainer(&p, &o);
            must(splat_trainer_load_checkpoint(other, "mcmc.splatsmith", &error), &error);
            run_steps(other, STEPS - stops[i]);
            assert_true(same_models(splat_trainer_get_model(whole), splat_trainer_get_model(other)));
            splat_trainer_destroy(other);
        }
        o.noise_lr = 0; /* the comparison can tell runs apart */
        other = make_trainer(&p, &o);
        run_steps(other, STEPS);
        assert_false(same_models(splat_trainer_get_model(whole), splat_trainer_get_model(other)));
        splat_trainer_destroy(other);
        splat_trainer_destroy(whole);
        close_place(&p);
    }
}

int main(int argc, char **argv)
{
    find_device(argc, argv, "the density strategy mcmc");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_grows_and_learns_as_on_the_cpu),
        cmocka_unit_test(runs_repeat_themselves_and_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
