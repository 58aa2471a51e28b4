/* Pictures from a pipe. */
#include "capture/video.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_MAX 64
#define SIDE_MAX 65500

/* The header's length and what it says: "P5", width, height and 255, with single white space after it. 0: more bytes
 * are needed; -1: it is none. */
static int read_header(const splat_pgm_stream *s, int *width, int *height)
{
    char text[HEADER_MAX + 1];
    int maximum = 0, length = 0;
    size_t n = s->n < HEADER_MAX ? s->n : HEADER_MAX;
    memcpy(text, s->bytes, n);
    text[n] = '\0';
    if (n >= 2 && memcmp(text, "P5", 2) != 0) return -1;
    int found = n >= 2 ? sscanf(text, "P5 %d %d %d%n", width, height, &maximum, &length) : 0;
    if (found < 3 || length == 0 || (size_t)length >= n) return n == HEADER_MAX ? -1 : 0; /* 25 may become 255 */
    bool good = maximum == 255 && *width > 0 && *height > 0 && *width <= SIDE_MAX && *height <= SIDE_MAX;
    return good ? length + 1 : -1;
}

bool splat_pgm_stream_add(splat_pgm_stream *s, const char *bytes, size_t n,
                          bool (*picture)(void *user, const uint8_t *gray, int width, int height), void *user)
{
    while (n > 0) {
        uint8_t *grown = splat_array_grow(s->bytes, &s->capacity, s->n, 1);
        if (!grown) return false;
        s->bytes = grown;
        size_t room = s->capacity - s->n, part = n < room ? n : room;
        memcpy(s->bytes + s->n, bytes, part);
        s->n += part;
        bytes += part;
        n -= part;
        for (;;) {
            int width, height, header = s->n ? read_header(s, &width, &height) : 0;
            if (header < 0) return false;
            if (header == 0) break;
            size_t length = (size_t)header + (size_t)width * (size_t)height;
            if (s->n < length) break;
            if (!picture(user, s->bytes + header, width, height)) return false;
            s->n -= length;
            memmove(s->bytes, s->bytes + length, s->n);
        }
    }
    return true;
}

void splat_pgm_stream_free(splat_pgm_stream *s)
{
    free(s->bytes);
    *s = (splat_pgm_stream){0};
}
