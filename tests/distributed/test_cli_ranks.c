/* mpirun -n R splatsmith train: the files of one process, one voice, a rank that is killed, a run that is stopped, and
 * what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_ranks_fixture.h"

#include <dirent.h>

/* Matching photos for a dense start takes half of the time of all trainings here: one pair does it. */
#define TRAIN "train -s scene --backend cpu --eval --tensorboard False --report False --dense_start False"

/* ---------------------------------------------------------------- the same files */

/* Threads and processes write the same bytes, also from each other's checkpoints. Rank 0 alone prints and writes. */
static void processes_write_what_threads_write(void **state)
{
    (void)state;
    static const char *const common =
        "-n 130 --densify_from_iter 20 --densification_interval 20 --densify_until_iter 100 "
        "--densify_grad_threshold 0.0001 --test_iterations 60 --save_iterations 60 --checkpoint_iterations 90";
    if (!mpirun_command(2)) skip();
    for (int n = 2; n <= 3; n++) {
        char folder[32], once[64], saved[128], same[128], options[300];
        snprintf(folder, sizeof folder, "many%d", n);
        snprintf(options, sizeof options, "%s%s", common, n == 2 ? " --dense_start True" : "");
        assert_int_equal(shell("rm -rf threads; %% " TRAIN " -m threads %s --gpus %d", options, n), 0);
        if (shell("rm -rf %s; %s %% " TRAIN " -m %s %s", folder, mpirun_command(n), folder, options) != 0)
            fail_msg("%d processes: %s", n, standard_error);
        assert_int_equal(n_times(standard_output, "[ITER 60] Evaluating test"), 1);
        assert_int_equal(n_times(standard_output, "Output folder"), 1);
        snprintf(once, sizeof once, "%d ranks of this host decode each photo once", n);
        assert_int_equal(n_times(standard_output, once) + n_times(standard_error, once), 1);
        assert_int_equal(n_times(standard_output, "Trained 130 steps"), 1);
        for (int i = 60; i <= 130; i += 70) {
            snprintf(saved, sizeof saved, "threads/point_cloud/iteration_%d/point_cloud.ply", i);
            snprintf(same, sizeof same, "%s/point_cloud/iteration_%d/point_cloud.ply", folder, i);
            must_be_same_file(saved, same);
        }
        assert_int_equal(shell("rm -rf rest; cp -r %s rest && rm -r rest/point_cloud && %% " TRAIN " -m rest %s "
                               "--gpus %d --start_checkpoint rest/chkpnt9?.splatsmith", folder, options, n), 0);
        must_be_same_file("threads/point_cloud/iteration_130/point_cloud.ply",
                          "rest/point_cloud/iteration_130/point_cloud.ply");
        assert_int_equal(shell("rm -rf rest; cp -r threads rest && rm -r rest/point_cloud && %s %% " TRAIN " -m rest "
                               "%s --start_checkpoint rest/chkpnt9?.splatsmith", mpirun_command(n), options), 0);
        must_be_same_file("threads/point_cloud/iteration_130/point_cloud.ply",
                          "rest/point_cloud/iteration_130/point_cloud.ply");
        /* one goes on alone from what several left */
        assert_int_equal(shell("rm -rf rest; cp -r %s rest && rm -r rest/point_cloud && %% " TRAIN " -m rest %s "
                               "--start_checkpoint rest/chkpnt9?.splatsmith", folder, options), 0);
        assert_true(exists("rest/point_cloud/iteration_130/point_cloud.ply"));
    }
}

/* Exposures of photos, which rank 0 writes. */
static void processes_find_the_exposures_of_threads(void **state)
{
    (void)state;
    static const char *const options = "-n 40 --exposure";
    if (!mpirun_command(2)) skip();
    assert_int_equal(shell("rm -rf threads; %% " TRAIN " -m threads %s --gpus 2", options), 0);
    if (shell("rm -rf both; %s %% " TRAIN " -m both %s", mpirun_command(2), options) != 0)
        fail_msg("%s", standard_error);
    must_be_same_file("threads/exposure.json", "both/exposure.json");
    must_be_same_file("threads/point_cloud/iteration_40/point_cloud.ply",
                      "both/point_cloud/iteration_40/point_cloud.ply");
}

