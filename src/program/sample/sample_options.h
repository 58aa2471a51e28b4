/* The options of a built-in scene. */
#ifndef SPLAT_SAMPLE_OPTIONS_H
#define SPLAT_SAMPLE_OPTIONS_H

#include "base/error.h"
#include "splatsmith/sample.h"

/* Whether every number of the options is possible. ARGUMENT, naming the first that is not. */
splat_status splat_sample_options_check(const splat_sample_options *options, splat_error *error);

#endif
