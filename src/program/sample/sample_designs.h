/* The built-in worlds that are lists of parts, by their scene. */
#ifndef SPLAT_SAMPLE_DESIGNS_H
#define SPLAT_SAMPLE_DESIGNS_H

#include "sample/sample_camera.h"
#include "sample/sample_parts.h"
#include "splatsmith/sample.h"

/* True of scenes after the first three: their photos have a sensor's noise and the JPEG quality of cameras, and two
 * thirds of the seeds have walls along the axes. */
bool splat_sample_is_photographic(splat_sample_scene scene);
/* Fills the world of a scene other than BASIC; splat_parts_release releases it. */
void splat_sample_design_init(splat_parts *parts, splat_sample_scene scene, uint64_t seed);
/* The index-th of n cameras; its width and height are set. */
void splat_sample_design_camera(splat_sample_scene scene, uint64_t seed, int index, int n,
                                splat_sample_camera *camera);

#endif
