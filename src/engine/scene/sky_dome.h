/* The colours of directions. */
#ifndef SPLAT_SCENE_SKY_DOME_H
#define SPLAT_SCENE_SKY_DOME_H

#include "scene/sky_parts.h"

/* Fills dome, radius, fit and gains; the fit is 0 if there is no sky. Errors: MEMORY. */
splat_status sky_dome_find(sky_finder *finder, splat_error *error);
/* True if a colour of the photo is within `levels` of that of a direction. */
bool sky_color_fits(const sky_photo *photo, const uint8_t *rgb, const sky_color *color, float levels);

#endif
