/* The built-in world `office`, and the cameras in it. */
#ifndef SPLAT_SAMPLE_OFFICE_H
#define SPLAT_SAMPLE_OFFICE_H

#include "sample/sample_camera.h"
#include "sample/sample_parts.h"

/* Two corridors that form an L, and a room at the first, open to it. Walls and ceiling are plain, the floor is a
 * carpet; lamps in the ceiling, doors, a bench, a copier. Of four seeds two have lamps that give light, and
 * the last has the same light everywhere. */
void splat_sample_office_init(splat_parts *parts, uint64_t seed);
void splat_sample_office_camera(uint64_t seed, int index, int n, splat_sample_camera *camera);

#endif
