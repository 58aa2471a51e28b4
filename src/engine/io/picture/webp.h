/* Lossless WebP of RGBA bytes, which SOG keeps numbers in. A build without libwebp has neither direction. */
#ifndef SPLAT_IO_WEBP_H
#define SPLAT_IO_WEBP_H

#include "base/error.h"

#define SPLAT_WEBP_MAX_SIDE 16383

/* Errors: UNSUPPORTED (built without libwebp), naming what to do. */
splat_status splat_webp_check(const char *path, splat_error *error);
/* rgba[height][width][4] as it stands, also where alpha is 0, in malloc'd memory. Errors: MEMORY, UNSUPPORTED. */
splat_status splat_webp_encode(const uint8_t *rgba, int width, int height, uint8_t **data, size_t *size,
                               splat_error *error);
/* And back; at most max_pixels, so that a small file cannot ask for much. `name` is for messages. Errors: FORMAT,
 * MEMORY, UNSUPPORTED. */
splat_status splat_webp_decode(const char *name, const uint8_t *data, size_t size, size_t max_pixels, uint8_t **rgba,
                               int *width, int *height, splat_error *error);

#endif
