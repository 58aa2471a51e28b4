/* The view that each face takes its details from. */
#ifndef SPLAT_TEXTURE_BAKE_LABELS_H
#define SPLAT_TEXTURE_BAKE_LABELS_H

#include "texture/bake_parts.h"

/* The view that each face takes its details from, alike over wide parts of the surface; labels and vertex_labels are
 * allocated and filled. Errors: MEMORY. */
splat_status splat_bake_label(splat_bake *bake, splat_error *error);

#endif
