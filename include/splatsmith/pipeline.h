/* splatsmith/pipeline.h - from photos to a textured mesh in one call: the function behind `splatsmith pipeline`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SPLATSMITH_PIPELINE_H
#define SPLATSMITH_PIPELINE_H

#include "splatsmith/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- options */

/* An option of `splatsmith pipeline` (docs/options.md). */
typedef struct splat_pipeline_setting {
    const char *name;  /* without dashes; - and _ are the same. Other names of the option are taken, too */
    const char *value; /* as on a command line; numbers of a list have commas or spaces between. NULL: the option alone,
                          which turns a flag on, and asks for the usual port of a viewer */
} splat_pipeline_setting;

typedef struct splat_pipeline_options {
    size_t size;
    const char *source; /* a scene with cameras, a folder of photos, or a video. Required */
    const char *folder; /* for the results; made when absent, else empty or that of an earlier pipeline. Required */
    const splat_pipeline_setting *settings; /* all options but source_path, output, experiment_name, help and quiet;
                                               NULL (default): none */
    size_t n_settings;
    bool sole_user;      /* as in splat_context_options; default false */
    const char *command; /* how the run was called, for its records; NULL (default): not recorded */
} splat_pipeline_options;

void splat_pipeline_options_init_sized(splat_pipeline_options *options, size_t size);
#define splat_pipeline_options_init(options) splat_pipeline_options_init_sized(options, sizeof *(options))

/* ---------------------------------------------------------------- while it runs */

typedef enum splat_pipeline_message {
    SPLAT_PIPELINE_RESULT = 0,  /* the finished work, and figures */
    SPLAT_PIPELINE_NOTICE = 1,
    SPLAT_PIPELINE_WARNING = 2,
    SPLAT_PIPELINE_ERROR = 3    /* an error next to the one that is returned */
} splat_pipeline_message;

/* How far a stage is. Texts live as long as the call. */
typedef struct splat_pipeline_progress {
    const char *stage;    /* "cameras", "train", "coarse", "mesh", "refine" or "texture" */
    const char *activity; /* the stage, or a part of it such as "measuring test views" */
    const char *text;     /* a line for people: "120/7000 | L:0.043 | ...", "reconstructing, 40%" */
    double fraction;      /* finished share of the activity, 0 to 1 */
    int iteration;        /* iteration of a training; 0 in other activities */
} splat_pipeline_progress;

/* A request to stop, which any thread and a signal handler may make. */
typedef struct splat_stop splat_stop;
/* Owned by the caller (splat_stop_destroy). Errors: MEMORY. */
splat_status splat_stop_create(splat_stop **stop, splat_error *error);
/* After the run that has it. NULL is allowed. */
void splat_stop_destroy(splat_stop *stop);
/* A training ends after its step and writes a checkpoint; other work ends at its next call of progress. signal: its
 * number, for the exit codes in pipeline.json; 0: SIGINT. Safe in a signal handler. */
void splat_stop_request(splat_stop *stop, int signal);

/* The thread of splat_pipeline_run calls these functions. */
typedef struct splat_pipeline_callbacks {
    size_t size;
    void *user;
    /* One sentence without a newline; options stand between backquotes (splat_error). NULL: silence. */
    void (*message)(void *user, splat_pipeline_message kind, const char *text);
    /* False: stop, as splat_stop_request does. NULL: nobody asks. */
    bool (*progress)(void *user, const splat_pipeline_progress *progress);
    double interval; /* seconds between two calls of progress, at least, but for the last step of a training; 0.1 */
    splat_stop *stop; /* NULL: none; one run at a time */
} splat_pipeline_callbacks;

void splat_pipeline_callbacks_init_sized(splat_pipeline_callbacks *callbacks, size_t size);
#define splat_pipeline_callbacks_init(callbacks) splat_pipeline_callbacks_init_sized(callbacks, sizeof *(callbacks))

/* ---------------------------------------------------------------- the result */

typedef enum splat_pipeline_state {
    SPLAT_PIPELINE_WAITING = 0,     /* the run ended before this stage */
    SPLAT_PIPELINE_LEFT_OUT = 1,    /* an option leaves the stage out */
    SPLAT_PIPELINE_DONE_BEFORE = 2, /* an earlier run with the same settings and inputs did it */
    SPLAT_PIPELINE_RUNNING = 3,     /* appears only in pipeline.json */
    SPLAT_PIPELINE_COMPLETE = 4,
    SPLAT_PIPELINE_STOPPED = 5,
    SPLAT_PIPELINE_FAILED = 6
} splat_pipeline_state;
/* "left out", "done before" and so on. Never NULL. */
const char *splat_pipeline_state_name(splat_pipeline_state state);

#define SPLAT_PIPELINE_STAGES 8

/* A stage after the run. Figures are those of all runs that worked on it. */
typedef struct splat_pipeline_stage_info {
    char name[16];            /* "train" */
    splat_pipeline_state state;
    double seconds;
    uint64_t peak_bytes;      /* the most that the context held; on a GPU with the driver's share */
    uint64_t host_peak_bytes; /* the most resident memory of the process; 0: not known */
    double psnr;              /* PSNR of the test views, dB; NaN: not measured */
    char summary[1024];       /* "81234 Gaussians", "textured.glb, 12 MiB"; "": no result */
    char path[4096];          /* the main result; "": none */
} splat_pipeline_stage_info;

typedef struct splat_pipeline_result {
    splat_pipeline_stage_info stages[SPLAT_PIPELINE_STAGES]; /* "cameras" is the first where photos had none */
    size_t n_stages;  /* 0: nothing was begun */
    char **files;     /* the results that users look for, as "folder/textured.glb"; free with the result */
    size_t n_files;
} splat_pipeline_result;

/* Runs the stages train, coarse, mesh, refine and texture, as far as they are missing; photos without cameras get
 * theirs from COLMAP first. Options, files and messages are those of `splatsmith pipeline`. Each stage has a folder in
 * options->folder; textured.glb, refined.ply and refined_mesh.ply lie in the folder itself.
 *
 * A finished stage whose settings and inputs are the same is not run again. One that was stopped or killed goes on from
 * its last checkpoint, to the same bytes on the CPU. A stage runs again with those after it when a setting that shapes
 * its result, an input or one of its files changed. An earlier result stays until the new one has something to show.
 *
 * callbacks (NULL: silence) are borrowed for the call. *result (NULL: nobody asks) is filled in every case; the caller
 * frees it (splat_pipeline_result_free).
 * Errors: ARGUMENT (a setting; all are checked before the first stage), IO (also: another run is at work in the
 * folder), STOPPED (the same call goes on), those of the stages: FORMAT, UNSUPPORTED, MEMORY, DEVICE, NUMERIC,
 * CHECKPOINT. What stages finished stays. */
splat_status splat_pipeline_run(const splat_pipeline_options *options, const splat_pipeline_callbacks *callbacks,
                                splat_pipeline_result *result, splat_error *error);
/* Frees what the result holds. */
void splat_pipeline_result_free(splat_pipeline_result *result);

#ifdef __cplusplus
}
#endif
#endif
