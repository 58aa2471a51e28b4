/* The built-in world `objects`, a list of parts, and the cameras that look at it. */
#ifndef SPLAT_SAMPLE_OBJECTS_H
#define SPLAT_SAMPLE_OBJECTS_H

#include "sample/sample_camera.h"
#include "sample/sample_parts.h"

/* Objects on a ground of 4 x 4, half of it textured and half of one colour, under a sun, before a painted backdrop:
 * balls, boxes, tori, cylinders, a thin plate, standing, leaning and lying rods. Cameras walk around on two rings. */
void splat_sample_objects_init(splat_parts *parts, uint64_t seed);
void splat_sample_objects_camera(uint64_t seed, int index, int n, splat_sample_camera *camera);

#endif
