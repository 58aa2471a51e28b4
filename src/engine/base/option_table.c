/* Functions of a table of options, for any struct of options. */
#include "base/option_table.h"

#include <math.h>
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

const char *splat_option_limit_text(double limit, char text[32])
{
    snprintf(text, 32, fabs(limit) < 1e15 && limit == floor(limit) ? "%.0f" : "%g", limit);
    return text;
}

size_t splat_option_bytes(splat_option_kind kind)
{
    switch (kind) {
    case SPLAT_OPTION_INT:
    case SPLAT_OPTION_SIZE:
    case SPLAT_OPTION_CHOICE: return sizeof(int);
    case SPLAT_OPTION_FLAG: return sizeof(bool);
    case SPLAT_OPTION_REAL: return sizeof(float);
    case SPLAT_OPTION_DOUBLE:
    case SPLAT_OPTION_GIB: return sizeof(double);
    case SPLAT_OPTION_COUNT: return sizeof(size_t);
    case SPLAT_OPTION_U64: return sizeof(uint64_t);
    case SPLAT_OPTION_TEXT: return sizeof(const char *);
    case SPLAT_OPTION_NONE: break;
    }
    return 0;
}

const splat_option *splat_option_find(const splat_option_table *table, const char *name)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->rows[i].row.kind && strcmp(table->rows[i].row.name, name) == 0) return &table->rows[i];
    return NULL;
}

/* A number of a table as the field holds it. */
static double rounded(const splat_option *option, double value)
{
    return option->row.kind == SPLAT_OPTION_REAL ? (double)(float)value : value;
}

bool splat_option_is_default(const splat_option *option, const void *options)
{
    if (option->row.kind == SPLAT_OPTION_TEXT) return !*splat_option_text(&option->row, options);
    double value = splat_option_get(&option->row, options);
    return value == rounded(option, option->start) || (option->or_zero && value == 0);
}

bool splat_option_takes(const splat_option *option, double value)
{
    if (!(option->low < option->high) || (option->or_zero && value == 0)) return true;
    return rounded(option, value) >= rounded(option, option->low) &&
           rounded(option, value) <= rounded(option, option->high);
}

void splat_option_defaults(const splat_option_table *table, void *options, size_t size)
{
    memset(options, 0, size);
    for (size_t i = 0; i < table->n; i++) {
        const splat_option *option = &table->rows[i];
        if (option->row.offset + splat_option_bytes(option->row.kind) <= size)
            splat_option_set(&option->row, options, option->start);
    }
    memcpy(options, &size, sizeof size);
}

static splat_status check_choice(const splat_option_row *row, int number, splat_error *error)
{
    int n = 1;
    for (const char *bar = row->words; (bar = strchr(bar, '|')); bar++) n++;
    if (number >= 0 && number < n) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`%s` must be one of %s, not the number %d", row->name, row->words,
                      number);
}

static splat_status check_number(const splat_option *option, double value, splat_error *error)
{
    if (splat_option_takes(option, value)) return SPLAT_OK;
    char low[32], high[32];
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`%s` must be from %s to %s%s, not %.10g", option->row.name,
                      splat_option_limit_text(option->low, low), splat_option_limit_text(option->high, high),
                      option->or_zero ? ", or 0" : "", value);
}

splat_status splat_option_check_all(const splat_option_table *table, const void *options, splat_error *error)
{
    for (size_t i = 0; i < table->n; i++) {
        const splat_option *option = &table->rows[i];
        double value = splat_option_get(&option->row, options);
        if (option->row.kind == SPLAT_OPTION_CHOICE)
            SPLAT_TRY(check_choice(&option->row, (int)value, error));
        else
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
