/* Colours of faces that no view sees. */
#ifndef SPLAT_TEXTURE_BAKE_FILL_H
#define SPLAT_TEXTURE_BAKE_FILL_H

#include "texture/bake_parts.h"

/* Colours of all faces that are joined to some that a view sees, into face_colors, allocated here. Errors: MEMORY. */
splat_status splat_bake_color_faces(splat_bake *bake, splat_error *error);

#endif
