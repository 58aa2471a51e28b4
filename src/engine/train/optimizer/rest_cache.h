/* Rows of SH that lie in host memory, kept on the device from view to view (ops/rest/rest.h): only for
 * speed, so the memory is what is left, goes back whenever it is refused to something else, and no plan, checkpoint or
 * result knows of it. */
#ifndef SPLAT_TRAIN_REST_CACHE_H
#define SPLAT_TRAIN_REST_CACHE_H

#include "train/state.h"

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
