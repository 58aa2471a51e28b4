/* A run of train, coarse or refine: what is opened for it, what it reports, and the run itself. */
#ifndef SPLAT_STAGE_TRAINING_H
#define SPLAT_STAGE_TRAINING_H

#include "report/monitor/monitor.h"
#include "splatsmith/viewer.h"
#include "stage/progress.h"
#include "stage/session.h"

/* The report of the run. */
typedef struct splat_training_report {
    splat_talk *talk; /* NULL: silence */
    splat_step_progress progress;
    splat_trainer *trainer;
    splat_step_info last_step;
    int n_steps;
    size_t n_refused;              /* Gaussians that memory did not allow */
    double started, other_seconds; /* when the run began; spent on evaluations and saves */
    double mark;                   /* end of the last step */
    double first_step;             /* when the first step of the run ended; the estimate begins here */
    int first_iteration;
    bool is_estimated;         /* how long the run takes */
    int resolution;            /* --resolution of the scene; 0: that of a model */
    int max_width, max_height; /* pixels of the largest photo */
    bool on_cpu;
    double psnr;                                       /* PSNR of the last test evaluation */
    int psnr_iteration;                                /* 0: there was none */
    splat_viewer *viewer;                              /* NULL: none */
    size_t training_peak_bytes, evaluation_peak_bytes; /* peaks at the last evaluation; 0: none yet */
    char checkpoint[SPLAT_STAGE_PATH];                 /* the last one written, "" without any */
    char saved[SPLAT_STAGE_PATH];
} splat_training_report;

/* Zeroed, then filled by the stage: options, session, trainer. */
typedef struct splat_training {
    splat_session session; /* context and scene */
    splat_train_options train_options;
    splat_run_options run_options;
    splat_line_list test, save, checkpoint, snapshot;
    char model_path[SPLAT_STAGE_PATH];
    splat_trainer *trainer;
    splat_monitor *monitor;
    splat_lpips *lpips;
    splat_workers *workers; /* with several GPUs: the other ranks */
    bool has_run;
    bool is_stopped_here; /* a stop was asked of this process, not of another rank */
    splat_training_report report;
} splat_training;

/* Opens the scene, makes the trainer in it, and says what is trained. */
typedef splat_status splat_training_begin(splat_training *training, const splat_line *line, splat_error *error);

/* Says more after a run that went well. */
typedef void splat_training_finish(const splat_training *training);

/* The run's options are those of the line. Errors: MEMORY. */
splat_status splat_training_create(const splat_line *line, splat_training **training, splat_error *error);
/* One line on the folder and one on the scene. */
void splat_training_describe(const splat_training *training);
/* Trains to the end, and says how it went. LPIPS, the monitor and the viewer are opened as the line says. A rank that
 * another one leads serves it. Errors: those of splat_trainer_run. */
splat_status splat_training_run(splat_training *training, const splat_line *line, splat_error *error);
/* Says what is left after a run with this status: where a stopped one goes on, and what a failed one saved. */
void splat_training_tell_end(const splat_training *training, const splat_line *line, splat_status status);
/* "train", "coarse" or "refine". */
const char *splat_training_name(const splat_training *training);
/* The line's outcome gets the figures. NULL is allowed. */
void splat_training_destroy(splat_training *training, const splat_line *line);
/* All of it. finish NULL: no more is said. */
splat_status splat_training_of(const splat_line *line, splat_training_begin *begin, splat_training_finish *finish,
                               splat_error *error);

#endif