/* Rank 0 alone has a page, and the splat is the same. */
static void processes_have_one_viewer(void **state)
{
    (void)state;
    if (!mpirun_command(2)) skip();
    static const char *const options = "-n 40";
    assert_int_equal(shell("rm -rf plain; %s %% " TRAIN " -m plain %s", mpirun_command(2), options), 0);
    if (shell("rm -rf seen; %s %% " TRAIN " -m seen %s --viewer 0 --sibr 0", mpirun_command(2), options) != 0) {
        if (strstr(standard_error, "civetweb")) skip();
        fail_msg("%s", standard_error);
    }
    assert_int_equal(n_times(standard_output, "http://127.0.0.1:"), 1);
    assert_int_equal(n_times(standard_error, "SIBR's viewers:"), 1);
    must_be_same_file("plain/point_cloud/iteration_40/point_cloud.ply",
                      "seen/point_cloud/iteration_40/point_cloud.ply");
}

/* ---------------------------------------------------------------- a rank that goes, a run that is stopped */

/* The process of a rank whose output folder is `folder`; 0: there is none. */
static pid_t process_of(const char *rank, const char *folder)
{
    char path[64], text[65536], wanted[64];
    DIR *processes = opendir("/proc");
    pid_t found = 0;
    snprintf(wanted, sizeof wanted, "OMPI_COMM_WORLD_RANK=%s", rank);
    for (struct dirent *entry; processes && !found && (entry = readdir(processes));) {
        int pid = atoi(entry->d_name);
        if (pid <= 0) continue;
        bool is_ours = false, is_rank = false;
        for (int k = 0; k < 2; k++) {
            snprintf(path, sizeof path, "/proc/%d/%s", pid, k ? "environ" : "cmdline");
            FILE *file = fopen(path, "rb");
            size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
            if (file) fclose(file);
            text[n] = '\0';
            if (k == 0 && n && strstr(text, "mpirun")) break;
            for (size_t at = 0; at < n; at += strlen(text + at) + 1)
                *(k ? &is_rank : &is_ours) |= strcmp(text + at, k ? wanted : folder) == 0;
        }
        if (is_ours && is_rank) found = pid;
    }
    if (processes) closedir(processes);
    return found;
}

/* An endless run of three in `folder`, in the background, once it has written a checkpoint. What mpirun ends
 * has 6 seconds for it: on a busy machine one, its own measure, is short for rank 0 to speak. mpirun waits as long
 * before it passes SIGTERM on, and reads no output meanwhile: a run that printed a line for each of many checkpoints
 * would fill the pipe and wait for ever, so it writes one checkpoint. */
static pid_t start_endless(const char *folder)
{
    char line[2048], checkpoint[64];
    snprintf(line, sizeof line,
             "exec timeout 100 %s --mca odls_base_sigkill_timeout 6 %s " TRAIN " -m %s -n 1000000 "
             "--densify_until_iter 0 --checkpoint_iterations 20 >stdout.txt 2>stderr.txt",
             mpirun_command(3), getenv("SPLATSMITH_BINARY"), folder);
    assert_int_equal(shell("rm -rf %s", folder), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGINT, SIG_DFL); /* a test started in the background inherits "ignore" */
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    snprintf(checkpoint, sizeof checkpoint, "%s/chkpnt*.splatsmith", folder);
    for (int i = 0; i < 600 && !exists_like(checkpoint); i++) usleep(100000);
    assert_true(exists_like(checkpoint));
    return child;
}

static void a_killed_rank_ends_the_run(void **state)
{
    (void)state;
    if (!mpirun_command(3)) skip();
    pid_t child = start_endless("killed"), rank = process_of("1", "killed");
    assert_true(rank > 0);
    assert_int_equal(kill(rank, SIGKILL), 0);
    assert_true(finish(child) != 0);
    assert_int_equal(n_times(standard_error, "splatsmith: error: "), 1);
    assert_non_null(strstr(standard_error, "rank 1: its process has ended without a word"));
    assert_non_null(strstr(standard_error, "the last checkpoint is killed/chkpnt"));
    assert_int_equal(process_of("0", "killed"), 0);
    assert_int_equal(process_of("2", "killed"), 0);
    /* and it can be gone on with */
    assert_int_equal(shell("n=$(ls killed | sed -n 's/^chkpnt\\([0-9]*\\)[.].*/\\1/p' | sort -n | tail -1); "
                           "%% " TRAIN " -m killed -n $((n + 5)) --densify_until_iter 0 --start_checkpoint latest"), 0);
    assert_non_null(strstr(standard_output, "Trained 5 steps"));
}

