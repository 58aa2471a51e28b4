/* Tells a sky from a ceiling. */
#ifndef SPLAT_SCENE_SKY_RIM_H
#define SPLAT_SCENE_SKY_RIM_H

#include "scene/sky_parts.h"

/* Points of the scene in the sky and at its rim. */
typedef struct sky_rim {
    bool is_known;  /* the photos show points that are not random, and the sky has pixels away from its rim */
    double density; /* of points in the sky, of that in the photos */
    bool is_uneven; /* the lower rim of the sky lies at many heights: roofs, trees, hills. The rim of a ceiling lies at
                       the height of the ceiling, above the cameras, with nothing higher. False too where fewer than 30
                       points lie at the rim */
} sky_rim;

/* Needs the masks of sky_regions_find. Errors: MEMORY. */
splat_status sky_rim_look(const sky_finder *finder, sky_rim *rim, splat_error *error);

#endif
