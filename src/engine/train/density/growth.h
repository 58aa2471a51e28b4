/* A round of growth, the same for every strategy that copies and splits Gaussians: select, make room, append. What
 * selects is the strategy's. */
#ifndef SPLAT_TRAIN_DENSITY_GROWTH_H
#define SPLAT_TRAIN_DENSITY_GROWTH_H

#include "ops/densify/densify.h"
#include "train/state.h"

/* A selection: of the rows of this rank, and of the whole model. */
typedef struct splat_growth {
    splat_density_selection here;
    uint64_t n_clone, n_split;
} splat_growth;

/* Limits of a selection: new rows in all, and new Gaussians after the split ones are removed. */
typedef struct splat_growth_room {
    uint64_t rows, gaussians;
} splat_growth_room;

static inline uint64_t splat_growth_rows(const splat_growth *selected)
{
    return selected->n_clone + 2 * selected->n_split;
}

/* Writes an action for each row of this rank and fills *selected, which fits in the room; *asked: rows that it would
 * select without that bound. */
typedef splat_status splat_growth_select(splat_trainer *trainer, int iteration, splat_growth_room room,
                                         uint8_t *actions, splat_growth *selected, uint64_t *asked, splat_error *error);

/* A round: selects at most so many Gaussians that the whole model has `most` of them afterwards, appends the new rows,
 * then prunes with the limits of `prune` (its actions are those of the selection). If memory refuses rows, the round
 * tries half as many, and the trainer notes how many rows it did not get. Errors: those of splat_density_prune. */
splat_status splat_growth_round(splat_trainer *trainer, int iteration, uint64_t most, splat_growth_select *select,
                                struct splat_density_prune_args prune, splat_error *error);

#endif
