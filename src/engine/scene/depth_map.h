/* A photo's map of inverse depths, as training sees it. */
#ifndef SPLAT_SCENE_DEPTH_MAP_H
#define SPLAT_SCENE_DEPTH_MAP_H

#include "scene/dataset.h"

/* Reads the map of a view that has one and takes it to the view's camera: values = uint16_t[height][width], the
 * caller's. Each is that of the map's pixel under the middle of the view's, through the lens where the photo is
 * distorted: none is mixed of two, as between two surfaces there is none. Where the lens sees nothing: 0. */
splat_status splat_depth_map_load(const splat_dataset_view *view, uint16_t *values, splat_error *error);

#endif
