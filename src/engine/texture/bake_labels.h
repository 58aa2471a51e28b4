/* The view that each face takes its details from. */
#ifndef SPLAT_TEXTURE_BAKE_LABELS_H
#define SPLAT_TEXTURE_BAKE_LABELS_H

#include "texture/bake_parts.h"

/* Chooses the view that each face takes its details from, the same over wide parts of the surface; allocates and fills
 * labels and vertex_labels. Errors: MEMORY. */
splat_status splat_bake_label(splat_bake *bake, splat_error *error);

#endif
