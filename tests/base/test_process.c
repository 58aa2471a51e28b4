/* Other programs: what they are given, what comes back, and that nothing of them stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct heard {
    char text[3][4096];
    size_t n[3];
    bool (*stop_when)(const struct heard *heard);
} heard;

static bool hear(void *user, int stream, const char *bytes, size_t n)
{
    heard *h = user;
    assert_in_range(stream, 1, 2);
    for (size_t i = 0; i < n; i++, h->n[stream]++)
        if (h->n[stream] + 1 < sizeof h->text[0]) h->text[stream][h->n[stream]] = bytes[i];
    return !h->stop_when || !h->stop_when(h);
}

static splat_status shell(const char *script, heard *h, splat_process_end *end)
{
    const char *const words[] = {"sh", "-c", script, NULL};
    const char *const environment[] = {"SPLAT_TEST=one two", "HOME=/nowhere", NULL};
    const splat_process process = {words, environment, hear, NULL, h};
    splat_error error;
    *h = (heard){.stop_when = h->stop_when};
    return splat_process_run(&process, end, &error);
}

static size_t n_open_files(void)
{
    DIR *stream = opendir("/proc/self/fd");
    size_t n = 0;
    if (!stream) return 0;
    while (readdir(stream)) n++;
    closedir(stream);
    return n;
}

static void both_streams_and_the_exit_code_come_back(void **state)
{
    (void)state;
    heard h = {0};
    splat_process_end end;
    size_t before = n_open_files();
    assert_int_equal(shell("echo out; echo err >&2; exit 7", &h, &end), SPLAT_OK);
    assert_string_equal(h.text[1], "out\n");
    assert_string_equal(h.text[2], "err\n");
    assert_int_equal(end.exit_code, 7);
    assert_int_equal(end.signal, 0);
    assert_int_equal(n_open_files(), before);
}

/* Without the standard streams, as in a daemon, a pipe's end may have the number 3. */
static void closed_standard_streams_leave_no_file_open(void **state)
{
    (void)state;
    heard h = {0};
    splat_process_end end;
    int kept[3];
    size_t before = n_open_files();
    for (int i = 0; i < 3; i++) {
        kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 16);
        close(i);
    }
    splat_status status = shell("echo out", &h, &end);
    for (int i = 0; i < 3; i++) {
        dup2(kept[i], i);
        close(kept[i]);
    }
    assert_int_equal(status, SPLAT_OK);
    assert_string_equal(h.text[1], "out\n");
    assert_int_equal(n_open_files(), before);
}

static void words_reach_the_program_as_they_are(void **state)
{
    (void)state;
    const char *const words[] = {"printf", "%s|", "a b", "$HOME `id` \"'*", "", NULL};
    heard h = {0};
    const splat_process process = {words, NULL, hear, NULL, &h};
    splat_process_end end;
    splat_error error;
    assert_int_equal(splat_process_run(&process, &end, &error), SPLAT_OK);
    assert_string_equal(h.text[1], "a b|$HOME `id` \"'*||");
}

static void the_environment_is_ours_with_additions(void **state)
{
    (void)state;
    heard h = {0};
    splat_process_end end;
    setenv("SPLAT_KEPT", "kept", 1);
    assert_int_equal(shell("echo $SPLAT_TEST $SPLAT_KEPT $HOME; env | grep -c ^HOME=", &h, &end), SPLAT_OK);
    assert_string_equal(h.text[1], "one two kept /nowhere\n1\n");
}

static void a_signal_is_told(void **state)
{
    (void)state;
    heard h = {0};
    splat_process_end end;
    assert_int_equal(shell("kill -9 $$", &h, &end), SPLAT_OK);
    assert_int_equal(end.signal, SIGKILL);
    assert_int_equal(end.exit_code, -1);
}

/* This program and its tests ignore SIGPIPE; the programs that it starts must not. */
static void input_is_empty_and_signals_are_usual(void **state)
{
    (void)state;
    heard h = {0};
    splat_process_end end;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(shell("cat; kill -13 $$; echo survived", &h, &end), SPLAT_OK);
    assert_string_equal(h.text[1], "");
    assert_int_equal(end.signal, SIGPIPE);
}

static void it_inherits_three_files(void **state)
{
    (void)state;
    const char *const words[] = {"ls", "/proc/self/fd", NULL};
    heard h = {0};
    const splat_process process = {words, NULL, hear, NULL, &h};
    splat_process_end end;
    splat_error error;
    if (!splat_path_exists("/proc/self/fd")) skip();
    for (int i = 3; i < 256; i++) fcntl(i, F_SETFD, FD_CLOEXEC); /* descriptors that the caller of the tests left
                                                                    open */
    assert_int_equal(splat_process_run(&process, &end, &error), SPLAT_OK);
    assert_string_equal(h.text[1], "0\n1\n2\n3\n"); /* 3: the folder that ls reads */
}

/* Nobody can wait for children then, and 0 is not what the program ended with. */
static void an_unknown_end_is_an_error(void **state)
{
    (void)state;
    heard h = {0};
    splat_process_end end;
    signal(SIGCHLD, SIG_IGN);
    splat_status status = shell("exit 3", &h, &end);
    signal(SIGCHLD, SIG_DFL);
    assert_int_equal(status, SPLAT_ERROR_IO);
    assert_int_equal(end.exit_code, -1);
}

