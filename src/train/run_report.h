/* What a run tells beside its files: TensorBoard and the memory profile. Nothing here ends a run: what cannot be
 * written is a warning, told once. */
#ifndef SPLAT_TRAIN_RUN_REPORT_H
#define SPLAT_TRAIN_RUN_REPORT_H

#include "train/memory_profiler.h"
#include "train/tensorboard_report.h"
#include "train/trainer.h"

typedef struct splat_run_report {
    splat_trainer *trainer;
    const splat_run_options *run;
    splat_tensorboard_report tensorboard; /* not open: does nothing */
    splat_memory_profiler *profiler;      /* NULL: none */
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
void splat_run_report_close(splat_run_report *report);

#endif
