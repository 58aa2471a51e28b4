/* The options of a built-in scene. */
#ifndef SPLAT_SAMPLE_OPTIONS_H
#define SPLAT_SAMPLE_OPTIONS_H

#include "base/error.h"
#include "splatsmith/sample.h"

/* Checks the range of every number. Errors: ARGUMENT (names the first that is out of range). */
splat_status splat_sample_options_check(const splat_sample_options *options, splat_error *error);

#endif
