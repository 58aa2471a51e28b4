/* Checkpoints: the same run after any number of resumes, other storages, what is refused, what is reported. Damaged
 * files and whole runs are test_checkpoint_files.c, writing under faults test_faults.c, killed runs test_kill.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "checkpoint_fixture.h"

#include <math.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the same run */

/* From iteration 900, so that the first SH band joins at 1000. */
static splat_train_options long_options(void)
{
    splat_train_options o = tiny_options(400);
    o.iterations = 1300;
    o.densify_from_iter = 905;
    o.densify_until_iter = 1200;
    o.sh_degree = 1;
    return o;
}

static splat_trainer *start_at_900(const tiny_place *p, const splat_train_options *o)
{
    splat_error error;
    splat_trainer *t = tiny_trainer(p, o);
    if (!splat_path_exists("start.ply"))
        must(splat_model_save(splat_trainer_get_model(t), "start.ply", NULL, &error), &error);
    must(splat_trainer_load_model(t, "start.ply", 900, &error), &error);
    return t;
}

static void resumed_runs_are_the_same_run(void **state)
{
#ifdef SPLATSMITH_SANITIZED
    enum { FIRST_STORAGES = 1, LEAST_THREADS = 2 }; /* everything takes several times as long */
#else
    enum { FIRST_STORAGES = 0, LEAST_THREADS = 1 };
#endif
    (void)state;
    resumed_run run = {.options = long_options(), .n_steps = 400, .begin = start_at_900};
    for (int storages = FIRST_STORAGES; storages < 2; storages++) {
        set_storages(&run.options, storages ? N_STORAGES - 1 : 0);
        assert_true(run_whole(&run, 2) > 250);
        for (int threads = LEAST_THREADS; threads <= 2; threads++)
            assert_resumed_at_random(&run, threads, (unsigned)(7 * threads + storages), 70);
    }
}

/* Around every event: each of the first 60 iterations is a place to stop. */
static void any_iteration_can_be_resumed(void **state)
{
    (void)state;
    tiny_place p = open_tiny(1);
    splat_train_options o = tiny_options(60);
    splat_error error;
    splat_trainer *whole = tiny_trainer(&p, &o), *resumed = tiny_trainer(&p, &o);
    run_steps(whole, 60);
    save_as(whole, "whole.splatsmith", "whole.ply");
    splat_trainer_destroy(whole);
    for (int stop = 0; stop < 60; stop++) { /* a step, and everything again from a file */
        run_steps(resumed, 1);
        must(splat_trainer_save_checkpoint(resumed, "part.splatsmith", &error), &error);
        run_steps(resumed, stop % 3); /* what is replaced may be further on */
        must(splat_trainer_load_checkpoint(resumed, "part.splatsmith", &error), &error);
    }
    save_as(resumed, "part.splatsmith", "part.ply");
    assert_parts_are_the_whole();
    splat_trainer_destroy(resumed);
    close_tiny(&p);
}

/* ---------------------------------------------------------------- other storages and degrees */

static float *floats_of(const char *path, const char *name, size_t *n)
{
    splat_tensor_reader file;
    splat_error error;
    must(splat_tensor_reader_open(&file, path, &error), &error);
    const splat_tensor_entry *e = splat_tensor_reader_find(&file, name);
    assert_non_null(e);
    float *values = malloc(e->bytes + 1);
    must(splat_tensor_reader_read(&file, e, 0, values, e->bytes, &error), &error);
    *n = e->bytes / 4;
    splat_tensor_reader_close(&file);
    return values;
}

/* Loads `from` into a trainer with the options, which saves `to`. */
static void pass_on(const tiny_place *p, const splat_train_options *o, const char *from, const char *to)
{
    splat_error error;
    splat_trainer *t = tiny_trainer(p, o);
    must(splat_trainer_load_checkpoint(t, from, &error), &error);
    must(splat_trainer_save_checkpoint(t, to, &error), &error);
    run_steps(t, 3); /* and it goes on */
    splat_trainer_destroy(t);
}

/* Largest |a - b| of a tensor of two files, over the largest |a|. */
static double worst_difference(const char *a, const char *b, const char *name)
{
    size_t na, nb;
    float *x = floats_of(a, name, &na), *y = floats_of(b, name, &nb);
    double most = 0, worst = 0;
    assert_int_equal(na, nb);
    for (size_t i = 0; i < na; i++) {
        most = fmax(most, fabs((double)x[i]));
        worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
    }
    free(x);
    free(y);
    assert_true(most > 0);
    return worst / most;
}

