/* The options of a run by name. */
#ifndef SPLAT_RUN_OPTIONS_H
#define SPLAT_RUN_OPTIONS_H

#include "io/tensor/tensor_file.h"
#include "train/state.h"

/* {"iterations": 30000, ...}: every option of a training, the scene's background among them; NULL when memory is
 * exhausted. */
json_t *splat_train_options_json(const splat_trainer *trainer);
json_t *splat_scene_options_json(const splat_scene_options *options);
/* One notice for each option that is not what the header says. */
void splat_checkpoint_tell_changes(const splat_trainer *trainer, const json_t *header);

#endif
