/* splatsmith reference: docs/options.md, made from the table of options. */
#include "cli.h"
#include "options.h"

#include <string.h>

/* Text outside of code: what Markdown would take for markup is escaped. */
static void print_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '<') fputs("&lt;", stdout);
        else if (strchr("*\\", *text)) printf("\\%c", *text);
        else putchar(*text);
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

static void print_range(const splat_line_option *option)
{
    char low[32], high[32];
    const splat_line_range range = splat_line_option_range(option);
    if (!has_range(option, range)) return;
    splat_option_limit_text(range.low, low);
    splat_option_limit_text(range.high, high);
    if (range.high < 1e8) printf(" From %s to %s%s.", low, high, range.or_zero ? ", or 0" : "");
    else printf(" At least %s%s.", low, range.or_zero ? ", or 0" : "");
}

static void print_commands(const splat_line_option *option)
{
    const char *separator = " *";
    for (size_t i = 0; i < splat_line_n_commands; i++) {
        if (!(option->commands & splat_line_commands[i].bit) || splat_line_commands[i].hidden) continue;
        printf("%s%s", separator, splat_line_commands[i].name);
        separator = ", ";
    }
    puts("*");
}

static void print_option(const splat_line_option *option)
{
    char text[SPLAT_LINE_TEXT_MAX];
    printf("* `%s`: ", cli_option_heading(option, text));
    print_text(cli_option_text(option, text));
    putchar('.');
    print_range(option);
    print_commands(option);
}

int cmd_reference(splat_line *line)
{
    (void)line;
    puts("# Options\n\n"
         "Every option of every command, with its range and, in italics, the commands that have it. This page is what\n"
         "`splatsmith reference` prints; `splatsmith help COMMAND all` has the options of one command.");
    for (int group = 0; group < SPLAT_LINE_N_GROUPS; group++) {
        printf("\n## %s\n\n", splat_line_group_titles[group]);
        for (size_t i = 0; i < splat_line_n_options; i++)
            if ((int)splat_line_options[i].group == group) print_option(&splat_line_options[i]);
    }
    return CLI_OK;
}
