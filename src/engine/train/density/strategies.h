/* Which density strategy a run has. */
#ifndef SPLAT_TRAIN_STRATEGIES_H
#define SPLAT_TRAIN_STRATEGIES_H

#include "train/density/strategy.h"

/* The strategy of the options, never NULL. */
const splat_strategy *splat_strategy_of(const splat_train_options *options);
/* Returns the strategy of a checkpoint by its name there; NULL: none of this program. */
const splat_strategy *splat_strategy_of_checkpoint(const char *name);

#endif
