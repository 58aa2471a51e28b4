/* Tells a sky from walls by what hangs in it. */
#ifndef SPLAT_SCENE_SKY_HANGING_H
#define SPLAT_SCENE_SKY_HANGING_H

#include "scene/sky_parts.h"

/* *share: of the points of the scene that three photos or more see, those that hang in the sky: a third of their photos,
 * and three at least, see them on a thing with sky all around. (The border of the others may cut the thing.) What
 * stands on the ground does not hang; pictures on a wall and lamps do. 0 without points, or with random ones. Needs the
 * masks of sky_regions_find. Errors: MEMORY. */
splat_status sky_hanging_find(const sky_finder *finder, double *share, splat_error *error);

#endif
