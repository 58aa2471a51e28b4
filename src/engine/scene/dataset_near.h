/* How near the scene comes to each camera, by the points of the scene. */
#ifndef SPLAT_SCENE_DATASET_NEAR_H
#define SPLAT_SCENE_DATASET_NEAR_H

#include "scene/dataset.h"

#define SPLAT_NEAR_LEAST_POINTS 20 /* a picture with fewer points has no nearest depth */

/* Fills near_depth of all views (docs/method.md 10.2). Random points change nothing. Errors: MEMORY. */
splat_status splat_dataset_find_near_depths(splat_dataset *dataset, splat_error *error);

#endif
