/* Holes of a picture filled from its valid texels. */
#ifndef SPLAT_TEXTURE_FILL_H
#define SPLAT_TEXTURE_FILL_H

#include "mesh/mesh.h"

/* Fills the texels of a page whose `valid` is 0 by push-pull over the whole page: each takes the mean of the valid
 * texels of the finest level of a pyramid that has any there, interpolated. So mip maps and the blocks of JPEG do not
 * mix what nobody painted into charts. valid: [height][width] of the page; a page without valid texels becomes gray.
 * Memory: 4 bytes for each 3 texels. Errors: MEMORY. */
splat_status splat_texture_fill(splat_image *page, const uint8_t *valid, int threads, splat_error *error);

#endif