static void storages_convert_to_the_nearest(void **state)
{
    (void)state;
    tiny_place p = open_tiny(1);
    splat_train_options o = long_options(), small;
    splat_trainer *t = start_at_900(&p, &o);
    splat_error error;
    run_steps(t, 130); /* past 1000: the first band has moved */
    must(splat_trainer_save_checkpoint(t, "wide.splatsmith", &error), &error);
    splat_trainer_destroy(t);
    small = o;
    small.sh_storage = SPLAT_SH_FLOAT16;
    small.optimizer_storage = SPLAT_OPTIMIZER_QUANTIZED;
    p.log->text[0] = '\0';
    pass_on(&p, &small, "wide.splatsmith", "small.splatsmith");
    assert_non_null(strstr(p.log->text, "`sh_storage` was float32, is float16"));
    assert_non_null(strstr(p.log->text, "`optimizer_storage` was float32, is quantized"));
    pass_on(&p, &o, "small.splatsmith", "back.splatsmith");
    /* Half a unit in the last place: 2^-11 of a value; 2^-8 of m; 2^-9 of sqrt(v), which is twice that of v. Of 8 bits,
     * half a step at the top: 1 / 127 for m, and 2 / 255 for v. */
    assert_true(worst_difference("wide.splatsmith", "back.splatsmith", "means") == 0);
    assert_true(worst_difference("wide.splatsmith", "back.splatsmith", "filter_3d") == 0);
    assert_true(worst_difference("wide.splatsmith", "back.splatsmith", "sh_rest") <= 1.01 / 2048);
    assert_true(worst_difference("wide.splatsmith", "back.splatsmith", "adam_m.means") <= 1.01 / 256);
    assert_true(worst_difference("wide.splatsmith", "back.splatsmith", "adam_v.scales") <= 1.01 / 256);
    assert_true(worst_difference("wide.splatsmith", "back.splatsmith", "adam_m.sh_rest") <= 1.01 / 127);
    assert_true(worst_difference("wide.splatsmith", "back.splatsmith", "adam_v.sh_rest") <= 2.02 / 255);
    /* what a small storage holds goes through a wide one without a change */
    pass_on(&p, &small, "back.splatsmith", "again.splatsmith");
    assert_true(same_checkpoints("small.splatsmith", "again.splatsmith"));
    close_tiny(&p);
}

