/* Options that stand for a value of another option. After parsing they are that option, so that nothing else has to
 * know of them. */
#include "cli.h"
#include "progress.h"

#include <string.h>

typedef struct alias {
    const char *name, *word;     /* the option, and which of its values; NULL: a switch that is on */
    const char *target, *value;  /* what it stands for */
    bool yields;                 /* to the target, where that is given too; else the two must agree */
} alias;

static const alias aliases[] = {
    {"quality", "high", "strategy", "mcmc", false},
    {"optimize_memory", NULL, "sh_storage", "float16", false},
    {"low_dram", NULL, "image_cache_gb", "0.25", true},
    {"use_marching_cubes", NULL, "method", "marching_cubes", false},
    {"use_centers_to_extract_mesh", NULL, "points", "centers", false},
};

static bool take(splat_line *line, const alias *a)
{
    const splat_line_command *command = line->command;
    char text[SPLAT_LINE_TEXT_MAX];
    const splat_line_option *option = splat_line_find_option(command, a->name),
                            *target = splat_line_find_option(command, a->target);
    const char *word = a->word ? a->word : "", *space = a->word ? " " : "";
    if (!option || !target || !line->given[option - splat_line_options]) return true;
    splat_line_value_text(option, line, text, sizeof text);
    if (strcmp(text, a->word ? a->word : "True") != 0) return true;
    if (line->given[target - splat_line_options]) {
        splat_line_value_text(target, line, text, sizeof text);
        if (a->yields || strcmp(text, a->value) == 0) return true;
        cli_error("--%s%s%s is --%s %s, and cannot be --%s %s; leave one of the two out", a->name, space, word,
                  a->target, a->value, a->target, text);
        return false;
    }
    cli_notice("--%s%s%s is --%s %s", a->name, space, word, a->target, a->value);
    splat_error error;
    if (splat_line_set(line, target, a->value, &error) == SPLAT_OK) return true;
    cli_report(&error);
    return false;
}

bool cli_take_aliases(splat_line *line)
{
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (!take(line, &aliases[i])) return false;
    return true;
}
