/* What rank 0 says to the others: private to the files shard_*.c. */
#ifndef SPLAT_TRAIN_SHARD_LINK_H
#define SPLAT_TRAIN_SHARD_LINK_H

#include "train/trainer.h"

typedef enum splat_order_kind {
    SPLAT_ORDER_END,
    SPLAT_ORDER_STEP,
    SPLAT_ORDER_GATHER,
    SPLAT_ORDER_DEAL,
    SPLAT_ORDER_REPORT
} splat_order_kind;

typedef struct splat_order {
    splat_order_kind kind;
    uint32_t n_all;
    int iteration, last_density_control, adam_steps[SPLAT_N_TENSORS]; /* DEAL: of the state that is dealt */
    bool has_statistics, measures_stages;
} splat_order;

/* Rank 0: to all. Errors: RANK. */
splat_status splat_shards_order(splat_trainer *trainer, splat_order_kind kind, splat_error *error);
/* What this rank did, to rank 0: all[ranks], there. Errors: RANK. */
splat_status splat_shards_send_info(splat_trainer *trainer, splat_rank_info *all, splat_error *error);
/* What the others wait for does not come: they hear why, unless they said so themselves. Returns status. */
splat_status splat_shards_fail(splat_trainer *trainer, splat_status status, const splat_error *error);

#endif
