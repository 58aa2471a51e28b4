/* The built-in worlds that are lists of parts, by their scene. */
#ifndef SPLAT_SAMPLE_DESIGNS_H
#define SPLAT_SAMPLE_DESIGNS_H

#include "sample/sample_camera.h"
#include "sample/sample_parts.h"
#include "splatsmith/sample.h"

/* True of scenes after the first three: their photos have a sensor's noise and the JPEG quality of cameras, and two
 * thirds of the seeds have walls along the axes. */
bool splat_sample_is_photographic(splat_sample_scene scene);
/* The longest side of the largest thing of the user's, scene units; 0: the scene takes none. */
double splat_sample_largest_thing(splat_sample_scene scene);
/* Fills the world of a scene other than BASIC; splat_parts_release releases it. */
void splat_sample_design_init(splat_parts *parts, splat_sample_scene scene, uint64_t seed);
/* The index-th of n cameras of this world; its width and height are set. False: there is no place to stand. */
bool splat_sample_design_camera(const splat_parts *parts, splat_sample_scene scene, uint64_t seed, int index, int n,
                                splat_sample_camera *camera);

#endif
