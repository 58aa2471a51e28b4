/* The built-in world `room`, a list of parts, and the cameras that look at it. */
#ifndef SPLAT_SAMPLE_ROOM_H
#define SPLAT_SAMPLE_ROOM_H

#include "sample/sample_camera.h"
#include "sample/sample_parts.h"

/* A room of 6 x 4, 3 high, seen from inside: painted walls, posters, a floor of planks, a table, chairs, a shelf, a
 * sofa, a lamp, a rug. Cameras walk around its middle at the height of eyes and look outwards, across and along. */
void splat_sample_room_init(splat_parts *parts, uint64_t seed);
void splat_sample_room_camera(uint64_t seed, int index, int n, splat_sample_camera *camera);

#endif
