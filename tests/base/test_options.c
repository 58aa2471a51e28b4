/* Structs of options of older and newer headers: fields that a program lacks take their defaults; what the library does
 * not know is refused, and so is a struct that was not initialised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "bench/bench.h"
#include "measure/map_pictures.h"
#include "measure/mesh_results.h"
#include "measure/mesh_views.h"
#include "measure/random_views.h"
#include "measure/results.h"
#include "mesh/measure/mesh_report.h"
#include "report/monitor/monitor.h"
#include "scene/scene.h"
#include "trainer_fixture.h"
#include "train/state.h"

/* Options of a header that ends before `field`, as its program has them: followed by its other data. */
#define OLD_SIZE(type, field) offsetof(type, field)

static void an_old_struct_is_filled_and_nothing_after_it(void **state)
{
    (void)state;
    splat_train_options old;
    const size_t size = OLD_SIZE(splat_train_options, sh_storage);
    memset(&old, 0x55, sizeof old);
    splat_train_options_init_sized(&old, size);
    assert_int_equal(old.size, size);
    assert_int_equal(old.iterations, 30000);
    for (size_t i = size; i < sizeof old; i++) assert_int_equal(((const unsigned char *)&old)[i], 0x55);
    splat_train_options_init_coarse_sized(&old, size, SPLAT_REGULARIZE_DENSITY);
    assert_int_equal(old.iterations, 15000);
    for (size_t i = size; i < sizeof old; i++) assert_int_equal(((const unsigned char *)&old)[i], 0x55);
}

static void a_new_struct_is_zero_after_what_the_library_knows(void **state)
{
    (void)state;
    struct { splat_view_job job; long later[2]; } newer;
    memset(&newer, 0x55, sizeof newer);
    splat_view_job_init_sized(&newer.job, sizeof newer);
    assert_int_equal(newer.job.size, sizeof newer);
    assert_int_equal(newer.job.set, SPLAT_VIEWS_TEST);
    assert_true(newer.later[0] == 0 && newer.later[1] == 0);
}

static void old_programs_train_with_the_defaults_of_what_they_lack(void **state)
{
    (void)state;
    splat_error error;
    splat_trainer *trainer;
    splat_scene *scene;
    splat_context *context = open_cpu(1);
    splat_scene_close(open_scene(context)); /* makes it */
    splat_scene_options scene_options;
    memset(&scene_options, 0x55, sizeof scene_options); /* a split file and a resolution_scale that nobody set */
    splat_scene_options_init_sized(&scene_options, OLD_SIZE(splat_scene_options, resolution_scale));
    scene_options.source_path = SCENE;
    must(splat_scene_open(context, &scene_options, &scene, &error), &error);
    assert_true(scene->options.resolution_scale == 1 && !scene->options.split_file && !scene->options.eval);
    assert_int_equal(scene->options.size, sizeof scene_options);

    splat_train_options options;
    memset(&options, 0x55, sizeof options);
    splat_train_options_init_sized(&options, OLD_SIZE(splat_train_options, seed));
    options.iterations = 1234;
    must(splat_trainer_create(context, scene, &options, &trainer, &error), &error);
    assert_int_equal(trainer->options.iterations, 1234);
    assert_true(trainer->options.seed == 0 && trainer->options.sh_storage == SPLAT_SH_FLOAT32 &&
                trainer->options.coarse.n_samples == 50000 && !trainer->options.regularizer);
    run_steps(trainer, 2);
    close_training(context, scene, trainer);
}

static void new_programs_may_use_what_the_library_knows(void **state)
{
    (void)state;
    splat_error error;
    splat_scene *scene;
    splat_context *context = open_cpu(1);
    splat_scene_close(open_scene(context));
    struct { splat_scene_options known; int later; } newer;
    splat_scene_options_init_sized(&newer.known, sizeof newer);
    newer.known.source_path = SCENE;
    must(splat_scene_open(context, &newer.known, &scene, &error), &error);
    splat_scene_close(scene);
    newer.later = 1;
    assert_int_equal(splat_scene_open(context, &newer.known, &scene, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "splat_scene_options of a newer version"));
    assert_null(scene);
    splat_context_destroy(context);
}

