/* TensorBoard and profiler files of a real run (its page: test_run_page.c), which do not change the run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "event_reader.h"
#include "report/monitor/monitor.h"
#include "train/state.h"
#include "trainer_fixture.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

static void run(const char *folder, splat_tensorboard_kind tensorboard, bool with_profile)
{
    static const int tests[] = {30}, snapshots[] = {20};
    splat_trainer *trainer;
    splat_run_options run_options;
    splat_train_options options = busy_options(60);
    splat_monitor_options monitor_options;
    splat_monitor *monitor;
    splat_error error;
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_scene(context);
    must(splat_folder_delete(folder, &error), &error);
    must(splat_trainer_create(context, scene, &options, &trainer, &error), &error);
    splat_monitor_options_init(&monitor_options);
    monitor_options.gpu = "";
    must(splat_monitor_create(&monitor_options, &monitor, &error), &error);
    splat_run_options_init(&run_options);
    run_options.model_path = folder;
    run_options.test_iterations = tests;
    run_options.n_test_iterations = 1;
    run_options.tensorboard = tensorboard;
    run_options.monitor = monitor;
    run_options.command = "splatsmith train --example";
    run_options.report = tensorboard != SPLAT_TENSORBOARD_NONE;
    run_options.profile_interval = with_profile ? 10 : 0;
    run_options.snapshot_iterations = snapshots;
    run_options.n_snapshot_iterations = with_profile ? 1 : 0;
    must(splat_trainer_run(trainer, &run_options, &error), &error);
    splat_trainer_destroy(trainer);
    splat_scene_close(scene);
    splat_monitor_destroy(monitor);
    splat_memory_info memory;
    splat_context_get_memory(context, &memory);
    assert_int_equal(memory.bytes, 0);
    splat_context_destroy(context);
}

static event_file read_events(const char *folder)
{
    char pattern[256];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/events.out.tfevents.*", folder);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    event_file file = event_file_read(found.gl_pathv[0]);
    globfree(&found);
    assert_int_equal(file.whole_bytes, file.size);
    return file;
}

static size_t count_of(const event_file *file, const char *tag)
{
    size_t n = 0;
    for (size_t i = 0; i < file->n; i++) n += strcmp(file->events[i].tag, tag) == 0;
    return n;
}

static void the_default_tags_of_a_run(void **state)
{
    (void)state;
    static const struct {
        const char *tag;
        size_t n;
    } expected[] = {
        {"1_train/l1_loss", 1}, /* step 50 */
        {"1_train/total_loss", 1},
        {"2_test/loss_viewpoint_psnr", 2}, /* at 30 and at the end */
        {"1_train/loss_viewpoint_ssim", 2},
        {"1_train/total_points", 2},
        {"gaussians/added_K", 3}, /* density control after 20, 30 and 40 */
        {"4_performance/vram_reserved_GB", 1},
        {"4_performance/ram_percent", 1},
        {"scene/opacity_histogram", 2},
        {"Config/00_Training_Command/text_summary", 1},
        {"Config/01_Dataset/text_summary", 1},
        {"Config/02_Optimization/text_summary", 1},
        {"test_view_image_000/render", 2},
        {"test_view_image_000/ground_truth", 1},
        {"test_view_image_000/error_map", 2},
        {"test_view_image_000/gaussian_density_heatmap", 2},
        {"TensorProfiling/fragmentation_percent", 6},
    };
    run("default", SPLAT_TENSORBOARD_DEFAULT, true);
    event_file file = read_events("default");
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        if (count_of(&file, expected[i].tag) != expected[i].n)
            fail_msg("%s: %zu values, not %zu", expected[i].tag, count_of(&file, expected[i].tag), expected[i].n);
    const event *options = event_find(&file, "Config/02_Optimization/text_summary", 0);
    char *text = strndup((const char *)options->bytes.data, options->bytes.n);
    assert_non_null(strstr(text, "| iterations | 60 |"));
    assert_non_null(strstr(text, "| lambda_dssim | 0.2 |"));
    assert_null(strstr(text, "| first_iteration |")); /* of coarse training, which this is not */
    free(text);
    const event *dataset = event_find(&file, "Config/01_Dataset/text_summary", 0);
    text = strndup((const char *)dataset->bytes.data, dataset->bytes.n);
    assert_non_null(strstr(text, "| train views | "));
    free(text);
    const event *machine = event_find(&file, "Config/03_Performance/text_summary", 0);
    text = strndup((const char *)machine->bytes.data, machine->bytes.n);
    assert_non_null(strstr(text, "| threads | 2 |"));
    free(text);
    assert_true(splat_path_exists("default/profiles/memory_snapshot_20.json"));
    const event *map = event_find(&file, "test_view_image_000/gaussian_density_heatmap", 60);
    assert_true(map->bytes.n > 2000); /* an even colour packs into far less */
    event_file_free(&file);
}

static void the_upstream_tags_of_a_run(void **state)
{
    (void)state;
    run("upstream", SPLAT_TENSORBOARD_UPSTREAM, false);
    event_file file = read_events("upstream");
    assert_int_equal(count_of(&file, "train_loss_patches/l1_loss"), 60);
    assert_int_equal(count_of(&file, "total_points"), 2);
    assert_int_equal(count_of(&file, "4_performance/ram_percent"), 0);
    assert_false(splat_path_exists("upstream/profiles"));
    event_file_free(&file);
}

static void telling_changes_nothing(void **state)
{
    (void)state;
    splat_error error;
    uint8_t *with, *without;
    size_t n_with, n_without;
    run("silent", SPLAT_TENSORBOARD_NONE, false);
    assert_false(splat_path_exists("silent/profiles"));
    assert_false(splat_path_exists("silent/report.html"));
    assert_false(splat_path_exists("silent/history.jsonl"));
    must(splat_file_read("default/point_cloud/iteration_60/point_cloud.ply", &with, &n_with, &error), &error);
    must(splat_file_read("silent/point_cloud/iteration_60/point_cloud.ply", &without, &n_without, &error), &error);
    assert_int_equal(n_with, n_without);
    assert_memory_equal(with, without, n_with);
    free(with);
    free(without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_tags_of_a_run),
        cmocka_unit_test(the_upstream_tags_of_a_run),
        cmocka_unit_test(telling_changes_nothing), /* reads what the first one wrote */
    };
    return cmocka_run_group_tests_name("run report", tests, NULL, NULL);
}
