/* The words of the options for help, the man page and the completion. */
#include "options.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- words for help, the man page and the completion */

/* Words that no line has room for: they go into the text, which can be broken. */
static bool has_long_words(const splat_line_option *option)
{
    return option->kind == SPLAT_LINE_WORD && strlen(option->metavar) > 80;
}

const char *cli_option_metavar(const splat_line_option *option)
{
    return has_long_words(option) ? "WORD" : option->metavar;
}

const char *cli_option_heading(const splat_line_option *option, char text[SPLAT_LINE_TEXT_MAX])
{
    char letter[8] = "";
    if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
    const char *metavar = cli_option_metavar(option);
    snprintf(text, SPLAT_LINE_TEXT_MAX, "%s--%s%s%s", letter, option->name, metavar ? " " : "", metavar ? metavar : "");
    return text;
}

void cli_option_default(const splat_line_option *option, char *text, size_t size)
{
    text[0] = '\0';
    if (option->fallback)
        snprintf(text, size, "%s", option->fallback);
    else if (option->kind != SPLAT_LINE_INTS)
        splat_line_default_text(option, text, size);
    if (strcmp(text, "False") == 0) text[0] = '\0'; /* flags are off unless the help says otherwise */
}

/* Lists in braces in the words of an option: endings, from the tables of the library. */
static const struct format_list {
    const char *mark;
    bool (*format)(size_t index, splat_file_format *format);
    bool writing;
} format_lists[] = {
    {"{splats read}", splat_model_get_format, false},
    {"{splats written}", splat_model_get_format, true},
    {"{meshes read}", splat_mesh_get_format, false},
    {"{meshes written}", splat_mesh_get_format, true},
};

/* ".ply, .obj or .glb" */
static void endings_text(const struct format_list *list, char *text, size_t size)
{
    splat_file_format format;
    const char *endings[16];
    size_t n = 0, length = 0;
    for (size_t i = 0; n < 16 && list->format(i, &format); i++)
        if (list->writing ? format.writes : format.reads) endings[n++] = format.ending;
    text[0] = '\0';
    for (size_t i = 0; i < n && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ",
                                   endings[i]);
}

/* The words of an option, lists filled in. Returns the length. */
static size_t help_text(const char *help, char text[SPLAT_LINE_TEXT_MAX])
{
    size_t length = (size_t)snprintf(text, SPLAT_LINE_TEXT_MAX, "%s", help);
    for (size_t i = 0; i < sizeof format_lists / sizeof format_lists[0]; i++) {
        char endings[256];
        const char *mark = strstr(help, format_lists[i].mark);
        if (!mark) continue;
        endings_text(&format_lists[i], endings, sizeof endings);
        length = (size_t)snprintf(text, SPLAT_LINE_TEXT_MAX, "%.*s%s%s", (int)(mark - help), help, endings,
                                  mark + strlen(format_lists[i].mark));
    }
    return length;
}

const char *cli_option_words(const splat_line_option *option, char text[SPLAT_LINE_TEXT_MAX])
{
    size_t length = help_text(option->help, text);
    if (!has_long_words(option)) return text;
    const char *word = option->metavar;
    for (size_t n; *word && length < SPLAT_LINE_TEXT_MAX; word += n + (word[n] == '|')) {
        n = strcspn(word, "|");
        length += (size_t)snprintf(text + length, SPLAT_LINE_TEXT_MAX - length, "%s%.*s",
                                   word == option->metavar ? ": " : ", ", (int)n, word);
    }
    return text;
}

void cli_option_aliases(const splat_line_option *option, char *text, size_t size)
{
    char name[64];
    size_t length = 0;
    text[0] = '\0';
    for (const char *rest = splat_line_next_name(option->aliases, name); rest && length < size;
         rest = splat_line_next_name(rest, name))
        length += (size_t)snprintf(text + length, size - length, "%s--%s", length ? ", " : " (also ", name);
    if (length && length < size) snprintf(text + length, size - length, ")");
}

const char *cli_option_text(const splat_line_option *option, char text[SPLAT_LINE_TEXT_MAX])
{
    char value[256], aliases[256];
    size_t length = strlen(cli_option_words(option, text));
    if (option->group == SPLAT_LINE_GROUP_IGNORED) return text;
    cli_option_default(option, value, sizeof value);
    cli_option_aliases(option, aliases, sizeof aliases);
    if (value[0])
        length += (size_t)snprintf(text + length, SPLAT_LINE_TEXT_MAX - length, " [default: %s]", value);
    if (length < SPLAT_LINE_TEXT_MAX) snprintf(text + length, SPLAT_LINE_TEXT_MAX - length, "%s", aliases);
    return text;
}
