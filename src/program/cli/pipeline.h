/* The stages of `splatsmith pipeline`. A new stage is an entry in pipeline_stages and its fill function. */
#ifndef SPLAT_CLI_PIPELINE_H
#define SPLAT_CLI_PIPELINE_H

#include "cli.h"
#include "pipeline/publish.h"
#include "pipeline/results.h"
#include "pipeline/stage_file.h"

typedef struct pipeline {
    splat_line *line; /* the command line */
    splat_pipeline_state at;
    splat_viewer *viewer;       /* of --viewer and --sibr, for all stages; NULL: none */
} pipeline;

/* The line of a stage's command, and room for paths that it makes up. */
typedef struct stage_line {
    splat_line line;
    splat_line_outcome outcome;
    char path[3 * CLI_PATH_MAX];
} stage_line;

typedef struct pipeline_stage {
    splat_pipeline_product product; /* its name is also that of the command that does the work */
    const char *skipped_by;         /* options, with commas between, any of which takes its place; NULL: none */
    /* Defaults in a pipeline that differ from those of the command; NULL: none. */
    void (*preset)(splat_line *line);
    /* Adds to the options that the user gave for the stage. */
    void (*fill)(const pipeline *p, const char *folder, stage_line *stage);
    /* Whether its command would take this line. */
    int (*check)(const pipeline *p, const splat_line *line);
    /* Adds figures on the test views to the results, where its command does not measure any; NULL: it does. Returns an
     * exit code. */
    int (*measure)(const pipeline *p, json_t *results, const splat_line *line);
} pipeline_stage;

extern const pipeline_stage pipeline_stages[];
extern const size_t pipeline_n_stages;

/* Of --low_poly and --high_poly; 0: not asked. */
size_t pipeline_target_vertices(const splat_line *line);

/* Whether an option, whose name is copied, takes the stage's place. */
bool pipeline_is_skipped(const pipeline_stage *stage, const splat_line *line, char name[64]);
/* The command of a stage. */
const splat_line_command *pipeline_command(const pipeline_stage *stage);
/* Tells which options of the command line no stage will see. */
void pipeline_notice_unused(const splat_line *line);

/* The command line that the stage would have by itself; the caller frees out->line. Returns an exit code. */
int pipeline_stage_begin(const pipeline *p, const pipeline_stage *stage, const char *folder, stage_line *out);
/* Its modes and what differs from the defaults into file->settings, what the stage begins with into file->inputs.
 * Returns an exit code. */
int pipeline_describe(const pipeline *p, const pipeline_stage *stage, const splat_line *line, splat_stage_file *file);
/* Why what `had` says must be made again to be what `wanted` says; "" when it need not. */
void pipeline_difference(const pipeline_stage *stage, const splat_stage_file *had,
                         const splat_stage_file *wanted, char *reason, size_t size);

/* "test_psnr", "test_psnr_covered" and "test_coverage" of a mesh, where the scene has test views. */
int pipeline_measure_mesh(const pipeline *p, json_t *results, const splat_line *line);

#endif
