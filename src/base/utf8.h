#ifndef SPLAT_BASE_UTF8_H
#define SPLAT_BASE_UTF8_H

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

#endif
