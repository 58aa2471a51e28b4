/* The views that are held out. */
#ifndef SPLAT_SCENE_DATASET_SPLIT_H
#define SPLAT_SCENE_DATASET_SPLIT_H

#include "scene/dataset_parts.h"

/* Fills is_test, train and test. Names and is_lower_scale of the views must be set. */
splat_status splat_dataset_split(splat_dataset *dataset, const splat_source *source,
                                 const splat_scene_options *options, const splat_dataset_log *log, splat_error *error);

#endif
