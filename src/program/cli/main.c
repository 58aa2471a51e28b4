/* splatsmith: photos in, a Gaussian splat out. The command line over the library. */
#include "cli.h"
#include "cmd_docs.h"
#include "parse.h"
#include "paths.h"
#include "progress.h"
#include "ranks.h"
#include "signals.h"
#include "stage/aliases.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int (*const functions[])(splat_line *line) = {
#define COMMAND(bit, function, name, traits, usage, operand, summary, details) cmd_##function,
#include "line/commands.def"
};

/* SuGaR's scripts call a saved iteration -i, which names the folder of the photos here. A number that the model folder
 * has an iteration of is taken as they mean it. */
static void take_images_as_iteration(splat_line *line)
{
    const char *text = line->scene->images;
    const char *folder = line->model->model_path ? line->model->model_path : line->model->gs_output_dir;
    char path[CLI_PATH_MAX];
    int found;
    if (!folder || !splat_line_given(line, "images") || splat_line_given(line, "iteration")) return;
    if (!*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 9) return;
    if (splat_model_find_iteration(folder, atoi(text), path, sizeof path, &found, NULL) != SPLAT_OK) return;
    cli_notice("-i %s is taken as --iteration %s; the folder of the photos is --images", text, text);
    line->model->iteration = found;
    splat_line_forget(line, "images");
}

/* `line` is one of the command that was just made. */
static int run_line(splat_line *line, int argc, char **argv)
{
    const splat_line_command *command = line->command;
    if (!cli_parse(line, argc - 2, argv + 2)) return CLI_USAGE;
    if (line->general->help != SPLAT_LINE_NO_HELP) {
        cli_print_help(stdout, command, line->general->help);
        return CLI_OK;
    }
    /* A write that a limit on the size of files forbids fails, and so does one to a pipe that nobody reads any more:
     * both are reported, and hours of work are saved. */
    signal(SIGXFSZ, SIG_IGN);
    if (!command->prints) signal(SIGPIPE, SIG_IGN);
    cli_set_quiet(line->general->quiet);
    splat_error error;
    if (splat_stage_take_aliases(line, &error) != SPLAT_OK) return cli_report(&error);
    splat_stage_tell_ignored(line);
    take_images_as_iteration(line);
    return functions[command - splat_line_commands](line);
}

static int run_command(const splat_line_command *command, int argc, char **argv)
{
    splat_line line;
    splat_error error;
    if (splat_line_init(&line, command, &error) != SPLAT_OK) return cli_report(&error);
    char *text = cli_command_text(argv); /* not recorded when memory is exhausted */
    line.command_text = text;
    line.talk = cli_talk();
    line.talk->stop = cli_stop();
    int code = run_line(&line, argc, argv);
    splat_line_free(&line);
    free(text);
    return code;
}

static int run_of_ranks(const splat_line_command *command, int argc, char **argv)
{
    cli_ranks_hush();
    int code = run_command(command, argc, argv);
    cli_ranks_fail_early(code);
    return code;
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        cli_print_help(stderr, NULL, SPLAT_LINE_HELP_BASIC);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        cli_print_help(stdout, NULL, SPLAT_LINE_HELP_BASIC);
        return CLI_OK;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("splatsmith %s\n", splat_version());
        return CLI_OK;
    }
    const splat_line_command *command = splat_line_find_command(argv[1]);
    if (!command) {
        cli_unknown_command(argv[1]);
        return CLI_USAGE;
    }
    return cli_ranks_knows(command) ? run_of_ranks(command, argc, argv) : run_command(command, argc, argv);
}

/* The threads of a step wait for each other a hundred times. GNU's OpenMP lets them spin for that, which on a
 * processor that other programs use too takes the time from the very thread they wait for: ten times fewer steps a
 * second were measured (docs/lab/cpu-step.md). It reads the time to spin before main runs, so the program starts
 * itself again. Variables that the user sets remain. The program starts by its real path: as /proc/self/exe its name
 * would be "exe" in ps, top and killall. */
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

/* An output that could not be written is a failure, although the work itself is done. */
static int check_output(int code)
{
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    bool left = poll(&output, 1, 0) > 0 && (output.revents & POLLERR);
    cli_error("the standard output could not be written%s", left ? ": its reader ended before this command" : "");
    return code == CLI_OK ? CLI_FAILED : code;
}

int main(int argc, char **argv)
{
    wait_without_spinning(argv);
    return check_output(run(argc, argv));
}
