/* The results of a pipeline under fixed names in its folder. */
#ifndef SPLAT_PIPELINE_PUBLISH_H
#define SPLAT_PIPELINE_PUBLISH_H

#include "pipeline/state.h"
#include "splatsmith/core.h"

#include <jansson.h>

/* Puts the results of a complete stage under their names in the pipeline's folder: hard links, or copies where there
 * are none. `files` receives the names. */
splat_status splat_pipeline_publish(const splat_pipeline_place *p, const splat_pipeline_product *stage,
                                    const json_t *results, json_t *files, splat_error *error);
/* Deletes what an earlier run put there (`before`, the "files" of its pipeline.json) and this run did not. */
void splat_pipeline_unpublish(const splat_pipeline_place *p, const json_t *before, const json_t *files);

#endif
