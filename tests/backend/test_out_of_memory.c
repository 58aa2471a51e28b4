/* Host memory that runs out: every allocation of opening a scene, training, saving, going on, exporting, measuring and
 * reporting fails once, and again with all that follow it. What comes of it is a result or a MEMORY error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/context.h"
#include "bench/json.h"
#include "bench/report.h"
#include "failing_malloc.h"
#include "measure/contact_sheet.h"
#include "measure/map_pictures.h"
#include "measure/mesh_results.h"
#include "measure/mesh_views.h"
#include "measure/random_views.h"
#include "measure/results.h"
#include "measure/sugar_results.h"
#include "mesh/files/mesh_io.h"
#include "mesh/measure/mesh_report.h"
#include "plane_fixture.h"
#include "report/profile/profile.h"
#include "report/profile/profile_chart.h"
#include "report/profile/profile_read.h"
#include "report/tensorboard/tensorboard_report.h"
#include "train/state.h"
#include "trainer_fixture.h"
#include "view_job_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static splat_context *context; /* of one thread: the decoder's allocations come in one order */
static splat_scene *scene;
static splat_trainer *trainer;
static splat_bench_result bench_result;
static char warnings[8192];

/* For LeakSanitizer, which does not see through jansson: what a parse had made when its memory ran out is lost
 * (src/engine/io/json.c). */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:noting_malloc\n";
}

/* ---------------------------------------------------------------- what is done */

static splat_status open_and_train(splat_error *error)
{
    splat_scene *opened = NULL;
    splat_trainer *made = NULL;
    splat_scene_options scene_options;
    splat_train_options options = busy_options(12);
    splat_metrics metrics;
    splat_scene_options_init(&scene_options);
    scene_options.source_path = SCENE;
    scene_options.eval = true;
    splat_status status = splat_scene_open(context, &scene_options, &opened, error);
    if (status == SPLAT_OK) status = splat_trainer_create(context, opened, &options, &made, error);
    for (int i = 0; i < 12 && status == SPLAT_OK; i++) status = splat_trainer_step(made, NULL, error);
    if (status == SPLAT_OK)
        status = evaluate_set(splat_trainer_get_model(made), opened, SPLAT_VIEWS_TEST, false, &metrics, error);
    splat_trainer_destroy(made);
    splat_scene_close(opened);
    return status;
}

static splat_status save(splat_error *error)
{
    splat_status status = splat_model_save(splat_trainer_get_model(trainer), "saved.ply", NULL, error);
    if (status == SPLAT_OK) status = splat_trainer_save_checkpoint(trainer, "saved.splatsmith", error);
    return status;
}

static splat_status go_on(splat_error *error)
{
    return splat_trainer_load_checkpoint(trainer, "good.splatsmith", error);
}

static splat_status export(splat_error *error)
{
    splat_model *model = NULL;
    splat_save_options options;
    splat_save_options_init(&options);
    options.fused = true;
    splat_status status = splat_model_load(context, "good.ply", &model, error);
    if (status == SPLAT_OK) status = splat_model_save(model, "exported.ply", &options, error);
    splat_model_destroy(model);
    return status;
}

static splat_status measure(splat_error *error)
{
    splat_view_job job = job_on(SPLAT_VIEWS_TEST, NULL, NULL);
    splat_metrics metrics;
    splat_status status = splat_results_write(splat_trainer_get_model(trainer), scene, &job, "model", 3, NULL, &metrics,
                                              error);
    if (status == SPLAT_OK)
        status = splat_contact_sheet_write(splat_trainer_get_model(trainer), scene, 2, "sheet.png", error);
    if (status == SPLAT_OK)
        status = splat_maps_write(splat_trainer_get_model(trainer), scene, &job, SPLAT_MAP_DEPTH | SPLAT_MAP_NORMAL,
                                  "maps", 3, error);
    return status;
}

