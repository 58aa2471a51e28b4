/* The report of a run: TensorBoard, the memory profile, its curves and its page. Nothing here ends a run: a failed
 * write is a warning, given once. */
#ifndef SPLAT_RUN_RUN_REPORT_H
#define SPLAT_RUN_RUN_REPORT_H

#include "run/memory_profiler.h"
#include "report/page/run_history.h"
#include "report/page/run_pictures.h"
#include "run/run_settings.h"

typedef struct splat_run_report {
    splat_trainer *trainer;
    const splat_run_options *run;
    splat_tensorboard_report tensorboard; /* not open: does nothing */
    splat_memory_profiler *profiler;      /* NULL: none */
    splat_run_settings *settings;         /* NULL: nothing shows them, or there was no memory */

    splat_run_history history;            /* history for options->report */
    splat_run_pictures pictures;
    splat_memory_snapshot snapshot;
    int first_iteration;                  /* iteration at which the run begins */
    bool measures_stages;                 /* now, for the history */
    splat_loss losses[SPLAT_MAX_LOSSES];  /* of the regularizer, when they were last read, after step losses_at, */
    size_t n_losses;
    int losses_at;                        /* 0 once TensorBoard has it */
    splat_running_mean loss, l1, step_ms; /* since the last point of the history */
    size_t training_peak, evaluation_peak; /* bytes in named blocks on the device, so far */
} splat_run_report;

/* Opens what the options ask for. Errors: IO, MEMORY, ARGUMENT: before the first step they are errors. */
splat_status splat_run_report_open(splat_run_report *report, splat_trainer *trainer, const splat_run_options *run,
                                   splat_error *error);
/* After each step. */
void splat_run_report_step(splat_run_report *report, const splat_step_info *step);
/* Measures a set as splat_model_evaluate does, and shows its first views. */
splat_status splat_run_report_evaluate(splat_run_report *report, splat_view_set set, splat_metrics *mean,
                                       splat_error *error);
/* After all sets were measured: figures of the model; everything goes to the disk. */
void splat_run_report_end_evaluation(splat_run_report *report);
/* Before a checkpoint: a run that goes on from it finds the curves of all steps up to it. */
void splat_run_report_before_checkpoint(splat_run_report *report);
/* Writes the page, which says how the run ended: `error` is read unless status is OK. */
void splat_run_report_close(splat_run_report *report, splat_status status, const splat_error *error);

#endif
