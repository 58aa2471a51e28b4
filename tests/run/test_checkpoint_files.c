/* Checkpoint files: damaged ones, models read from them, and what a whole run does with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "checkpoint_fixture.h"
#include "scene_fixture.h"
#include "train/schedule.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---------------------------------------------------------------- damaged files */

/* A checkpoint of a few KB: eight Gaussians without SH bands. */
static splat_trainer *make_small(const tiny_place *p, const char *path)
{
    splat_train_options o = tiny_options(60);
    splat_error error;
    o.sh_degree = 0;
    o.target_gaussian_count = 8;
    splat_trainer *t = tiny_trainer(p, &o);
    run_steps(t, 2);
    must(splat_trainer_save_checkpoint(t, path, &error), &error);
    return t;
}

#if defined(SPLATSMITH_SANITIZED)
#define STRIDE 7 /* it is ten times slower there */
#else
#define STRIDE 1
#endif

static void every_flipped_bit_is_found(void **state)
{
    (void)state;
    tiny_place p = open_tiny(1);
    splat_trainer *t = make_small(&p, "good.splatsmith"), *untouched = make_small(&p, "same.splatsmith");
    uint8_t *data;
    size_t size;
    splat_error error;
    must(splat_file_read("good.splatsmith", &data, &size, &error), &error);
    print_message("%zu bytes\n", size);
    assert_true(size < 12000);
    fixture_bytes("bad.splatsmith", data, size);
    int descriptor = open("bad.splatsmith", O_WRONLY);
    for (size_t bit = 0; bit < 8 * size; bit += STRIDE) {
        uint8_t flipped = data[bit / 8] ^ (uint8_t)(1u << bit % 8);
        assert_int_equal(pwrite(descriptor, &flipped, 1, (off_t)(bit / 8)), 1);
        splat_status status = splat_trainer_load_checkpoint(t, "bad.splatsmith", &error);
        if (status != SPLAT_ERROR_FORMAT && status != SPLAT_ERROR_UNSUPPORTED)
            fail_msg("bit %zu of byte %zu gives %s", bit % 8, bit / 8, splat_status_name(status));
        assert_string_equal(error.file, "bad.splatsmith");
        assert_int_equal(pwrite(descriptor, data + bit / 8, 1, (off_t)(bit / 8)), 1);
    }
    for (size_t length = size; length-- > 0;) {
        assert_int_equal(ftruncate(descriptor, (off_t)length), 0);
        assert_int_equal(splat_trainer_load_checkpoint(t, "bad.splatsmith", &error), SPLAT_ERROR_FORMAT);
    }
    close(descriptor);
    fixture_bytes("bad.splatsmith", data, size);
    assert_int_equal(truncate("bad.splatsmith", (off_t)size + 1), 0);
    assert_int_equal(splat_trainer_load_checkpoint(t, "bad.splatsmith", &error), SPLAT_ERROR_FORMAT);
    free(data);
    must(splat_trainer_save_checkpoint(t, "after.splatsmith", &error), &error);
    assert_true(same_checkpoints("same.splatsmith", "after.splatsmith")); /* nothing was taken */
    splat_trainer_destroy(t);
    splat_trainer_destroy(untouched);
    close_tiny(&p);
}

/* Rewrites `path` as `to` with a changed header and right checksums. */
static void rewrite(const char *path, const char *to, void (*change)(json_t *, splat_tensor_entry *, size_t *))
{
    splat_tensor_reader file;
    splat_tensor_writer writer;
    splat_error error;
    static const uint8_t zeros[1 << 16];
    must(splat_tensor_reader_open(&file, path, &error), &error);
    size_t n = file.n;
    change(file.header, file.entries, &n);
    must(splat_tensor_writer_open(&writer, to, file.header, file.entries, n, &error), &error);
    for (size_t i = 0; i < n; i++)
        must(splat_tensor_writer_write(&writer, zeros, (size_t)writer.entries[i].bytes, &error), &error);
    must(splat_tensor_writer_commit(&writer, &error), &error);
    splat_tensor_reader_close(&file);
}

static void set_in(json_t *header, const char *group, const char *key, json_t *value)
{
    json_t *object = group ? json_object_get(header, group) : header;
    json_object_set_new(object, key, value);
}

/* Headers that no run writes, with right checksums. */
static int hostile;
#define N_HOSTILE 18

