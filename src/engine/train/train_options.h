/* The options of training as data, from include/splatsmith/train_options.def: what init, check, checkpoints, reports
 * and tests walk over. */
#ifndef SPLAT_TRAIN_TRAIN_OPTIONS_H
#define SPLAT_TRAIN_TRAIN_OPTIONS_H

#include "base/option_table.h"

/* Where the tests see an option at work; see the .def. */
typedef enum splat_option_effect {
    SPLAT_CHANGES_NOTHING = 0,
    SPLAT_CHANGES_TRAINING,
    SPLAT_CHANGES_WIDE,
    SPLAT_CHANGES_MCMC,
    SPLAT_CHANGES_LATE_PRUNE,
    SPLAT_CHANGES_COARSE,
    SPLAT_CHANGES_SDF,
    SPLAT_CHANGES_MULTIVIEW,
    SPLAT_CHANGES_REFINE,
    SPLAT_CHANGES_DEPTH
} splat_option_effect;

typedef struct splat_train_option {
    splat_option_row row;
    double start, low, high;
    splat_option_effect effect;
    double other; /* a value that has the effect */
} splat_train_option;

/* In the order of checkpoints and reports. */
extern const splat_train_option splat_train_options_table[];
extern const size_t splat_n_train_options;

#endif
