/* Clouds with edges. */
#ifndef SPLAT_SCENE_SKY_CLOUDS_H
#define SPLAT_SCENE_SKY_CLOUDS_H

#include "scene/sky_parts.h"

/* Adds clouds to the photo's mask: connected pixels next to the sky that are no darker than it, if most of their rim is
 * sky, and if few of them lie where other photos show the sky's colour: a white post stands before another part of
 * the sky in each photo, a cloud does not. Needs the photo's bins and is_sky. Errors: MEMORY. */
splat_status sky_clouds_find(const sky_finder *finder, sky_photo *photo, splat_error *error);

#endif
