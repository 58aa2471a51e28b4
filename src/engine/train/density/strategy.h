/* The seam for density control: how Gaussians come and go. A strategy is a constant table of data and functions that
 * the options name (NULL: default); the trainer, the plan and checkpoints know nothing else of it. */
#ifndef SPLAT_TRAIN_STRATEGY_H
#define SPLAT_TRAIN_STRATEGY_H

#include "ops/project/project.h"
#include "scene/dataset.h"
#include "splatsmith/train.h"
#include "train/parts/extra_rows.h"

struct splat_strategy {
    const char *name;                /* name in presets and checkpoints */
    bool scales;                     /* its schedule is parts of the steps (splat_train_options_set_steps) */
    bool moves;                      /* Gaussians move by noise, and dead ones to others: the options of mcmc act */
    const splat_extra_array *arrays; /* its state, in trainer->strategy_rows */
    int n_arrays;

    /* The step adds to the statistics (trainer->statistics) in this iteration; after the last such they are given
     * back. */
    bool (*wants_statistics)(const splat_train_options *options, int iteration);
    /* Adam's step of this iteration: it comes with the rates, and with every tensor to be updated. NULL: so be it. */
    void (*updates)(const splat_trainer *trainer, int iteration, splat_adam *adam);
    /* Runs after an iteration: may change the Gaussians (density.h), use other views, and move or mark parameters. Runs
     * once, at the start of the next step; random numbers are functions of the iteration. */
    splat_status (*after)(splat_trainer *trainer, int iteration, splat_error *error);
    /* True if `after` does more in an iteration than move or mark each Gaussian independently: it changes their number,
     * or uses other Gaussians or views. If false, several ranks run it on their own rows (splat_shards_rows). NULL:
     * true in every iteration. */
    bool (*changes_after)(const splat_trainer *trainer, int iteration);
    /* For the plan: working memory of `after` with n Gaussians, from scratch, on a device or the host. NULL: none. */
    size_t (*work_bytes)(bool on_device, size_t n);
    /* For the plan: Gaussians that it grows to at most in a scene; 0: it has no limit. NULL: target_gaussian_count. */
    uint64_t (*cap)(const splat_train_options *options, const splat_dataset *dataset);
    /* Gaussians that it begins with at most; 0: the scene's points. NULL: target_gaussian_count. */
    uint64_t (*first)(const splat_train_options *options, const splat_dataset *dataset);
    /* Checks combinations of options, after the ranges of single options. Errors: ARGUMENT. NULL: no check. */
    splat_status (*check)(const splat_train_options *options, splat_error *error);
};

#define SPLAT_STRATEGY(word, table, help) extern const splat_strategy splat_strategy_##table;
#define SPLAT_FORMER_STRATEGY(table) extern const splat_strategy splat_strategy_##table;
#include "train/density/strategies.def"

#endif
