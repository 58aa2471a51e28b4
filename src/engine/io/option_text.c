/* Options to words, for checkpoints, reports and the comparison of ranks; and from words, for the command line, Python
 * and files of options. */
#include "io/option_text.h"

#include "base/near_name.h"
#include "io/number.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "counts are stored as 64 bits");

static void keep_ascii(char *text)
{
    for (char *c = text; *c; c++)
        if ((unsigned char)*c >= 0x80 || (unsigned char)*c < 0x20) *c = '?'; /* JSON wants UTF-8; it is for reading */
}

void splat_option_describe(const splat_option_row *o, const void *options, char *text, size_t size)
{
    char number[32];
    const void *at = (const char *)options + o->offset;
    switch (o->kind) {
    case SPLAT_OPTION_INT:
    case SPLAT_OPTION_SIZE: snprintf(text, size, "%d", *(const int *)at); break;
    case SPLAT_OPTION_FLAG: snprintf(text, size, "%s", *(const bool *)at ? "True" : "False"); break;
    case SPLAT_OPTION_REAL: snprintf(text, size, "%s", splat_number_format(number, *(const float *)at)); break;
    case SPLAT_OPTION_DOUBLE:
    case SPLAT_OPTION_GIB:
        snprintf(text, size, "%s", splat_number_format(number, (float)splat_option_get(o, options)));
        break;
    case SPLAT_OPTION_COUNT:
    case SPLAT_OPTION_U64: snprintf(text, size, "%" PRIu64, *(const uint64_t *)at); break;
    case SPLAT_OPTION_CHOICE: splat_option_copy_word(o->words, *(const int *)at, text, size); break;
    case SPLAT_OPTION_NONE: text[0] = '\0'; break;
    case SPLAT_OPTION_TEXT:
        snprintf(text, size, "%s", *(char *const *)at ? *(char *const *)at : "");
        keep_ascii(text);
        break;
    }
}

/* ---------------------------------------------------------------- pieces of text */

bool splat_text_number(const char *text, double *value, const char **rest)
{
    char *end;
    size_t sign = text[0] == '-' || text[0] == '+';
    size_t first = sign + (text[sign] == '.');
    if (!isdigit((unsigned char)text[first]) || (text[sign] == '0' && tolower((unsigned char)text[sign + 1]) == 'x'))
        return false;
    *value = splat_number_parse(text, &end);
    *rest = end;
    return true;
}

/* The power in a suffix like K, M, GB or GiB: 1, 2, 3, 4; 0 for none; -1 for anything else. */
static int read_suffix(const char *text)
{
    static const char letters[] = "kmgt";
    if (text[0] == '\0') return 0;
    const char *letter = strchr(letters, tolower((unsigned char)text[0]));
    if (!letter || (text[1] && strcasecmp(text + 1, "b") != 0 && strcasecmp(text + 1, "ib") != 0)) return -1;
    return (int)(letter - letters) + 1;
}

bool splat_text_bytes(const char *text, double *bytes)
{
    const char *rest;
    double number;
    if (!splat_text_number(text, &number, &rest)) return false;
    int power = read_suffix(rest);
    if (power < 0) return false;
    *bytes = number * pow(1024.0, power ? power : 3);
    return true;
}

bool splat_text_flag(const char *text, bool *value)
{
    static const char *const yes[] = {"true", "yes", "on", "1", "t", "y"};
    static const char *const no[] = {"false", "no", "off", "0", "f", "n"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        if (strcasecmp(text, yes[i]) == 0) return *value = true, true;
        if (strcasecmp(text, no[i]) == 0) return *value = false, true;
    }
    return false;
}

/* A whole decimal number and nothing else. */
static bool read_whole(const char *text, long long *value)
{
    char *end;
    if (!isdigit((unsigned char)text[text[0] == '-' || text[0] == '+'])) return false;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return errno == 0 && !*end;
}

static bool read_real(const char *text, double *value)
{
    const char *rest;
    return splat_text_number(text, value, &rest) && !*rest;
}

/* 1.5M is a whole number, 1.5 is none. */
static bool read_count(const char *text, double *value)
{
    const char *rest;
    int power;
    if (!splat_text_number(text, value, &rest) || (power = read_suffix(rest)) < 0) return false;
    *value *= pow(1000.0, power);
    return *value == floor(*value) && *value >= 0 && *value < 0x1p64;
}

/* Digits alone: a double would round the larger ones. */
static bool read_u64(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return isdigit((unsigned char)text[0]) && !*end && !errno;
}

/* ---------------------------------------------------------------- an option from its text */

