/* Rows of a trainer's arrays between the devices of ranks: all rows come together at rank 0, are dealt again, and are
 * as many on every rank. Collective. */
#ifndef SPLAT_TRAIN_ROWS_H
#define SPLAT_TRAIN_ROWS_H

#include "splatsmith/train.h"

/* Rank 0's arrays, of its own rows, grow to those of all n Gaussians; the others' stay. Errors: MEMORY
 * (of rank 0: the others wait until they hear of it), RANK. */
splat_status splat_shard_rows_gather(splat_trainer *trainer, uint32_t n, splat_error *error);
/* The other way: rank 0's arrays shrink to its own rows; the others have room for theirs already. */
splat_status splat_shard_rows_deal(splat_trainer *trainer, uint32_t n, splat_error *error);
/* Rank 0: every rank gets its rows, if all are here. Errors: MEMORY, RANK. */
splat_status splat_shards_deal(splat_trainer *trainer, splat_error *error);
/* After the number of Gaussians has changed rows move from the ends of ranks that have too many, so that every rank has
 * its part again. Where a trainer has all rows this is a no-op. Errors: MEMORY, DEVICE, RANK. */
splat_status splat_shards_level(splat_trainer *trainer, splat_error *error);

#endif
