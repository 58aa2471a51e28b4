/* The program when an allocation fails: no signal ends it, and what it cannot do it calls a matter of memory. The
 * malloc of fixtures/failing_malloc.c is preloaded, so every allocation of the process can fail, once or from then on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "cli_fixture.h"
#include "failing_malloc.h"

/* Words of one command; the folders it writes are in "out". */
typedef struct command {
    const char *words[16];
} command;

static const command commands[] = {
    {{"info"}},
    {{"train", "-s", "scene", "-m", "out", "--eval", "--iterations", "2", "--test_iterations", "2", "--delete_first",
      "--profile_tensors", "--profile_interval", "1"}},
    {{"eval", "-m", "model"}},
    {{"render", "-m", "model", "--skip_train", "-o", "out"}},
    {{"export", "-m", "model", "-o", "out.ply"}},
    {{"export", "--ply", "four.spz", "-o", "out.ply"}},
    {{"export", "--ply", "model.sog", "-o", "out.ply"}},
    {{"contact-sheet", "-m", "model", "-o", "out.png"}},
    {{"plan", "-s", "scene", "--vram_limit", "1G"}},
    {{"profile", "model"}},
    {{"mesh-report", "mesh.obj"}},
};

static int run_failing(const command *c, long k, bool all)
{
    char number[24];
    splat_folder_delete("out", NULL);
    char *words[17] = {getenv("SPLATSMITH_BINARY")};
    for (size_t i = 0; i < 15 && c->words[i]; i++) words[i + 1] = (char *)(uintptr_t)c->words[i];
    snprintf(number, sizeof number, "%ld", k);
    setenv("SPLATSMITH_FAIL_ALLOCATION", number, 1);
    if (all) setenv("SPLATSMITH_FAIL_ALL", "1", 1);
    setenv("LD_PRELOAD", getenv("SPLATSMITH_FAILING_MALLOC"), 1);
    pid_t child = start(words);
    unsetenv("LD_PRELOAD");
    unsetenv("SPLATSMITH_FAIL_ALLOCATION");
    unsetenv("SPLATSMITH_FAIL_ALL");
    return finish(child);
}

static int n_wrong;

/* Allocations 1, 2, 3, ... and then fewer, until a run does not reach its last. */
static void fail_each(const command *c, bool all)
{
    long k = 1, n = 0, n_failed = 0;
    for (;; k += 1 + k / 12, n++) {
        int code = run_failing(c, k, all);
        bool memory = strstr(standard_error, "memory") || strstr(standard_output, "memory");
        if (code != 0 && (code > 2 || !memory)) {
            print_message("%s, allocation %ld%s: exit code %d\n%s", c->words[0], k, all ? " and all later" : "", code,
                          standard_error);
            n_wrong++;
        }
        n_failed += code != 0;
        if (strstr(standard_error, FAILING_MALLOC_NOT_REACHED)) break;
    }
    assert_int_equal(run_failing(c, 1L << 40, false), 0);
    print_message("%s: about %ld allocations; of %ld that failed%s, %ld ended the command\n", c->words[0], k, n,
                  all ? " with all later ones" : "", n_failed);
    assert_true(n > 10);
}

static void every_command_survives(void **state)
{
    (void)state;
    if (!getenv("SPLATSMITH_FAILING_MALLOC")) {
        print_message("SKIPPED: commands without memory: this is a build with AddressSanitizer, or run by hand\n");
        return;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        const char *splat = commands[i].words[2]; /* absent where its library is */
        if (splat && strcmp(commands[i].words[1], "--ply") == 0 && !splat_path_exists(splat)) continue;
        for (int all = 0; all < 2; all++) fail_each(&commands[i], all);
    }
    assert_int_equal(n_wrong, 0);
}

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(system("rm -rf scene model out four.spz model.sog"), 0);
    RUN_OUT(0, NULL, "sample", "scene", "--width", "48", "--height", "32", "--cameras", "6", "--points", "60",
            "--truth_points", "20", "--supersample", "1");
    RUN_OUT(0, NULL, "train", "-s", "scene", "-m", "model", "--eval", "--iterations", "2", "--profile_tensors",
            "--profile_interval", "1");
    (void)run("export", "-m", "model", "-o", "four.spz", "--spz_version", "4", NULL);
    (void)run("export", "-m", "model", "-o", "model.sog", NULL);
    write_text("mesh.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_command_survives)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}
