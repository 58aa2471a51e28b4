/* The losses of coarse training on one view, and where their values lie. */
#ifndef SPLAT_TRAIN_REGULARIZE_H
#define SPLAT_TRAIN_REGULARIZE_H

#include "train/trainer.h"

/* Doubles in trainer->coarse_results. */
enum {
    SPLAT_RESULT_FIELD = 0,        /* four, of op field_loss */
    SPLAT_RESULT_ENTROPY = 4,
    SPLAT_RESULT_DEPTH_NORMAL = 5, /* two, of op depth_normal */
    SPLAT_N_COARSE_RESULTS = 7
};

/* Before the step of the photos, in the frame that it will use again. *any: this iteration has such losses; then
 * gradients: what they ask of every Gaussian (means, scales, rotations, opacities; the other tensors are NULL), valid
 * until the next call. The nearest neighbours are searched when they are due. Nothing of the model changes. */
splat_status splat_regularize(splat_trainer *trainer, int iteration, uint32_t view, splat_tensors *gradients, bool *any,
                              splat_error *error);

#endif
