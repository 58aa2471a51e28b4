/* The arrays of a binding: their storage, growth and bytes. */
#ifndef SPLAT_TRAIN_BOUND_ROWS_H
#define SPLAT_TRAIN_BOUND_ROWS_H

#include "train/parts/binding.h"

/* The bits of options->binding, or 0. */
unsigned splat_bound_follows(const splat_train_options *options);
void splat_bound_init(splat_trainer *trainer);
void splat_bound_free(splat_trainer *trainer);
/* Makes array i rows[i] long, its moments too; content is kept, new rows are zero. On failure (MEMORY) all are as
 * before. */
splat_status splat_bound_resize(splat_trainer *trainer, const uint32_t *rows, splat_error *error);
/* Those of the step, or NULL without a binding. */
const splat_tensors *splat_bound_gradients(const splat_trainer *trainer, splat_tensors *gradients);
/* Room in scratch for `step`, before anything is changed. */
splat_status splat_bound_reserve(splat_trainer *trainer, splat_error *error);
/* For the plan: arrays, moments and gradients; and how many blocks they are. */
size_t splat_bound_blocks(const splat_train_options *options);
size_t splat_bound_bytes(const splat_train_options *options, size_t n, size_t n_vertices);

#endif
