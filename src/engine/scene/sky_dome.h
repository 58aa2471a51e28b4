/* The colours of directions. */
#ifndef SPLAT_SCENE_SKY_DOME_H
#define SPLAT_SCENE_SKY_DOME_H

#include "scene/sky_parts.h"

/* Fills votes[SKY_BINS]: what the photo shows on a ball of this radius, 0: at infinity. */
void sky_dome_vote(const sky_finder *finder, const sky_photo *photo, double radius, sky_vote *votes);

/* Fills dome, radius, fit and gains; the fit is 0 if there is no sky. Errors: MEMORY. */
splat_status sky_dome_find(sky_finder *finder, splat_error *error);
/* Fills the bins of all pixels of a photo. Errors: MEMORY. */
splat_status sky_dome_look(const sky_finder *finder, sky_photo *photo, splat_error *error);
/* The sine of the elevation of a pixel's ray. */
double sky_elevation(const sky_finder *finder, const sky_photo *photo, size_t pixel);
/* True if a colour of the photo is within `levels` of that of a direction. */
bool sky_color_fits(const sky_photo *photo, const uint8_t *rgb, const sky_color *color, float levels);

#endif