/* Three steps with all outputs of a run. */
static splat_status run(splat_error *error)
{
    static const int tests[] = {2, 3};
    splat_trainer *made = NULL;
    splat_run_options options;
    splat_train_options train_options = busy_options(3);
    splat_run_options_init(&options);
    options.model_path = "run";
    options.test_iterations = tests;
    options.n_test_iterations = 2;
    options.checkpoint_interval = 2;
    options.tensorboard = SPLAT_TENSORBOARD_DEFAULT;
    options.report = true;
    options.command = "splatsmith train";
    options.profile_interval = 1;
    options.snapshot_iterations = tests;
    options.n_snapshot_iterations = 1;
    options.delete_first = true;
    splat_status status = splat_trainer_create(context, scene, &train_options, &made, error);
    if (status == SPLAT_OK) status = splat_trainer_run(made, &options, error);
    splat_trainer_destroy(made);
    return status;
}

/* The tables of TensorBoard's texts, which a run begins with. */
static splat_status settings(splat_error *error)
{
    static const splat_report_row rows[] = {{"iterations", "30000"}, {"a|b", "c\nd"}};
    const splat_report_config config = {
        .command = "splatsmith train", .dataset = {rows, 2}, .optimization = {rows, 1}, .performance = {rows, 2}};
    splat_tensorboard_report made = {0};
    splat_status status = splat_tensorboard_report_open(&made, "settings", SPLAT_TENSORBOARD_TAGS_DEFAULT, 0, 1, error);
    if (status == SPLAT_OK) splat_tensorboard_report_begin(&made, &config);
    splat_status closed = splat_tensorboard_report_close(&made, context->backend, error);
    return status == SPLAT_OK ? closed : status;
}

static splat_status report(splat_error *error)
{
    splat_profile *profile = NULL;
    splat_bench_record *record = NULL;
    splat_model_config config = {0};
    char path[4096];
    splat_status status = splat_profile_find("good_run", NULL, path, sizeof path, error);
    if (status == SPLAT_OK) status = splat_profile_read(path, &profile, error);
    if (status == SPLAT_OK) status = splat_profile_write_svg(profile, "profile.svg", error);
    if (status == SPLAT_OK) status = splat_bench_read("good_bench.json", &record, error);
    if (status == SPLAT_OK) status = splat_bench_report_write(&record, 1, 0.1, "bench_report", error);
    if (status == SPLAT_OK) status = splat_model_config_read("good_run", &config, error);
    splat_model_config_free(&config);
    splat_bench_record_free(record);
    splat_profile_free(profile);
    return status;
}

static splat_status bench(splat_error *error)
{
    return splat_bench_write(trainer, &bench_result, NULL, "bench.json", error);
}

static splat_status mesh(splat_error *error)
{
    static const char *const ends[] = {"ply", "obj"};
    splat_mesh_report_options options;
    splat_mesh_report result;
    char path[32];
    splat_mesh_report_options_init(&options);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "good_mesh.%s", ends[i]);
        splat_status status = splat_mesh_report_make(context, path, &options, &result, error);
        if (status == SPLAT_OK) status = splat_mesh_report_write(&result, "mesh.json", error);
        if (status != SPLAT_OK) return status;
    }
    return SPLAT_OK;
}

/* A textured mesh: drawn from views of the scene and new ones, measured, and on a sheet next to the splat. */
static splat_status draw(splat_error *error)
{
    const char *path = "good_textured.ply";
    splat_model *model = splat_trainer_get_model(trainer);
    splat_view_job job = job_on(SPLAT_VIEWS_TEST, NULL, NULL);
    splat_random_views_options random;
    splat_mesh_metrics mean;
    bool written;
    splat_random_views_options_init(&random);
    random.n = 1;
    splat_status status = splat_mesh_views_write(scene, path, &job, SPLAT_MESH_VIEW_COLOR | SPLAT_MESH_VIEW_SHADED,
                                                 NULL, "maps", error);
    if (status == SPLAT_OK) status = splat_mesh_random_views_write(scene, path, NULL, &random, "maps", error);
    if (status == SPLAT_OK) status = splat_mesh_results_write(scene, path, &job, NULL, "model", NULL, &mean, error);
    if (status == SPLAT_OK)
        status = splat_sugar_results_write("model", "sugarmesh_3Dgs7_sdfestim02_sdfnorm02_level03_decim9", NULL,
                                           SCENE, 0, &mean.all, &written, error);
    if (status == SPLAT_OK)
        status = splat_mesh_contact_sheet_write(scene, path, NULL, model, 1, "sheet.jpg", error);
    return status;
}

