/* What follows from the rows of a table of options, for any struct of options. */
#include "base/option_table.h"

#include "base/options.h"

#include <stdio.h>
#include <string.h>

double splat_option_get(const splat_option_row *row, const void *options)
{
    const void *at = (const char *)options + row->offset;
    switch (row->kind) {
    case SPLAT_OPTION_INT:
    case SPLAT_OPTION_SIZE:
    case SPLAT_OPTION_CHOICE: return *(const int *)at;
    case SPLAT_OPTION_FLAG: return *(const bool *)at;
    case SPLAT_OPTION_REAL: return (double)*(const float *)at;
    case SPLAT_OPTION_DOUBLE:
    case SPLAT_OPTION_GIB: return *(const double *)at;
    case SPLAT_OPTION_COUNT: return (double)*(const size_t *)at;
    case SPLAT_OPTION_U64: return (double)*(const uint64_t *)at;
    case SPLAT_OPTION_TEXT:
    case SPLAT_OPTION_NONE: break;
    }
    return 0;
}

void splat_option_set(const splat_option_row *row, void *options, double value)
{
    void *at = (char *)options + row->offset;
    switch (row->kind) {
    case SPLAT_OPTION_INT:
    case SPLAT_OPTION_SIZE:
    case SPLAT_OPTION_CHOICE: *(int *)at = (int)value; break;
    case SPLAT_OPTION_FLAG: *(bool *)at = value != 0; break;
    case SPLAT_OPTION_REAL: *(float *)at = (float)value; break;
    case SPLAT_OPTION_DOUBLE:
    case SPLAT_OPTION_GIB: *(double *)at = value; break;
    case SPLAT_OPTION_COUNT: *(size_t *)at = (size_t)value; break;
    case SPLAT_OPTION_U64: *(uint64_t *)at = (uint64_t)value; break;
    case SPLAT_OPTION_TEXT:
    case SPLAT_OPTION_NONE: break;
    }
}

char **splat_option_text(const splat_option_row *row, const void *options)
{
    return (char **)(uintptr_t)((const char *)options + row->offset);
}

const splat_option *splat_option_find(const splat_option *table, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(table[i].row.name, name) == 0) return &table[i];
    return NULL;
}

bool splat_option_is_default(const splat_option *option, const void *options)
{
    if (option->row.kind == SPLAT_OPTION_TEXT) return !*splat_option_text(&option->row, options);
    double value = splat_option_get(&option->row, options);
    double start = option->row.kind == SPLAT_OPTION_REAL ? (double)(float)option->start : option->start;
    return value == start || (option->or_zero && value == 0);
}

void splat_option_defaults(const splat_option *table, size_t n, void *options)
{
    for (size_t i = 0; i < n; i++) {
        if (table[i].row.kind == SPLAT_OPTION_TEXT) *splat_option_text(&table[i].row, options) = NULL;
        splat_option_set(&table[i].row, options, table[i].start);
    }
}

/* The limits are rounded as the field is. */
static splat_status check_number(const splat_option *option, double value, splat_error *error)
{
    bool is_real = option->row.kind == SPLAT_OPTION_REAL;
    double low = is_real ? (double)(float)option->low : option->low;
    double high = is_real ? (double)(float)option->high : option->high;
    return splat_option_check(option->row.name, value, option->or_zero, low, high, error);
}

static splat_status check_choice(const splat_option_row *row, int number, splat_error *error)
{
    int n = 1;
    for (const char *bar = row->words; (bar = strchr(bar, '|')); bar++) n++;
    if (number >= 0 && number < n) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "%s must be one of %s", row->name, row->words);
}

splat_status splat_option_check_all(const splat_option *table, size_t n, const void *options, splat_error *error)
{
    for (size_t i = 0; i < n; i++) {
        const splat_option *option = &table[i];
        double value = splat_option_get(&option->row, options);
        if (option->row.kind == SPLAT_OPTION_CHOICE)
            SPLAT_TRY(check_choice(&option->row, (int)value, error));
        else if (option->low < option->high)
            SPLAT_TRY(check_number(option, value, error));
    }
    return SPLAT_OK;
}

int splat_option_find_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (int number = 0;; number++) {
        size_t n = strcspn(words, "|");
        if (n == length && strncmp(words, word, n) == 0) return number;
        if (!words[n]) return -1;
        words += n + 1;
    }
}

void splat_option_copy_word(const char *words, int number, char *text, size_t size)
{
    for (; number > 0 && *words; number--) words += strcspn(words, "|") + 1;
    snprintf(text, size, "%.*s", (int)strcspn(words, "|"), words);
}
