/* Steps of sh_rest that the trainer lets its backend put off (ops/rest/rest.h): the memory that takes. They are made up
 * by a step for what it sees, and by splat_rest_open (model/rest.h) for all others.
 * The bits are those of steps that were made at once, so checkpoints know nothing of it. */
#ifndef SPLAT_TRAIN_DEFERRED_H
#define SPLAT_TRAIN_DEFERRED_H

#include "train/state.h"

/* Whether a run of these options keeps what a step of sh_rest is made of, on a backend that can: sh_rest and its
 * moments are on the device, and nothing but the photo's loss looks at the colours. In float32 the step is put off. In
 * small storages it is made at once, which only steps of several views (n_slots) need these arrays for. */
bool splat_defers_rest(bool backend_can, const splat_train_options *options, uint32_t n_slots);
/* The arrays with a row for each Gaussian. */
void splat_deferral_describe(splat_row_blocks *rows, uint32_t n_slots);
/* Of a run of these options: views of a step. */
uint32_t splat_deferral_slots(const splat_train_options *options);
/* Rows that a trainer with n Gaussians needs. */
uint32_t splat_deferral_rows(const splat_trainer *trainer, uint32_t n);
/* After the rows were resized, all of them settled. Errors: MEMORY: nothing is put off. */
splat_status splat_deferral_refresh(splat_trainer *trainer, uint32_t n_rows, splat_error *error);
void splat_deferral_free(splat_deferral *deferral, splat_backend *backend);

#endif
