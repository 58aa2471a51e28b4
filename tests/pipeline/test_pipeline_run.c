/* splat_pipeline_run: the files of the command, results as a struct, stops and resumed runs, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline_fixture.h"
#include "splatsmith/pipeline.h"

#include <jansson.h>
#include <math.h>

static splat_error error;

/* ---------------------------------------------------------------- a run with the words of the fixture */

#define MAX_SETTINGS 48

/* The reports that a test receives from a run, and the moment at which it asks for a stop. */
typedef struct listener {
    char text[1 << 16]; /* messages, a line each */
    char stages[256];   /* of progress: each once, with spaces after them */
    int n_progress, last_iteration;
    bool is_wrong;         /* a fraction outside of [0, 1], or an empty text */
    const char *stop_at;   /* a stage: progress returns false there; NULL: never */
    const char *stop_when; /* a part of a message: asks `stop` for a stop then; NULL: never */
    splat_stop *stop;
    const splat_pipeline_options *again; /* a second run of the same folder from a message; NULL: none */
    splat_status status_again;
} listener;

static listener heard;

static void on_message(void *user, splat_pipeline_message kind, const char *text)
{
    listener *l = user;
    size_t used = strlen(l->text);
    assert_in_range(kind, SPLAT_PIPELINE_RESULT, SPLAT_PIPELINE_ERROR);
    snprintf(l->text + used, sizeof l->text - used, "%s\n", text);
    if (l->stop_when && strstr(text, l->stop_when)) splat_stop_request(l->stop, SIGTERM);
    if (!l->again) return;
    const splat_pipeline_options *again = l->again;
    l->again = NULL;
    l->status_again = splat_pipeline_run(again, NULL, NULL, &error);
}

static bool on_progress(void *user, const splat_pipeline_progress *progress)
{
    listener *l = user;
    char word[32];
    snprintf(word, sizeof word, "%s ", progress->stage);
    if (!strstr(l->stages, word)) strncat(l->stages, word, sizeof l->stages - strlen(l->stages) - 1);
    l->n_progress++;
    if (progress->iteration) l->last_iteration = progress->iteration;
    l->is_wrong = l->is_wrong || !(progress->fraction >= 0 && progress->fraction <= 1) || !progress->text[0] ||
                  !progress->activity[0];
    return !l->stop_at || strcmp(l->stop_at, progress->stage) != 0;
}

static splat_pipeline_callbacks listen(const char *stop_at, const char *stop_when)
{
    splat_pipeline_callbacks callbacks;
    heard = (listener){.stop_at = stop_at, .stop_when = stop_when};
    splat_pipeline_callbacks_init(&callbacks);
    callbacks.user = &heard;
    callbacks.message = on_message;
    callbacks.progress = on_progress;
    callbacks.interval = 0;
    return callbacks;
}

/* The options of make_base, and one more setting (NULL: none). Texts live until the next call. */
static splat_pipeline_options options_of(const char *folder, const char *name, const char *value)
{
    static splat_pipeline_setting settings[MAX_SETTINGS];
    static char words[4096];
    splat_pipeline_options options;
    make_base();
    read_text("small.txt", words, sizeof words);
    splat_pipeline_options_init(&options);
    options.source = "scene";
    options.folder = folder;
    options.settings = settings;
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        if (strncmp(word, "--", 2) == 0)
            settings[options.n_settings++] = (splat_pipeline_setting){word + 2, NULL};
        else
            settings[options.n_settings - 1].value = word;
    }
    if (name) settings[options.n_settings++] = (splat_pipeline_setting){name, value};
    assert_in_range(options.n_settings, 10, MAX_SETTINGS);
    return options;
}

#define HEARD(part)                                                                                                    \
    do {                                                                                                               \
        if (!strstr(heard.text, part)) fail_msg("no \"%s\" in:\n%s", part, heard.text);                                \
    } while (0)

