/* A sky that differs from photo to photo: what is far brighter than all below it, with nothing in it. */
#ifndef SPLAT_SCENE_SKY_BRIGHT_H
#define SPLAT_SCENE_SKY_BRIGHT_H

#include "scene/sky_parts.h"

/* Clouds drift, the sun's glare differs from place to place: then no direction has a colour. But a sky is brighter than
 * what it lights. Sets `brightness` if the scene has such a sky, and sky_level of all photos (docs/method.md 2.9).
 * Errors: MEMORY. */
splat_status sky_bright_find(sky_finder *finder, splat_error *error);
/* The luma of a colour, Rec. 709. */
uint8_t sky_level_of(const uint8_t *rgb);
/* True if a colour is at least `part` (0 .. 1) as bright as the sky of its photo, in levels. */
bool sky_bright_fits(const sky_photo *photo, const uint8_t *rgb, float part);

#endif
