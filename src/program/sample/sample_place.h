/* The world `place`: a building or a room of the user's, under the sky. */
#ifndef SPLAT_SAMPLE_PLACE_H
#define SPLAT_SAMPLE_PLACE_H

#include "sample/sample_camera.h"
#include "sample/sample_parts.h"

/* The longest side of the place, scene units. */
#define SPLAT_SAMPLE_PLACE_SIZE 12.0

/* parts->things are the place; the rest is made new. */
void splat_sample_place_init(splat_parts *parts, uint64_t seed);
/* Stands where nothing is near, above a floor or the ground, and looks at the place. False: no such place was found. */
bool splat_sample_place_camera(const splat_parts *parts, uint64_t seed, int index, splat_sample_camera *camera);
/* A drone: every other photo looks down from a grid, the rest look at the place from a circle. */
void splat_sample_place_flight(uint64_t seed, int index, int n, splat_sample_camera *camera);

#endif
