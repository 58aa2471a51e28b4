/* The built-in world `hall`, and the cameras that walk through it. */
#ifndef SPLAT_SAMPLE_HALL_H
#define SPLAT_SAMPLE_HALL_H

#include "sample/sample_camera.h"
#include "sample/sample_parts.h"

/* A closed hall of 10 x 6 with a barrel vault 5.6 high, which ends in an apse with half a dome. Columns, a platform
 * with a ramp and stairs with a railing, a polished table, a round pillar; nearly everything is plain. */
void splat_sample_hall_init(splat_parts *parts, uint64_t seed);
void splat_sample_hall_camera(uint64_t seed, int index, int n, splat_sample_camera *camera);

#endif
