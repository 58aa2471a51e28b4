/* Words on a picture, in a fixed font: captions of contact sheets. */
#ifndef SPLAT_IO_TEXT_H
#define SPLAT_IO_TEXT_H

#include <stdint.h>

/* Pixels of a character at scale 1. */
#define SPLAT_TEXT_WIDTH 6
#define SPLAT_TEXT_HEIGHT 13

/* Draws UTF-8 text in one gray on rgb [height][width][3], its top left corner at (left, top), each pixel of the font
 * scale x scale pixels. What lies outside the picture is cut off; a character beyond ASCII is drawn as '?'. */
void splat_text_draw(uint8_t *rgb, int width, int height, int left, int top, int scale, uint8_t gray, const char *text);

#endif
