/* Free space before the cameras: a floater there goes with every strategy, a real object stays, and nothing happens
 * without points. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/file.h"
#include "train/density/density.h"
#include "train/density/strategies.h"
#include "train/state.h"
#include "trainer_fixture.h"

#include <string.h>

#define ROUND 30 /* an iteration with a round of every strategy */
#define FLOATER 1.25f /* rotation of the marked rows: they are found by it */
#define OBJECT 1.375f

static splat_train_options options_of(const char *strategy, bool free_space)
{
    splat_train_options o;
    splat_train_options_init_strategy(&o, splat_strategy_find(strategy));
    o.iterations = 60;
    o.densify_from_iter = 10;
    o.densification_interval = 10;
    o.densify_until_iter = 45;
    o.opacity_reset_interval = 3000;
    o.target_gaussian_count = 20000;
    o.noise_lr = 0;
    o.free_space = free_space;
    return o;
}

/* Row i becomes an opaque Gaussian on the axis of the first training camera. */
static void put(splat_trainer *t, uint32_t i, float depth, float mark)
{
    const splat_camera *c = &t->scene->train_cameras[0];
    const splat_gaussians *g = &t->model->gaussians;
    for (int k = 0; k < 3; k++) g->p.means[3 * i + (uint32_t)k] = c->center[k] + depth * c->rotation[6 + k];
    g->p.opacities[i] = 3;
    g->p.rotations[4 * i] = mark;
}

static size_t count(const splat_trainer *t, float mark)
{
    const splat_gaussians *g = &t->model->gaussians;
    size_t n = 0;
    for (uint32_t i = 0; i < g->n; i++) n += g->p.rotations[4 * i] == mark && g->p.opacities[i] > -10;
    return n;
}

static void check_strategy(splat_context *context, splat_scene *scene, const char *strategy, bool free_space,
                           bool knows_depth)
{
    splat_error error;
    const splat_train_options o = options_of(strategy, free_space);
    for (size_t i = 0; i < scene->dataset.n_train; i++) scene->train_near_depths[i] = 0;
    scene->train_near_depths[0] = knows_depth ? scene->dataset.views[scene->dataset.train[0]].near_depth : 0;
    const float near_depth = scene->dataset.views[scene->dataset.train[0]].near_depth;
    assert_true(near_depth > 0);
    splat_trainer *t = new_trainer(context, scene, &o);
    run_steps(t, ROUND);
    put(t, 3, 0.1f * near_depth, FLOATER);
    put(t, 4, 1.01f * near_depth, OBJECT);
    must(splat_density_control_after(t, ROUND, &error), &error);
    assert_true(count(t, OBJECT) >= 1);
    if (free_space && knows_depth)
        assert_int_equal(count(t, FLOATER), 0);
    else
        assert_true(count(t, FLOATER) >= 1);
    run_steps(t, 2);
    splat_trainer_destroy(t);
}

static void floaters_go_and_objects_stay(void **state)
{
    (void)state;
    static const char *const strategies[] = {"default", "high", "classic", "mcmc", "few"};
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_scene(context);
    for (int i = 0; i < 5; i++)
        for (int asked = 0; asked < 2; asked++)
            for (int knows = 0; knows < 2; knows++) {
                print_message("%s%s%s\n", strategies[i], asked ? ", free space" : "", knows ? "" : ", no points");
                check_strategy(context, scene, strategies[i], asked, knows);
            }
    splat_scene_close(scene);
    splat_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(floaters_go_and_objects_stay)};
    return cmocka_run_group_tests_name("near_floaters", tests, NULL, NULL);
}
