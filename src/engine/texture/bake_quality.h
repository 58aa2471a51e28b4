/* Which views see which face, and how well. */
#ifndef SPLAT_TEXTURE_BAKE_QUALITY_H
#define SPLAT_TEXTURE_BAKE_QUALITY_H

#include "texture/bake_parts.h"
#include "texture/bake_view.h"

/* Sharpness of the views, candidates and densities of the faces. Errors: ARGUMENT when no view sees a face of the mesh,
 * UNSUPPORTED (more views than numbers), those of reading photos. */
splat_status splat_bake_quality(splat_bake *bake, splat_bake_room *room, splat_error *error);
/* Puts a view into a face's list, best first, of equal quality the earlier; the last falls out of a full list. */
void splat_bake_offer(splat_bake_candidate list[SPLAT_TEXTURE_CANDIDATES], const splat_bake_candidate *candidate);
float splat_bake_quality_value(uint16_t code);

#endif