static void much_output_on_both_streams_does_not_block(void **state)
{
    (void)state;
    heard h = {0};
    splat_process_end end;
    assert_int_equal(shell("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; head -c 5 /dev/zero", &h, &end),
                     SPLAT_OK);
    assert_int_equal(h.n[1], 3000005);
    assert_int_equal(h.n[2], 3000000);
}

static void what_cannot_be_started_is_an_error(void **state)
{
    (void)state;
    static const char *const bad[] = {"no-such-program-anywhere", "./absent", "/", "./plain"};
    heard h = {0};
    splat_process_end end;
    splat_error error;
    size_t before = n_open_files();
    assert_int_equal(splat_file_write("plain", "x", 1, &error), SPLAT_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *const words[] = {bad[i], NULL};
        const splat_process process = {words, NULL, hear, NULL, &h};
        assert_int_equal(splat_process_run(&process, &end, &error), SPLAT_ERROR_IO);
        assert_non_null(strstr(error.message, bad[i]));
    }
    assert_int_equal(splat_file_write("broken", "#!/no/such/interpreter\n", 23, &error), SPLAT_OK);
    assert_int_equal(chmod("broken", 0755), 0);
    const char *const words[] = {"./broken", NULL};
    const splat_process process = {words, NULL, hear, NULL, &h};
    assert_int_equal(splat_process_run(&process, &end, &error), SPLAT_ERROR_IO); /* exec itself fails */
    assert_non_null(strstr(error.message, "start the program"));
    assert_int_equal(n_open_files(), before);
}

static bool has_line(const heard *h)
{
    return memchr(h->text[1], '\n', h->n[1]) != NULL;
}

static bool is_alive(pid_t process)
{
    return kill(process, 0) == 0;
}

/* The program and what it started go, within the patience for those that do not listen. */
static void stop(const char *script, double least_s, double most_s)
{
    heard h = {.stop_when = has_line};
    splat_process_end end;
    int first, second;
    double begin = splat_clock_seconds();
    assert_int_equal(shell(script, &h, &end), SPLAT_ERROR_STOPPED);
    double seconds = splat_clock_seconds() - begin;
    assert_int_equal(sscanf(h.text[1], "%d %d", &first, &second), 2);
    assert_false(is_alive(first));
    for (int i = 0; i < 100 && is_alive(second); i++) usleep(10000); /* its new parent may reap it late */
    assert_false(is_alive(second));
    if (seconds < least_s || seconds > most_s) fail_msg("stopping took %.1f s", seconds);
}

static void stopping_ends_all_that_it_started(void **state)
{
    (void)state;
    stop("sleep 600 & echo $$ $!; wait", 0, 4);
}

static void stopping_ends_what_does_not_listen(void **state)
{
    (void)state;
    stop("trap '' TERM; sleep 600 & echo $$ $!; while :; do sleep 1; done", 4, 12);
}

static int n_ticks;
static bool tick_five(void *user)
{
    (void)user;
    return ++n_ticks < 5;
}

static void a_silent_program_is_stopped_by_the_tick(void **state)
{
    (void)state;
    const char *const words[] = {"sleep", "600", NULL};
    const splat_process process = {words, NULL, NULL, tick_five, NULL};
    splat_process_end end;
    splat_error error;
    double begin = splat_clock_seconds();
    assert_int_equal(splat_process_run(&process, &end, &error), SPLAT_ERROR_STOPPED);
    assert_int_equal(end.signal, SIGTERM);
    assert_true(splat_clock_seconds() - begin < 4);
}

/* A program that leaves another one behind, with its pipes, has ended all the same. */
static void a_child_that_stays_does_not_hold_us(void **state)
{
    (void)state;
    heard h = {0};
    splat_process_end end;
    double begin = splat_clock_seconds();
    assert_int_equal(shell("sleep 20 & echo done", &h, &end), SPLAT_OK);
    assert_string_equal(h.text[1], "done\n");
    assert_true(splat_clock_seconds() - begin < 10);
}

/* A child that never stops to write must not hold us either, and goes with the group. */
static void a_child_that_keeps_talking_does_not_hold_us(void **state)
{
    (void)state;
    heard h = {0};
    splat_process_end end;
    int child;
    double begin = splat_clock_seconds();
    assert_int_equal(shell("(trap '' PIPE; while :; do echo talk 2>/dev/null; done) & "
                           "echo $! >&2; echo done >&2; exit 3", &h, &end), SPLAT_OK);
    assert_true(splat_clock_seconds() - begin < 4);
    assert_int_equal(end.exit_code, 3);
    assert_int_equal(sscanf(h.text[2], "%d", &child), 1);
    assert_non_null(strstr(h.text[2], "done\n"));
    for (int i = 0; i < 100 && is_alive(child); i++) usleep(10000);
    assert_false(is_alive(child));
}