static void a_stop_saves_what_is_there(void **state)
{
    (void)state;
    if (!mpirun_command(3)) skip();
    pid_t child = start_endless("stopped"), rank = process_of("0", "stopped");
    assert_true(rank > 0);
    assert_int_equal(kill(rank, SIGINT), 0);
    assert_int_equal(finish(child), 130);
    assert_non_null(strstr(standard_error, "stopped at step"));
    assert_non_null(strstr(standard_error, "--start_checkpoint stopped/chkpnt"));
    assert_int_equal(n_times(standard_error, "stopped at step"), 1);
    /* mpirun itself, which passes SIGTERM on and waits */
    child = start_endless("ended");
    rank = process_of("0", "ended");
    assert_int_equal(shell("kill -TERM $(ps -o ppid= -p %d)", (int)rank), 0);
    assert_true(finish(child) != 0);
    assert_true(exists_like("ended/point_cloud/iteration_*/point_cloud.ply"));
}

/* SIGTERM to another rank than 0 does what it does to rank 0. */
static void a_signal_to_any_rank_stops_the_run(void **state)
{
    (void)state;
    if (!mpirun_command(3)) skip();
    pid_t child = start_endless("left"), rank = process_of("2", "left");
    assert_true(rank > 0);
    assert_int_equal(kill(rank, SIGTERM), 0);
    assert_int_equal(finish(child), 128 + SIGTERM);
    assert_int_equal(n_times(standard_error, "stopped at step"), 1);
    assert_non_null(strstr(standard_error, ", as rank 2 was asked to end; --start_checkpoint left/chkpnt"));
    assert_true(exists_like("left/point_cloud/iteration_*/point_cloud.ply"));
}

/* Until the run in the background has written `part` to its standard error. */
static void wait_for_error(const char *part)
{
    for (int i = 0; i < 600 && !file_contains("stderr.txt", part); i++) usleep(100000);
    if (file_contains("stderr.txt", part)) return;
    read_text("stderr.txt", standard_error, sizeof standard_error);
    fail_msg("\"%s\" is not in: %s", part, standard_error);
}

/* All others wait for it. */
static void a_stopped_rank_is_named(void **state)
{
    (void)state;
    char waited[96], answered[96];
    if (!mpirun_command(3)) skip();
    assert_int_equal(setenv("SPLATSMITH_RANK_PATIENCE", "1", 1), 0);
    pid_t child = start_endless("waiting"), rank = process_of("2", "waiting");
    assert_int_equal(unsetenv("SPLATSMITH_RANK_PATIENCE"), 0);
    assert_true(rank > 0);
    snprintf(waited, sizeof waited, "s for rank 2 (process %d on ", (int)rank);
    snprintf(answered, sizeof answered, "rank 2 (process %d on ", (int)rank);
    assert_int_equal(kill(rank, SIGSTOP), 0);
    wait_for_error(waited);
    assert_int_equal(kill(rank, SIGCONT), 0);
    wait_for_error("has answered after");
    assert_int_equal(kill(process_of("0", "waiting"), SIGTERM), 0);
    assert_int_equal(finish(child), 128 + SIGTERM);
    assert_int_equal(n_times(standard_error, waited), 1);
    assert_int_equal(n_times(standard_error, answered), 2);
    assert_null(strstr(standard_error, "more, which is stopped")); /* rank 1 waits, too */
}

/* ---------------------------------------------------------------- what is refused, once */

/* Options of rank 1 of two, and what rank 0 says of them. */
static void ranks_that_differ_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"--lambda_dssim 0.4", "rank 1 trains with another --lambda_dssim than rank 0: 0.4, not 0.3; start all", "2"},
        {"-n 41", "another --iterations than rank 0: 41, not 40", "2"},
        {"--seed 18446744073709551615", "another --seed than rank 0: 18446744073709551615, not 0", "2"},
        {"--strategy mcmc", "another --strategy than rank 0: mcmc, not ", "2"},
        {"-r 2", "another --resolution than rank 0: 2, not -1", "2"},
        {"-w", "another --white_background than rank 0: True, not False", "2"},
        {"-s other", "another number of training photos than rank 0: 11, not 10", "2"},
        {"--no_such_option", "rank 1: unknown option '--no_such_option'", ""},
        {"--gpus 2", "rank 1: --gpus is for one process", ""},
    };
    if (!mpirun_command(1)) skip();
    assert_int_equal(shell("rm -rf other; %% sample other --width 96 --height 80 --cameras 13 --points 500 "
                           "--truth_points 10"), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int code = shell("%s %% " TRAIN " -m out -n 40 : -n 1 %% " TRAIN " -m out -n 40 %s", mpirun_command(1),
                         cases[i][0]);
        const bool is_code = cases[i][2][0] ? code == atoi(cases[i][2]) : code == 1 || code == 2;
        if (!is_code || n_times(standard_error, "splatsmith: error: ") != 1 || !strstr(standard_error, cases[i][1]))
            fail_msg("%s: code %d: %s", cases[i][0], code, standard_error);
    }
    assert_false(exists("out"));
}

