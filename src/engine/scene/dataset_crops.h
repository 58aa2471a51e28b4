/* Wide photos as several views. */
#ifndef SPLAT_SCENE_DATASET_CROPS_H
#define SPLAT_SCENE_DATASET_CROPS_H

#include "scene/dataset_parts.h"

/* Photos that one pinhole camera cannot show become several views each; a notice says so. Errors: of photos that cannot
 * be read; UNSUPPORTED for lenses that no camera can show; ARGUMENT for panoramas with OFF. */
splat_status splat_source_cut(splat_source *source, const splat_scene_options *options, const splat_dataset_log *log,
                              splat_error *error);

#endif
