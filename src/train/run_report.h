/* What a run tells beside its files: TensorBoard, the memory profile, its curves and its page. Nothing here ends a run:
 * what cannot be written is a warning, told once. */
#ifndef SPLAT_TRAIN_RUN_REPORT_H
#define SPLAT_TRAIN_RUN_REPORT_H

#include "train/memory_profiler.h"
#include "train/run_history.h"
#include "train/run_pictures.h"
#include "train/run_settings.h"

typedef struct splat_run_report {
    splat_trainer *trainer;
    const splat_run_options *run;
    splat_tensorboard_report tensorboard; /* not open: does nothing */
    splat_memory_profiler *profiler;      /* NULL: none */
    splat_run_settings *settings;         /* NULL: nothing shows them, or there was no memory */

    splat_run_history history;            /* of options->report */
    splat_run_pictures pictures;
    splat_memory_snapshot snapshot;
    int first_iteration;                  /* that the run goes on from */
    bool measures_stages;                 /* now, for the history */
    splat_coarse_losses coarse;           /* when they were last read, after step coarse_at, */
    int coarse_at;                        /* 0 once TensorBoard was told */
    splat_running_mean loss, l1, step_ms; /* since the last point of the history */
} splat_run_report;

/* Opens what the options ask for. Errors: IO, MEMORY, ARGUMENT: before the first step they are errors. */
splat_status splat_run_report_open(splat_run_report *report, splat_trainer *trainer, const splat_run_options *run,
                                   splat_error *error);
/* After each step. */
void splat_run_report_step(splat_run_report *report, const splat_step_info *step);
/* Measures a set as splat_evaluate does, and shows its first views. */
splat_status splat_run_report_evaluate(splat_run_report *report, splat_view_set set, splat_metrics *mean,
                                       splat_error *error);
/* After all sets were measured: figures of the model; everything goes to the disk. */
void splat_run_report_end_evaluation(splat_run_report *report);
/* Writes the page, which says how the run ended: `error` is read unless status is OK. */
void splat_run_report_close(splat_run_report *report, splat_status status, const splat_error *error);

#endif