static void assert_states(const splat_pipeline_result *result, const char *wanted)
{
    char states[256] = "";
    for (size_t i = 0; i < result->n_stages; i++) {
        size_t used = strlen(states);
        snprintf(states + used, sizeof states - used, "%s%s: %s", i ? ", " : "", result->stages[i].name,
                 splat_pipeline_state_name(result->stages[i].state));
    }
    assert_string_equal(states, wanted);
}

static void assert_results_of_base(const char *folder)
{
    static const char *const files[] = {TRAIN_PLY,      COARSE_PLY,          MESH_PLY,
                                        "/refined.ply", "/refined_mesh.ply", "/textured.glb"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char a[256], b[256];
        snprintf(a, sizeof a, "base%s", files[i]);
        snprintf(b, sizeof b, "%s%s", folder, files[i]);
        assert_same_file(a, b);
    }
}

/* ---------------------------------------------------------------- the files of the command */

/* The settings and inputs that a stage was made with. */
static json_t *records_of(const char *folder, const char *stage)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s/stage.json", folder, stage);
    json_t *root = json_load_file(path, 0, NULL);
    assert_non_null(root);
    json_t *records = json_pack("{s:O, s:O}", "settings", json_object_get(root, "settings"), "inputs",
                                json_object_get(root, "inputs"));
    json_decref(root);
    return records;
}

static void assert_same_records(const char *folder)
{
    static const char *const stages[] = {"train", "coarse", "mesh", "refine", "texture"};
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        json_t *a = records_of("base", stages[i]), *b = records_of(folder, stages[i]);
        if (!json_equal(a, b)) fail_msg("%s has other records:\n%s\n%s", stages[i], json_dumps(a, 0), json_dumps(b, 0));
        json_decref(a);
        json_decref(b);
    }
}

static void the_files_are_those_of_the_command(void **state)
{
    (void)state;
    static splat_pipeline_result result;
    splat_pipeline_options options = options_of("function", NULL, NULL);
    splat_pipeline_callbacks callbacks = listen(NULL, NULL);
    must(splat_pipeline_run(&options, &callbacks, &result, &error), &error);
    sh_ok("(cd base && find . | sort) > base.txt; (cd function && find . | sort) > function.txt; "
          "diff base.txt function.txt");
    assert_results_of_base("function");
    assert_same_records("function");
    assert_states(&result, "train: complete, coarse: complete, mesh: complete, refine: complete, texture: complete");
    assert_int_equal(result.n_files, 3);
    assert_string_equal(result.files[0], "function/refined.ply");
    assert_string_equal(result.files[2], "function/textured.glb");
    for (size_t i = 0; i < result.n_stages; i++) {
        const splat_pipeline_stage_info *stage = &result.stages[i];
        assert_true(stage->seconds > 0 && stage->peak_bytes > 0 && stage->summary[0] && exists(stage->path));
        assert_int_equal(!isnan(stage->psnr), i != 2); /* a bare mesh is not measured */
    }
    splat_pipeline_result_free(&result);
    assert_int_equal(result.n_files, 0);
    HEARD("[1/5] train\n");
    HEARD("Trained 400 steps");
    assert_string_equal(heard.stages, "train coarse mesh refine texture ");
    assert_false(heard.is_wrong);
    assert_int_equal(heard.last_iteration, 40);
    PIPELINE(0, "function"); /* the command knows the results of the function */
    SAID("[1/5] train: done before");
    SAID("[5/5] texture: done before");
}

/* The function knows the results of the command. */
static void a_finished_run_is_left_alone(void **state)
{
    (void)state;
    static splat_pipeline_result result;
    copy_base("again");
    sh_ok("touch mark; sleep 0.05");
    splat_pipeline_options options = options_of("again", "threads", "1");
    splat_pipeline_callbacks callbacks = listen(NULL, NULL);
    must(splat_pipeline_run(&options, &callbacks, &result, &error), &error);
    assert_states(&result, "train: done before, coarse: done before, mesh: done before, refine: done before, "
                           "texture: done before");
    assert_int_equal(result.n_files, 3);
    assert_int_equal(heard.n_progress, 0);
    sh_ok("test -z \"$(find again -newer mark -name '*.ply')$(find again -newer mark -name stage.json)\"");
    splat_pipeline_result_free(&result);
}

