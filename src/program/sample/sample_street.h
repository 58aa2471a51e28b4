/* The built-in world `street`, and the cameras that walk along it. */
#ifndef SPLAT_SAMPLE_STREET_H
#define SPLAT_SAMPLE_STREET_H

#include "sample/sample_camera.h"
#include "sample/sample_parts.h"

/* A street of 28 along x: a house with eaves and gables behind a pavement, posts of 2 and 6 cm, a railing, a tree of
 * 3,000 leaves, a parked car that shines, a bush close to one camera; hills and houses 60 to 110 away; a sky at
 * infinity that is overcast, blue or cloudy. Cameras walk along the other side, on the road and on the pavement. */
void splat_sample_street_init(splat_parts *parts, uint64_t seed);
void splat_sample_street_camera(uint64_t seed, int index, int n, splat_sample_camera *camera);

#endif
