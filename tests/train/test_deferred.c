/* Steps of SH that a backend puts off: all of them are made before rows move. The CPU puts nothing off, so its table of
 * functions is replaced by one that counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ops/densify/densify.h"
#include "ops/project/project.h"
#include "ops/relocate/relocate.h"
#include "train/density/strategies.h"
#include "train/state.h"
#include "trainer_fixture.h"

#define STEPS 60

static const splat_backend_functions *real; /* the CPU's */
static int n_lacking, n_moves;              /* steps that are put off; ops that moved rows */

static splat_status put_off(splat_backend *backend, const struct splat_project_backward_args *args, splat_error *error)
{
    assert_non_null(args->gaussians->deferred);
    n_lacking++;
    return real->ops.project_backward(backend, args, error);
}

static splat_status settle(splat_backend *backend, const struct splat_settle_rest_args *args, splat_error *error)
{
    (void)backend;
    (void)args;
    (void)error;
    n_lacking = 0;
    return SPLAT_OK;
}

static void expect_settled(void)
{
    assert_int_equal(n_lacking, 0);
    n_moves++;
}

static splat_status grow(splat_backend *backend, const struct splat_density_grow_args *args, splat_error *error)
{
    expect_settled();
    return real->ops.density_grow(backend, args, error);
}

static splat_status prune(splat_backend *backend, const struct splat_density_prune_args *args, splat_error *error)
{
    expect_settled();
    return real->ops.density_prune(backend, args, error);
}

static splat_status relocate(splat_backend *backend, const struct splat_density_relocate_args *args,
                             splat_error *error)
{
    expect_settled();
    return real->ops.density_relocate(backend, args, error);
}

static void train(splat_train_options o)
{
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_scene(context);
    splat_backend *backend = context->backend;
    real = backend->functions;
    splat_backend_functions counting = *real;
    counting.ops.project_backward = put_off;
    counting.ops.settle_rest = settle;
    counting.ops.density_grow = grow;
    counting.ops.density_prune = prune;
    counting.ops.density_relocate = relocate;
    backend->functions = &counting;
    backend->defers_rest = true;
    n_lacking = n_moves = 0;
    splat_trainer *t = new_trainer(context, scene, &o);
    run_steps(t, STEPS);
    assert_true(n_moves > 1);
    splat_trainer_destroy(t);
    backend->functions = real;
    splat_scene_close(scene);
    splat_context_destroy(context);
}

static void density_control_finds_all_steps_made(void **state)
{
    (void)state;
    train(busy_options(STEPS));
}

static void so_does_that_of_mcmc(void **state)
{
    (void)state;
    splat_train_options o;
    splat_train_options_init_strategy(&o, splat_strategy_find("mcmc"));
    o.iterations = STEPS;
    o.densify_from_iter = 10;
    o.densification_interval = 10;
    o.densify_until_iter = 45;
    o.target_gaussian_count = 520;
    train(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(density_control_finds_all_steps_made),
                                       cmocka_unit_test(so_does_that_of_mcmc)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
