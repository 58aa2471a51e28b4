/* The built-in world `room2`, and the cameras in it. */
#ifndef SPLAT_SAMPLE_ROOM2_H
#define SPLAT_SAMPLE_ROOM2_H

#include "sample/sample_camera.h"
#include "sample/sample_parts.h"

/* A room of 5 x 4 under a sloped ceiling. Walls and ceiling are of one grey and dark towards their corners; things
 * stand within 0.3 of the walls; flat posters, and frames of 2 cm. */
void splat_sample_room2_init(splat_parts *parts, uint64_t seed);
void splat_sample_room2_camera(uint64_t seed, int index, int n, splat_sample_camera *camera);

#endif
