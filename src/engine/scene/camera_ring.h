/* Cameras in their order around the scene. */
#ifndef SPLAT_SCENE_CAMERA_RING_H
#define SPLAT_SCENE_CAMERA_RING_H

#include "base/error.h"

/* The camera of a photo, in world coordinates. */
typedef struct splat_ring_camera {
    double center[3];
    double axis[3], up[3]; /* unit vectors */
    uint32_t photo;
} splat_ring_camera;

/* Sorts n cameras by azimuth around the point that is nearest to all axes (least squares); the vertical is the mean of
 * `up`. The order depends on the poses only: names and the order of the input matter for equal poses alone. Errors:
 * ARGUMENT (all of several cameras stand in one place), MEMORY. */
splat_status splat_camera_ring_sort(splat_ring_camera *cameras, size_t n, splat_error *error);

#endif
