/* Prepares a photo: sharpness, gradients, smaller levels, levelled values and the low band. */
#ifndef SPLAT_TEXTURE_BAKE_PHOTO_H
#define SPLAT_TEXTURE_BAKE_PHOTO_H

#include "texture/bake_parts.h"

/* (299 r + 587 g + 114 b) / 1000, in [0, 1]. */
void splat_bake_luma(const uint8_t *rgb, size_t n, int threads, float *luma);
/* Variance of the 4-neighbour Laplacian; 0 without inner pixels. The same for any number of threads. */
double splat_bake_sharpness(const float *luma, int width, int height, int threads);
/* |Sobel| of a pixel over 4, border pixels as their neighbours inside: 1 is a step from black to white. */
float splat_bake_gradient(const float *luma, int width, int height, int x, int y);
/* The smaller levels after the photo: means of 2 x 2 pixels. Returns how many levels there are. */
int splat_bake_pyramid(uint8_t *photo, int width, int height, int threads);
/* sRGB-encoded values of the bytes of each channel, levelled: [3][256]. */
void splat_bake_table(const splat_bake_view *view, float table[3 * 256]);
/* The low band: levelled level SPLAT_TEXTURE_LOW_LEVEL, blurred over pixels of the same surface, that is within a step
 * of depth. sigma: pixels of the photo. */
void splat_bake_low(const uint8_t *pyramid, const float *table, const float *depth, int width, int height,
                    float sigma, int threads, float *low);

#endif
