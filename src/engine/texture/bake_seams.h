/* How far the two sides of a seam differ: edges whose faces lie in different places of the texture. */
#ifndef SPLAT_TEXTURE_BAKE_SEAMS_H
#define SPLAT_TEXTURE_BAKE_SEAMS_H

#include "texture/bake_parts.h"

/* The mean |left - right| of the texture, in bytes, along edges between faces that views see and that lie in different
 * places of it. Errors: MEMORY. */
splat_status splat_bake_seams(const splat_bake *bake, const splat_image *pages, double *difference,
                              splat_error *error);

#endif
