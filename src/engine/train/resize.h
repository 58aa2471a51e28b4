/* The number of Gaussians changes: all arrays of the trainer that have a row for each grow and shrink together. */
#ifndef SPLAT_TRAIN_RESIZE_H
#define SPLAT_TRAIN_RESIZE_H

#include "splatsmith/train.h"

/* Parameters, moments and statistics n rows long; statistics become zero, and the arrays of strategy and
 * regularizer are as their lives say. What must be given up for n Gaussians is given up first, and more when memory is
 * refused all the same; not where ranks are apart, which do that together (splat_give_up_for, splat_density_make_room).
 * On failure nothing else has changed. */
splat_status splat_trainer_resize(splat_trainer *trainer, uint32_t n, splat_error *error);
/* The same for rows that will be fewer before a view is done with them: something is given up only when memory is
 * refused. */
splat_status splat_trainer_resize_rows(splat_trainer *trainer, uint32_t n, splat_error *error);
/* The same for rows that are only on their way: statistics, if there shall be any, keep what they hold. */
splat_status splat_trainer_resize_state(splat_trainer *trainer, uint32_t n, bool has_statistics, splat_error *error);
/* All that there are. */
splat_status splat_trainer_zero_statistics(splat_trainer *trainer, splat_error *error);
/* The additional device memory of that growth. */
size_t splat_trainer_growth_bytes(const splat_trainer *trainer, uint32_t n);
/* Gives the statistics back when no density control is left after `iteration`. */
void splat_trainer_drop_statistics(splat_trainer *trainer, int iteration);

#endif
