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
    cli_line *line;             /* the command line */
    char folder[CLI_PATH_MAX];  /* of all stages */
    char scene[CLI_PATH_MAX];   /* absolute */
    char cameras[CLI_PATH_MAX]; /* cameras.json of a scene that was made of photos alone; "": the scene had cameras */
    pipeline_splat splat;       /* what the next stage begins with, */
    char mesh[CLI_PATH_MAX];    /* and the mesh; "": there is none yet */
    splat_viewer *viewer;       /* of --viewer and --sibr, for all stages; NULL: none */
    bool is_bound;              /* the splat's Gaussians are bound to the mesh, which lies in the splat's folder */
} pipeline;

/* The line of a stage's command, and room for paths that it makes up. */
typedef struct stage_line {
    cli_line line;
    cli_outcome outcome;
    char path[3 * CLI_PATH_MAX];
} stage_line;

/* What a stage leaves to those after it, as bits. */
enum {
    PIPELINE_SPLAT = 1, /* a model folder, with checkpoints to go on from */
    PIPELINE_MESH = 2,  /* meshes: in the stage's folder, or beside the splat */
    PIPELINE_FILES = 4  /* what the user wanted: all files in the stage's folder */
};

typedef struct pipeline_stage {
    const char *name;       /* of its folder, and of the command that does the work */
    const char *skipped_by; /* options, with commas between, any of which takes its place; NULL: none */
    unsigned makes;
    /* Its splat and its mesh under a name in the pipeline's folder, where users look for them; NULL: left where it is.
     * PIPELINE_FILES are there under their own names. */
    const char *splat_name, *mesh_name;
    /* Defaults in a pipeline that differ from those of the command; NULL: none. */
    void (*preset)(cli_line *line);
    /* Adds to the options that the user gave for the stage. */
    void (*fill)(const pipeline *p, const char *folder, stage_line *stage);
    /* Whether its command would take this line. */
    int (*check)(const pipeline *p, const cli_line *line);
    /* Adds figures on the test views to the results, where its command does not measure any; NULL: it does. Returns an
     * exit code. */
    int (*measure)(const pipeline *p, json_t *results, const cli_line *line);
} pipeline_stage;

extern const pipeline_stage pipeline_stages[];
extern const size_t pipeline_n_stages;

/* Of --low_poly and --high_poly; 0: not asked. */
size_t pipeline_target_vertices(const cli_line *line);

/* Whether an option, whose name is copied, takes the stage's place. */
bool pipeline_is_skipped(const pipeline_stage *stage, const cli_line *line, char name[64]);
/* The command of a stage. */
const cli_command *pipeline_command(const pipeline_stage *stage);
/* Tells which options of the command line no stage will see. */
void pipeline_notice_unused(const cli_line *line);

/* The command line that the stage would have by itself; the caller frees out->line. Returns an exit code. */
int pipeline_stage_begin(const pipeline *p, const pipeline_stage *stage, const char *folder, stage_line *out);
/* Its modes and what differs from the defaults into file->settings, what the stage begins with into file->inputs.
 * Returns an exit code. */
int pipeline_describe(const pipeline *p, const pipeline_stage *stage, const cli_line *line, stage_file *file);
/* Why what `had` says must be made again to be what `wanted` says; "" when it need not. */
void pipeline_difference(const pipeline_stage *stage, const stage_file *had,
                         const stage_file *wanted, char *reason, size_t size);

/* The splat of a model folder (its newest state when iteration is -1) or a file. Prints the reason when there is none;
 * returns an exit code. */
int pipeline_find_splat(const char *path, int iteration, pipeline_splat *splat);
bool pipeline_has_checkpoint(const char *folder);
/* Deletes the checkpoints of a stage but the newest. */
void pipeline_remove_checkpoints(const char *folder, int n_kept);
/* Deletes the unfinished files that a killed run left in a folder, and in those below it. */
void pipeline_delete_temporaries(const char *folder);
/* The results of a finished stage, for its file. NULL after a message. */
json_t *pipeline_results(const pipeline *p, const pipeline_stage *stage, const char *folder,
                         const cli_outcome *outcome);
/* Hands the results of a complete stage on to the next; false, with the path that is missing, when they are gone. */
bool pipeline_take_results(pipeline *p, const pipeline_stage *stage, const char *folder, const json_t *results,
                           char missing[CLI_PATH_MAX]);
/* "81234 Gaussians", "100000 vertices, 199998 faces", "textured.glb, 12 MiB" */
const char *pipeline_result_text(const pipeline *p, const json_t *results, char text[CLI_TEXT_MAX]);
/* "30.12 dB" on the test views; "": not measured. */
const char *pipeline_quality_text(const json_t *results, char text[32]);
/* The path of the main result inside the pipeline's folder. */
const char *pipeline_result_path(const json_t *results);

/* "test_psnr", "test_psnr_covered" and "test_coverage" of a mesh, where the scene has test views. */
int pipeline_measure_mesh(const pipeline *p, json_t *results, const cli_line *line);

/* Puts the results of a complete stage, as its table row says, under their names in the pipeline's folder: hard links,
 * or copies where there are none. `files` receives the names. Returns an exit code. */
int pipeline_publish(const pipeline *p, const pipeline_stage *stage, const json_t *results, json_t *files);
/* Deletes what an earlier run put there (`before`, the "files" of its pipeline.json) and this one did not. */
void pipeline_unpublish(const pipeline *p, const json_t *before, const json_t *files);

#endif