static room plain_room;

static splat_status planes(splat_error *error)
{
    splat_planes_options options = options_for(&plain_room, 1);
    splat_planes_info info;
    splat_status status = splat_planes_find(&plain_room.maps, &options, &info, error);
    if (status == SPLAT_OK) splat_planes_info_free(&info);
    return status;
}

/* ---------------------------------------------------------------- and how it fails */

static void keep_warning(void *user, splat_log_level level, const char *message)
{
    (void)user;
    size_t used = strlen(warnings);
    if (level == SPLAT_LOG_WARNING) snprintf(warnings + used, sizeof warnings - used, "%s\n", message);
}

typedef splat_status action(splat_error *error);

/* Returns true if the k-th allocation was reached, and failed. */
static bool fail_at(const char *name, action *act, long k, bool all, splat_status *status)
{
    splat_error error = {0};
    splat_memory_info before, after;
    splat_context_get_memory(context, &before);
    warnings[0] = '\0';
    failing_malloc_arm(k, all);
    *status = act(&error);
    bool reached = failing_malloc_disarm();
    if (*status != SPLAT_OK && (!reached || *status != SPLAT_ERROR_MEMORY || !error.message[0]))
        fail_msg("%s, allocation %ld%s: %s, \"%s\" (%s)", name, k,
                 !reached ? ", which was not reached" : all ? " and all later" : "", splat_status_name(*status),
                 error.message, error.file);
    if (strstr(warnings, "damaged") || strstr(warnings, "not valid"))
        fail_msg("%s, allocation %ld: memory ran out, and the log says: %s", name, k, warnings);
    splat_context_get_memory(context, &after);
    if (after.n_blocks != before.n_blocks) fail_msg("%s, allocation %ld: a block was not given back", name, k);
    return reached;
}

/* Each of the first `most`, then one in a growing number: photos and lines repeat themselves. */
static void sweep(const char *name, action *act, long most)
{
    splat_error error;
#ifdef SPLATSMITH_SANITIZED
    most /= 10; /* everything takes several times as long */
    const long growth = 4, least_errors = 1; /* what libraries allocate goes to the sanitizer, past this test */
#else
    const long growth = tests_are_long() ? 25 : 8, least_errors = 4;
#endif
    must(act(&error), &error); /* what stays with the model is made now */
    for (int all = 0; all < 2; all++) {
        splat_status status;
        long k = 1, n = 0, n_errors = 0, dense = all ? most / 4 : most;
        for (; fail_at(name, act, k, all, &status); k += k < dense ? 1 : 1 + k / growth, n++)
            n_errors += status != SPLAT_OK; /* others were of something that can be done without */
        assert_int_equal(status, SPLAT_OK);
        print_message("%s: %ld allocations; of %ld that failed%s, %ld ended in an error\n", name, k - 1, n,
                      all ? " with all later ones" : "", n_errors);
        assert_true(n_errors >= least_errors);
    }
}

static void test_train(void **state)
{
    (void)state;
    sweep("open and train", open_and_train, 200);
}

static void test_save(void **state)
{
    (void)state;
    sweep("save", save, 200);
}

static void test_go_on(void **state)
{
    (void)state;
    sweep("go on", go_on, 200);
}

static void test_export(void **state)
{
    (void)state;
    sweep("export", export, 300);
}

static void test_measure(void **state)
{
    (void)state;
    sweep("measure", measure, 100);
}

static void test_run(void **state)
{
    (void)state;
    sweep("run", run, 40);
}

static void test_settings(void **state)
{
    (void)state;
    sweep("settings", settings, 300);
}

static void test_bench(void **state)
{
    (void)state;
    sweep("bench", bench, 60);
}

static void test_report(void **state)
{
    (void)state;
    sweep("report", report, 200);
}

static void test_mesh(void **state)
{
    (void)state;
    sweep("mesh report", mesh, 100);
}

