/* Tells a sky from walls by what hangs in it. */
#ifndef SPLAT_SCENE_SKY_HANGING_H
#define SPLAT_SCENE_SKY_HANGING_H

#include "scene/sky_parts.h"

/* *share: of the points of the scene that three photos or more see, those that hang in the sky. A third of the photos
 * of such a point, and three at least, see it on a thing with sky all around; the border of the others may cut the
 * thing. What stands on the ground does not hang; pictures on a wall and lamps do. 0 without points, or with random
 * ones. Needs the masks of sky_regions_find. Errors: MEMORY. */
splat_status sky_hanging_find(const sky_finder *finder, double *share, splat_error *error);

#endif