static void what_cannot_be_done_is_said_once(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"--gpus 2", "--gpus is for one process", "2"},
        {"--sh_offload", "several ranks cannot train with --sh_offload", "1"},
        {"-s nowhere", "nowhere", "1"},
        {"--no_such_option", "no_such_option", "2"},
    };
    if (!mpirun_command(2)) skip();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int code = shell("%s %% " TRAIN " -m out %s", mpirun_command(2), cases[i][0]);
        if (code != atoi(cases[i][2]) || n_times(standard_error, "splatsmith: error: ") != 1 ||
            !strstr(standard_error, cases[i][1]))
            fail_msg("%s: code %d: %s", cases[i][0], code, standard_error);
    }
    assert_false(exists("out"));
}

/* A view each: one set of files, the same splat from any launch, and lists of iterations inside a batch. */
static void each_has_a_view_of_its_own(void **state)
{
    (void)state;
    static const char *const options = "-n 90 --densify_until_iter 0 --test_iterations 50 --save_iterations 50 "
                                       "--checkpoint_interval 35";
    if (shell("rm -rf threads; %% " TRAIN " -m threads %s --gpus 3", options) != 0) fail_msg("%s", standard_error);
    assert_int_equal(n_times(standard_output, "Evaluating test"), 2);
    assert_int_equal(n_times(standard_output, "Trained 90 steps"), 1);
    assert_int_equal(n_times(standard_output, " instances a step, "), 3);
    assert_non_null(strstr(standard_output, "[ITER 51] Evaluating test")); /* 17 batches of 3 */
    assert_true(exists("threads/point_cloud/iteration_51/point_cloud.ply"));
    assert_true(exists("threads/point_cloud/iteration_90/point_cloud.ply"));
    assert_true(exists("threads/chkpnt36.splatsmith") && exists("threads/chkpnt72.splatsmith"));
    if (!mpirun_command(3)) skip();
    if (shell("rm -rf processes; %s %% " TRAIN " -m processes %s", mpirun_command(3), options) != 0)
        fail_msg("%s", standard_error);
    must_be_same_file("threads/point_cloud/iteration_90/point_cloud.ply",
                      "processes/point_cloud/iteration_90/point_cloud.ply");
}

static void a_benchmark_tells_of_the_ranks(void **state)
{
    (void)state;
    static char json[1 << 20];
    int code = shell("rm -rf bench; %% bench run -s scene --backend cpu --eval --gpus 3 --warmup 6 --num_iterations 9 "
                     "--dense_start False -o bench");
    if (code != 0) fail_msg("%s", standard_error);
    assert_non_null(strstr(standard_output, "3.00 views a step: "));
    assert_int_equal(n_times(standard_output, " instances a step, "), 3);
    read_text("bench/training_benchmark_results.json", json, sizeof json);
    assert_non_null(strstr(json, "\"views_a_step\": 3.0"));
    assert_int_equal(n_times(json, "\"exchange_ms\""), 3);
    assert_non_null(strstr(json, "\"gaussians_last\": 500"));
    assert_int_equal(n_times(json, "\"statistics_bytes\""), 3);
}

/* A model folder is measured by one of them. */
static void one_measures_for_all(void **state)
{
    (void)state;
    if (!mpirun_command(2)) skip();
    static const char *const options = "-m measured --eval_only --backend cpu";
    assert_int_equal(shell("rm -rf measured; %% " TRAIN " -m measured -n 20 --gpus 2"), 0);
    assert_int_equal(shell("%% train %s && mv measured/results.json alone.json", options), 0);
    assert_int_equal(shell("%% train %s --gpus 2", options), 0);
    must_be_same_file("alone.json", "measured/results.json");
    assert_int_equal(shell("rm measured/results.json; %s %% train %s", mpirun_command(2), options), 0);
    assert_int_equal(n_times(standard_output, "results.json and per_view.json are in measured"), 1);
    must_be_same_file("alone.json", "measured/results.json");
}

