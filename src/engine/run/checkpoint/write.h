/* Saving a checkpoint. */
#ifndef SPLAT_RUN_WRITE_H
#define SPLAT_RUN_WRITE_H

#include "io/tensor/tensor_file.h"
#include "train/state.h"

/* splat_trainer_save_checkpoint with a reason. */
splat_status splat_checkpoint_write(splat_trainer *trainer, const char *path, const char *reason, splat_error *error);
/* True if a file is a checkpoint that was written for this reason (its tensors are not read). */
bool splat_checkpoint_has_reason(const char *path, const char *reason);
/* Facts of the run that wrote a checkpoint; all zero if the file cannot be read. */
splat_run_begun splat_checkpoint_begun(const char *path);

#endif
