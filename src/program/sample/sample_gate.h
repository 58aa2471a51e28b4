/* The built-in world `gate`, and the cameras around it. */
#ifndef SPLAT_SAMPLE_GATE_H
#define SPLAT_SAMPLE_GATE_H

#include "sample/sample_camera.h"
#include "sample/sample_parts.h"

/* Gates of rods and arches, each in one plane, on a plain ground of 5 x 5 with soft shadows; nothing but the sky at
 * infinity around: overcast, blue or cloudy. */
void splat_sample_gate_init(splat_parts *parts, uint64_t seed);
void splat_sample_gate_camera(uint64_t seed, int index, int n, splat_sample_camera *camera);

#endif
