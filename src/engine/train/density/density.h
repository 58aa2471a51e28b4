/* Changing the number of Gaussians: what density strategies and regularizers share. */
#ifndef SPLAT_TRAIN_DENSITY_H
#define SPLAT_TRAIN_DENSITY_H

#include "ops/densify/densify.h"
#include "train/state.h"

/* Begins a change between two steps: *scratch is `bytes` of the frame's memory, as no view is in work. From here on a
 * failure leaves half of the change: the trainer is broken until what belongs after the iteration is done. */
splat_status splat_density_begin(splat_trainer *trainer, size_t bytes, void **scratch, splat_error *error);
/* Room for n rows, and for the strategy's working memory, so that what has begun ends; n_after: Gaussians that will be
 * left at most, for views to be done with. What must be given up for that is given up. After splat_density_begin, with
 * nothing in scratch. Of several ranks all have it or none. Errors: MEMORY: nothing else has changed, and training can
 * go on without; those of the device; RANK. */
splat_status splat_density_make_room(splat_trainer *trainer, uint64_t n, uint64_t n_after, splat_error *error);
/* Ends it: ranks have as many rows again; views will need as much more or less room as there are Gaussians now;
 * memory that nothing needs is given back. old_n: Gaussians before. Errors: of several ranks MEMORY, DEVICE, RANK. */
splat_status splat_density_end(splat_trainer *trainer, uint32_t old_n, splat_error *error);
/* density_prune and the trainer's arrays after it. `args` holds the limits, actions and cap (of the whole model);
 * model, order and spare memory (the frame's) are filled in. option: what to lower when none is left. Errors: NUMERIC
 * (none is left), those of the op. */
splat_status splat_density_prune(splat_trainer *trainer, int iteration, struct splat_density_prune_args args,
                                 const char *option, splat_error *error);

/* unseen.c: after some iterations of a training with masks that are ignored, the Gaussians that masked pixels of
 * training views show, and kept pixels of none, are removed (docs/method.md 8.4): about every 1000 iterations or, where
 * that is more, ten times the number of training views, while Gaussians are made, and before the last iteration; not
 * soon after a reset of the opacities. A strategy calls it after its own changes and before a reset. */
bool splat_density_prunes_masked_after(const splat_train_options *options, const splat_dataset *dataset, int iteration);
/* Does that where it is due. Where memory has no room to look for them, training goes on without, with a warning.
 * Errors: those of views and of splat_density_prune. */
splat_status splat_density_prune_masked(splat_trainer *trainer, int iteration, splat_error *error);

#endif
