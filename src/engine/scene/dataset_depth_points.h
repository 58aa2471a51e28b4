/* Depths that structure from motion has found. */
#ifndef SPLAT_SCENE_DATASET_DEPTH_POINTS_H
#define SPLAT_SCENE_DATASET_DEPTH_POINTS_H

#include "scene/dataset_parts.h"

/* The points that each training view sees, where `sfm_depth` asks for them. Extent and split must be set. Errors:
 * UNSUPPORTED (the scene has no tracks), FORMAT, MEMORY. */
splat_status splat_dataset_load_depth_points(splat_dataset *dataset, const splat_source *source,
                                             const splat_scene_options *options, const splat_dataset_log *log,
                                             splat_error *error);

/* Projects a point to a picture: its place in pixels from the upper left corner, also outside of the picture, and its
 * depth: (u, v, z). False, with nothing written, if z is not above least_depth (0 or more). */
bool splat_dataset_place_point(const splat_camera *camera, const float position[3], double least_depth,
                               double place[3]);

#endif
