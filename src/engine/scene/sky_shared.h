/* Tells a sky from windows by the directions in which photos see it. */
#ifndef SPLAT_SCENE_SKY_SHARED_H
#define SPLAT_SCENE_SKY_SHARED_H

#include "scene/sky_parts.h"

/* *shared: of the photos that look in a direction, those that see sky there, in the mean of all photos that see sky in
 * a direction; 1 where no direction is seen by three photos. A sky is behind everything, so it is there for most photos
 * that look in its direction. A window, or a wall in a bright photo, moves from photo to photo. Needs the masks of
 * sky_regions_find. Errors: MEMORY. */
splat_status sky_shared_find(const sky_finder *finder, double *shared, splat_error *error);

#endif