/* Each rank has the limit, as threads and as processes; nothing is given up to go on. */
static void ranks_have_a_memory_limit_each(void **state)
{
    (void)state;
    static const char *const options = "-n 60 --vram_limit 200M --densify_from_iter 10 --densification_interval 10";
    if (shell("rm -rf limited; %% " TRAIN " -m limited %s --gpus 3", options) != 0) fail_msg("%s", standard_error);
    assert_non_null(strstr(standard_output, "Memory: limit 200 MiB on each of 3 ranks; "));
    assert_int_equal(n_times(standard_output, "What growth gives up"), 1);
    assert_null(strstr(standard_output, "are left out"));
    if (!mpirun_command(3)) skip();
    if (shell("rm -rf limits; %s %% " TRAIN " -m limits %s", mpirun_command(3), options) != 0)
        fail_msg("%s", standard_error);
    assert_int_equal(n_times(standard_output, "on each of 3 ranks; "), 1);
    must_be_same_file("limited/point_cloud/iteration_60/point_cloud.ply",
                      "limits/point_cloud/iteration_60/point_cloud.ply");
}

static void gpus_that_cannot_be_had_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"--gpus 0", "--gpus is a number from 1"},
                                           {"--gpus two", "--gpus is a number from 1"},
                                           {"--gpus all", "--gpus all needs GPUs"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(shell("%% " TRAIN " -m out %s", cases[i][0]), 2);
        if (!strstr(standard_error, cases[i][1])) fail_msg("%s: %s", cases[i][0], standard_error);
    }
    assert_int_equal(shell("%% " TRAIN " -m out --gpus 2 --sh_offload"), 1);
    assert_non_null(strstr(standard_error, "several ranks cannot train with --sh_offload"));
    assert_int_equal(shell("%% " TRAIN " -m single -n 3 --gpus 1"), 0);
    assert_false(exists("out"));
}

/* Options of older versions: they are named as such and change nothing. */
static void old_options_are_accepted(void **state)
{
    (void)state;
    assert_int_equal(shell("rm -rf new old; %% " TRAIN " -m new -n 20 --gpus 2"), 0);
    assert_int_equal(shell("%% " TRAIN " -m old -n 20 --gpus 2 --split_views --batch_views"), 0);
    assert_non_null(strstr(standard_error, "--split_views has no effect: several GPUs or processes"));
    assert_non_null(strstr(standard_error, "--batch_views has no effect"));
    must_be_same_file("new/point_cloud/iteration_20/point_cloud.ply", "old/point_cloud/iteration_20/point_cloud.ply");
}

/* The program starts where MPI, or its module, is not. */
static void without_the_module_one_process_trains(void **state)
{
    (void)state;
    assert_int_equal(shell("SPLATSMITH_MPI_MODULE=/nowhere.so %% " TRAIN " -m alone -n 5"), 0);
    if (!mpirun_command(2)) skip();
    assert_int_equal(shell("SPLATSMITH_MPI_MODULE=/nowhere.so %s %% " TRAIN " -m alone -n 5",
                           mpirun_command(2)), 1);
    assert_non_null(strstr(standard_error, "MPI cannot be used: /nowhere.so"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_write_what_threads_write),
        cmocka_unit_test(processes_find_the_exposures_of_threads),
        cmocka_unit_test(processes_have_one_viewer),
        cmocka_unit_test(a_killed_rank_ends_the_run),
        cmocka_unit_test(a_stop_saves_what_is_there),
        cmocka_unit_test(a_signal_to_any_rank_stops_the_run),
        cmocka_unit_test(a_stopped_rank_is_named),
        cmocka_unit_test(ranks_that_differ_are_refused),
        cmocka_unit_test(what_cannot_be_done_is_said_once),
        cmocka_unit_test(each_has_a_view_of_its_own),
        cmocka_unit_test(a_benchmark_tells_of_the_ranks),
        cmocka_unit_test(one_measures_for_all),
        cmocka_unit_test(ranks_have_a_memory_limit_each),
        cmocka_unit_test(gpus_that_cannot_be_had_are_refused),
        cmocka_unit_test(old_options_are_accepted),
        cmocka_unit_test(without_the_module_one_process_trains),
    };
    return cmocka_run_group_tests(tests, make_scene, NULL);
}
