/* Tells a sky from a ceiling. */
#ifndef SPLAT_SCENE_SKY_RIM_H
#define SPLAT_SCENE_SKY_RIM_H

#include "scene/sky_parts.h"

/* Asks the points of the scene. Nothing is in the sky, and its lower rim lies at many heights: roofs, trees, hills. A
 * ceiling has points, or its rim lies at its own height, above the cameras, with nothing higher. is_open: true for a
 * sky; false too where fewer than 30 points lie at the rim. Needs the masks of sky_regions_find. Errors: MEMORY. */
splat_status sky_rim_check(const sky_finder *finder, bool *is_open, splat_error *error);

#endif
