/* Text of the outside world as UTF-8. */
#include "base/utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_utf8(const char *text)
{
    for (size_t n; *text; text += n)
        if ((n = splat_utf8_length((const unsigned char *)text)) == 0) return false;
    return true;
}

char *splat_utf8_text(const char *text)
{
    if (is_utf8(text)) return strdup(text);
    char *latin = malloc(2 * strlen(text) + 1), *end = latin;
    for (; latin && *text; text++) end += splat_utf8_put_latin((unsigned char)*text, end);
    if (latin) *end = '\0';
    return latin;
}
