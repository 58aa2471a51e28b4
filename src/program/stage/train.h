/* The work of `train`: a splat from photos with cameras. */
#ifndef SPLAT_STAGE_TRAIN_H
#define SPLAT_STAGE_TRAIN_H

#include "stage/training.h"

/* All that can be said before anything is opened. Errors: ARGUMENT. */
splat_status splat_stage_check_train(const splat_line *line, splat_error *error);
/* A splat_training_begin: from the scene of source_path into the folder model_path. */
splat_status splat_stage_begin_train(splat_training *training, const splat_line *line, splat_error *error);

#endif
