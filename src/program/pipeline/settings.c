/* Settings by their names, as a command line has them. */
#include "pipeline/settings.h"

#include "base/error.h"
#include "base/near_name.h"
#include "line/set.h"
#include "line/text.h"
#include "stage/aliases.h"

#include <stdio.h>
#include <string.h>

/* The arguments of the function stand for these, or a function has no use for them. */
static bool is_refused(const char *name)
{
    static const char *const refused[] = {"source_path", "output", "experiment_name", "help", "quiet"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (strcmp(refused[i], name) == 0) return true;
    return false;
}

static bool has_name(const splat_line_option *option, const char *name)
{
    char alias[64];
    if (splat_line_is_same_name(option->name, name)) return true;
    for (const char *rest = splat_line_next_name(option->aliases, alias); rest;
         rest = splat_line_next_name(rest, alias))
        if (splat_line_is_same_name(alias, name)) return true;
    return false;
}

static splat_status fail_unknown(const splat_line_command *command, const char *name, splat_error *error)
{
    splat_near_name nearest = {0};
    for (size_t i = 0; i < splat_line_n_options; i++)
        if (splat_line_options[i].commands & command->bit)
            splat_near_name_consider(&nearest, name, splat_line_options[i].name);
    if (nearest.name)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the pipeline has no option '%.100s'; did you mean `%s`?", name,
                          nearest.name);
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the pipeline has no option '%.100s'; docs/options.md lists them",
                      name);
}

static splat_status find(const splat_line_command *command, const char *name, const splat_line_option **found,
                         splat_error *error)
{
    if (!name) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a setting of the pipeline has no name");
    for (size_t i = 0; i < splat_line_n_options; i++) {
        *found = &splat_line_options[i];
        if (((*found)->commands & command->bit) && has_name(*found, name)) break;
        *found = NULL;
    }
    if (!*found) return fail_unknown(command, name, error);
    if (!is_refused((*found)->name)) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                      "`%s` is no setting of splat_pipeline_run: its options name the source and the folder",
                      (*found)->name);
}

/* The value of an option without its text. Returns false if it needs one. */
static bool usual_value(const splat_line_option *option, char text[8])
{
    if (option->kind == SPLAT_LINE_PORT) return sscanf(option->metavar, "[PORT=%7[0-9]]", text) == 1;
    snprintf(text, 8, "true");
    return option->kind == SPLAT_LINE_FLAG;
}

static splat_status set(splat_line *line, const splat_pipeline_setting *setting, splat_error *error)
{
    char usual[8];
    const splat_line_option *option = NULL;
    SPLAT_TRY(find(line->command, setting->name, &option, error));
    if (!setting->value && !usual_value(option, usual))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`%s` needs a value", option->name);
    SPLAT_TRY(splat_line_set(line, option, setting->value ? setting->value : usual, error));
    line->unnamed[option - splat_line_options] = !setting->value && option->kind == SPLAT_LINE_PORT;
    return SPLAT_OK;
}

splat_status splat_pipeline_read_settings(const splat_pipeline_options *options, splat_talk *talk, splat_line *line,
                                          splat_error *error)
{
    memset(line, 0, sizeof *line);
    if (!options->source || !options->source[0] || !options->folder || !options->folder[0])
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a pipeline needs a source and a folder for its results");
    SPLAT_TRY(splat_line_init(line, splat_line_find_command("pipeline"), error));
    line->talk = talk;
    line->command_text = options->command;
    for (size_t i = 0; i < options->n_settings; i++) SPLAT_TRY(set(line, &options->settings[i], error));
    SPLAT_TRY(splat_line_set(line, splat_line_find_option(line->command, "source_path"), options->source, error));
    line->output->path = options->folder;
    line->machine->context.sole_user = options->sole_user;
    SPLAT_TRY(splat_stage_take_aliases(line, error));
    splat_stage_tell_ignored(line);
    return SPLAT_OK;
}
