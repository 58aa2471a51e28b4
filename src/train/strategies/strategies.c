/* The table of density strategies. */
#include "train/strategies/strategies.h"

#include <string.h>

static const splat_strategy *const strategies[] = {
#define SPLAT_STRATEGY(name) &splat_strategy_##name,
#include "train/strategies/strategies.def"
#undef SPLAT_STRATEGY
};

const splat_strategy *splat_strategy_find(const char *name)
{
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++)
        if (strcmp(strategies[i]->name, name) == 0) return strategies[i];
    return NULL;
}

const splat_strategy *splat_strategy_of(const splat_train_options *options)
{
    return options->strategy ? options->strategy : &splat_strategy_default;
}
