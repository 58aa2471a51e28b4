/* The stages of `splatsmith pipeline`. A new stage is an entry in pipeline_stages and its fill function. */
#ifndef SPLAT_CLI_PIPELINE_H
#define SPLAT_CLI_PIPELINE_H

#include "stage_file.h"

typedef struct pipeline_splat {
    char folder[CLI_PATH_MAX]; /* its model folder; "": there is the file only */
    char file[CLI_PATH_MAX];   /* "": there is no splat yet */
    int iteration;             /* -1: the file's name tells */
} pipeline_splat;

typedef struct pipeline {
    const cli_values *values;   /* the command line */
    const cli_values *defaults;
    char folder[CLI_PATH_MAX];  /* of all stages */
    char scene[CLI_PATH_MAX];   /* absolute */
    pipeline_splat splat;       /* what the next stage begins with, */
    char mesh[CLI_PATH_MAX];    /* and the mesh; "": there is none yet */
} pipeline;

/* The values of a stage's command, and room for a path that it makes up. */
typedef struct stage_values {
    cli_values values;
    cli_outcome outcome;
    char path[CLI_PATH_MAX];
} stage_values;

typedef struct pipeline_stage {
    const char *name;       /* of its folder, and of the command that does the work */
    const char *skipped_by; /* options, with commas between, any of which takes its place; NULL: none */
    bool makes_splat;       /* a model folder with checkpoints to go on from, which the next stage takes; else meshes */
    /* What the stage gets beside the options that the user gave for it. */
    void (*fill)(const pipeline *p, const char *folder, stage_values *stage);
    /* Whether its command would take these values. */
    int (*check)(const pipeline *p, const cli_values *values);
} pipeline_stage;

extern const pipeline_stage pipeline_stages[];
extern const size_t pipeline_n_stages;

/* Of --low_poly and --high_poly; 0: not asked. */
size_t pipeline_target_vertices(const cli_values *values);
/* What is asked of stages that this version does not have, as an object; NULL: nothing. */
json_t *pipeline_next(const cli_values *values);

/* Whether an option, whose name is copied, takes the stage's place. */
bool pipeline_is_skipped(const pipeline_stage *stage, const cli_values *values, char name[64]);
/* The command of a stage. */
const cli_command *pipeline_command(const pipeline_stage *stage);
/* Tells which options of the command line no stage will see. */
void pipeline_notice_unused(const cli_values *values);

/* The command line that the stage would have had by itself. */
void pipeline_stage_values(const pipeline *p, const pipeline_stage *stage, const char *folder, stage_values *out);
/* What differs from the defaults, and what the stage begins with, into file->settings and ->inputs. Returns an exit
 * code. */
int pipeline_describe(const pipeline *p, const pipeline_stage *stage, const cli_values *values, stage_file *file);
/* Why what `had` says must be made again to be what `wanted` says; "" when it need not. */
void pipeline_difference(const pipeline *p, const pipeline_stage *stage, const stage_file *had,
                         const stage_file *wanted, char *reason, size_t size);

/* The splat of a model folder (its newest state when iteration is -1) or a file. Prints the reason when there is none;
 * returns an exit code. */
int pipeline_find_splat(const char *path, int iteration, pipeline_splat *splat);
bool pipeline_has_checkpoint(const char *folder);
void pipeline_remove_checkpoints(const char *folder);
/* The results of a finished stage, for its file. NULL after a message. */
json_t *pipeline_results(const pipeline *p, const pipeline_stage *stage, const char *folder,
                         const cli_outcome *outcome);
/* Hands the results of a complete stage on to the next; false, with the path that is missing, when they are gone. */
bool pipeline_take_results(pipeline *p, const pipeline_stage *stage, const char *folder, const json_t *results,
                           char missing[CLI_PATH_MAX]);
/* "81234 Gaussians, test PSNR 30.12 dB", "100000 vertices, 199998 faces" */
const char *pipeline_result_text(const json_t *results, char text[CLI_TEXT_MAX]);
/* The path of the main result inside the pipeline's folder. */
const char *pipeline_result_path(const json_t *results);

#endif
