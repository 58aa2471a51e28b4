/* Pictures of figures: colour maps whose lightness rises evenly, so that brighter is more also in gray. */
#ifndef SPLAT_IO_COLORMAP_H
#define SPLAT_IO_COLORMAP_H

#include <stddef.h>
#include <stdint.h>

typedef enum splat_colormap { SPLAT_COLORMAP_MAGMA = 0, SPLAT_COLORMAP_VIRIDIS = 1 } splat_colormap;

/* value in [0, 1] (clamped; NaN is 0) to sRGB. */
void splat_colormap_color(splat_colormap map, float value, uint8_t rgb[3]);

/* |render - photo|, the mean over the channels, in magma; SPLAT_ERROR_MAP_FULL and more is the brightest. The scale is
 * fixed, so that pictures of different iterations compare. render: float[3][height][width]; photo, rgb:
 * uint8_t[height][width][3]. */
#define SPLAT_ERROR_MAP_FULL 0.25f
void splat_error_map(int width, int height, const float *render, const uint8_t *photo, uint8_t *rgb);

/* Gaussians blended a pixel, in viridis: log2(1 + n) / 10, so that 0 is the darkest, 31 is in the middle and 1023 is
 * the brightest. counts: [height][width]; rgb: uint8_t[height][width][3]. */
void splat_density_heatmap(int width, int height, const uint32_t *counts, uint8_t *rgb);

/* Depths (0: nothing, which is black) in viridis, near is bright: by their inverses, over those of this picture alone.
 * depth: [n]; rgb: uint8_t[n][3]. */
void splat_depth_heatmap(size_t n, const float *depth, uint8_t *rgb);

#endif
