/* Rows of SH that lie in host memory, kept on the device from view to view (ops/types.h, splat_rest_cache): only for
 * speed, so the memory is what is left, goes back whenever it is refused to something else, and no plan, checkpoint or
 * result knows of it. */
#ifndef SPLAT_TRAIN_REST_CACHE_H
#define SPLAT_TRAIN_REST_CACHE_H

#include "ops/types.h"
#include "splatsmith/train.h"

typedef struct splat_rest_caching {
    splat_block block;
    splat_rest_cache rows; /* into it; the model's Gaussians point here while there are slots */
    int waits;             /* steps until memory is asked for */
} splat_rest_caching;

/* Before a step: makes the cache where a run has use for one, none is there, and memory is left. */
void splat_rest_cache_prepare(splat_trainer *trainer);
/* Before the rows change their number, storage or place: all of them are at home, and there is no cache. Below a limit
 * its memory goes back. Errors: DEVICE. */
splat_status splat_rest_cache_drop(splat_trainer *trainer, splat_error *error);
/* With the trainer, when the model is gone. */
void splat_rest_cache_free(splat_trainer *trainer);

#endif
