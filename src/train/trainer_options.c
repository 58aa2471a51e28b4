/* The options of a trainer: defaults and ranges. */
#include "base/options.h"
#include "train/train_options.h"
#include "train/trainer.h"

#include <stddef.h>
#include <string.h>

/* The offset of a field; refuses to compile when its type is not that of its kind. */
#define AT(field, type)                                                                                                \
    (offsetof(splat_train_options, field) +                                                                            \
     0 * sizeof(_Generic(((splat_train_options *)0)->field, type: 0)))

#define ROW_INT(name, field) {name, SPLAT_OPTION_INT, AT(field, int), NULL}
#define ROW_FLAG(name, field) {name, SPLAT_OPTION_FLAG, AT(field, bool), NULL}
#define ROW_REAL(name, field) {name, SPLAT_OPTION_REAL, AT(field, float), NULL}
#define ROW_COUNT(name, field) {name, SPLAT_OPTION_COUNT, AT(field, size_t), NULL}
#define ROW_U64(name, field) {name, SPLAT_OPTION_U64, AT(field, uint64_t), NULL}
#define ROW_CHOICE(name, field, type, words) {name, SPLAT_OPTION_CHOICE, AT(field, type), words}
#define ROW_SH_STORAGE(name, field) ROW_CHOICE(name, field, splat_sh_storage, SPLAT_WORDS_SH_STORAGE)
#define ROW_OPTIMIZER_STORAGE(name, field)                                                                             \
    ROW_CHOICE(name, field, splat_optimizer_storage, SPLAT_WORDS_OPTIMIZER_STORAGE)
#define ROW_REGULARIZATION(name, field) ROW_CHOICE(name, field, splat_regularization, SPLAT_WORDS_REGULARIZATION)

const splat_train_option splat_train_options_table[] = {
#define SPLAT_TRAIN_OPTION(row, name, field, kind, start, low, high, effect, other)                                    \
    [row] = {ROW_##kind(#name, field), (double)(start), (double)(low), (double)(high), SPLAT_CHANGES_##effect,         \
             (double)(other)},
#include "splatsmith/train_options.def"
};
const size_t splat_n_train_options = sizeof splat_train_options_table / sizeof splat_train_options_table[0];

_Static_assert(sizeof(splat_sh_storage) == sizeof(int) && sizeof(splat_optimizer_storage) == sizeof(int) &&
                   sizeof(splat_regularization) == sizeof(int),
               "choices are read as int");

double splat_option_get(const splat_option_row *row, const void *options)
{
    const void *at = (const char *)options + row->offset;
    switch (row->kind) {
    case SPLAT_OPTION_INT:
    case SPLAT_OPTION_CHOICE: return *(const int *)at;
    case SPLAT_OPTION_FLAG: return *(const bool *)at;
    case SPLAT_OPTION_REAL: return (double)*(const float *)at;
    case SPLAT_OPTION_COUNT: return (double)*(const size_t *)at;
    case SPLAT_OPTION_U64: return (double)*(const uint64_t *)at;
    case SPLAT_OPTION_TEXT:
    case SPLAT_OPTION_NONE: break;
    }
    return 0;
}

void splat_option_set(const splat_option_row *row, void *options, double value)
{
    void *at = (char *)options + row->offset;
    switch (row->kind) {
    case SPLAT_OPTION_INT:
    case SPLAT_OPTION_CHOICE: *(int *)at = (int)value; break;
    case SPLAT_OPTION_FLAG: *(bool *)at = value != 0; break;
    case SPLAT_OPTION_REAL: *(float *)at = (float)value; break;
    case SPLAT_OPTION_COUNT: *(size_t *)at = (size_t)value; break;
    case SPLAT_OPTION_U64: *(uint64_t *)at = (uint64_t)value; break;
    case SPLAT_OPTION_TEXT:
    case SPLAT_OPTION_NONE: break;
    }
}

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
