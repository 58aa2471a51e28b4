/* A picture in memory. image_read.h and image_write.h have its files, image_resize.h has Pillow's antialiased bicubic
 * resize. */
#ifndef SPLAT_IO_IMAGE_H
#define SPLAT_IO_IMAGE_H

#include "base/error.h"

/* 8 bits a channel, row-major, interleaved. pixels is malloc'd (splat_image_free). */
typedef struct splat_image {
    int width, height, channels; /* 3: RGB, 4: RGBA (straight alpha) */
    uint8_t *pixels;
} splat_image;

/* Sides larger than this are refused as corrupt. */
#define SPLAT_IMAGE_MAX_SIDE 65500

#endif
