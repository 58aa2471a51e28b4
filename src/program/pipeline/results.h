/* The results that the stages of a pipeline leave, and how a later run finds them. */
#ifndef SPLAT_PIPELINE_RESULTS_H
#define SPLAT_PIPELINE_RESULTS_H

#include "pipeline/state.h"
#include "splatsmith/core.h"

#include <jansson.h>

#define SPLAT_PIPELINE_TEXT 1024

/* The splat of a model folder (its newest state when iteration is -1) or a file. */
splat_status splat_pipeline_find_splat(const char *path, int iteration, splat_pipeline_splat *splat,
                                       splat_error *error);
bool splat_pipeline_has_checkpoint(const char *folder);
/* Deletes the checkpoints of a stage but the newest. */
void splat_pipeline_remove_checkpoints(const char *folder, int n_kept);
/* Deletes the unfinished files that a killed run left in a folder, and in those below it. */
void splat_pipeline_delete_temporaries(const char *folder);

/* The results of a finished stage in its folder, for its file: a new object; NULL if this fails. */
splat_status splat_pipeline_collect(const splat_pipeline_place *p, const splat_pipeline_product *stage,
                                    const char *folder, json_t **results, splat_error *error);
/* Hands the results of a complete stage on to the next; false, with the path that is missing, when they are gone. */
bool splat_pipeline_take_results(splat_pipeline_place *p, const splat_pipeline_product *stage, const char *folder,
                                 const json_t *results, char missing[SPLAT_PIPELINE_PATH]);

/* "81234 Gaussians", "100000 vertices, 199998 faces", "textured.glb, 12 MiB" */
const char *splat_pipeline_result_text(const splat_pipeline_place *p, const json_t *results,
                                       char text[SPLAT_PIPELINE_TEXT]);
/* "30.12 dB" on the test views; "": not measured. */
const char *splat_pipeline_quality_text(const json_t *results, char text[32]);
/* The path of the main result inside the pipeline's folder. */
const char *splat_pipeline_result_path(const json_t *results);

/* "folder/name"; false if it is too long. */
bool splat_pipeline_join(char path[SPLAT_PIPELINE_PATH], const char *folder, const char *name);

#endif
