/* The options of a trainer: defaults, ranges and presets. */
#include "train/train_options.h"

#include "base/options.h"
#include "io/option_text.h"
#include "train/density/strategy.h"
#include "train/parts/regularizer.h"
#include "train/state.h"

#include <stddef.h>
#include <string.h>

#define SPLAT_ROW_SH_STORAGE(type, name, field)                                                                        \
    SPLAT_ROW_CHOICE(type, name, field, splat_sh_storage, SPLAT_WORDS_SH_STORAGE)
#define SPLAT_ROW_OPTIMIZER_STORAGE(type, name, field)                                                                 \
    SPLAT_ROW_CHOICE(type, name, field, splat_optimizer_storage, SPLAT_WORDS_OPTIMIZER_STORAGE)
#define SPLAT_ROW_REGULARIZATION(type, name, field)                                                                    \
    SPLAT_ROW_CHOICE(type, name, field, splat_regularization, SPLAT_WORDS_REGULARIZATION)

/* Rows have their places in checkpoints and reports. */
enum {
#define SPLAT_TRAIN_OPTION(row, name, field, kind, start, low, high, effect, other) ROW_##name = row,
#include "splatsmith/train_options.def"
};

static const splat_option rows[] = {
#define SPLAT_TRAIN_OPTION(row, name, field, kind, start, low, high, effect, other)                                    \
    [row] = {SPLAT_ROW_##kind(splat_train_options, name, field), (double)(start), (double)(low), (double)(high),       \
             false, SPLAT_SAVED_CHECKPOINT},
#include "splatsmith/train_options.def"
};
const splat_option_table splat_train_options_table = SPLAT_OPTION_TABLE(splat_train_options, rows);

const splat_option_trial splat_train_option_trials[] = {
#define SPLAT_TRAIN_OPTION(row, name, field, kind, start, low, high, effect, other)                                    \
    [row] = {SPLAT_CHANGES_##effect, (double)(other)},
#include "splatsmith/train_options.def"
};

static const struct {
    const char *preset;
    size_t row;
    double value;
} presets[] = {
#define SPLAT_TRAIN_PRESET(preset, name, value) {#preset, ROW_##name, (double)(value)},
#include "splatsmith/train_options.def"
};

void splat_train_options_init_sized(splat_train_options *options, size_t size)
{
    splat_option_defaults(&splat_train_options_table, options, size);
}

splat_status splat_train_options_set(splat_train_options *options, const char *name, const char *text,
                                     splat_error *error)
{
    return splat_option_set_text(&splat_train_options_table, options, name, text, error);
}

void splat_train_options_apply_preset(splat_train_options *options, const char *preset)
{
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++)
        if (strcmp(presets[i].preset, preset) == 0)
            splat_option_set(&rows[presets[i].row].row, options, presets[i].value);
}

splat_status splat_train_options_check(const splat_train_options *o, splat_error *error)
{
    splat_train_options own;
    splat_train_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, o, "splat_train_options", error));
    o = &own;
    SPLAT_TRY(splat_option_check_all(&splat_train_options_table, o, error));
    if (o->coarse.regularization != SPLAT_REGULARIZE_NONE && !o->regularizer)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "options with a regularization are made by splat_train_options_init_coarse");
    if (o->resample_gt_image && !o->ray_jitter)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`resample_gt_image` needs `ray_jitter`; turn both on or both off");
    if (o->strategy && o->strategy->check) SPLAT_TRY(o->strategy->check(o, error));
    return o->regularizer && o->regularizer->check ? o->regularizer->check(o, error) : SPLAT_OK;
}
