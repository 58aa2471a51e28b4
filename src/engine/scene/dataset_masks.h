/* The mask of each photo. */
#ifndef SPLAT_SCENE_DATASET_MASKS_H
#define SPLAT_SCENE_DATASET_MASKS_H

#include "scene/dataset_parts.h"

/* mask_path, has_alpha_mask and has_mask of the views. Cameras must be set. */
splat_status splat_dataset_find_masks(splat_dataset *dataset, const splat_source *source,
                                      const splat_scene_options *options, const splat_dataset_log *log,
                                      splat_error *error);

/* sky_path of the views, if option `sky` names a folder. Errors: IO, FORMAT, MEMORY. */
splat_status splat_dataset_find_sky_masks(splat_dataset *dataset, const splat_source *source,
                                          const splat_scene_options *options, const splat_dataset_log *log,
                                          splat_error *error);

#endif
