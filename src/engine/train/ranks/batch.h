/* A step of several ranks that have a view each. */
#ifndef SPLAT_TRAIN_BATCH_H
#define SPLAT_TRAIN_BATCH_H

#include "train/ranks/way.h"

extern const splat_way splat_way_batch;

/* Part of joining: describes the sums over the views of a step, and makes room for what views took, where results come
 * late. Errors: MEMORY. */
splat_status splat_shard_batch_init(splat_trainer *trainer, splat_error *error);
void splat_shard_batch_free(splat_trainer *trainer);
/* In every `window` of order[n], indices into views, those come first that have fewer pairs; nothing where not all are
 * known. */
void splat_sort_views(uint32_t *order, size_t n, size_t window, const uint32_t *views, const float *pairs);

#endif
