/* The built-in world `wheel`, and the cameras before it. */
#ifndef SPLAT_SAMPLE_WHEEL_H
#define SPLAT_SAMPLE_WHEEL_H

#include "sample/sample_camera.h"
#include "sample/sample_parts.h"

/* A bicycle's wheel with 32 spokes of 2 mm in a stand on a textured ground, before the sky. A third of the cameras
 * each stand where a spoke is 4, 2 and 1 pixels of a photo of 720 pixels wide. */
void splat_sample_wheel_init(splat_parts *parts, uint64_t seed);
void splat_sample_wheel_camera(uint64_t seed, int index, int n, splat_sample_camera *camera);

#endif
