/* The settings of a caller as the line of a pipeline. */
#ifndef SPLAT_PIPELINE_SETTINGS_H
#define SPLAT_PIPELINE_SETTINGS_H

#include "line/line.h"
#include "splatsmith/pipeline.h"
#include "stage/talk.h"

/* A new line of the pipeline, which borrows the texts of the options; free it in every case. Errors: ARGUMENT,
 * MEMORY. */
splat_status splat_pipeline_read_settings(const splat_pipeline_options *options, splat_talk *talk, splat_line *line,
                                          splat_error *error);

#endif