/* Without callbacks nothing is said, and with them nothing is printed. */
static void nothing_is_printed(void **state)
{
    (void)state;
    copy_base("silent");
    splat_pipeline_options options = options_of("silent", "poisson_depth", "7");
    fflush(NULL);
    const int output = dup(STDOUT_FILENO), errors = dup(STDERR_FILENO);
    const int file = open("printed.txt", O_CREAT | O_TRUNC | O_WRONLY, 0666);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    splat_status status = splat_pipeline_run(&options, NULL, NULL, &error);
    fflush(NULL);
    dup2(output, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    close(output);
    close(errors);
    close(file);
    must(status, &error);
    assert_different_file("base" MESH_PLY, "silent" MESH_PLY);
    sh_ok("test ! -s printed.txt");
}

/* ---------------------------------------------------------------- stops */

static void a_stopped_training_goes_on(void **state)
{
    (void)state;
    static splat_pipeline_result result;
    splat_pipeline_options options = options_of("stopped", NULL, NULL);
    splat_pipeline_callbacks callbacks = listen("train", NULL);
    assert_int_equal(splat_pipeline_run(&options, &callbacks, &result, &error), SPLAT_ERROR_STOPPED);
    assert_states(&result, "train: stopped, coarse: waiting, mesh: waiting, refine: waiting, texture: waiting");
    assert_int_equal(result.n_files, 0);
    assert_int_equal(heard.n_progress, 1); /* a caller that stopped is not asked again */
    assert_true(file_contains("stopped/pipeline.json", "\"exit_code\": 130"));
    assert_true(exists_like("stopped/train/chkpnt*.splatsmith"));
    splat_pipeline_result_free(&result);

    callbacks = listen(NULL, NULL);
    must(splat_pipeline_run(&options, &callbacks, &result, &error), &error);
    HEARD("[1/5] train: goes on from its last checkpoint");
    assert_null(strstr(heard.text, "runs again"));
    assert_results_of_base("stopped");
    assert_int_equal(result.stages[0].state, SPLAT_PIPELINE_COMPLETE);
    splat_pipeline_result_free(&result);
}

static void another_thread_may_stop_a_stage(void **state)
{
    (void)state;
    static splat_pipeline_result result;
    copy_base("meshless");
    sh_ok("rm -rf meshless/mesh");
    splat_pipeline_options options = options_of("meshless", NULL, NULL);
    splat_pipeline_callbacks callbacks = listen(NULL, "[3/5] mesh");
    must(splat_stop_create(&callbacks.stop, &error), &error);
    heard.stop = callbacks.stop;
    assert_int_equal(splat_pipeline_run(&options, &callbacks, &result, &error), SPLAT_ERROR_STOPPED);
    assert_states(&result, "train: done before, coarse: done before, mesh: stopped, refine: waiting, "
                           "texture: waiting");
    assert_true(file_contains("meshless/pipeline.json", "\"exit_code\": 143")); /* 128 + SIGTERM */
    assert_true(exists("meshless/textured.glb"));                               /* of the run before */
    splat_pipeline_result_free(&result);
    splat_stop_destroy(callbacks.stop);

    callbacks = listen(NULL, NULL);
    must(splat_pipeline_run(&options, &callbacks, NULL, &error), &error);
    HEARD("[4/5] refine: done before");
    assert_results_of_base("meshless");
}

/* ---------------------------------------------------------------- what is refused */

static void assert_refused(splat_pipeline_options options, splat_status wanted, const char *part)
{
    static splat_pipeline_result result;
    splat_pipeline_callbacks callbacks = listen(NULL, NULL);
    memset(&error, 0, sizeof error);
    assert_int_equal(splat_pipeline_run(&options, &callbacks, &result, &error), wanted);
    if (!strstr(error.message, part)) fail_msg("no \"%s\" in \"%s\"", part, error.message);
    splat_pipeline_result_free(&result);
}

static void assert_setting_refused(const char *name, const char *value, const char *part)
{
    assert_refused(options_of("refused", name, value), SPLAT_ERROR_ARGUMENT, part);
    assert_false(exists("refused"));
}

static void mistakes_in_settings(void **state)
{
    (void)state;
    assert_setting_refused("poisson_dept", "6", "no option 'poisson_dept'; did you mean `poisson_depth`?");
    assert_setting_refused("poisson_depth", "deep", "`poisson_depth`");
    assert_setting_refused("poisson_depth", "99", "`poisson_depth`");
    assert_setting_refused("texture_size", NULL, "`texture_size` needs a value");
    assert_setting_refused("test_iterations", "50 many", "`test_iterations`");
    assert_setting_refused("output", "elsewhere", "`output` is no setting of splat_pipeline_run");
    assert_setting_refused("start_checkpoint", "latest", "no option 'start_checkpoint'");
}

static void mistakes_of_the_caller(void **state)
{
    (void)state;
    splat_pipeline_options options = options_of("refused", NULL, NULL);
    options.source = NULL;
    assert_refused(options, SPLAT_ERROR_ARGUMENT, "needs a source and a folder");
    options = options_of("", NULL, NULL);
    assert_refused(options, SPLAT_ERROR_ARGUMENT, "needs a source and a folder");
    options = options_of("refused", NULL, NULL);
    options.size = 0;
    assert_refused(options, SPLAT_ERROR_ARGUMENT, "splat_pipeline_options");
    assert_false(exists("refused"));
}

static void folders_that_cannot_be_used(void **state)
{
    (void)state;
    splat_pipeline_options options = options_of("refused", NULL, NULL);
    options.source = "absent";
    assert_refused(options, SPLAT_ERROR_IO, "cannot open the scene absent");
    assert_false(exists("refused"));
    sh_ok("mkdir -p empty");
    options.source = "empty";
    options.folder = "of_empty";
    assert_refused(options, SPLAT_ERROR_FORMAT, "");
    assert_false(exists("of_empty/train/point_cloud"));
    write_text("file", "no folder");
    options = options_of("file/out", NULL, NULL);
    assert_refused(options, SPLAT_ERROR_IO, "cannot create the folder file");
    sh_ok("mkdir -p mine && touch mine/notes.txt");
    options = options_of("mine", NULL, NULL);
    assert_refused(options, SPLAT_ERROR_ARGUMENT, "mine holds something else");
    sh_ok("test \"$(ls mine)\" = notes.txt");
}

static void one_run_at_a_time(void **state)
{
    (void)state;
    copy_base("busy");
    splat_pipeline_options options = options_of("busy", NULL, NULL);
    splat_pipeline_callbacks callbacks = listen(NULL, NULL);
    heard.again = &options;
    heard.status_again = SPLAT_OK;
    must(splat_pipeline_run(&options, &callbacks, NULL, &error), &error);
    assert_int_equal(heard.status_again, SPLAT_ERROR_IO);
}

int main(void)
{
    sh_ok("rm -rf base scene function again silent stopped meshless refused empty of_empty file mine busy");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_files_are_those_of_the_command),
        cmocka_unit_test(a_finished_run_is_left_alone),
        cmocka_unit_test(nothing_is_printed),
        cmocka_unit_test(a_stopped_training_goes_on),
        cmocka_unit_test(another_thread_may_stop_a_stage),
        cmocka_unit_test(mistakes_in_settings),
        cmocka_unit_test(mistakes_of_the_caller),
        cmocka_unit_test(folders_that_cannot_be_used),
        cmocka_unit_test(one_run_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
