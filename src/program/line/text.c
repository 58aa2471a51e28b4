/* The values of options as texts. */
#include "line/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *splat_line_next_name(const char *names, char name[64])
{
    size_t length = names ? strcspn(names, ",") : 0;
    if (length == 0 || length >= 64) return NULL;
    memcpy(name, names, length);
    name[length] = '\0';
    return names[length] ? names + length + 1 : names + length;
}

/* The shortest decimal that reads back as the same number. */
static void real_text(double value, bool single, char *text, size_t size)
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, size, "%.*g", digits, value);
        if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value) return;
    }
}

static void list_text(const splat_line_list *list, char *text, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; i < list->n && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%d", i ? " " : "", list->values[i]);
}

static void field_text(const splat_line_option *option, const void *field, char *text, size_t size)
{
    text[0] = '\0';
    switch (option->kind) {
    case SPLAT_LINE_INT:
    case SPLAT_LINE_PORT:
    case SPLAT_LINE_SIZE: snprintf(text, size, "%d", *(const int *)field); break;
    case SPLAT_LINE_COUNT: snprintf(text, size, "%zu", *(const size_t *)field); break;
    case SPLAT_LINE_SEED: snprintf(text, size, "%" PRIu64, *(const uint64_t *)field); break;
    case SPLAT_LINE_REAL: real_text((double)*(const float *)field, true, text, size); break;
    case SPLAT_LINE_DOUBLE:
    case SPLAT_LINE_GIB: real_text(*(const double *)field, false, text, size); break;
    case SPLAT_LINE_TEXT:
    case SPLAT_LINE_CHOICE: {
        const char *value = *(const char *const *)field;
        snprintf(text, size, "%s", value ? value : "");
        break;
    }
    case SPLAT_LINE_WORD: splat_option_copy_word(option->metavar, *(const int *)field, text, size); break;
    case SPLAT_LINE_LIMIT: {
        const splat_line_limit *limit = field;
        snprintf(text, size, "%s", limit->text ? limit->text : "");
        break;
    }
    case SPLAT_LINE_FLAG: snprintf(text, size, "%s", *(const bool *)field ? "True" : "False"); break;
    case SPLAT_LINE_HELP: break;
    case SPLAT_LINE_INTS: list_text(field, text, size); break;
    }
}

void splat_line_value_text(const splat_line_option *option, const splat_line *line, char *text, size_t size)
{
    field_text(option, splat_line_field(line, option), text, size);
}

void splat_line_default_text(const splat_line_option *option, char *text, size_t size)
{
    field_text(option, (const char *)splat_line_default_parts() + option->offset, text, size);
}
