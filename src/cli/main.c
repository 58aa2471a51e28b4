/* splatsmith: photos in, a Gaussian splat out. The command line over the library. */
#include "cli.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_notices(const cli_values *values)
{
    for (size_t i = 0; i < cli_n_options; i++)
        if (values->given[i] && cli_options[i].group == CLI_GROUP_IGNORED)
            cli_notice("--%s has no effect: %s", cli_options[i].name, cli_options[i].help);
}

static int run_command(const cli_command *command, int argc, char **argv)
{
    static cli_values values; /* large for a stack */
    cli_values_init(&values);
    values.command_line = argv;
    if (!cli_parse(&values, command, argc - 2, argv + 2)) return CLI_USAGE;
    if (values.help) {
        cli_print_help(stdout, command);
        return CLI_OK;
    }
    cli_set_quiet(values.quiet);
    print_notices(&values);
    return command->run(&values);
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        cli_print_help(stderr, NULL);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        cli_print_help(stdout, NULL);
        return CLI_OK;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("splatsmith %s\n", splat_version());
        return CLI_OK;
    }
    const cli_command *command = cli_find_command(argv[1]);
    if (!command) {
        cli_unknown_command(argv[1]);
        return CLI_USAGE;
    }
    return run_command(command, argc, argv);
}

/* The threads of a step wait for each other a hundred times. GNU's OpenMP lets them spin for that, which on a processor
 * that other programs use too takes the time from the very thread they wait for: ten times fewer steps a second were
 * measured (docs/performance.md). It reads how long to spin before main runs, so the program starts itself once more.
 * Whoever sets one of the variables keeps it. By its real path: started as /proc/self/exe it would be "exe" in ps, top
 * and killall. */
static void wait_without_spinning(char **argv)
{
    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY")) return;
    if (setenv("GOMP_SPINCOUNT", "2000", 1) != 0) return;
    char path[CLI_PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) return; /* no /proc */
    path[length] = '\0';
    execv(path, argv);
    execv("/proc/self/exe", argv); /* the file was moved or deleted meanwhile */
}

int main(int argc, char **argv)
{
    wait_without_spinning(argv);
    int code = run(argc, argv);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == CLI_OK) {
        cli_error("the standard output could not be written");
        code = CLI_FAILED;
    }
    return code;
}
