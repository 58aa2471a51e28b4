/* Rows of bits from a fixed font, scaled into the picture. */
#include "io/picture/text.h"

#include "io/picture/font_6x13.h"

#include <stddef.h>
#include <string.h>

static void fill(uint8_t *rgb, int width, int height, int left, int top, int size, uint8_t gray)
{
    for (int y = top < 0 ? 0 : top; y < top + size && y < height; y++)
        for (int x = left < 0 ? 0 : left; x < left + size && x < width; x++)
            memset(rgb + 3 * ((size_t)y * (size_t)width + (size_t)x), gray, 3);
}

void splat_text_draw(uint8_t *rgb, int width, int height, int left, int top, int scale, uint8_t gray, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if ((*c & 0xc0) == 0x80) continue; /* a later byte of a character */
        const uint8_t *rows = splat_font_6x13[*c >= 32 && *c < 127 ? *c - 32 : '?' - 32];
        for (int y = 0; y < SPLAT_TEXT_HEIGHT; y++)
            for (int x = 0; x < SPLAT_TEXT_WIDTH; x++)
                if (rows[y] >> (7 - x) & 1)
                    fill(rgb, width, height, left + x * scale, top + y * scale, scale, gray);
        left += SPLAT_TEXT_WIDTH * scale;
    }
}
