/* splatsmith reference: docs/options.md, made from the table of options. */
#include "cli.h"

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

static bool has_range(const cli_option *option, cli_range range)
{
    switch (option->kind) {
    case CLI_INT:
    case CLI_SIZE:
    case CLI_COUNT:
    case CLI_REAL:
    case CLI_DOUBLE:
    case CLI_GIB: return range.low < range.high;
    default: return false;
    }
}

static void print_range(const cli_option *option)
{
    char low[32], high[32];
    const cli_range range = cli_option_range(option);
    if (!has_range(option, range)) return;
    splat_option_limit_text(range.low, low);
    splat_option_limit_text(range.high, high);
    if (range.high < 1e8) printf(" From %s to %s%s.", low, high, range.or_zero ? ", or 0" : "");
    else printf(" At least %s%s.", low, range.or_zero ? ", or 0" : "");
}

static void print_commands(const cli_option *option)
{
    const char *separator = " *";
    for (size_t i = 0; i < cli_n_commands; i++) {
        if (!(option->commands & cli_commands[i].bit) || cli_commands[i].hidden) continue;
        printf("%s%s", separator, cli_commands[i].name);
        separator = ", ";
    }
    puts("*");
}

static void print_option(const cli_option *option)
{
    char text[CLI_TEXT_MAX];
    printf("* `%s`: ", cli_option_heading(option, text));
    print_text(cli_option_text(option, text));
    putchar('.');
    print_range(option);
    print_commands(option);
}

int cmd_reference(cli_line *line)
{
    (void)line;
    puts("# Options\n\n"
         "Every option of every command, with its range and, in italics, the commands that have it. This page is what\n"
         "`splatsmith reference` prints; `splatsmith help COMMAND all` has the options of one command.");
    for (int group = 0; group < CLI_N_GROUPS; group++) {
        printf("\n## %s\n\n", cli_group_titles[group]);
        for (size_t i = 0; i < cli_n_options; i++)
            if ((int)cli_options[i].group == group) print_option(&cli_options[i]);
    }
    return CLI_OK;
}