static void test_planes(void **state)
{
    (void)state;
    splat_camera cameras[3];
    for (int i = 0; i < 3; i++)
        cameras[i] = room_camera((const double[3]){0.4 * i - 0.4, -0.8, 1.5}, (const double[3]){0, 2, 1.4}, 96, 72, 60);
    assert_true(room_make(&plain_room, 3, cameras, 0.25f, 0.003f));
    sweep("planes", planes, 100);
    room_free(&plain_room);
}

static void test_draw(void **state)
{
    (void)state;
    sweep("draw a mesh", draw, 100);
}

/* ---------------------------------------------------------------- the inputs */

static void write_mesh(void)
{
    static const char ply[] = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\n"
                              "property float z\nelement face 2\nproperty list uchar int vertex_indices\nend_header\n"
                              "0 0 0\n1 0 0\n0 1 0\n1 1 0\n3 0 1 2\n3 1 3 2\n";
    static const char obj[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n";
    splat_error error;
    must(splat_file_write("good_mesh.ply", ply, sizeof ply - 1, &error), &error);
    must(splat_file_write("good_mesh.obj", obj, sizeof obj - 1, &error), &error);
}

/* A square of two pages where the cameras look. */
static void write_textured(void)
{
    static const float corners[4][3] = {{-1, -1, 0}, {1, -1, 0}, {-1, 1, 0}, {1, 1, 0}};
    splat_mesh made = {0};
    splat_error error;
    for (int i = 0; i < 4; i++) must(splat_mesh_add_vertex(&made, corners[i], NULL, &error), &error);
    for (uint32_t i = 0; i < 2; i++) must(splat_mesh_add_face(&made, i, i + 1, 2 * i + 1, &error), &error);
    must(splat_mesh_require_uvs(&made, &error), &error);
    must(splat_mesh_require_face_pages(&made, &error), &error);
    made.face_pages[1] = 1;
    for (int i = 0; i < 2; i++) {
        splat_image page = {8, 8, 3, calloc(8 * 8, 3)};
        assert_non_null(page.pixels);
        must(splat_mesh_add_page(&made, &page, &error), &error);
    }
    must(splat_mesh_write("good_textured.ply", &made, &error), &error);
    splat_mesh_free(&made);
}

static int set_up(void **state)
{
    (void)state;
    splat_error error;
    splat_context_options options;
    splat_train_options train_options = busy_options(12);
    splat_context_options_init(&options);
    options.backend = "cpu";
    options.threads = 1;
    options.log = keep_warning;
    must(splat_context_create(&options, &context, &error), &error);
    scene = open_scene(context);
    trainer = new_trainer(context, scene, &train_options);
    run_steps(trainer, 3);
    must(splat_model_save(splat_trainer_get_model(trainer), "good.ply", NULL, &error), &error);
    must(splat_trainer_save_checkpoint(trainer, "good.splatsmith", &error), &error);
    must(splat_folder_create("model", &error), &error);
    must(splat_folder_create("maps", &error), &error);
    must(splat_folder_create("settings", &error), &error);
    splat_folder_delete("good_run", NULL);
    must(run(&error), &error);
    assert_int_equal(rename("run", "good_run"), 0);
    const splat_bench_options bench_options = {.size = sizeof bench_options, .iterations = 2};
    must(splat_trainer_bench(trainer, &bench_options, &bench_result, &error), &error);
    must(bench(&error), &error);
    assert_int_equal(rename("bench.json", "good_bench.json"), 0);
    write_mesh();
    write_textured();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    splat_bench_result_free(&bench_result);
    close_training(context, scene, trainer);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train),   cmocka_unit_test(test_save), cmocka_unit_test(test_go_on),
        cmocka_unit_test(test_export),  cmocka_unit_test(test_measure), cmocka_unit_test(test_run),
        cmocka_unit_test(test_settings), cmocka_unit_test(test_bench), cmocka_unit_test(test_report),
        cmocka_unit_test(test_mesh),    cmocka_unit_test(test_planes),  cmocka_unit_test(test_draw),
    };
    return cmocka_run_group_tests_name("out of memory", tests, set_up, tear_down);
}
