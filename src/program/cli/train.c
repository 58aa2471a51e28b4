/* A training on the command line: Ctrl-C, how to look at the result, and the viewer that stays. */
#include "train.h"

#include "paths.h"
#include "session.h"

#include "progress.h"
#include "ranks.h"
#include "signals.h"
#include "viewer.h"

#include <stdlib.h>
#include <string.h>

/* How to look at the result of `train`. */
static void print_view(const splat_training *t)
{
    const bool has_splat = t->report.saved[0] || t->report.checkpoint[0];
    if (!has_splat || strcmp(splat_training_name(t), "train") != 0) return;
    char program[] = "splatsmith", view[] = "view", option[] = "-m", *path = strdup(t->model_path);
    char *text = path ? cli_command_text((char *[]){program, view, option, path, NULL}) : NULL;
    if (text) cli_say("  look at it   %s", text);
    free(text);
    free(path);
}

static int run(splat_training *t, const splat_line *line)
{
    splat_error error;
    const bool is_worker = splat_ranks_is_worker(line);
    splat_status status = splat_training_run(t, line, &error);
    if (t->has_run && (status == SPLAT_OK || status == SPLAT_ERROR_STOPPED)) print_view(t);
    int code = cli_end(status, &error);
    if (is_worker) return code;
    splat_training_tell_end(t, line, status);
    if (status == SPLAT_OK) cli_viewer_stay(line, t->report.viewer);
    return code;
}

int cli_train(const splat_line *line, splat_training_begin *begin, splat_training_finish *finish)
{
    splat_error error;
    splat_training *t;
    splat_status status = splat_training_create(line, &t, &error);
    if (status != SPLAT_OK) return cli_report(&error);
    status = begin(t, line, &error);
    cli_signals_begin();
    int code = status == SPLAT_OK ? run(t, line) : cli_report(&error);
    cli_signals_end();
    if (code == CLI_OK && finish) finish(t);
    if (!t->trainer) cli_ranks_fail(line->train->ranks, code); /* with one, the others know */
    splat_training_destroy(t, line);
    return code;
}
