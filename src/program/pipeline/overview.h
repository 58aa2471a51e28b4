/* pipeline.json: all stages of a run at a glance. docs/files.md has its keys. */
#ifndef SPLAT_PIPELINE_OVERVIEW_H
#define SPLAT_PIPELINE_OVERVIEW_H

#include "pipeline/work.h"

/* The seconds of all runs that looked for the cameras of the photos, as cameras.json says. */
double splat_pipeline_cameras_seconds(const splat_pipeline_work *w);
/* Errors: IO, MEMORY. */
splat_status splat_pipeline_write_overview(const splat_pipeline_work *w, splat_error *error);

#endif
