/* The colour of the sky in every direction. */
#ifndef SPLAT_SCENE_SKY_COLORS_H
#define SPLAT_SCENE_SKY_COLORS_H

#include "scene/sky_parts.h"

/* Fills the nodes of a dome (math/dome.h), [NODES][3], values 0 to 1, with the mean colours of the sky's pixels, each
 * divided by the gain of its photo if that brings photos of one direction closer to each other; directions without sky
 * with those of the sky around. masks: [n], of the photos; the ball is that of the finder. False: no pixel is sky, and
 * nothing is written. Errors: MEMORY. */
splat_status sky_colors_find(const sky_finder *finder, const splat_sky_mask *masks, float *colors, bool *is_found,
                             splat_error *error);

#endif