static void make_hostile(json_t *h, splat_tensor_entry *entries, size_t *n)
{
    switch (hostile) {
    case 0: set_in(h, NULL, "n_gaussians", json_integer(INT64_MAX)); break;
    case 1: set_in(h, NULL, "n_gaussians", json_integer(0)); break;
    case 2: set_in(h, NULL, "n_gaussians", json_integer(9)); break;
    case 3: set_in(h, NULL, "sh_degree", json_integer(4)); break;
    case 4: set_in(h, NULL, "sh_degree", json_integer(3)); break;
    case 5: set_in(h, NULL, "iteration", json_integer(-1)); break;
    case 6: set_in(h, NULL, "iteration", json_string("2")); break;
    case 7: set_in(h, "adam_steps", "means", json_integer(3)); break;
    case 8: json_object_del(h, "adam_steps"); break;
    case 9: set_in(h, "storage", "moments", json_string("quantized")); break;
    case 10: set_in(h, "storage", "sh_rest", json_string("float8")); break;
    case 11: set_in(h, NULL, "density_control_done", json_integer(1)); break;
    case 12: --*n; break;
    case 13: snprintf(entries[0].name, sizeof entries[0].name, "mean"); break;
    case 14: entries[1].words = 2; break;
    case 15: entries[*n - 1].rows = 0; break;
    case 16: snprintf(entries[1].type, sizeof entries[1].type, "U32"); break;
    default: entries[2] = entries[1]; break;
    }
}

