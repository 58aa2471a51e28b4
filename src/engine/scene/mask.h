/* Masks: pictures of one channel that say which pixels of a photo count, 255: kept, 0: not. docs/method.md 2.8. */
#ifndef SPLAT_SCENE_MASK_H
#define SPLAT_SCENE_MASK_H

#include "io/picture/image.h"

#define SPLAT_MASK_KEPT 128 /* least value of a kept pixel */

/* Reads a mask file for a photo of width x height: its alpha where that is not 255 everywhere, else its luma; 16 bits
 * by their high byte; resized by area. Errors: those of splat_image_read. */
splat_status splat_mask_read(const char *path, int width, int height, bool invert, splat_image *mask,
                             splat_error *error);
/* The fourth channel of a photo. */
splat_status splat_mask_from_alpha(const splat_image *rgba, bool invert, splat_image *mask, splat_error *error);
/* Means over the area of each new pixel. */
splat_status splat_mask_resize(splat_image *mask, int width, int height, splat_error *error);
/* Values become 0 and 255. */
void splat_mask_decide(splat_image *mask);
/* Kept pixels, and their share. */
size_t splat_mask_count(const uint8_t *mask, size_t n);
double splat_mask_share(const uint8_t *mask, size_t n);

/* The colours of pixels that are not kept become smooth ones, made of the kept ones around them (black where none is
 * kept), so that nothing of what was there is left. Both have the same size; photo is RGB. */
splat_status splat_mask_fill(const splat_image *mask, splat_image *photo, splat_error *error);
/* The photo over a background of 0 or 255, with the mask as its opacity. */
void splat_mask_composite(const splat_image *mask, uint8_t background, splat_image *photo);
/* Pixels of mask 0 alone become background. */
void splat_mask_composite_blank(const splat_image *mask, uint8_t background, splat_image *photo);

#endif
