/* The table of density strategies. */
#include "train/density/strategies.h"

#include "base/options.h"
#include "train/train_options.h"

#include <string.h>

static const struct {
    const char *word; /* NULL: of checkpoints alone */
    const splat_strategy *strategy;
} strategies[] = {
#define SPLAT_STRATEGY(word, table, help) {#word, &splat_strategy_##table},
#define SPLAT_FORMER_STRATEGY(table) {NULL, &splat_strategy_##table},
#include "train/density/strategies.def"
};
#define N_STRATEGIES (sizeof strategies / sizeof strategies[0])

const splat_strategy *splat_strategy_find(const char *name)
{
    for (size_t i = 0; i < N_STRATEGIES; i++)
        if (strategies[i].word && strcmp(strategies[i].word, name) == 0) return strategies[i].strategy;
    return NULL;
}

const splat_strategy *splat_strategy_of_checkpoint(const char *name)
{
    for (size_t i = 0; i < N_STRATEGIES; i++)
        if (strcmp(strategies[i].strategy->name, name) == 0) return strategies[i].strategy;
    return NULL;
}

#define LEAST_INTERVAL 25 /* between densifications: gradients of so many photos, at least */

/* The same part of `after` steps as `value` is of `before`, at least `least`. */
static int part_of(int value, int after, int before, int least)
{
    const int part = (int)((int64_t)value * after / before);
    return part > least ? part : least;
}

void splat_train_options_set_steps(splat_train_options *o, int iterations)
{
    int *const parts[] = {&o->position_lr_max_steps, &o->densify_from_iter, &o->densify_until_iter,
                          &o->opacity_reset_interval, &o->lr_decay_from_iter};
    const int before = o->iterations, interval = o->densification_interval;
    const int least = interval < LEAST_INTERVAL ? interval : LEAST_INTERVAL;
    o->iterations = iterations;
    if (!o->strategy || !o->strategy->scales) return;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) *parts[i] = part_of(*parts[i], iterations, before, 1);
    if (iterations < before)
        o->densification_interval = part_of(interval, iterations, before, least);
}

#define STEPS_A_PHOTO 600 /* more learn few photos by heart (docs/lab/strategies.md) */
#define LEAST_STEPS 7000  /* for any number of photos */

void splat_train_options_fit_photos(splat_train_options *o, size_t n_train)
{
    const size_t enough = n_train * STEPS_A_PHOTO > LEAST_STEPS ? n_train * STEPS_A_PHOTO : LEAST_STEPS;
    if (o->strategy && o->strategy->scales && enough < (size_t)o->iterations)
        splat_train_options_set_steps(o, (int)enough);
}

#define LEAST_REST_RATE 0.000125f /* the published one */
#define PHOTOS_OF_RATES 250 /* fewer photos show the light of a place in fewer directions, which SH learn by heart */

void splat_train_options_fit_rates(splat_train_options *o, size_t n_train)
{
    const float fitted = o->sh_rest_lr * (float)n_train / PHOTOS_OF_RATES;
    if (!o->strategy || !o->strategy->scales || n_train >= PHOTOS_OF_RATES || !(o->sh_rest_lr > LEAST_REST_RATE))
        return;
    o->sh_rest_lr = fitted > LEAST_REST_RATE ? fitted : LEAST_REST_RATE;
}

void splat_train_options_init_strategy_sized(splat_train_options *options, size_t size, const splat_strategy *strategy)
{
    splat_train_options defaults;
    splat_train_options_init(&defaults);
    defaults.strategy = strategy ? strategy : splat_strategy_find("default");
    splat_train_options_apply_preset(&defaults, defaults.strategy->name);
    splat_options_give(options, size, &defaults, sizeof defaults);
}

const splat_strategy *splat_strategy_of(const splat_train_options *options)
{
    return options->strategy ? options->strategy : &splat_strategy_default;
}
