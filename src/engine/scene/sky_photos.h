/* The training photos at the size of the search for the sky. */
#ifndef SPLAT_SCENE_SKY_PHOTOS_H
#define SPLAT_SCENE_SKY_PHOTOS_H

#include "scene/sky_parts.h"

/* Decodes the training photos and finds their plain pixels. Errors: those of decoding, MEMORY. */
splat_status sky_photos_load(sky_finder *finder, splat_error *error);
void sky_photos_free(sky_finder *finder);

#endif