/* A large upper limit is named only where it was passed: few would come near it. */
static splat_status refuse_number(const splat_option *option, const char *text, splat_error *error)
{
    const splat_option_kind kind = option->row.kind;
    bool is_real = kind == SPLAT_OPTION_REAL || kind == SPLAT_OPTION_DOUBLE || kind == SPLAT_OPTION_GIB;
    const char *what = is_real ? "a number" : "a whole number", *zero = option->or_zero ? ", or 0" : "", *rest;
    char low[32], high[32];
    double value;
    bool has_range = option->low < option->high;
    bool is_above = has_range && splat_text_number(text, &value, &rest) && value > option->high;
    splat_option_limit_text(option->low, low);
    splat_option_limit_text(option->high, high);
    if (has_range && option->high < 1e8)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`%s` takes %s from %s to %s%s, not '%.200s'", option->row.name,
                          what, low, high, zero, text);
    if (is_above)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`%s` takes %s of at most %s, not '%.200s'", option->row.name,
                          what, high, text);
    if (!has_range && is_real)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`%s` takes %s, not '%.200s'", option->row.name, what, text);
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`%s` takes %s of at least %s, not '%.200s'", option->row.name, what,
                      low, text);
}

static splat_status read_number(const splat_option *option, const char *text, void *options, splat_error *error)
{
    long long whole = 0;
    double value = 0;
    bool is_read = false;
    switch (option->row.kind) {
    case SPLAT_OPTION_INT:
    case SPLAT_OPTION_SIZE:
        is_read = read_whole(text, &whole) && whole >= INT_MIN && whole <= INT_MAX;
        value = (double)whole;
        break;
    case SPLAT_OPTION_COUNT: is_read = read_count(text, &value); break;
    case SPLAT_OPTION_GIB:
        is_read = splat_text_bytes(text, &value);
        value /= SPLAT_GIB;
        break;
    default: is_read = read_real(text, &value); break;
    }
    if (!is_read || !splat_option_takes(option, value)) return refuse_number(option, text, error);
    if (option->row.kind == SPLAT_OPTION_SIZE && value == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`%s` takes -1 or a whole number of at least 1, not '%.200s'",
                          option->row.name, text);
    splat_option_set(&option->row, options, value);
    return SPLAT_OK;
}

static splat_status read_u64_option(const splat_option *option, const char *text, void *options, splat_error *error)
{
    uint64_t value;
    if (!read_u64(text, &value) || !splat_option_takes(option, (double)value))
        return refuse_number(option, text, error);
    memcpy((char *)options + option->row.offset, &value, sizeof value);
    return SPLAT_OK;
}

static splat_status read_word(const splat_option_row *row, const char *text, void *options, splat_error *error)
{
    int number = splat_option_find_word(row->words, text);
    if (number < 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`%s` takes one of %s, not '%.200s'", row->name, row->words,
                          text);
    splat_option_set(row, options, number);
    return SPLAT_OK;
}

splat_status splat_option_read(const splat_option *option, const char *text, void *options, splat_error *error)
{
    const splat_option_row *row = &option->row;
    bool is_on;
    switch (row->kind) {
    case SPLAT_OPTION_FLAG:
        if (!splat_text_flag(text, &is_on))
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`%s` takes True or False, not '%.200s'", row->name, text);
        splat_option_set(row, options, is_on);
        return SPLAT_OK;
    case SPLAT_OPTION_CHOICE: return read_word(row, text, options, error);
    case SPLAT_OPTION_TEXT:
        if (!text[0]) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`%s` must not be empty", row->name);
        memcpy((char *)options + row->offset, &text, sizeof text);
        return SPLAT_OK;
    case SPLAT_OPTION_U64: return read_u64_option(option, text, options, error);
    case SPLAT_OPTION_NONE: break;
    default: return read_number(option, text, options, error);
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- an option by its name */

static splat_status refuse_name(const splat_option_table *table, const char *name, splat_error *error)
{
    splat_near_name nearest = {0};
    for (size_t i = 0; i < table->n; i++)
        if (table->rows[i].row.kind) splat_near_name_consider(&nearest, name, table->rows[i].row.name);
    if (nearest.name)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "%s has no option '%.100s'; did you mean '%s'?", table->type,
                          name, nearest.name);
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "%s has no option '%.100s' that a text can set", table->type, name);
}

splat_status splat_option_set_text(const splat_option_table *table, void *options, const char *name, const char *text,
                                   splat_error *error)
{
    const splat_option *option = splat_option_find(table, name);
    size_t size;
    memcpy(&size, options, sizeof size);
    if (!option) return refuse_name(table, name, error);
    if (size < sizeof size)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a %s says that it has %zu bytes; begin with %s_init",
                          table->type, size, table->type);
    if (option->row.offset + splat_option_bytes(option->row.kind) > size)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`%s` is newer than the header that this program was compiled with; compile it again", name);
    return splat_option_read(option, text, options, error);
}
