/* The built-in world `loft`, and the cameras in it. */
#ifndef SPLAT_SAMPLE_LOFT_H
#define SPLAT_SAMPLE_LOFT_H

#include "sample/sample_camera.h"
#include "sample/sample_parts.h"

/* A room of 7 x 5 under a roof: low walls, slopes, a ceiling between them, gables, all of one plaster; beams across,
 * a window in a slope, a dormer in two thirds of the seeds. Of four seeds two have a lamp, and the last has the
 * same light everywhere. */
void splat_sample_loft_init(splat_parts *parts, uint64_t seed);
void splat_sample_loft_camera(uint64_t seed, int index, int n, splat_sample_camera *camera);

#endif
