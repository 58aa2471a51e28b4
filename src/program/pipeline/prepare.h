/* Before the first stage: every check that needs no work, and the folder. */
#ifndef SPLAT_PIPELINE_PREPARE_H
#define SPLAT_PIPELINE_PREPARE_H

#include "pipeline/work.h"

/* A mistake in the options of the last stage must not wait for hours. Then the folder is made and locked. Errors:
 * ARGUMENT, IO, MEMORY. */
splat_status splat_pipeline_prepare(splat_pipeline_work *w, splat_error *error);

#endif