/* A program that hangs is given up, with its question and the time. */
static void an_answer_is_not_waited_for_without_end(void **state)
{
    (void)state;
    static const char *const words[] = {"sleep", "100", NULL};
    splat_process_end end;
    splat_error error;
    char *text;
    const double begin = splat_clock_seconds();
    assert_int_equal(splat_process_ask(words, NULL, 0.3, NULL, NULL, &text, &end, &error), SPLAT_ERROR_IO);
    assert_null(text);
    assert_string_equal(error.message,
                        "sleep has not answered 'sleep 100' for 0.3 s and was ended; try that in a terminal");
    assert_true(splat_clock_seconds() - begin < 10);
}

/* The program's last output is read to its end, even if the pipe was full when it ended. */
static void the_last_words_come_back(void **state)
{
    (void)state;
    heard h = {0};
    splat_process_end end;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(shell("sleep 5 & head -c 60000 /dev/zero", &h, &end), SPLAT_OK);
        assert_int_equal(h.n[1], 60000);
    }
}

/* This program may be killed where it cannot end what it started; the system must do it, also to a program that
 * ignores SIGTERM. */
static void a_killed_parent_takes_the_program_along(void **state)
{
    (void)state;
    int program = 0;
    unlink("pid");
    pid_t parent = fork();
    if (parent == 0) {
        heard h = {0};
        splat_process_end end;
        shell("trap '' TERM; echo $$ >pid.new; mv pid.new pid; while :; do sleep 0.1; done", &h, &end);
        _exit(0);
    }
    for (int i = 0; i < 500 && !splat_path_exists("pid"); i++) usleep(10000);
    FILE *in = fopen("pid", "r");
    assert_non_null(in);
    assert_int_equal(fscanf(in, "%d", &program), 1);
    fclose(in);
    kill(parent, SIGKILL);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    for (int i = 0; i < 300 && is_alive(program); i++) usleep(10000);
    bool survived = is_alive(program);
    kill(program, SIGKILL);
    assert_false(survived);
}

static char collected[4096];
static bool collect(void *user, const char *text)
{
    (void)user;
    assert_true(strlen(collected) + strlen(text) + 2 < sizeof collected);
    strcat(strcat(collected, text), "|");
    return strcmp(text, "stop") != 0;
}

static void pieces_become_lines(void **state)
{
    (void)state;
    static const char text[] = "one\ntwo\r\n\nthree\rfour";
    for (size_t piece = 1; piece < sizeof text; piece++) {
        splat_lines lines = {0};
        collected[0] = '\0';
        for (size_t at = 0; at < sizeof text - 1; at += piece) {
            size_t left = sizeof text - 1 - at;
            assert_true(splat_lines_add(&lines, text + at, left < piece ? left : piece, collect, NULL));
        }
        assert_true(splat_lines_add(&lines, NULL, 0, collect, NULL));
        splat_lines_free(&lines);
        assert_string_equal(collected, "one|two|three|four|");
    }
    splat_lines lines = {0};
    collected[0] = '\0';
    assert_false(splat_lines_add(&lines, "a\nstop\nb\n", 9, collect, NULL));
    splat_lines_free(&lines);
    assert_string_equal(collected, "a|stop|");
}

static size_t longest;
static bool measure(void *user, const char *text)
{
    (void)user;
    if (strlen(text) > longest) longest = strlen(text);
    return true;
}

static void a_line_without_end_is_cut(void **state)
{
    (void)state;
    splat_lines lines = {0};
    char bytes[1000];
    memset(bytes, 'x', sizeof bytes);
    longest = 0;
    for (int i = 0; i < 200; i++) assert_true(splat_lines_add(&lines, bytes, sizeof bytes, measure, NULL));
    assert_true(splat_lines_add(&lines, "\n", 1, measure, NULL));
    splat_lines_free(&lines);
    assert_in_range(longest, 60000, 65536);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_streams_and_the_exit_code_come_back),
        cmocka_unit_test(closed_standard_streams_leave_no_file_open),
        cmocka_unit_test(words_reach_the_program_as_they_are),
        cmocka_unit_test(the_environment_is_ours_with_additions),
        cmocka_unit_test(a_signal_is_told),
        cmocka_unit_test(input_is_empty_and_signals_are_usual),
        cmocka_unit_test(it_inherits_three_files),
        cmocka_unit_test(an_unknown_end_is_an_error),
        cmocka_unit_test(much_output_on_both_streams_does_not_block),
        cmocka_unit_test(what_cannot_be_started_is_an_error),
        cmocka_unit_test(stopping_ends_all_that_it_started),
        cmocka_unit_test(stopping_ends_what_does_not_listen),
        cmocka_unit_test(a_silent_program_is_stopped_by_the_tick),
        cmocka_unit_test(a_child_that_stays_does_not_hold_us),
        cmocka_unit_test(a_child_that_keeps_talking_does_not_hold_us),
        cmocka_unit_test(an_answer_is_not_waited_for_without_end),
        cmocka_unit_test(the_last_words_come_back),
        cmocka_unit_test(a_killed_parent_takes_the_program_along),
        cmocka_unit_test(pieces_become_lines),
        cmocka_unit_test(a_line_without_end_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
