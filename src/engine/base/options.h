/* Structs of options that begin with their size: what a caller gave is read whatever header it was compiled with. The
 * rule is in splatsmith/core.h. */
#ifndef SPLAT_BASE_OPTIONS_H
#define SPLAT_BASE_OPTIONS_H

#include "base/error.h"

/* For an _init_sized: the caller's struct of `size` bytes becomes `defaults`, as far as both reach; the rest becomes
 * zero. */
void splat_options_give(void *options, size_t size, const void *defaults, size_t defaults_size);
/* options: our struct, which its _init has filled. Those of its fields that the caller's struct has are copied over it.
 * ARGUMENT, naming `type`: the caller's was not initialised, or it is longer than ours and something is set beyond. */
splat_status splat_options_take(void *options, const void *from, const char *type, splat_error *error);

#endif
