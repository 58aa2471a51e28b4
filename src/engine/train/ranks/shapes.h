/* The shapes of all Gaussians (means, scales, rotations, opacities) at every rank, for the losses of a regularizer. Its
 * losses look at any of them: at the nearest around a point, and at what several views see. So each rank finds those of
 * its view from a copy, and what they ask of a Gaussian goes to the rank that has it. A rank sends 44 bytes for each of
 * its Gaussians to every other rank; with a view for each as much comes back, view by view. */
#ifndef SPLAT_TRAIN_SHAPES_H
#define SPLAT_TRAIN_SHAPES_H

#include "train/state.h"

void splat_shard_shapes_init(splat_trainer *trainer);
void splat_shard_shapes_free(splat_trainer *trainer);

/* The input of a regularizer; with one rank the trainer's own arrays. Valid until the next step. */

/* All Gaussians, without their colours. */
splat_gaussians splat_shapes_gaussians(const splat_trainer *trainer);
/* Its arrays, with a row for each of them. */
splat_extra_rows *splat_shapes_extra_rows(splat_trainer *trainer);
/* After it has filled the cached ones: each rank keeps its rows, as checkpoints want them. Errors: MEMORY, DEVICE. */
splat_status splat_shapes_keep_cached(splat_trainer *trainer, splat_error *error);

/* Called by all ranks for a batch: computes the regularizer's losses of the views of iterations first .. last; rank r
 * has the view of first + r. `view` is the own one (not used by a rank without one). Errors: those of the regularizer;
 * MEMORY, DEVICE, RANK. */
splat_status splat_regularize_batch(splat_trainer *trainer, int first, int last, uint32_t view,
                                    splat_error *error);
/* Then: whether the view of a rank has such losses, and what they ask of the own Gaussians. */
bool splat_regularized(const splat_trainer *trainer, int rank, splat_tensors *gradients);

#endif
