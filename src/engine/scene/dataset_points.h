/* The points a model starts from, and the extent of the scene. */
#ifndef SPLAT_SCENE_DATASET_POINTS_H
#define SPLAT_SCENE_DATASET_POINTS_H

#include "scene/dataset.h"
#include "scene/dataset_parts.h"

/* Points and extent. Cameras and split must be set. */
splat_status splat_dataset_load_points(splat_dataset *dataset, const splat_source *source, uint64_t seed,
                                       const splat_dataset_log *log, splat_error *error);

/* Extent of camera centres: 1.1 x the largest distance to their mean. */
float splat_scene_extent(const splat_dataset_view *views, const uint32_t *indices, size_t n);

#endif
