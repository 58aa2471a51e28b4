/* Pictures: JPEG (libturbojpeg) and PNG (libpng) in, both out, and Pillow's antialiased bicubic resize. */
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

/* The format is recognised by the content, not by the name. Gray and palette become RGB, 16 bit is reduced as Pillow
 * does for RGB (high byte), tRNS becomes alpha; CMYK JPEG is UNSUPPORTED. EXIF orientation is ignored, as COLMAP
 * does. */
splat_status splat_image_read(const char *path, splat_image *image, splat_error *error);
splat_status splat_image_decode(const char *path_for_errors, const uint8_t *data, size_t size, splat_image *image,
                                splat_error *error);
/* What a photo becomes: composited (below), then resized. */
typedef struct splat_image_wanted {
    int width, height;
    uint8_t background; /* 0 or 255 */
    bool truncate;
} splat_image_wanted;

/* splat_image_read, splat_image_composite and splat_image_resize, the same bytes. A PNG that becomes narrower never is
 * whole in memory, unless it is interlaced: its header alone could ask for gigabytes. */
splat_status splat_image_read_wanted(const char *path, const splat_image_wanted *wanted, splat_image *image,
                                     splat_error *error);
/* Width, height and channels from the header only. */
splat_status splat_image_probe(const char *path, int *width, int *height, int *channels, splat_error *error);
/* The same, and the picture is not cut off: a file that does not end as its format does is decoded. */
splat_status splat_image_check_whole(const char *path, splat_error *error);
void splat_image_free(splat_image *image);

/* Pillow's Image.resize(BICUBIC): a = -0.5, support widened when shrinking, horizontal pass first, 8-bit intermediate;
 * RGBA is premultiplied around the passes as Pillow does. Equal to Pillow to 1/255. Replaces image->pixels. */
splat_status splat_image_resize(splat_image *image, int width, int height, splat_error *error);
/* RGBA over a background of 0 or 255: rgb a + bg (1 - a), truncated to 8 bits as the NeRF-synthetic loaders do, or
 * rounded. */
splat_status splat_image_composite(splat_image *image, uint8_t background, bool truncate, splat_error *error);

/* Atomic. depth is 8 (uint8_t) or 16 (uint16_t, host order); channels 1, 3 or 4. */
splat_status splat_png_write(const char *path, int width, int height, int channels, int depth, const void *pixels,
                             splat_error *error);
/* A PFM of float32, atomic. planar: float[channels][height][width], 1 or 3 channels. */
splat_status splat_pfm_write(const char *path, int width, int height, int channels, const float *planar,
                             splat_error *error);
/* A PNG of 8 bits into malloc'd memory (the caller frees *data), compressed for speed rather than size. `name` is
 * for error messages. */
splat_status splat_png_encode(const char *name, int width, int height, int channels, const uint8_t *pixels,
                              uint8_t **data, size_t *size, splat_error *error);
/* A JPEG without chroma subsampling into malloc'd memory (the caller frees *data). rgb: uint8_t[height][width][3];
 * quality from 1 to 100. */
splat_status splat_jpeg_encode(const char *name, int width, int height, const uint8_t *rgb, int quality, uint8_t **data,
                               size_t *size, splat_error *error);
/* floor(255 x + 1/2) of a value in [0,1]; others are clamped, NaN becomes 0. */
uint8_t splat_image_byte(float value);
/* Planar float[3][height][width] to interleaved 8 bits. */
void splat_image_from_planar(const float *planar, int width, int height, uint8_t *rgb);

#endif
