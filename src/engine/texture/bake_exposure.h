/* Gains of the views. */
#ifndef SPLAT_TEXTURE_BAKE_EXPOSURE_H
#define SPLAT_TEXTURE_BAKE_EXPOSURE_H

#include "texture/bake_parts.h"

/* Gains of every view, from faces that several see. Errors: MEMORY, STOPPED. */
splat_status splat_bake_level(splat_bake *bake, splat_error *error);

#endif
