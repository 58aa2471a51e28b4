/* Options set from texts, by their kinds. */
#include "line/set.h"

#include "io/option_text.h"

#include <stdio.h>
#include <string.h>

splat_option splat_line_option_row(const splat_line_option *option)
{
    const splat_line_range range = splat_line_option_range(option);
    return (splat_option){.row = {option->name, (splat_option_kind)option->kind, 0, option->metavar},
                          .low = range.low, .high = range.high, .or_zero = range.or_zero};
}

static splat_status read_plain(const splat_line_option *option, splat_option_kind kind, const char *text, void *field,
                               splat_error *error)
{
    splat_option row = splat_line_option_row(option);
    row.row.kind = kind;
    return splat_option_read(&row, text, field, error);
}

static splat_status add_int(const splat_line_option *option, const char *text, splat_line_list *list,
                            splat_error *error)
{
    if (list->n == SPLAT_LINE_LIST_MAX)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`%s` takes at most %d numbers", option->name,
                          SPLAT_LINE_LIST_MAX);
    SPLAT_TRY(read_plain(option, SPLAT_OPTION_INT, text, &list->values[list->n], error));
    list->n++;
    return SPLAT_OK;
}

static splat_status read_limit(const splat_line_option *option, const char *text, splat_line_limit *value,
                               splat_error *error)
{
    const bool share = strchr(option->metavar, '|') != NULL;
    if (splat_line_parse_limit(text, share, value)) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`%s` takes a size such as 8G or 500M%s, not '%s'", option->name,
                      share ? ", a percentage above 0 and at most 100, or max" : "", text);
}

/* The word is kept as it was typed. */
static splat_status read_choice(const splat_line_option *option, const char *text, const char **value,
                                splat_error *error)
{
    int number;
    SPLAT_TRY(read_plain(option, SPLAT_OPTION_CHOICE, text, &number, error));
    *value = text;
    return SPLAT_OK;
}

bool splat_line_read_help(const char *text, splat_line_help *value)
{
    bool is_on;
    if (strcmp(text, "all") == 0) return *value = SPLAT_LINE_HELP_ALL, true;
    if (!splat_text_flag(text, &is_on)) return false;
    *value = is_on ? SPLAT_LINE_HELP_BASIC : SPLAT_LINE_NO_HELP;
    return true;
}

splat_status splat_line_read(const splat_line_option *option, const char *text, void *field, splat_error *error)
{
    switch (option->kind) {
    case SPLAT_LINE_CHOICE: return read_choice(option, text, field, error);
    case SPLAT_LINE_PORT: return read_plain(option, SPLAT_OPTION_INT, text, field, error);
    case SPLAT_LINE_LIMIT: return read_limit(option, text, field, error);
    case SPLAT_LINE_INTS: return add_int(option, text, field, error);
    case SPLAT_LINE_HELP:
        if (splat_line_read_help(text, field)) return SPLAT_OK;
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`%s` takes nothing or all, not '%s'", option->name, text);
    default: return read_plain(option, (splat_option_kind)option->kind, text, field, error);
    }
}

/* Numbers with commas or spaces between. */
static splat_status read_list(const splat_line_option *option, const char *text, splat_line_list *list,
                              splat_error *error)
{
    char number[32];
    list->n = 0;
    for (text += strspn(text, ", "); *text; text += strspn(text, ", ")) {
        const size_t length = strcspn(text, ", ");
        snprintf(number, sizeof number, "%.*s", (int)length, text);
        SPLAT_TRY(add_int(option, number, list, error));
        text += length;
    }
    return SPLAT_OK;
}

splat_status splat_line_set(splat_line *line, const splat_line_option *option, const char *text, splat_error *error)
{
    void *field = splat_line_field(line, option);
    line->given[option - splat_line_options] = true;
    if (option->kind == SPLAT_LINE_INTS) return read_list(option, text, field, error);
    return splat_line_read(option, text, field, error);
}
