/* Options in words: for checkpoints, reports and the comparison of ranks. */
#include "io/option_text.h"

#include "io/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
