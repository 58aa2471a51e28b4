/* Structs of options that begin with their size: what a caller gave is read whatever header it was compiled with. The
 * rule is in splatsmith/core.h. */
#ifndef SPLAT_BASE_OPTIONS_H
#define SPLAT_BASE_OPTIONS_H

#include "base/error.h"

/* For an _init_sized: the caller's struct of `size` bytes becomes `defaults`, as far as both reach; the rest becomes
 * zero. */
void splat_options_give(void *options, size_t size, const void *defaults, size_t defaults_size);
/* own: our struct, which its _init has filled. Those of its fields that the caller's struct has are copied over it.
 * ARGUMENT, naming `type`: the caller's was not initialised, or it is longer than ours and something is set beyond. */
splat_status splat_options_take(void *own, const void *given, const char *type, splat_error *error);

/* A number of an option, in the range of its line of splatsmith/option_ranges.def. ARGUMENT, naming the option, when it
 * lies outside or is no number. */
splat_status splat_option_check(const char *name, double value, bool or_zero, double low, double high,
                                splat_error *error);

/* For a line of that file: returns when the field of `o` is out of range. The limits are rounded as the field is. */
#define SPLAT_OPTION_CHECK(o, field, zero, low, high)                                                                  \
    SPLAT_TRY(splat_option_check(#field, (double)(o)->field, SPLAT_OPTION_##zero, SPLAT_OPTION_LIMIT((o)->field, low), \
                                 SPLAT_OPTION_LIMIT((o)->field, high), error));
#define SPLAT_OPTION_LIMIT(value, limit) _Generic(value, float: (double)(float)(limit), default: (double)(limit))
#define SPLAT_OPTION_OR_ZERO true
#define SPLAT_OPTION_RANGE false

#endif
