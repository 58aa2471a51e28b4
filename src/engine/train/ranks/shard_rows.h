/* Rows of a trainer's arrays between rank 0 and the ranks that train them. */
#ifndef SPLAT_TRAIN_SHARD_ROWS_H
#define SPLAT_TRAIN_SHARD_ROWS_H

#include "train/state.h"

/* Rows of rank `rank` of n. */
static inline uint32_t splat_shard_count(uint32_t n, int rank, int size)
{
    return n > (uint32_t)rank ? (n - (uint32_t)rank - 1) / (uint32_t)size + 1 : 0;
}
/* Collective. Rank 0's arrays, of its own rows, grow to those of all n Gaussians; the others' stay. Errors: MEMORY (of
 * rank 0: the others wait, and must be told), RANK. */
splat_status splat_shard_rows_gather(splat_trainer *trainer, uint32_t n, splat_error *error);
/* Collective. The other way: rank 0's arrays shrink to its own rows; the others have room for theirs already. */
splat_status splat_shard_rows_deal(splat_trainer *trainer, uint32_t n, splat_error *error);

#endif
