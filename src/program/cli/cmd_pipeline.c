/* splatsmith pipeline */
#include "cli.h"
#include "progress.h"
#include "session.h"
#include "signals.h"
#include "stage/folder.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MAX 16384 /* text of an option's value: a full list */

/* ---------------------------------------------------------------- options */

/* Checks the part that only the command line has: the words for the scene and the folder. */
static bool options_agree(const splat_line *line)
{
    const char *name = line->output->experiment_name;
    if (!line->scene->source_path) {
        cli_error(CLI_NO_SCENE);
    } else if (name && (strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)) {
        cli_error("--experiment_name takes the name of a folder without a slash, not '%s'", name);
    } else {
        if (name && line->output->path) cli_notice("--experiment_name has no effect: -o names the folder");
        return true;
    }
    return false;
}

/* -o, or <scene>_output/<experiment name or pipeline>. */
static splat_status choose_folder(const splat_line *line, char path[CLI_PATH_MAX], splat_error *error)
{
    const char *name = line->output->experiment_name ? line->output->experiment_name : "pipeline";
    return splat_stage_choose_folder(path, line->output->path, line->scene->source_path, "_output", name, error);
}

/* The scene, the folder and words for the command line alone. */
static bool is_argument(const char *name)
{
    static const char *const names[] = {"source_path", "output", "experiment_name", "help", "quiet"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

/* True if the run needs the option's value: the command line set it, or main.c did. */
static bool is_set(const splat_line *line, size_t i, char value[VALUE_MAX])
{
    char usual[VALUE_MAX];
    const splat_line_option *option = &splat_line_options[i];
    if (!(option->commands & line->command->bit) || option->group == SPLAT_LINE_GROUP_IGNORED ||
        is_argument(option->name))
        return false;
    splat_line_value_text(option, line, value, VALUE_MAX);
    splat_line_default_text(option, usual, sizeof usual);
    return line->given[i] || (strcmp(option->name, "iteration") == 0 && strcmp(value, usual) != 0);
}

/* The options as settings, in memory of their own. False when it is exhausted. */
static bool fill_settings(const splat_line *line, splat_pipeline_options *options)
{
    char value[VALUE_MAX];
    splat_pipeline_setting *settings = calloc(splat_line_n_options, sizeof *settings);
    options->settings = settings;
    for (size_t i = 0; settings && i < splat_line_n_options; i++) {
        if (!is_set(line, i, value)) continue;
        splat_pipeline_setting *setting = &settings[options->n_settings++];
        setting->name = splat_line_options[i].name;
        setting->value = line->unnamed[i] ? NULL : strdup(value);
        if (!line->unnamed[i] && !setting->value) return false;
    }
    return settings != NULL;
}

static void free_settings(splat_pipeline_options *options)
{
    for (size_t i = 0; i < options->n_settings; i++) free((char *)(uintptr_t)options->settings[i].value);
    free((splat_pipeline_setting *)(uintptr_t)options->settings);
}

/* ---------------------------------------------------------------- what the run says */

static void on_message(void *user, splat_pipeline_message kind, const char *text)
{
    static const splat_talk_kind kinds[] = {[SPLAT_PIPELINE_RESULT] = SPLAT_TALK_RESULT,
                                            [SPLAT_PIPELINE_NOTICE] = SPLAT_TALK_NOTICE,
                                            [SPLAT_PIPELINE_WARNING] = SPLAT_TALK_WARNING,
                                            [SPLAT_PIPELINE_ERROR] = SPLAT_TALK_ERROR};
    const splat_talk *talk = user;
    talk->message(talk->user, kinds[kind], text);
}

static bool on_progress(void *user, const splat_pipeline_progress *progress)
{
    const splat_talk *talk = user;
    const splat_talk_progress own = {progress->activity, progress->text, progress->fraction, progress->iteration};
    return talk->progress(talk->user, &own);
}

/* Finding the cameras of photos often takes longer than the stages; it works on no splat. */
static bool is_cameras(const splat_pipeline_stage_info *stage)
{
    return strcmp(stage->name, "cameras") == 0;
}

static bool has_figures(const splat_pipeline_stage_info *stage)
{
    const splat_pipeline_state state = stage->state;
    if (is_cameras(stage)) return state == SPLAT_PIPELINE_COMPLETE || state == SPLAT_PIPELINE_DONE_BEFORE;
    return state != SPLAT_PIPELINE_WAITING && state != SPLAT_PIPELINE_LEFT_OUT;
}

static void print_stage(const splat_pipeline_stage_info *stage)
{
    char time_text[32], peak[32] = "", host[32] = "", quality[32] = "";
    if (!has_figures(stage)) {
        cli_say("%-8s %s", stage->name, splat_pipeline_state_name(stage->state));
        return;
    }
    if (!is_cameras(stage)) {
        splat_bytes(stage->peak_bytes, peak);
        splat_bytes(stage->host_peak_bytes, host);
    }
    if (!isnan(stage->psnr)) snprintf(quality, sizeof quality, "%.2f dB", stage->psnr);
    cli_say("%-8s %-12s %9s %9s %9s  %-9s %s", stage->name, splat_pipeline_state_name(stage->state),
            splat_duration(stage->seconds, time_text), peak, host, quality, stage->summary);
    if (!is_cameras(stage) && stage->path[0]) cli_say("  %s", stage->path);
}

/* device: of the arrays that work on the splat, on a GPU with the driver's; host: resident, of the process. */
static void print_table(const splat_pipeline_result *result)
{
    if (result->n_stages == 0) return;
    cli_say("%-8s %-12s %9s %9s %9s  %-9s %s", "stage", "", "time", "device", "host", "test PSNR", "result");
    for (size_t i = 0; i < result->n_stages; i++) print_stage(&result->stages[i]);
    if (result->n_files) cli_say("Results:");
    for (size_t i = 0; i < result->n_files; i++) cli_say("  %s", result->files[i]);
}

/* ---------------------------------------------------------------- the run */

static int run(const splat_pipeline_options *options)
{
    static splat_pipeline_result result; /* large for a stack */
    splat_pipeline_callbacks callbacks;
    splat_error error;
    splat_talk *talk = cli_talk();
    splat_pipeline_callbacks_init(&callbacks);
    callbacks.user = talk;
    callbacks.message = on_message;
    callbacks.progress = on_progress;
    callbacks.interval = talk->interval;
    callbacks.stop = talk->stop;
    signal(SIGCHLD, SIG_DFL); /* the parent process may have left it ignored, and then no child can be waited for */
    cli_signals_begin();
    splat_status status = splat_pipeline_run(options, &callbacks, &result, &error);
    cli_signals_end();
    int code = cli_end(status, &error);
    print_table(&result);
    splat_pipeline_result_free(&result);
    return code;
}

int cmd_pipeline(splat_line *line)
{
    static char folder[CLI_PATH_MAX];
    splat_pipeline_options options;
    splat_error error;
    if (!options_agree(line)) return CLI_USAGE;
    if (choose_folder(line, folder, &error) != SPLAT_OK) return cli_report(&error);
    splat_pipeline_options_init(&options);
    options.source = line->scene->source_path;
    options.folder = folder;
    options.command = line->command_text;
    options.sole_user = true;
    int code = CLI_FAILED;
    if (fill_settings(line, &options))
        code = run(&options);
    else
        cli_error("memory is exhausted");
    free_settings(&options);
    return code;
}