/* A plan, and the options that it chose, of a program with shorter structs: nothing is written after them. */
static void old_programs_plan(void **state)
{
    (void)state;
    splat_error error;
    splat_context *context = open_cpu(1);
    splat_scene *scene = open_scene(context);
    splat_train_options wanted = busy_options(10), chosen;
    splat_plan_options options;
    splat_plan plan;
    const size_t plan_size = OLD_SIZE(splat_plan, host_bytes);
    const size_t chosen_size = OLD_SIZE(splat_train_options, max_gaussians);
    splat_plan_options_init(&options);
    options.limit_bytes = (size_t)1 << 30;
    memset(&chosen, 0x55, sizeof chosen);
    memset(&plan, 0x55, sizeof plan);
    splat_train_options_init_sized(&chosen, chosen_size);
    splat_plan_init_sized(&plan, plan_size);
    must(splat_plan_make(context, scene, &wanted, &options, &chosen, &plan, &error), &error);
    assert_true(plan.size == plan_size && plan.n_rows > 3 && plan.total_bytes > 0 && plan.render_bytes > 0);
    assert_true(chosen.size == chosen_size && chosen.iterations == 10 && chosen.max_instances > 0);
    for (size_t i = plan_size; i < sizeof plan; i++) assert_int_equal(((const unsigned char *)&plan)[i], 0x55);
    for (size_t i = chosen_size; i < sizeof chosen; i++) assert_int_equal(((const unsigned char *)&chosen)[i], 0x55);
    splat_plan kept = plan;
    options.limit_bytes = 1000;
    assert_int_equal(splat_plan_make(context, scene, &wanted, &options, &chosen, &plan, &error), SPLAT_ERROR_MEMORY);
    assert_memory_equal(&kept, &plan, sizeof plan);
    close_training(context, scene, NULL);
}

/* A step of a program with a shorter struct: nothing is written after it. */
static void old_programs_step(void **state)
{
    (void)state;
    splat_error error;
    splat_step_info info;
    const size_t size = OLD_SIZE(splat_step_info, n_added);
    splat_context *context = open_cpu(1);
    splat_scene *scene = open_scene(context);
    splat_train_options o = busy_options(10);
    splat_trainer *trainer = new_trainer(context, scene, &o);
    memset(&info, 0x55, sizeof info);
    splat_step_info_init_sized(&info, size);
    for (int i = 1; i <= 2; i++) {
        must(splat_trainer_step(trainer, &info, &error), &error);
        assert_true(info.size == size && info.iteration == i && info.n_gaussians > 0 && info.step_ms > 0);
    }
    for (size_t i = size; i < sizeof info; i++) assert_int_equal(((const unsigned char *)&info)[i], 0x55);
    close_training(context, scene, trainer);
}

static splat_error refusal;

static void refused(splat_status status, const char *type)
{
    char words[96];
    snprintf(words, sizeof words, "begin with %s_init", type);
    if (status != SPLAT_ERROR_ARGUMENT || !strstr(refusal.message, words))
        fail_msg("%s: %s: %s", type, splat_status_name(status), refusal.message);
}

