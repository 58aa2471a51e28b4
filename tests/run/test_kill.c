/* Runs that are killed with SIGKILL a hundred times and go on: the final bytes are those of the run that nobody killed.
 * 70 kills come from outside, at random moments of `splatsmith train`; 30 hit a run of this program inside a save, at a
 * chosen system call or in the middle of a write (the calls are replaced by the linker, tests/CMakeLists.txt). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "checkpoint_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ITERATIONS 100
#define INTERVAL 7
#define LAST_CHECKPOINT 98
#define KILLS_OUTSIDE 70
#define KILLS_INSIDE 30

/* ---------------------------------------------------------------- the run inside this program */

static int calls_left; /* the call of a save that kills: 1 is the next; 0: none */

ssize_t __real_write(int descriptor, const void *data, size_t size);
int __real_mkostemp(char *path, int flags);
int __real_fsync(int descriptor);
int __real_rename(const char *from, const char *to);
ssize_t __wrap_write(int descriptor, const void *data, size_t size);
int __wrap_mkostemp(char *path, int flags);
int __wrap_fsync(int descriptor);
int __wrap_rename(const char *from, const char *to);

static bool is_last(void)
{
    return calls_left && --calls_left == 0;
}

static void die_if_last(void)
{
    if (is_last()) raise(SIGKILL);
}

ssize_t __wrap_write(int descriptor, const void *data, size_t size)
{
    if (descriptor > STDERR_FILENO && is_last()) {
        if (__real_write(descriptor, data, size / 2) >= 0) raise(SIGKILL);
    }
    return __real_write(descriptor, data, size);
}

int __wrap_mkostemp(char *path, int flags)
{
    int descriptor = __real_mkostemp(path, flags);
    die_if_last(); /* an empty temporary exists */
    return descriptor;
}

int __wrap_fsync(int descriptor)
{
    die_if_last();
    return __real_fsync(descriptor);
}

int __wrap_rename(const char *from, const char *to)
{
    die_if_last();
    int result = __real_rename(from, to);
    die_if_last(); /* the folder is not flushed yet */
    return result;
}

/* victim FOLDER N [latest]: trains and dies at the N-th call of a save. */
static int victim(const char *folder, int n_calls, const char *start)
{
    splat_error error;
    splat_context_options options;
    splat_scene_options scene_options;
    splat_context *context;
    splat_scene *scene;
    splat_trainer *trainer;
    splat_run_options run;
    splat_context_options_init(&options);
    options.backend = "cpu";
    options.threads = 1;
    splat_scene_options_init(&scene_options);
    scene_options.source_path = TINY_SCENE;
    splat_train_options o = tiny_options(ITERATIONS);
    splat_run_options_init(&run);
    run.model_path = folder;
    run.checkpoint_interval = INTERVAL;
    run.start_checkpoint = start;
    if (splat_context_create(&options, &context, &error) != SPLAT_OK ||
        splat_scene_open(context, &scene_options, &scene, &error) != SPLAT_OK ||
        splat_trainer_create(context, scene, &o, &trainer, &error) != SPLAT_OK)
        return 2;
    calls_left = n_calls;
    if (splat_trainer_run(trainer, &run, &error) != SPLAT_OK) {
        fprintf(stderr, "%s (%s)\n", error.message, error.file);
        return 3;
    }
    splat_trainer_destroy(trainer);
    splat_scene_close(scene);
    splat_context_destroy(context);
    return 0;
}

/* ---------------------------------------------------------------- running and killing */

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static pid_t start(const char *const *arguments)
{
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        execv(arguments[0], (char *const *)arguments);
        _exit(127);
    }
    assert_true(child > 0);
    return child;
}

static bool has_checkpoint(const char *folder)
{
    char **names;
    size_t n;
    bool found = false;
    if (splat_folder_list(folder, &names, &n, NULL) != SPLAT_OK) return false;
    for (size_t i = 0; i < n; i++) {
        int number, end = 0;
        found = found || (sscanf(names[i], "chkpnt%d.splatsmith%n", &number, &end) == 1 && end && !names[i][end]);
    }
    splat_names_free(names, n);
    return found;
}

static pid_t start_train(const char *folder)
{
    const char *binary = getenv("SPLATSMITH_BINARY");
    static const char *const fixed[] = {"train",
                                        "-s",
                                        TINY_SCENE,
                                        "--quiet",
                                        "--backend",
                                        "cpu",
                                        "--threads",
                                        "1",
                                        "-n",
                                        "100",
                                        "--checkpoint_interval",
                                        "7",
                                        "--densify_from_iter",
                                        "5",
                                        "--densification_interval",
                                        "10",
                                        "--densify_until_iter",
                                        "75",
                                        "--opacity_reset_interval",
                                        "55",
                                        "--densify_grad_threshold",
                                        "0.0003",
                                        "--target_gaussian_count",
                                        "400",
                                        "--random_background",
                                        "--test_iterations",
                                        "-1",
                                        "-m"};
    const char *arguments[64] = {binary};
    size_t n = 1;
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) arguments[n++] = fixed[i];
    arguments[n++] = folder;
    if (has_checkpoint(folder)) {
        arguments[n++] = "--start_checkpoint";
        arguments[n++] = "latest";
    }
    return start(arguments);
}

