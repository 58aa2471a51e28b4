/* The losses of coarse training. */
#ifndef SPLAT_SURFACE_COARSE_STEP_H
#define SPLAT_SURFACE_COARSE_STEP_H

#include "train/parts/regularizer.h"

/* The step of the regularizer, on all Gaussians (train/ranks/shards.h). */
splat_status splat_coarse_step(splat_trainer *trainer, int iteration, uint32_t view, splat_tensors *gradients,
                               bool *any, splat_error *error);

/* Its work_bytes. */
void splat_coarse_work_bytes(const splat_train_options *options, const splat_work *photo, size_t *frame,
                             size_t *scratch);

#endif
