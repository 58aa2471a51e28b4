/* Control characters and bytes that are no UTF-8, made visible. */
#include "printable.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The bytes of the character at text, and its number; 0: it is no UTF-8. */
static size_t decode(const unsigned char *text, unsigned long *character)
{
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char c = text[0];
    size_t n = c < 0x80 ? 1 : c >= 0xc0 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf8 ? 4 : 0;
    *character = n < 2 ? c : c & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0;
        *character = *character << 6 | (text[i] & 0x3f);
    }
    bool is_surrogate = *character >= 0xd800 && *character < 0xe000;
    return n && *character >= least[n] && *character <= 0x10ffff && !is_surrogate ? n : 0;
}

static bool is_control(unsigned long character)
{
    return character < 0x20 || (character >= 0x7f && character < 0xa0);
}

const char *cli_printable(const char *text, char *out, size_t size)
{
    size_t length = 0;
    unsigned long character;
    while (*text) {
        size_t n = decode((const unsigned char *)text, &character);
        bool shown = n > 0 && !is_control(character);
        size_t n_bytes = n ? n : 1;
        if (length + (shown ? n_bytes : 4 * n_bytes) >= size) break;
        for (size_t i = 0; i < n_bytes; i++) {
            if (shown) out[length++] = text[i];
            else length += (size_t)snprintf(out + length, size - length, "\\x%02x", (unsigned char)text[i]);
        }
        text += n_bytes;
    }
    out[length] = '\0';
    return out;
}