static void hostile_headers_are_refused(void **state)
{
    (void)state;
    tiny_place p = open_tiny(1);
    splat_trainer *t = make_small(&p, "good.splatsmith");
    splat_error error;
    for (hostile = 0; hostile < N_HOSTILE; hostile++) {
        rewrite("good.splatsmith", "bad.splatsmith", make_hostile);
        if (splat_trainer_load_checkpoint(t, "bad.splatsmith", &error) != SPLAT_ERROR_FORMAT)
            fail_msg("header %d was not refused as damaged", hostile);
    }
    must(splat_trainer_save_checkpoint(t, "after.splatsmith", &error), &error);
    assert_true(same_checkpoints("good.splatsmith", "after.splatsmith"));
    must(splat_file_write("bad.splatsmith", "SPLATCK1................................", 40, &error), &error);
    assert_int_equal(splat_trainer_load_checkpoint(t, "bad.splatsmith", &error), SPLAT_ERROR_UNSUPPORTED);
    assert_int_equal(splat_trainer_load_checkpoint(t, ".", &error), SPLAT_ERROR_IO);
    assert_int_equal(splat_trainer_load_checkpoint(t, "absent", &error), SPLAT_ERROR_IO);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* ---------------------------------------------------------------- models */

static void a_model_is_read_without_its_optimizer(void **state)
{
    (void)state;
    tiny_place p = open_tiny(1);
    for (int half = 0; half < 2; half++) {
        splat_train_options o = tiny_options(60);
        splat_error error;
        splat_model *model;
        splat_memory_info before, after;
        o.sh_storage = half ? SPLAT_SH_FLOAT16 : SPLAT_SH_FLOAT32;
        o.kernel_size = 0.2f;
        splat_trainer *t = tiny_trainer(&p, &o);
        run_steps(t, 30);
        save_as(t, "a.splatsmith", "a.ply");
        splat_trainer_destroy(t);
        splat_context_get_memory(p.context, &before);
        must(splat_model_load(p.context, "a.splatsmith", &model, &error), &error);
        splat_context_get_memory(p.context, &after);
        splat_model_info info;
        splat_model_get_info(model, &info);
        assert_true(info.has_filter_3d && info.render_mode == SPLAT_RENDER_MIP && info.kernel_size == 0.2f);
        size_t used = info.n_gaussians * 4 * (half ? 15 + 23 : 15 + 45); /* the parameters and nothing else */
        assert_int_equal(after.used_bytes - before.used_bytes, used);
        must(splat_model_save(model, "b.ply", NULL, &error), &error);
        assert_true(same_files("a.ply", "b.ply"));
        splat_model_destroy(model);
    }
    close_tiny(&p);
}

static void a_damaged_model_is_refused(void **state)
{
    (void)state;
    tiny_place p = open_tiny(1);
    splat_error error;
    splat_model *model;
    splat_trainer_destroy(make_small(&p, "good.splatsmith"));
    uint8_t *data;
    size_t size, taken = 0;
    must(splat_file_read("good.splatsmith", &data, &size, &error), &error);
    for (size_t at = 0; at < size; at += 3) {
        data[at] ^= 4;
        fixture_bytes("bad.splatsmith", data, size);
        data[at] ^= 4;
        if (splat_model_load(p.context, "bad.splatsmith", &model, &error) != SPLAT_OK) continue;
        splat_model_destroy(model); /* the byte belongs to the optimizer */
        taken++;
    }
    assert_true(taken > 0 && taken < size / 3 / 2);
    free(data);
    for (hostile = 0; hostile < 5; hostile++) {
        rewrite("good.splatsmith", "bad.splatsmith", make_hostile);
        assert_int_equal(splat_model_load(p.context, "bad.splatsmith", &model, &error), SPLAT_ERROR_FORMAT);
    }
    close_tiny(&p);
}

/* ---------------------------------------------------------------- whole runs */

static splat_run_options run_in(const char *folder)
{
    splat_run_options run;
    splat_run_options_init(&run);
    run.model_path = folder;
    return run;
}

/* An hour has not passed: the interval writes nothing; what is asked for by number comes all the same. */
static void the_interval_waits(void **state)
{
    (void)state;
    static const int numbers[] = {7};
    splat_error error;
    splat_train_options o = tiny_options(20);
    splat_run_options run = run_in("waits");
    run.checkpoint_interval = 5;
    run.checkpoint_iterations = numbers;
    run.n_checkpoint_iterations = 1;
    for (int k = 0; k < 2; k++) {
        splat_folder_delete("waits", NULL);
        run.checkpoint_seconds = k ? 3600 : 1e-9;
        tiny_place p = open_tiny(1);
        splat_trainer *t = tiny_trainer(&p, &o);
        must(splat_trainer_run(t, &run, &error), &error);
        splat_trainer_destroy(t);
        close_tiny(&p);
        assert_true(splat_path_exists("waits/chkpnt7.splatsmith"));
        assert_int_equal(splat_path_exists("waits/chkpnt15.splatsmith"), k == 0);
        assert_int_equal(splat_path_exists("waits/chkpnt20.splatsmith"), k == 0);
    }
}

/* The newest is damaged: the one before is taken, and said so; temporaries go; the interval's files stay two. */
static void latest_falls_back(void **state)
{
    (void)state;
    splat_error error;
    splat_folder_delete("run", NULL);
    splat_train_options o = tiny_options(40);
    splat_run_options run = run_in("run");
    run.checkpoint_interval = 6;
    tiny_place p = open_tiny(1);
    splat_trainer *t = tiny_trainer(&p, &o);
    must(splat_trainer_run(t, &run, &error), &error);
    splat_trainer_destroy(t);
    assert_true(splat_path_exists("run/chkpnt30.splatsmith") && splat_path_exists("run/chkpnt36.splatsmith"));
    assert_false(splat_path_exists("run/chkpnt24.splatsmith"));
    assert_true(splat_file_write("kept.ply", "", 0, &error) == SPLAT_OK &&
                rename("run/point_cloud/iteration_40/point_cloud.ply", "kept.ply") == 0);

    assert_int_equal(truncate("run/chkpnt36.splatsmith", 3000), 0);
    fixture_bytes("run/chkpnt42.splatsmith.tmp-aB3dEf", "SPLATCK2", 8);
    fixture_bytes("run/point_cloud/iteration_40/point_cloud.ply.tmp-aaaaaa", "ply", 3);
    fixture_bytes("run/notes.tmp-of-mine", "mine", 4);
    run.start_checkpoint = "latest";
    p.log->text[0] = '\0';
    t = tiny_trainer(&p, &o);
    must(splat_trainer_run(t, &run, &error), &error);
    splat_trainer_destroy(t);
    assert_non_null(strstr(p.log->text, "trying the checkpoint before"));
    assert_non_null(strstr(p.log->text, "deleted 2 unfinished files"));
    assert_true(same_files("kept.ply", "run/point_cloud/iteration_40/point_cloud.ply"));
    assert_true(splat_path_exists("run/notes.tmp-of-mine"));
    assert_false(splat_path_exists("run/chkpnt42.splatsmith.tmp-aB3dEf"));
    assert_true(splat_path_exists("run/chkpnt30.splatsmith") && splat_path_exists("run/chkpnt36.splatsmith"));

    o.iterations = 50; /* rolls on over a resume, and leaves what was asked for by number */
    static const int numbers[] = {47};
    run.checkpoint_iterations = numbers;
    run.n_checkpoint_iterations = 1;
    t = tiny_trainer(&p, &o);
    must(splat_trainer_run(t, &run, &error), &error);
    splat_trainer_destroy(t);
    for (int i = 0; i <= 50; i++) {
        char *path = splat_format("run/chkpnt%d.splatsmith", i);
        if (splat_path_exists(path) != (i == 42 || i == 47 || i == 48)) fail_msg("%s should (not) be there", path);
        free(path);
    }
    assert_int_equal(truncate("run/chkpnt48.splatsmith", 3000) | truncate("run/chkpnt47.splatsmith", 30) |
                     truncate("run/chkpnt42.splatsmith", 0), 0);
    t = tiny_trainer(&p, &o);
    assert_int_equal(splat_trainer_run(t, &run, &error), SPLAT_ERROR_FORMAT);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* A photo that turns out to be damaged ends the run in the middle of a step, after a density control: the checkpoint
 * that is saved goes on to the same splat once the photo is back. */
static void an_error_leaves_a_checkpoint(void **state)
{
    (void)state;
    splat_error error;
    uint32_t order[8], epoch = 0;
    splat_train_options o = tiny_options(40);
    o.densify_from_iter = 1;
    o.densification_interval = 3;
    splat_run_options run = run_in("failed");
    splat_folder_delete("broken_scene", NULL);
    splat_folder_delete("failed", NULL);
    tiny_place p = open_tiny_at("broken_scene", 1);
    splat_trainer *t = tiny_trainer(&p, &o);
    must(splat_trainer_run(t, &run, &error), &error);
    assert_true(rename("failed/point_cloud/iteration_40/point_cloud.ply", "kept.ply") == 0);
    splat_folder_delete("failed", NULL);
    /* the view of iteration 7, the first after a density control that grew */
    const splat_dataset *dataset = &p.scene->dataset;
    const char *photo = dataset->views[dataset->train[splat_schedule_view(0, 8, 7, order, &epoch)]].path;
    char *kept = splat_format("%s.kept", photo), *path = strdup(photo);
    splat_trainer_destroy(t);
    close_tiny(&p);
    assert_int_equal(rename(path, kept), 0);
    uint8_t *png;
    size_t size;
    must(splat_file_read(kept, &png, &size, &error), &error);
    /* A whole file of damaged data: only decoding it finds the damage. */
    for (size_t i = size / 2; i < size / 2 + 16; i++) png[i] ^= 0x5a;
    fixture_bytes(path, png, size);
    free(png);

    p = open_tiny_at("broken_scene", 1);
    t = tiny_trainer(&p, &o);
    assert_int_equal(splat_trainer_run(t, &run, &error), SPLAT_ERROR_FORMAT);
    assert_int_equal(splat_trainer_get_iteration(t), 6);
    assert_non_null(strstr(p.log->text, "the state after iteration 6 is saved"));
    splat_tensor_reader file;
    must(splat_tensor_reader_open(&file, "failed/chkpnt6.splatsmith", &error), &error);
    assert_true(json_is_true(json_object_get(file.header, "density_control_done")));
    splat_tensor_reader_close(&file);
    splat_trainer_destroy(t);
    close_tiny(&p);

    assert_int_equal(rename(kept, path), 0);
    p = open_tiny_at("broken_scene", 1);
    t = tiny_trainer(&p, &o);
    run.start_checkpoint = "latest";
    const char *model_path = run.model_path;
    run.model_path = "never_made";
    assert_int_equal(splat_trainer_run(t, &run, &error), SPLAT_ERROR_IO);
    assert_non_null(strstr(error.message, "no such model folder"));
    assert_false(splat_path_exists("never_made"));
    run.model_path = model_path;
    must(splat_trainer_run(t, &run, &error), &error);
    assert_true(same_files("kept.ply", "failed/point_cloud/iteration_40/point_cloud.ply"));
    splat_trainer_destroy(t);
    close_tiny(&p);
    free(kept);
    free(path);
}

int main(void)
{
    splat_folder_delete(TINY_SCENE, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(hostile_headers_are_refused),
        cmocka_unit_test(a_model_is_read_without_its_optimizer),
        cmocka_unit_test(a_damaged_model_is_refused),
        cmocka_unit_test(the_interval_waits),
        cmocka_unit_test(latest_falls_back),
        cmocka_unit_test(an_error_leaves_a_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
