/* splatsmith monitor and train --monitor_csv, seen from outside, with a stand-in for the driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char out[1 << 16];

static void read_output(const char *path)
{
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(out, 1, sizeof out - 1, file) : 0;
    out[n] = '\0';
    if (file) fclose(file);
}

static pid_t start(const char *const *words)
{
    fflush(NULL);
    unlink("out.txt"); /* what is found there is what this program wrote */
    unlink("err.txt");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    signal(SIGINT, SIG_DFL); /* a test started in the background inherits "ignore" */
    alarm(120);
    if (!freopen("out.txt", "w", stdout) || !freopen("err.txt", "w", stderr)) _exit(126);
    execv(getenv("SPLATSMITH_BINARY"), (char *const *)(uintptr_t)words);
    _exit(127);
}

static int finish(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Until the file holds the words; a monitor runs on its own. */
static void wait_for(const char *path, const char *words)
{
    for (int i = 0; i < 2000; i++) {
        read_output(path);
        if (strstr(out, words)) return;
        usleep(10000);
    }
    fail_msg("'%s' did not come: %s", words, out);
}

static void assert_says(const char *words)
{
    if (!strstr(out, words)) fail_msg("'%s' is not in: %s", words, out);
}

static void test_monitor_live(void **state)
{
    char pid[16];
    (void)state;
    setenv("SPLATSMITH_NVML", getenv("SPLATSMITH_FAKE_NVML"), 1);
    unlink("m.csv");
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    const char *const words[] = {"splatsmith", "monitor", "--pid", pid,     "--interval", "0.05",
                                 "--csv",      "m.csv",   "--gpu", "1",     NULL};
    pid_t child = start(words);
    wait_for("m.csv", ",312.5,625.0,62,35,");
    wait_for("out.txt", "Machine");
    kill(child, SIGINT);
    assert_int_equal(finish(child), 0);
    read_output("out.txt");
    assert_says("Fake GPU 1  P2  62 C  312 / 625 W  fan 35 %  PCIe 5 x16  at the power limit");
    assert_says("busy 87 %  memory bus 41 %  clocks 1980 graphics, 1965 SM, 3201 memory MHz");
    assert_says("VRAM     5.6 / 14.9 GiB (38 %)");
    assert_says("Process  ");
    assert_null(strstr(out, "\x1b")); /* no terminal, no drawing */
    read_output("err.txt");
    assert_string_equal(out, "");
}

static void test_monitor_ends_with_process(void **state)
{
    char pid[16];
    (void)state;
    pid_t watched = fork();
    if (watched == 0) {
        alarm(120);
        pause();
        _exit(0);
    }
    snprintf(pid, sizeof pid, "%d", (int)watched);
    const char *const words[] = {"splatsmith", "monitor", "-p", pid, "--interval", "0.02", NULL};
    setenv("SPLATSMITH_NVML", "/no/such/driver.so", 1);
    pid_t child = start(words);
    wait_for("out.txt", "Machine");
    kill(watched, SIGKILL);
    waitpid(watched, NULL, 0);
    assert_int_equal(finish(child), 0);
    read_output("err.txt");
    assert_says("has ended");
    assert_says("only the host is watched, no GPU");
    child = start(words); /* it is gone now */
    assert_int_equal(finish(child), 2);
    read_output("err.txt");
    assert_says("error: there is no process");
}

/* Slow trainings need the digits behind the point, fast ones do not. */
static void check_rate(void)
{
    const char *end = strstr(out, "it/s | "), *begin = end, *point;
    while (begin > out && begin[-1] != ' ') begin--;
    point = memchr(begin, '.', (size_t)(end - begin));
    if (strtod(begin, NULL) < 100)
        assert_true(point && end - point == 3);
    else
        assert_null(point);
}

static void test_train_csv(void **state)
{
    const char *const sample[] = {"splatsmith", "sample",   "scene", "--width", "32",       "--height", "24",
                                  "--cameras",  "4",        "--points", "200",  "--truth_points", "10", NULL};
    const char *const train[] = {"splatsmith", "train", "-s", "scene", "-m", "model", "--iterations", "3",
                                 "--backend",  "cpu",   "--monitor_csv", "t.csv", NULL};
    const char *const bad[] = {"splatsmith", "train", "-s", "scene", "-m", "model", "--iterations", "3",
                               "--monitor_csv", "no/such/t.csv", NULL};
    (void)state;
    int code = system("rm -rf scene model t.csv");
    assert_int_equal(code, 0);
    assert_int_equal(finish(start(sample)), 0);
    assert_int_equal(finish(start(train)), 0);
    read_output("t.csv");
    assert_says("Timestamp,VRAM_GB,");
    assert_non_null(strchr(out, '\n') + 1);
    read_output("err.txt"); /* the line users know */
    assert_says("3/3 | L:0.");
    assert_says(" | RAM:");
    assert_says("it/s | ");
    check_rate();
    assert_says(" | ETA:0s | 200 Gaussians");
    assert_int_equal(finish(start(bad)), 1);
    read_output("err.txt");
    assert_says("no/such/t.csv");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_monitor_live),
                                       cmocka_unit_test(test_monitor_ends_with_process),
                                       cmocka_unit_test(test_train_csv)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
