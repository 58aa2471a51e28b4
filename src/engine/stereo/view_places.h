/* Places that a view shows, and whether another view sees them. */
#ifndef SPLAT_STEREO_VIEW_PLACES_H
#define SPLAT_STEREO_VIEW_PLACES_H

#include "splatsmith/core.h"

#include <stdbool.h>

/* Camera and depth of a view. */
typedef struct splat_depth_view {
    const splat_camera *camera;
    const float *depth; /* [height][width], along the camera's axis; 0: no surface */
} splat_depth_view;

/* The places of grid x grid pixels of a view, spread over its picture, in the world; pixels without depth have none.
 * Returns their number. */
int splat_view_places(const splat_depth_view *view, int grid, float (*places)[3]);

/* True if the place falls into the view's picture and is not hidden there by more than a tenth of the distance. */
bool splat_view_sees(const splat_depth_view *view, const float place[3]);

/* Cosine of the angle between the rays from both cameras to the place; 1 if a camera is at the place. */
float splat_view_cosine(const float place[3], const splat_camera *a, const splat_camera *b);

#endif
