/* The texture polished by gradients. */
#ifndef SPLAT_TEXTURE_BAKE_POLISH_H
#define SPLAT_TEXTURE_BAKE_POLISH_H

#include "texture/bake_parts.h"
#include "texture/bake_view.h"

/* Steps of Adam on the texels, which make the mesh similar to the levelled photos of training views. Fills the
 * gutters again. losses[2]: the mean of the first and of the last tenth of the steps. Errors: MEMORY, UNSUPPORTED
 * (2^32 texels and more), those of reading photos, STOPPED. */
splat_status splat_bake_polish(const splat_bake *bake, const splat_atlas *atlas, splat_bake_room *room,
                               splat_image *pages, uint8_t *const *valid, double losses[2], splat_error *error);

/* Bytes of the device for a texel and a pixel of a polish. */
#define SPLAT_BAKE_POLISH_TEXEL_BYTES (12 + 24 + 12 + 1)
#define SPLAT_BAKE_POLISH_PIXEL_BYTES (16 + 12 + 12 + 12)

#endif
