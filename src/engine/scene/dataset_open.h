/* Opening a scene: a dataset from its files, or of photos in memory. */
#ifndef SPLAT_SCENE_DATASET_OPEN_H
#define SPLAT_SCENE_DATASET_OPEN_H

#include "scene/dataset.h"

#define SPLAT_UNFINISHED_SAMPLE "sample.unfinished" /* in a folder while `splatsmith sample` writes it */

/* Detection: sparse/ or sparse/0 -> COLMAP; transforms_train.json; metadata.json; transforms.json; a .csv of
 * RealityCapture; reconstruction.json; an .xml of Metashape; keyframes/ of Polycam; else a FORMAT error that says
 * what was looked for. Every photo must exist and its header must be readable. `log` may be NULL. */
splat_status splat_dataset_open(const splat_scene_options *options, splat_log_function log, void *log_user,
                                splat_dataset *dataset, splat_error *error);
/* The same of photos in memory (splat_scene_create): arrays as its caller gave them. */
splat_status splat_dataset_create(const splat_scene_arrays *arrays, const splat_scene_options *options,
                                  splat_log_function log, void *log_user, splat_dataset *dataset, splat_error *error);
void splat_dataset_free(splat_dataset *dataset);

#endif
