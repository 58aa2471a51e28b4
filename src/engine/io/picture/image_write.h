/* Pictures out: PNG, JPEG, PFM, and renders as 8 bits. */
#ifndef SPLAT_IO_IMAGE_WRITE_H
#define SPLAT_IO_IMAGE_WRITE_H

#include "base/error.h"

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
