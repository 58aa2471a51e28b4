/* The map of inverse depths of each photo. */
#ifndef SPLAT_SCENE_DATASET_DEPTHS_H
#define SPLAT_SCENE_DATASET_DEPTHS_H

#include "scene/dataset_parts.h"

/* depth_path and what belongs to it of the training views, where `depths` asks for them. The split must be set. Errors:
 * IO, FORMAT, UNSUPPORTED, MEMORY. */
splat_status splat_dataset_find_depths(splat_dataset *dataset, const splat_source *source,
                                       const splat_scene_options *options, const splat_dataset_log *log,
                                       splat_error *error);

#endif