static pid_t start_victim(const char *folder, int n_calls)
{
    char number[16];
    snprintf(number, sizeof number, "%d", n_calls);
    const char *latest = has_checkpoint(folder) ? "latest" : NULL;
    const char *const arguments[] = {"/proc/self/exe", "victim", folder, number, latest, NULL};
    return start(arguments);
}

/* Waits; true when the run was killed, false when it ended well. */
static bool was_killed(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return true;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("a run ended with status %x", (unsigned)status);
    return false;
}

static void assert_same_result(const char *folder, const char *reference)
{
    static const char *const names[] = {"point_cloud/iteration_100/point_cloud.ply",
                                        "point_cloud/iteration_100/point_cloud_fused.ply", "chkpnt91.splatsmith",
                                        "chkpnt98.splatsmith", "cameras.json", "input.ply", "split.json"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *a = splat_format("%s/%s", folder, names[i]), *b = splat_format("%s/%s", reference, names[i]);
        if (!same_files(a, b)) fail_msg("%s is not the same", a);
        free(a);
        free(b);
    }
    char **files;
    size_t n, n_checkpoints = 0;
    splat_error error;
    must(splat_folder_list(folder, &files, &n, &error), &error);
    for (size_t i = 0; i < n; i++) {
        if (strstr(files[i], ".tmp-")) fail_msg("%s/%s is left", folder, files[i]);
        n_checkpoints += strncmp(files[i], "chkpnt", 6) == 0;
    }
    assert_int_equal(n_checkpoints, 2); /* over all kills no more than two are kept */
    splat_names_free(files, n);
}

/* A point of the curves for every tenth step, whatever was killed between: each checkpoint has those before it. */
static void assert_whole_history(const char *folder)
{
    uint8_t *text;
    size_t size;
    splat_error error;
    char *path = splat_format("%s/history.jsonl", folder);
    must(splat_file_read(path, &text, &size, &error), &error);
    int wanted = 10, iteration;
    for (char *line = strtok((char *)text, "\n"); line; line = strtok(NULL, "\n")) {
        if (strstr(line, "\"set\"")) continue; /* an evaluation */
        assert_int_equal(sscanf(line, "{\"iteration\":%d", &iteration), 1);
        if (iteration != wanted) fail_msg("%s goes from %d to %d", path, wanted - 10, iteration);
        wanted += 10;
    }
    assert_int_equal(wanted, ITERATIONS + 10);
    free(text);
    free(path);
}

static unsigned random_state = 12345;
static unsigned next_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

static void wait_seconds(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&t, NULL);
}

static void kills_at_random_moments(void **state)
{
    (void)state;
    int n_kills = 0, n_runs = 0, n_alive = 0;
    splat_folder_delete("whole", NULL);
    splat_folder_delete("killed", NULL);
    double begin = now_seconds();
    assert_false(was_killed(start_train("whole")));
    double whole = now_seconds() - begin;
    while (n_kills < KILLS_OUTSIDE) {
        pid_t child = start_train("killed");
        /* short ones hit the start and its files, long ones the steps and saves; four to six kills a run */
        wait_seconds(whole * 0.4 * (double)(next_random() % 1000) / 1000);
        kill(child, SIGKILL);
        if (was_killed(child)) {
            n_kills++;
            n_alive += has_checkpoint("killed");
            continue;
        }
        assert_same_result("killed", "whole");
        assert_whole_history("killed");
        splat_folder_delete("killed", NULL);
        n_runs++;
    }
    assert_false(was_killed(start_train("killed")));
    assert_same_result("killed", "whole");
    assert_whole_history("killed");
    print_message("%d kills over %d runs of %.2f s, %d of them with a checkpoint to go on from\n", n_kills, n_runs + 1,
                  whole, n_alive);
    assert_true(n_alive >= 10);
}

static void kills_inside_saves(void **state)
{
    (void)state;
    int n_kills = 0, n_runs = 0;
    splat_folder_delete("whole", NULL);
    splat_folder_delete("killed", NULL);
    assert_false(was_killed(start_victim("whole", 0)));
    while (n_kills < KILLS_INSIDE) {
        /* a run makes some 35 calls before its first checkpoint, and 15 for each */
        if (was_killed(start_victim("killed", 1 + (int)(next_random() % 90)))) {
            n_kills++;
            continue;
        }
        assert_same_result("killed", "whole");
        splat_folder_delete("killed", NULL);
        n_runs++;
    }
    assert_false(was_killed(start_victim("killed", 0)));
    assert_same_result("killed", "whole");
    print_message("%d kills inside saves over %d runs\n", n_kills, n_runs + 1);
}

static int set_up(void **state)
{
    (void)state;
    tiny_place p = open_tiny(1);
    close_tiny(&p);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc >= 4 && strcmp(argv[1], "victim") == 0) return victim(argv[2], atoi(argv[3]), argc > 4 ? argv[4] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kills_at_random_moments),
        cmocka_unit_test(kills_inside_saves),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