/* Every function that takes options, with a struct that is all `byte`. */
static void refuse_all(unsigned char byte, splat_context *context, splat_scene *scene, splat_trainer *trainer)
{
    union {
        splat_context_options context;
        splat_scene_options scene;
        splat_sample_options sample;
        splat_save_options save;
        splat_view_job job;
        splat_train_options train;
        splat_plan_options plan;
        splat_plan planned;
        splat_step_info step;
        splat_run_options run;
        splat_mesh_extract_options extract;
        splat_lpips_options lpips;
        splat_random_views_options random;
        splat_monitor_options monitor;
        splat_bench_options bench;
        splat_mesh_report_options report;
        splat_mesh_draw_options draw;
    } o;
    splat_train_options train;
    splat_plan_options plan_options;
    splat_context *no_context;
    splat_scene *no_scene;
    splat_trainer *no_trainer;
    splat_lpips *no_lpips;
    splat_monitor *no_monitor;
    splat_mesh_extract_info info;
    splat_mesh_report report;
    splat_bench_result result;
    splat_metrics mean;
    splat_mesh_metrics mesh_mean;
    splat_view_job job;
    splat_camera camera;
    splat_plan plan;
    splat_model *model = splat_trainer_get_model(trainer);
    splat_error *e = &refusal;
    const char *path = "mesh.ply";
    memset(&o, byte, sizeof o);
    splat_train_options_init(&train);
    splat_view_job_init(&job);
    refused(splat_context_create(&o.context, &no_context, e), "splat_context_options");
    refused(splat_scene_open(context, &o.scene, &no_scene, e), "splat_scene_options");
    refused(splat_sample_write(context, "absent", &o.sample, e), "splat_sample_options");
    refused(splat_model_save(model, "a.ply", &o.save, e), "splat_save_options");
    refused(splat_model_evaluate(model, scene, &o.job, &mean, e), "splat_view_job");
    refused(splat_results_write(model, scene, &o.job, "absent", 1, NULL, &mean, e), "splat_view_job");
    refused(splat_renders_write(model, scene, &o.job, "absent", 1, e), "splat_view_job");
    refused(splat_maps_write(model, scene, &o.job, SPLAT_MAP_DEPTH, "absent", 1, e), "splat_view_job");
    refused(splat_mesh_views_write(scene, path, &o.job, SPLAT_MESH_VIEW_DEPTH, NULL, "absent", e), "splat_view_job");
    refused(splat_mesh_views_write(scene, path, &job, SPLAT_MESH_VIEW_DEPTH, &o.draw, "absent", e),
            "splat_mesh_draw_options");
    refused(splat_mesh_evaluate(scene, path, &o.job, NULL, &mesh_mean, e), "splat_view_job");
    refused(splat_mesh_evaluate(scene, path, &job, &o.draw, &mesh_mean, e), "splat_mesh_draw_options");
    refused(splat_mesh_results_write(scene, path, &o.job, NULL, "absent", NULL, &mesh_mean, e), "splat_view_job");
    refused(splat_mesh_random_views_write(scene, path, NULL, &o.random, "absent", e), "splat_random_views_options");
    refused(splat_train_options_check(&o.train, e), "splat_train_options");
    refused(splat_trainer_create(context, scene, &o.train, &no_trainer, e), "splat_train_options");
    splat_plan_options_init(&plan_options);
    splat_plan_init(&plan);
    refused(splat_plan_make(context, scene, &o.train, &o.plan, NULL, &plan, e), "splat_train_options");
    refused(splat_plan_make(context, scene, &train, &o.plan, NULL, &plan, e), "splat_plan_options");
    refused(splat_plan_make(context, scene, &train, &plan_options, NULL, &o.planned, e), "splat_plan");
    refused(splat_plan_make(context, scene, &train, &plan_options, &o.train, &plan, e), "splat_train_options");
    refused(splat_trainer_step(trainer, &o.step, e), "splat_step_info");
    assert_int_equal(splat_trainer_get_iteration(trainer), 0); /* no step was made */
    refused(splat_trainer_run(trainer, &o.run, e), "splat_run_options");
    refused(splat_mesh_extract_options_check(&o.extract, e), "splat_mesh_extract_options");
    refused(splat_mesh_extract(context, scene, model, &o.extract, &path, 1, &info, e), "splat_mesh_extract_options");
    refused(splat_lpips_create(context, &o.lpips, &no_lpips, e), "splat_lpips_options");
    refused(splat_random_views_make(scene, &o.random, &camera, e), "splat_random_views_options");
    refused(splat_random_views_write(model, scene, &o.random, "absent", e), "splat_random_views_options");
    refused(splat_monitor_create(&o.monitor, &no_monitor, e), "splat_monitor_options");
    refused(splat_trainer_bench(trainer, &o.bench, &result, e), "splat_bench_options");
    splat_bench_result_free(&result);
    refused(splat_mesh_report_make(context, path, &o.report, &report, e), "splat_mesh_report_options");
    assert_false(splat_path_exists("absent"));
}

static void structs_without_init_are_refused(void **state)
{
    (void)state;
    splat_context *context = open_cpu(1);
    splat_scene *scene = open_scene(context);
    splat_train_options options = busy_options(10);
    splat_trainer *trainer = new_trainer(context, scene, &options);
    refuse_all(0, context, scene, trainer);
    refuse_all(0xCD, context, scene, trainer); /* a size that no memory has */
    close_training(context, scene, trainer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_struct_is_filled_and_nothing_after_it),
        cmocka_unit_test(a_new_struct_is_zero_after_what_the_library_knows),
        cmocka_unit_test(old_programs_train_with_the_defaults_of_what_they_lack),
        cmocka_unit_test(old_programs_plan),
        cmocka_unit_test(old_programs_step),
        cmocka_unit_test(new_programs_may_use_what_the_library_knows),
        cmocka_unit_test(structs_without_init_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
