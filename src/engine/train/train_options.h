/* The options of training as data, from include/splatsmith/train_options.def: what init, check, checkpoints, reports
 * and tests walk over. */
#ifndef SPLAT_TRAIN_TRAIN_OPTIONS_H
#define SPLAT_TRAIN_TRAIN_OPTIONS_H

#include "base/option_table.h"
#include "splatsmith/train.h"

/* The test that shows the effect of an option; see the .def. */
typedef enum splat_option_effect {
    SPLAT_CHANGES_NOTHING = 0,
    SPLAT_CHANGES_TRAINING,
    SPLAT_CHANGES_WIDE,
    SPLAT_CHANGES_MCMC,
    SPLAT_CHANGES_LATE_PRUNE,
    SPLAT_CHANGES_FREE_SPACE,
    SPLAT_CHANGES_BUDGET,
    SPLAT_CHANGES_COARSE,
    SPLAT_CHANGES_SDF,
    SPLAT_CHANGES_MULTIVIEW,
    SPLAT_CHANGES_REFINE,
    SPLAT_CHANGES_DEPTH
} splat_option_effect;

typedef struct splat_option_trial {
    splat_option_effect effect;
    double other; /* a value that has the effect */
} splat_option_trial;

/* In the order of checkpoints and reports. */
extern const splat_option_table splat_train_options_table;
/* A trial for each row. */
extern const splat_option_trial splat_train_option_trials[];

/* Sets what the PRESET lines of that name say; a name without lines changes nothing. */
void splat_train_options_apply_preset(splat_train_options *options, const char *preset);

#endif
