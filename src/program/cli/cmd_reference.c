/* splatsmith reference: docs/options.md, made from the table of options. */
#include "cli.h"
#include "options.h"

#include <string.h>

/* The length of an option at the beginning of a text, such as --eval or -m; 0: there is none. */
static size_t option_length(const char *text)
{
    const size_t dashes = strspn(text, "-");
    const size_t letters = strspn(text + dashes, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    const bool is_name = dashes == 2 && letters > 1, is_letter = dashes == 1 && letters == 1 && text[1] > '9';
    return is_name || is_letter ? dashes + letters : 0;
}

/* Text outside of code: what Markdown would take for markup is escaped, and options are code. */
static void print_text(const char *text)
{
    for (const char *at = text; *at; at++) {
        const size_t length = at == text || strchr(" (", at[-1]) ? option_length(at) : 0;
        if (length) {
            printf("`%.*s`", (int)length, at);
            at += length - 1;
        } else if (*at == '<') fputs("&lt;", stdout);
        else if (strchr("*\\", *at)) printf("\\%c", *at);
        else putchar(*at);
    }
}

static bool has_range(const splat_line_option *option, splat_line_range range)
{
    switch (option->kind) {
    case SPLAT_LINE_INT:
    case SPLAT_LINE_SIZE:
    case SPLAT_LINE_COUNT:
    case SPLAT_LINE_REAL:
    case SPLAT_LINE_DOUBLE:
    case SPLAT_LINE_GIB: return range.low < range.high;
    default: return false;
    }
}

/* " 0..100": the range, after a blank; open at the top if no one reaches it. */
static void range_text(const splat_line_option *option, char *text, size_t size)
{
    char low[32], high[32] = "";
    const splat_line_range range = splat_line_option_range(option);
    text[0] = '\0';
    if (!has_range(option, range)) return;
    splat_option_limit_text(range.low, low);
    if (range.high < 1e8) splat_option_limit_text(range.high, high);
    snprintf(text, size, " %s..%s%s", low, high, range.or_zero ? " or 0" : "");
}

/* Text, default, range and other names of an option. "as for train" stands for the text of train and its range. */
static void describe(const splat_line_option *option, char text[SPLAT_LINE_TEXT_MAX])
{
    static const char shared[] = "as for train";
    char value[256] = "", range[80], aliases[256];
    size_t length = strlen(cli_option_words(option, text));
    const bool is_shared = length > strlen(shared) && strcmp(text + length - strlen(shared), shared) == 0;
    if (is_shared) length = (size_t)snprintf(text, SPLAT_LINE_TEXT_MAX, "%s", shared);
    if (option->group != SPLAT_LINE_GROUP_IGNORED) cli_option_default(option, value, sizeof value);
    range_text(option, range, sizeof range);
    cli_option_aliases(option, aliases, sizeof aliases);
    snprintf(text + length, SPLAT_LINE_TEXT_MAX - length, "%s%s%s%s%s", value[0] ? " [" : "", value,
             value[0] ? "]" : "", is_shared ? "" : range, is_shared ? "" : aliases);
}

/* True if both are in one list: that of their group and commands, without effect that of all commands. */
static bool is_below(const splat_line_option *option, const splat_line_option *first)
{
    return option->group == first->group &&
           (option->commands == first->commands || option->group == SPLAT_LINE_GROUP_IGNORED);
}

/* True if an earlier option of the list has the same description. */
static bool is_described(const splat_line_option *option, const char *text)
{
    char earlier[SPLAT_LINE_TEXT_MAX];
    for (const splat_line_option *at = splat_line_options; at < option; at++) {
        if (!is_below(at, option)) continue;
        describe(at, earlier);
        if (strcmp(earlier, text) == 0) return true;
    }
    return false;
}

/* A description once, after the names of all options that have it. */
static void print_option(const splat_line_option *option)
{
    char text[SPLAT_LINE_TEXT_MAX], other[SPLAT_LINE_TEXT_MAX], heading[SPLAT_LINE_TEXT_MAX];
    const splat_line_option *end = splat_line_options + splat_line_n_options;
    describe(option, text);
    if (is_described(option, text)) return;
    printf("* `%s`", cli_option_heading(option, heading));
    for (const splat_line_option *at = option + 1; at < end; at++) {
        if (!is_below(at, option)) continue;
        describe(at, other);
        if (strcmp(other, text) == 0) printf(", `%s`", cli_option_heading(at, heading));
    }
    printf(": ");
    print_text(text);
    putchar('\n');
}

static bool begins_list(const splat_line_option *option)
{
    for (const splat_line_option *at = splat_line_options; at < option; at++)
        if (is_below(at, option)) return false;
    return true;
}

/* The commands of a list, or where their help is, and the options. */
static void print_list(const splat_line_option *first)
{
    const bool is_ignored = first->group == SPLAT_LINE_GROUP_IGNORED;
    const char *separator = "\n*";
    for (size_t i = 0; !is_ignored && i < splat_line_n_commands; i++) {
        if (!(first->commands & splat_line_commands[i].bit) || splat_line_commands[i].hidden) continue;
        printf("%s%s", separator, splat_line_commands[i].name);
        separator = ", ";
    }
    puts(is_ignored ? "\nThe help of a command lists those that it accepts.\n" : "*\n");
    for (const splat_line_option *at = first; at < splat_line_options + splat_line_n_options; at++)
        if (is_below(at, first)) print_option(at);
}

int cmd_reference(splat_line *line)
{
    (void)line;
    puts("# Options\n\n"
         "Every option of every command. This page is what `splatsmith reference` prints;\n"
         "`splatsmith help COMMAND all` has the options of one command.\n\n"
         "The commands are in italics above their options. Brackets have the default (flags are off), and the range\n"
         "of a number follows: `[8] 2..` is 8 by default, and at least 2.");
    for (int group = 0; group < SPLAT_LINE_N_GROUPS; group++) {
        printf("\n## %s\n", splat_line_group_titles[group]);
        for (size_t i = 0; i < splat_line_n_options; i++)
            if ((int)splat_line_options[i].group == group && begins_list(&splat_line_options[i]))
                print_list(&splat_line_options[i]);
    }
    return CLI_OK;
}
