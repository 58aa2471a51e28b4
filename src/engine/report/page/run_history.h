/* The curves of a run: in memory for its report, and a line each in history.jsonl of the model folder, where a run that
 * goes on from a checkpoint finds those of the steps before. */
#ifndef SPLAT_OBSERVE_RUN_HISTORY_H
#define SPLAT_OBSERVE_RUN_HISTORY_H

#include "report/profile/memory_profile.h"

#include <stdio.h>

#define SPLAT_HISTORY_INTERVAL 10       /* steps a point */
#define SPLAT_HISTORY_POINTS_MAX 4096   /* points in memory: 40,960 steps; beyond, every second, fourth, ... */
#define SPLAT_HISTORY_FILE "history.jsonl"
#define SPLAT_N_STAGES 7

extern const char *const splat_stage_names[SPLAT_N_STAGES]; /* names in the order of splat_stage_times */

/* NaN: not known. */
typedef struct splat_history_point {
    int iteration;
    double seconds;                  /* since the run began, without the time between a stop and going on */
    double loss, l1, step_ms;        /* means of the steps since the point before */
    double n_gaussians;
    double memory[SPLAT_N_MEMORY_CATEGORIES]; /* bytes reserved on the device */
    double driver, process;          /* bytes of the process: on the GPU as its driver counts, and on the host */
    double stages[SPLAT_N_STAGES];   /* ms of a step */
    double losses[SPLAT_MAX_LOSSES]; /* those of the history's list, without their factors */
} splat_history_point;

/* The additional losses: their object in a line, and its keys. */
typedef struct splat_history_losses {
    const char *group; /* "coarse" */
    const char *title; /* title of their chart: "coarse training" */
    size_t n;
    const char *names[SPLAT_MAX_LOSSES], *labels[SPLAT_MAX_LOSSES];
} splat_history_losses;

typedef struct splat_history_evaluation {
    int iteration;
    bool is_test;
    size_t n_views;
    double l1, psnr, ssim, lpips;
} splat_history_evaluation;

typedef struct splat_run_history {
    splat_history_point *points; /* [n_points], by iteration */
    size_t n_points, points_capacity;
    size_t stride, n_passed;     /* one point of `stride` is kept; so many were not since the last one */
    splat_history_losses losses; /* n 0: none */
    splat_history_evaluation *evaluations;
    size_t n_evaluations, evaluations_capacity;
    char *path;
    FILE *file;                  /* NULL: not open, or given up */
    double started, flushed;     /* seconds of the clock */
    double seconds_before;       /* time of the runs that this run continues */
} splat_run_history;

/* Opens the file in `folder`: what it says of the steps up to `iteration` (0: a new run) is kept, but for points beyond
 * what memory holds; anything else is deleted. A line that cannot be read is left out. losses: those that points may
 * have (copied; its words are borrowed); NULL: none. Errors: IO, MEMORY. Close it in either case. */
splat_status splat_run_history_open(splat_run_history *history, const char *folder, int iteration,
                                    const splat_history_losses *losses, splat_error *error);
/* Adds a point or an evaluation; `seconds` of a point is filled in. What finds no memory is left out. False, once: the
 * file cannot be written any more, and was given up. */
bool splat_run_history_add(splat_run_history *history, const splat_history_point *point);
bool splat_run_history_add_evaluation(splat_run_history *history, const splat_history_evaluation *evaluation);
/* The file has all lines when this returns true. */
bool splat_run_history_flush(splat_run_history *history);
/* The same, and the disk has them: for a run that goes on from a checkpoint written after this. */
bool splat_run_history_sync(splat_run_history *history);
double splat_run_history_seconds(const splat_run_history *history);
void splat_run_history_close(splat_run_history *history);

/* A point of which nothing is known. */
splat_history_point splat_history_point_make(int iteration);

#endif
