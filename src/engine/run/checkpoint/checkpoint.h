/* Constants of checkpoints. The format is io/tensor/tensor_file.h; docs/files.md has the keys of the header. */
#ifndef SPLAT_RUN_CHECKPOINT_H
#define SPLAT_RUN_CHECKPOINT_H

#define SPLAT_CHECKPOINT_VERSION 2

/* Why a checkpoint was written: those of the interval are deleted when there are two newer ones. */
#define SPLAT_CHECKPOINT_REQUESTED "requested"
#define SPLAT_CHECKPOINT_INTERVAL "interval"
#define SPLAT_CHECKPOINT_STOP "stop"
#define SPLAT_CHECKPOINT_ERROR "error"

#endif
