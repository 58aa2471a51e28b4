/* A run of train or coarse: what is opened for it, what it reports, and the run itself. */
#ifndef SPLAT_CLI_TRAINING_H
#define SPLAT_CLI_TRAINING_H

#include "cli.h"
#include "progress.h"
#include "report/monitor/monitor.h"

/* What the run reports. */
typedef struct cli_report_state {
    cli_progress progress;
    splat_step_info last_step;
    int n_steps;
    size_t n_refused;                /* Gaussians that memory did not allow */
    double started, other_seconds; /* when the run began; spent on evaluations and saves */
    double mark;                   /* end of the last step */
    double first_step;             /* when the first step of the run ended; the estimate begins here */
    int first_iteration;
    bool is_estimated;             /* how long the run takes */
    int resolution;                /* of the scene, as --resolution says it; 0: of a model */
    int max_width, max_height;     /* pixels of the largest photo */
    bool on_cpu;
    double psnr;                   /* of the last test evaluation */
    int psnr_iteration;            /* 0: there was none */
    splat_viewer *viewer;          /* NULL: none */
    size_t training_peak_bytes, evaluation_peak_bytes; /* of the last evaluation's event; 0: there was none */
    char checkpoint[CLI_PATH_MAX]; /* the last one written, "" without any */
    char saved[CLI_PATH_MAX];
} cli_report_state;

/* Zeroed, then filled by the command: options, context, scene, trainer. */
typedef struct cli_training {
    splat_scene_options scene_options;
    splat_train_options train_options;
    splat_run_options run_options;
    splat_line_list test, save, checkpoint, snapshot;
    char model_path[CLI_PATH_MAX];
    splat_context *context;
    splat_scene *scene;
    splat_trainer *trainer;
    splat_monitor *monitor;
    splat_lpips *lpips;
    splat_workers *workers; /* with several GPUs: the other ranks */
    char *command;
    cli_report_state report;
} cli_training;

/* run_options and the lists that they point to, from the command line. */
void cli_training_fill(cli_training *training, const splat_line *line);
/* One line on the folder and one on the scene. */
void cli_training_describe(const cli_training *training);
/* Trains to the end, and tells how it went. LPIPS and the monitor are opened as the command line says. Returns an exit
 * code: after a signal 128 + its number. */
int cli_training_run(cli_training *training, const splat_line *line);
void cli_training_close(cli_training *training);

/* A whole run that begins with what a session opens, as those that train a splat on do: `prepare` opens the session and
 * makes the trainer in its context and scene, which become the training's; `finish` (NULL: none) says more after a run
 * that went well. Returns an exit code. */
int cli_training_of_session(const splat_line *line,
                            int (*prepare)(cli_training *training, cli_session *session, const splat_line *line),
                            void (*finish)(const cli_training *training));

#endif
