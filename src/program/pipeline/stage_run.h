/* One stage of a run: done before, gone on with, or begun. */
#ifndef SPLAT_PIPELINE_STAGE_RUN_H
#define SPLAT_PIPELINE_STAGE_RUN_H

#include "pipeline/work.h"

/* Brings stage i to its result, which the next stage begins with, and records it. Errors: those of the stage's work;
 * IO, MEMORY, STOPPED. */
splat_status splat_pipeline_run_stage(splat_pipeline_work *w, size_t i, splat_error *error);

#endif
