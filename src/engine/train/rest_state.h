/* The trainer's state of sh_rest (ops/rest/rest.h) in addition to the rows: steps that its backend defers, and a cache
 * of rows that lie in host memory. */
#ifndef SPLAT_TRAIN_REST_STATE_H
#define SPLAT_TRAIN_REST_STATE_H

#include "train/state.h"

/* ---------------------------------------------------------------- steps that are put off */

/* They are made up by a step for what it sees, and by splat_rest_open (model/rest.h) for all others. The bits are those
 * of steps that were made at once, so checkpoints know nothing of it. */

/* True if a run with these options keeps the inputs of sh_rest's step, on a backend that can: sh_rest and its
 * moments are on the device, and only the photo's loss uses the colours. In float32 the step is deferred. In small
 * storages it is made at once; there only steps of several views (n_slots) need these arrays. */
bool splat_defers_rest(bool backend_can, const splat_train_options *options, uint32_t n_slots);
/* The arrays with a row for each Gaussian. */
void splat_deferral_describe(splat_row_blocks *rows, uint32_t n_slots);
/* Views of a step in a run with these options. */
uint32_t splat_deferral_slots(const splat_train_options *options);
/* Rows that a trainer with n Gaussians needs. */
uint32_t splat_deferral_rows(const splat_trainer *trainer, uint32_t n);
/* After the rows were resized, all of them settled. Errors: MEMORY: nothing is put off. */
splat_status splat_deferral_refresh(splat_trainer *trainer, uint32_t n_rows, splat_error *error);
void splat_deferral_free(splat_deferral *deferral, splat_backend *backend);

/* ---------------------------------------------------------------- the cache of rows from the host */

/* Rows of SH that lie in host memory, kept on the device from view to view: only for speed, so the memory is what is
 * left, goes back whenever it is refused to something else, and no plan, checkpoint or result knows of it. */

/* Before a step: makes the cache where a run has use for one, none is there, and memory is left. */
void splat_rest_cache_prepare(splat_trainer *trainer);
/* Before rows change their storage or place, or are moved by ops that do not know the cache: all rows are at home, and
 * there is no cache. Below a limit its memory goes back. Errors: DEVICE. */
splat_status splat_rest_cache_drop(splat_trainer *trainer, splat_error *error);
/* Before density control, and before the arrays are made n rows long: all steps of sh_rest are made. A cache, where no
 * steps are put off, stays if it is large enough for the rows, and there is no limit that may want its memory; more
 * rows are those of density control, which leaves fewer. Errors: DEVICE. */
splat_status splat_rest_cache_resize(splat_trainer *trainer, uint32_t n, splat_error *error);
/* After it: where the arrays lie now. */
void splat_rest_cache_follow(splat_trainer *trainer);
/* With the trainer, when the model is gone. */
void splat_rest_cache_free(splat_trainer *trainer);

#endif
