/* The options of a trainer: defaults and ranges. */
#include "train/train_options.h"

#include "base/options.h"
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

const splat_train_option splat_train_options_table[] = {
#define SPLAT_TRAIN_OPTION(row, name, field, kind, start, low, high, effect, other)                                    \
    [row] = {SPLAT_ROW_##kind(splat_train_options, name, field), (double)(start), (double)(low), (double)(high),       \
             SPLAT_CHANGES_##effect, (double)(other)},
#include "splatsmith/train_options.def"
};
const size_t splat_n_train_options = sizeof splat_train_options_table / sizeof splat_train_options_table[0];

void splat_train_options_init_sized(splat_train_options *options, size_t size)
{
    splat_train_options defaults = {0};
    for (size_t i = 0; i < splat_n_train_options; i++)
        splat_option_set(&splat_train_options_table[i].row, &defaults, splat_train_options_table[i].start);
    splat_options_give(options, size, &defaults, sizeof defaults);
}

splat_status splat_train_options_check(const splat_train_options *o, splat_error *error)
{
    splat_train_options own;
    splat_train_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, o, "splat_train_options", error));
    o = &own;
    for (size_t i = 0; i < splat_n_train_options; i++) {
        const splat_train_option *option = &splat_train_options_table[i];
        double value = splat_option_get(&option->row, o);
        if (!(value >= option->low && value <= option->high))
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`%s` must be between %g and %g, not %g", option->row.name,
                              option->low, option->high, value);
    }
    if (o->coarse.regularization != SPLAT_REGULARIZE_NONE && !o->regularizer)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "options with a regularization are made by splat_train_options_init_coarse");
    if (o->resample_gt_image && !o->ray_jitter)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`resample_gt_image` needs `ray_jitter`; turn both on or both off");
    if (o->strategy && o->strategy->check) SPLAT_TRY(o->strategy->check(o, error));
    return o->regularizer && o->regularizer->check ? o->regularizer->check(o, error) : SPLAT_OK;
}
