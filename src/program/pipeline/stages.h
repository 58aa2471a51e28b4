/* The stages of a pipeline: which options each gets, what it is made with, and its work. A new stage is an entry in
 * splat_pipeline_stages and its functions. */
#ifndef SPLAT_PIPELINE_STAGES_H
#define SPLAT_PIPELINE_STAGES_H

#include "line/line.h"
#include "pipeline/stage_file.h"
#include "pipeline/state.h"
#include "scene/sky_keep.h"

/* State shared by the stages of a run. */
typedef struct splat_pipeline_job {
    const splat_line *line; /* the options of the pipeline */
    splat_pipeline_place at;
    splat_viewer *viewer; /* viewer by `viewer` and `sibr`, for all stages; NULL: none */
    splat_kept_sky *sky;  /* for all stages */
} splat_pipeline_job;

/* The line of a stage, and room for paths that it makes up. */
typedef struct splat_pipeline_stage_line {
    splat_line line;
    splat_line_outcome outcome;
    char path[3 * SPLAT_PIPELINE_PATH];
} splat_pipeline_stage_line;

typedef struct splat_pipeline_stage {
    splat_pipeline_product product; /* its name is also that of the command with the same work */
    const char *skipped_by;         /* options, with commas between, any of which takes its place; NULL: none */
    /* Defaults in a pipeline that differ from those of the command; NULL: none. */
    void (*preset)(splat_line *line);
    /* Adds to the options that the user gave for the stage. */
    void (*fill)(const splat_pipeline_job *job, const char *folder, splat_pipeline_stage_line *stage);
    /* All that can be said before anything is opened. */
    splat_status (*check)(const splat_pipeline_job *job, const splat_line *line, splat_error *error);
    splat_status (*run)(splat_line *line, splat_error *error);
    /* Adds figures on the test views to the results, where its work does not measure any; NULL: it does. */
    splat_status (*measure)(const splat_pipeline_place *at, json_t *results, const splat_line *line,
                            splat_error *error);
} splat_pipeline_stage;

extern const splat_pipeline_stage splat_pipeline_stages[];
extern const size_t splat_pipeline_n_stages;

/* True if an option, whose name is copied, replaces the stage. */
bool splat_pipeline_is_skipped(const splat_pipeline_stage *stage, const splat_line *line, char name[64]);
/* A notice for each option that no stage will see. */
void splat_pipeline_tell_unused(const splat_line *line);

/* The line that the stage would have by itself; the caller frees out->line, also when this fails. Errors: MEMORY. */
splat_status splat_pipeline_stage_begin(const splat_pipeline_job *job, const splat_pipeline_stage *stage,
                                        const char *folder, splat_pipeline_stage_line *out, splat_error *error);
/* Its modes and what differs from the defaults into file->settings, what the stage begins with into file->inputs; the
 * caller frees the file, also when this fails. Errors: IO. */
splat_status splat_pipeline_describe(const splat_pipeline_job *job, const splat_pipeline_stage *stage,
                                     const splat_line *line, splat_stage_file *file, splat_error *error);
/* Why what `had` says must be made again to be what `wanted` says; "" when it need not. */
void splat_pipeline_difference(const splat_pipeline_stage *stage, const splat_stage_file *had,
                               const splat_stage_file *wanted, char *reason, size_t size);

#endif
