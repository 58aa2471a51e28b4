/* Pictures in: JPEG and PNG. */
#ifndef SPLAT_IO_IMAGE_READ_H
#define SPLAT_IO_IMAGE_READ_H

#include "io/picture/image.h"

/* The format is recognised by the content, not by the name. Gray and palette become RGB, 16 bit is reduced as Pillow
 * does for RGB (high byte), tRNS becomes alpha; CMYK JPEG is UNSUPPORTED. EXIF orientation is ignored, as COLMAP
 * does. */
splat_status splat_image_read(const char *path, splat_image *image, splat_error *error);
splat_status splat_image_decode(const char *path_for_errors, const uint8_t *data, size_t size, splat_image *image,
                                splat_error *error);

/* The demands on a decoded photo: composited (below), then resized. */
typedef struct splat_image_request {
    int width, height;
    uint8_t background; /* 0 or 255 */
    bool truncate;
} splat_image_request;

/* splat_image_read, splat_image_composite and splat_image_resize, the same bytes. A PNG that becomes narrower never is
 * whole in memory, unless it is interlaced: its header alone could ask for gigabytes. */
splat_status splat_image_read_as(const char *path, const splat_image_request *request, splat_image *image,
                                 splat_error *error);
/* Width, height and channels from the header only. */
splat_status splat_image_probe(const char *path, int *width, int *height, int *channels, splat_error *error);
/* The same, and the picture is not cut off: a file that does not end as its format does is decoded. */
splat_status splat_image_check_whole(const char *path, splat_error *error);
void splat_image_free(splat_image *image);

#endif
