/* A picture's rows one at a time, as they are decoded: composited and made narrower, so that a large picture is never
 * whole in memory. The same bytes as splat_image_composite and splat_image_resize give. */
#ifndef SPLAT_IO_IMAGE_RESIZE_H
#define SPLAT_IO_IMAGE_RESIZE_H

#include "base/error.h"
#include "io/picture/image.h"

/* The weights of every output sample of one axis: out[i] = sum over k of weight[i][k] in[first[i] + k]. */
typedef struct splat_resize_axis {
    int in, n_taps;  /* input samples; room of one output sample, of which n[i] are used */
    int *first, *n;
    int32_t *weight; /* [out][n_taps], fixed point */
    int32_t *pairs;  /* [out][(n_taps + 1) / 2][2], the same for two taps at once: their high and their low halves, 16
                        bits each; those after n[i] are 0 */
} splat_resize_axis;

/* False when memory is exhausted; splat_resize_axis_free in either case. Sides from 1 to SPLAT_IMAGE_MAX_SIDE. */
bool splat_resize_axis_make(splat_resize_axis *axis, int in, int out);
void splat_resize_axis_free(splat_resize_axis *axis);
/* rgb [in][3] to out [out][3]. */
void splat_resize_axis_row(const splat_resize_axis *axis, int out_width, const uint8_t *rgb, uint8_t *out);
/* rgba [n][4] over a background of 0 or 255 to rgb [n][3], which may be the same memory; truncate as
 * splat_image_composite. */
void splat_image_composite_row(const uint8_t *rgba, size_t n, uint8_t background, bool truncate, uint8_t *rgb);

/* Pillow's Image.resize(BICUBIC): a = -0.5, support widened when shrinking, horizontal pass first, 8-bit intermediate;
 * RGBA is premultiplied around the passes as Pillow does. Equal to Pillow to 1/255. Replaces image->pixels. */
splat_status splat_image_resize(splat_image *image, int width, int height, splat_error *error);
/* RGBA over a background of 0 or 255: rgb a + bg (1 - a), truncated to 8 bits as the NeRF-synthetic loaders do, or
 * rounded. */
splat_status splat_image_composite(splat_image *image, uint8_t background, bool truncate, splat_error *error);

#endif
