/* Ranks that train together begin and end it. */
#ifndef SPLAT_TRAIN_JOIN_H
#define SPLAT_TRAIN_JOIN_H

#include "splatsmith/train.h"

/* When a trainer is made, after its options are taken: several ranks compare what they train and with which options,
 * agree on memory, and share the photos of a host; from then on the trainer goes their way. With one rank this is a
 * no-op. Errors, on all ranks: ARGUMENT (one trains something else), UNSUPPORTED (several ranks cannot train with an
 * option), MEMORY, DEVICE, RANK. */
splat_status splat_shards_join(splat_trainer *trainer, splat_error *error);
/* Rank 0: the others' splat_trainer_serve returns. */
void splat_shards_leave(splat_trainer *trainer);

#endif
