/* Cameras for photos without any: the library's work, with progress, Ctrl-C, and what is said in the end. */
#include "find_cameras.h"
#include "progress.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- Ctrl-C */

static volatile sig_atomic_t stop_signal; /* the signal that came, 0: none */

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};
#define N_STOP_SIGNALS (sizeof stop_signals / sizeof stop_signals[0])

static void on_signal(int number)
{
    stop_signal = number;
}

static void take_signals(struct sigaction old[N_STOP_SIGNALS])
{
    signal(SIGCHLD, SIG_DFL); /* who started us may have left it ignored, and then no child can be waited for */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    stop_signal = 0;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < N_STOP_SIGNALS; i++) {
        sigaction(stop_signals[i], NULL, &old[i]);
        if (old[i].sa_handler != SIG_IGN) sigaction(stop_signals[i], &action, NULL);
    }
}

static void give_signals_back(const struct sigaction old[N_STOP_SIGNALS])
{
    for (size_t i = 0; i < N_STOP_SIGNALS; i++) sigaction(stop_signals[i], &old[i], NULL);
}

/* ---------------------------------------------------------------- progress */

typedef struct stage_progress {
    cli_counter counter;
    char stage[64];
    double begin, first; /* when the stage began to move, and how far it was then */
} stage_progress;

/* False after a signal. What is left is told from the rate of the stage, once it has moved for some seconds. */
static bool show(void *user, const char *stage, double fraction)
{
    stage_progress *p = user;
    char text[128], left[32];
    double now = cli_seconds();
    if (strcmp(stage, p->stage) != 0 || fraction < p->first) {
        snprintf(p->stage, sizeof p->stage, "%s", stage);
        p->begin = 0;
        p->first = fraction;
    }
    if (p->begin <= 0 && fraction > p->first) {
        p->begin = now;
        p->first = fraction;
    }
    double moved = fraction - p->first, spent = now - p->begin;
    if (p->begin > 0 && moved > 0 && spent > 3)
        snprintf(text, sizeof text, "%s (about %s left)", stage, cli_duration(spent / moved * (1 - fraction), left));
    else
        snprintf(text, sizeof text, "%s", stage);
    cli_counter_show(&p->counter, text, fraction);
    return !stop_signal;
}

/* ---------------------------------------------------------------- the work */

static void say_result(const splat_cameras_info *info, const char *folder, double seconds)
{
    char time_text[32];
    if (info->is_done_before)
        cli_say("cameras: found before for %zu of %zu photo%s: %s", info->n_registered, info->n_photos,
                cli_plural(info->n_photos), folder);
    else
        cli_say("cameras: %zu of %zu photos have them, and %zu points (%s), in %s: %s", info->n_registered,
                info->n_photos, info->n_points, info->camera_model, cli_duration(seconds, time_text), folder);
}

int cli_find_cameras(const splat_line *line, const char *source, const char *folder, splat_cameras_info *info)
{
    splat_cameras_options options = *line->cameras;
    splat_error error;
    struct sigaction old[N_STOP_SIGNALS];
    stage_progress progress = {.counter = cli_counter_start("cameras", 1)};
    double begin = cli_seconds();
    options.source = source;
    options.folder = folder;
    options.images = line->scene->images;
    options.threads = line->machine->context.threads;
    options.progress = show;
    options.progress_user = &progress;
    options.log = cli_log;
    take_signals(old);
    splat_status status = splat_cameras_find(&options, info, &error);
    give_signals_back(old);
    cli_progress_end();
    if (status != SPLAT_OK && status != SPLAT_ERROR_STOPPED) {
        int code = cli_report(&error);
        return stop_signal ? 128 + stop_signal : code; /* the signal may have ended a program that was run */
    }
    if (stop_signal) { /* when it came late, nothing asked */
        cli_notice("%s", status == SPLAT_OK ? "stopped; the same command goes on from here" : error.message);
        return 128 + stop_signal;
    }
    if (status != SPLAT_OK) return cli_report(&error);
    say_result(info, folder, cli_seconds() - begin);
    return CLI_OK;
}

bool cli_needs_cameras(const splat_line *line)
{
    return line->scene->source_path && splat_cameras_are_needed(line->scene->source_path, line->scene->images);
}

bool cli_cameras_folder(const splat_line *line, const char *output, char path[CLI_PATH_MAX])
{
    if (output) return cli_path_join(path, output, "cameras");
    return cli_choose_folder(path, NULL, line->scene->source_path, "_output", "cameras");
}

void cli_take_cameras(splat_line *line, const char *folder)
{
    line->scene->source_path = folder;
    splat_line_forget(line, "images");
}
