/* The options of training as data, from include/splatsmith/train_options.def: what init, check, checkpoints, reports
 * and tests walk over. */
#ifndef SPLAT_TRAIN_TRAIN_OPTIONS_H
#define SPLAT_TRAIN_TRAIN_OPTIONS_H

#include "base/error.h"

typedef enum splat_option_kind {
    SPLAT_OPTION_NONE = 0, /* a row whose option is gone */
    SPLAT_OPTION_INT,
    SPLAT_OPTION_FLAG,
    SPLAT_OPTION_REAL,     /* float */
    SPLAT_OPTION_COUNT,    /* size_t */
    SPLAT_OPTION_U64,
    SPLAT_OPTION_CHOICE,   /* an enum: the number of one of `words` */
    SPLAT_OPTION_TEXT      /* const char *; not of training */
} splat_option_kind;

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

/* A field of an options struct. */
typedef struct splat_option_row {
    const char *name;
    splat_option_kind kind;
    size_t offset;
    const char *words; /* of a CHOICE, with bars between; else NULL */
} splat_option_row;

typedef struct splat_train_option {
    splat_option_row row;
    double start, low, high;
    splat_option_effect effect;
    double other; /* a value that has the effect */
} splat_train_option;

/* In the order of checkpoints and reports. */
extern const splat_train_option splat_train_options_table[];
extern const size_t splat_n_train_options;

/* Of splat_scene_options: the views, and how they are loaded; without the background. */
extern const splat_option_row splat_scene_option_rows[];
extern const size_t splat_n_scene_option_rows;

/* A value in words, as the command line takes it, with "?" for bytes of a text that are not printable ASCII. */
void splat_option_describe(const splat_option_row *row, const void *options, char *text, size_t size);
/* A number, flag or choice of an options struct. Counts above 2^53 are rounded. */
double splat_option_get(const splat_option_row *row, const void *options);
void splat_option_set(const splat_option_row *row, void *options, double value);

#endif
