/* Checkpoints of the published trainers. */
#ifndef SPLAT_RUN_TORCH_H
#define SPLAT_RUN_TORCH_H

#include "io/tensor/tensor_file.h"
#include "train/state.h"

/* True if a file is a chkpntN.pth of the published trainers (a zip; it may still be another output of torch.save). */
bool splat_checkpoint_is_torch(const char *path);
/* splat_trainer_load_checkpoint for such a file. */
splat_status splat_checkpoint_load_torch(splat_trainer *trainer, const char *path, splat_error *error);

#endif
