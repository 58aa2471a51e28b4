/* Regions of the photos that are sky. */
#ifndef SPLAT_SCENE_SKY_REGIONS_H
#define SPLAT_SCENE_SKY_REGIONS_H

#include "scene/sky_parts.h"

/* Fills the masks of the photos, and is_sky. Errors: MEMORY. */
splat_status sky_regions_find(sky_finder *finder, splat_error *error);

#endif
