/* Checks of UTF-8. */
#ifndef SPLAT_BASE_UTF8_H
#define SPLAT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the valid UTF-8 sequence at `text` (which ends with NUL), 0 when there is none. */
static inline size_t splat_utf8_length(const unsigned char *text)
{
    unsigned char c = text[0];
    size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    if ((c == 0xe0 && text[1] < 0xa0) || (c == 0xed && text[1] >= 0xa0) || (c == 0xf0 && text[1] < 0x90) ||
        (c == 0xf4 && text[1] >= 0x90))
        return 0;
    return n;
}

/* Writes the character that a byte is in Latin-1; returns its 1 or 2 bytes of UTF-8. */
static inline size_t splat_utf8_put_latin(unsigned char byte, char *out)
{
    if (byte < 0x80) {
        out[0] = (char)byte;
        return 1;
    }
    out[0] = (char)(0xc0 | byte >> 6);
    out[1] = (char)(0x80 | (byte & 0x3f));
    return 2;
}

/* A name or path as JSON and HTML can hold it: as it is when it is UTF-8, else read as Latin-1. malloc'd; NULL when
 * memory is exhausted. */
char *splat_utf8_text(const char *text);

#endif
