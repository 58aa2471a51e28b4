/* After some iterations of a training with masks that are ignored, the Gaussians that masked pixels of training views
 * show, and kept pixels of none, are removed (docs/method.md 8.4). */
#ifndef SPLAT_TRAIN_PRUNE_MASKED_H
#define SPLAT_TRAIN_PRUNE_MASKED_H

#include "scene/dataset.h"
#include "splatsmith/train.h"

/* About every 1000 iterations or, where that is more, ten times the number of training views, while Gaussians are made,
 * and before the last iteration; not soon after a reset of the opacities. */
bool splat_density_prunes_masked_after(const splat_train_options *options, const splat_dataset *dataset,
                                       int iteration);
/* Removes them where that is due: a strategy calls it after its own changes and before a reset. Where memory has no
 * room to look for them, training goes on without, with a warning. Errors: those of views and of
 * splat_density_prune. */
splat_status splat_density_prune_masked(splat_trainer *trainer, int iteration, splat_error *error);

#endif
