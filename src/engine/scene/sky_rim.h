/* Tells a sky from a ceiling. */
#ifndef SPLAT_SCENE_SKY_RIM_H
#define SPLAT_SCENE_SKY_RIM_H

#include "scene/sky_parts.h"

/* Points of the scene in the sky and at its rim. */
typedef struct sky_rim {
    bool is_known;  /* the scene has points that are not random */
    double density; /* of points in the sky, of that in the photos */
    bool is_uneven; /* the lower rim of the sky lies at many heights: roofs, trees, hills. That of a ceiling lies at its
                       own height, above the cameras, with nothing higher. False too where fewer than 30 points are */
} sky_rim;

/* Needs the masks of sky_regions_find. Errors: MEMORY. */
splat_status sky_rim_look(const sky_finder *finder, sky_rim *rim, splat_error *error);

#endif
