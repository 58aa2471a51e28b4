/* Options that stand for a value of another option. After parsing they are that option, so that nothing else has to
 * know of them. */
#include "stage/aliases.h"

#include "line/set.h"
#include "line/text.h"
#include "stage/talk.h"

#include <string.h>

typedef struct alias {
    const char *name, *word;    /* the option, and which of its values; NULL: a switch that is on */
    const char *target, *value; /* what it stands for */
    bool yields;                /* to the target, where that is given too; else the two must agree */
} alias;

static const alias aliases[] = {
    {"quality", "high", "strategy", "high", false},
    {"optimize_memory", NULL, "sh_storage", "float16", false},
    {"low_dram", NULL, "image_cache_gb", "0.25", true},
    {"use_marching_cubes", NULL, "method", "marching_cubes", false},
    {"use_centers_to_extract_mesh", NULL, "points", "centers", false},
};

static splat_status take(splat_line *line, const alias *a, splat_error *error)
{
    const splat_line_command *command = line->command;
    const splat_line_option *option = splat_line_find_option(command, a->name);
    const splat_line_option *target = splat_line_find_option(command, a->target);
    const char *word = a->word ? a->word : "", *space = a->word ? " " : "";
    char text[SPLAT_LINE_TEXT_MAX];
    if (!option || !target || !line->given[option - splat_line_options]) return SPLAT_OK;
    splat_line_value_text(option, line, text, sizeof text);
    if (strcmp(text, a->word ? a->word : "True") != 0) return SPLAT_OK;
    if (!line->given[target - splat_line_options]) {
        splat_notice(line->talk, "`%s%s%s` is `%s %s`", a->name, space, word, a->target, a->value);
        return splat_line_set(line, target, a->value, error);
    }
    splat_line_value_text(target, line, text, sizeof text);
    if (a->yields || strcmp(text, a->value) == 0) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                      "`%s%s%s` is `%s %s`, and cannot be `%s %s`; leave one of the two out", a->name, space, word,
                      a->target, a->value, a->target, text);
}

splat_status splat_stage_take_aliases(splat_line *line, splat_error *error)
{
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) SPLAT_TRY(take(line, &aliases[i], error));
    return SPLAT_OK;
}

void splat_stage_tell_ignored(const splat_line *line)
{
    for (size_t i = 0; i < splat_line_n_options; i++)
        if (line->given[i] && splat_line_options[i].group == SPLAT_LINE_GROUP_IGNORED)
            splat_notice(line->talk, "`%s` has no effect: %s", splat_line_options[i].name, splat_line_options[i].help);
}
