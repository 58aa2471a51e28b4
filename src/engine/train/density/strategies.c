/* The table of density strategies. */
#include "train/density/strategies.h"

#include "base/options.h"
#include "train/train_options.h"

#include <string.h>

static const splat_strategy *const strategies[] = {
#define SPLAT_STRATEGY(name) &splat_strategy_##name,
#include "train/density/strategies.def"
#undef SPLAT_STRATEGY
};

const splat_strategy *splat_strategy_find(const char *name)
{
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++)
        if (strcmp(strategies[i]->name, name) == 0) return strategies[i];
    return NULL;
}

void splat_train_options_init_strategy_sized(splat_train_options *options, size_t size, const splat_strategy *strategy)
{
    splat_train_options defaults;
    splat_train_options_init(&defaults);
    defaults.strategy = strategy;
    if (strategy) splat_train_options_apply_preset(&defaults, strategy->name);
    splat_options_give(options, size, &defaults, sizeof defaults);
}

const splat_strategy *splat_strategy_of(const splat_train_options *options)
{
    return options->strategy ? options->strategy : &splat_strategy_default;
}