static void sh_degree_goes_down_only(void **state)
{
    (void)state;
    tiny_place p = open_tiny(1);
    splat_train_options o = long_options();
    splat_error error;
    o.sh_degree = 2;
    unlink("start.ply");
    splat_trainer *t = start_at_900(&p, &o);
    run_steps(t, 130);
    must(splat_trainer_save_checkpoint(t, "high.splatsmith", &error), &error);
    splat_trainer_destroy(t);
    unlink("start.ply");
    for (int quantized = 0; quantized < 2; quantized++) {
        set_storages(&o, quantized ? N_STORAGES - 1 : 0);
        o.sh_degree = 1;
        pass_on(&p, &o, "high.splatsmith", "low.splatsmith");
        o.sh_degree = 0;
        pass_on(&p, &o, "low.splatsmith", "none.splatsmith");
        if (quantized) continue;
        static const char *const names[] = {"sh_rest", "adam_m.sh_rest", "adam_v.sh_rest"};
        for (int k = 0; k < 3; k++) {
            size_t n_high, n_low;
            float *high = floats_of("high.splatsmith", names[k], &n_high);
            float *low = floats_of("low.splatsmith", names[k], &n_low);
            assert_int_equal(n_high / 24, n_low / 9);
            for (size_t i = 0; i < n_low / 9; i++) assert_memory_equal(high + 24 * i, low + 9 * i, 9 * sizeof *low);
            free(high);
            free(low);
        }
    }
    assert_non_null(strstr(p.log->text, "`sh_degree` was 2, is 1"));
    o.sh_degree = 1;
    t = tiny_trainer(&p, &o);
    assert_int_equal(splat_trainer_load_checkpoint(t, "none.splatsmith", &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "`sh_degree 0`"));
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* ---------------------------------------------------------------- what changed, what cannot */

static int count_lines(const char *text)
{
    int n = 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

static void changes_are_listed(void **state)
{
    (void)state;
    tiny_place p = open_tiny(1);
    splat_train_options o = tiny_options(60);
    splat_error error;
    splat_trainer *t = tiny_trainer(&p, &o);
    must(splat_trainer_save_checkpoint(t, "a.splatsmith", &error), &error);
    must(splat_trainer_load_checkpoint(t, "a.splatsmith", &error), &error);
    assert_string_equal(p.log->text, ""); /* nothing changed */
    splat_trainer_destroy(t);
    o.lambda_dssim = 0.5f;
    o.random_background = false;
    o.max_gaussians = SIZE_MAX;
    t = tiny_trainer(&p, &o);
    must(splat_trainer_load_checkpoint(t, "a.splatsmith", &error), &error);
    assert_non_null(strstr(p.log->text, "`lambda_dssim` was 0.2, is 0.5\n"));
    assert_non_null(strstr(p.log->text, "`random_background` was True, is False\n"));
    assert_non_null(strstr(p.log->text, "`max_gaussians` was 0, is 18446744073709551615\n"));
    assert_int_equal(count_lines(p.log->text), 3);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* The state before the first step, as a.splatsmith. */
static void save_beginning(const tiny_place *p, const splat_train_options *o)
{
    splat_error error;
    splat_trainer *t = tiny_trainer(p, o);
    must(splat_trainer_save_checkpoint(t, "a.splatsmith", &error), &error);
    splat_trainer_destroy(t);
}

static void assert_refused(const char *checkpoint, const splat_scene_options *scene_options, uint64_t seed,
                           const char *reason)
{
    splat_error error;
    splat_context *context = open_cpu(0);
    splat_scene *scene;
    must(splat_scene_open(context, scene_options, &scene, &error), &error);
    splat_train_options o = tiny_options(60);
    o.seed = seed;
    splat_trainer *t = new_trainer(context, scene, &o);
    assert_int_equal(splat_trainer_load_checkpoint(t, checkpoint, &error), SPLAT_ERROR_ARGUMENT);
    if (!strstr(error.message, reason)) fail_msg("'%s' does not say '%s'", error.message, reason);
    assert_string_equal(error.file, checkpoint);
    close_training(context, scene, t);
}

static void another_scene_is_refused(void **state)
{
    (void)state;
    tiny_place p = open_tiny(1);
    splat_train_options o = tiny_options(60);
    save_beginning(&p, &o);
    make_tiny_scene("moved", p.context, 50, 5);
    close_tiny(&p);
    splat_scene_options scene;
    splat_scene_options_init(&scene);
    scene.source_path = TINY_SCENE;
    assert_refused("a.splatsmith", &scene, 1, "`seed 0`");
    scene.resolution = 2;
    assert_refused("a.splatsmith", &scene, 0, "has 32x24 pixels and had 64x48");
    scene.resolution = -1;
    scene.eval = true;
    assert_refused("a.splatsmith", &scene, 0, "7 of them now, and 8 then");
    scene.eval = false;
    scene.source_path = "moved";
    assert_refused("a.splatsmith", &scene, 0, "other training views");
}

/* ---------------------------------------------------------------- the published trainers' */

static void published_checkpoints_are_taken(void **state)
{
    (void)state;
    const char *source = getenv("SPLATSMITH_SOURCE");
    char *path = splat_format("%s/tests/golden/torch_checkpoint.pth", source ? source : ".");
    tiny_place p = open_tiny(1);
    splat_train_options o = tiny_options(2000);
    splat_error error;
    size_t n;
    o.sh_degree = 2;
    splat_trainer *t = tiny_trainer(&p, &o);
    assert_int_equal(splat_trainer_load_checkpoint(t, path, &error), SPLAT_ERROR_ARGUMENT); /* it has degree 1 */
    splat_trainer_destroy(t);
    o.sh_degree = 1;
    t = tiny_trainer(&p, &o);
    must(splat_trainer_load_checkpoint(t, path, &error), &error);
    assert_int_equal(splat_trainer_get_iteration(t), 1234);
    must(splat_trainer_save_checkpoint(t, "torch.splatsmith", &error), &error);
    /* tests/golden/make_torch_golden.py: ramps of step 0.25 */
    float *values = floats_of("torch.splatsmith", "means", &n);
    assert_true(n == 6 && values[0] == 1.0f && values[5] == 2.25f);
    free(values);
    values = floats_of("torch.splatsmith", "sh_rest", &n);
    assert_true(n == 18 && values[0] == 3.0f && values[17] == 7.25f);
    free(values);
    values = floats_of("torch.splatsmith", "statistics.grad", &n);
    assert_true(n == 2 && values[0] == 20.0f && values[1] == 20.25f);
    free(values);
    values = floats_of("torch.splatsmith", "adam_m.means", &n); /* three steps with the gradient 1 */
    assert_true(n == 6 && fabsf(values[0] - 0.271f) < 1e-6f);
    free(values);
    values = floats_of("torch.splatsmith", "filter_3d", &n);
    assert_true(n == 2 && values[0] > 0);
    free(values);
    splat_tensor_reader file;
    must(splat_tensor_reader_open(&file, "torch.splatsmith", &error), &error);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(file.header, "adam_steps"), "opacities")), 3);
    assert_true(json_is_true(json_object_get(file.header, "density_control_done")));
    splat_tensor_reader_close(&file);
    assert_non_null(strstr(p.log->text, "does not say which scene"));
    splat_trainer_destroy(t);
    close_tiny(&p);
    free(path);
}

int main(void)
{
    splat_folder_delete(TINY_SCENE, NULL);
    splat_folder_delete("moved", NULL);
    unlink("start.ply");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resumed_runs_are_the_same_run),    cmocka_unit_test(any_iteration_can_be_resumed),
        cmocka_unit_test(storages_convert_to_the_nearest),  cmocka_unit_test(sh_degree_goes_down_only),
        cmocka_unit_test(changes_are_listed),               cmocka_unit_test(another_scene_is_refused),
        cmocka_unit_test(published_checkpoints_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
