/* The splat that a training starts from, without the training. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "model/files.h"
#include "scene/scene.h"
#include "trainer_fixture.h"

static void assert_same_floats(const float *a, const float *b, size_t n)
{
    assert_memory_equal(a, b, n * sizeof *a);
}

static void it_has_the_gaussians_of_a_new_trainer(void **state)
{
    splat_context *context = *state;
    splat_scene *scene = open_scene(context);
    splat_train_options options;
    splat_trainer *trainer;
    splat_model *model;
    splat_cloud ours, theirs;
    splat_error error;
    splat_train_options_init(&options);
    options.init_opacity = 0.3f;
    options.init_scale = 0.5f;
    options.target_gaussian_count = 150;
    must(splat_trainer_create(context, scene, &options, &trainer, &error), &error);
    must(splat_model_from_scene(context, scene, &options, &model, &error), &error);
    must(splat_model_download(splat_trainer_get_model(trainer), &theirs, &error), &error);
    must(splat_model_download(model, &ours, &error), &error);
    assert_int_equal(ours.n, 150);
    assert_int_equal(ours.n, theirs.n);
    assert_int_equal(ours.sh_degree, 0);
    assert_int_equal(model->render_mode, SPLAT_RENDER_MIP);
    assert_same_floats(ours.means, theirs.means, 3 * ours.n);
    assert_same_floats(ours.scales, theirs.scales, 3 * ours.n);
    assert_same_floats(ours.rotations, theirs.rotations, 4 * ours.n);
    assert_same_floats(ours.opacities, theirs.opacities, ours.n);
    assert_same_floats(ours.sh_dc, theirs.sh_dc, 3 * ours.n);
    splat_cloud_free(&ours);
    splat_cloud_free(&theirs);
    splat_model_destroy(model);
    splat_trainer_destroy(trainer);
    splat_scene_close(scene);
}

static void without_options_all_points_have_one(void **state)
{
    splat_context *context = *state;
    splat_scene *scene = open_scene(context);
    splat_model *model;
    splat_error error;
    must(splat_model_from_scene(context, scene, NULL, &model, &error), &error);
    assert_int_equal(model->gaussians.n, scene->dataset.n_points);
    splat_model_destroy(model);
    scene->dataset.n_points = 3;
    assert_int_equal(splat_model_from_scene(context, scene, NULL, &model, &error), SPLAT_ERROR_FORMAT);
    assert_null(model);
    splat_scene_close(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_has_the_gaussians_of_a_new_trainer),
        cmocka_unit_test(without_options_all_points_have_one),
    };
    return cmocka_run_group_tests(tests, open_context_group, close_context_group);
}
