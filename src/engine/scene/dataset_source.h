/* The files of a scene as one list of photos with cameras. */
#ifndef SPLAT_SCENE_DATASET_SOURCE_H
#define SPLAT_SCENE_DATASET_SOURCE_H

#include "scene/dataset_parts.h"

/* Reads the scene's files; views come sorted by image name. Every photo exists, and is whole. */
splat_status splat_source_read(const splat_scene_options *options, const splat_dataset_log *log, splat_source *source,
                               splat_error *error);
void splat_source_free(splat_source *source);
/* Puts the views in the order of their names. FORMAT: two share a photo. */
splat_status splat_source_sort(splat_source *source, splat_error *error);

#endif
