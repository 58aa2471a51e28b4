/* Density control: what belongs after an iteration, and what strategies and regularizers share to change the number of
 * Gaussians. */
#ifndef SPLAT_TRAIN_DENSITY_H
#define SPLAT_TRAIN_DENSITY_H

#include "ops/densify/densify.h"
#include "train/state.h"

/* The check of a strategy that trains from points alone. Errors: ARGUMENT (coarse training or refinement; the error
 * names the strategy). */
splat_status splat_density_check_points(const splat_train_options *options, const char *strategy, splat_error *error);

/* Runs the density control that belongs after `iteration` (schedule.h), once: the strategy's, then the regularizer's,
 * then the late 3D filter. */
splat_status splat_density_control_after(splat_trainer *trainer, int iteration, splat_error *error);

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
/* A prune by itself: begin, room, density_prune, end. Where memory has no room to work in, all stay and training goes
 * on. Errors: those of the three. */
splat_status splat_density_prune_alone(splat_trainer *trainer, int iteration, struct splat_density_prune_args args,
                                       const char *option, splat_error *error);

/* Recomputes filter_3d from the training cameras; by all ranks, where they are apart. */
splat_status splat_density_update_filter(splat_trainer *trainer, splat_error *error);

#endif
