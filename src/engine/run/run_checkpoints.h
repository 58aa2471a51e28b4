/* The checkpoints of a run: which file, when, how many are kept, what happens when one cannot be written or read. */
#ifndef SPLAT_RUN_RUN_CHECKPOINTS_H
#define SPLAT_RUN_RUN_CHECKPOINTS_H

#include "run/checkpoint/checkpoint.h"
#include "splatsmith/train.h"

typedef struct splat_run_checkpoints {
    splat_trainer *trainer;
    const splat_run_options *run;
    struct splat_run_report *report; /* whose curves go to the disk before a checkpoint does; NULL: none yet */
    int rolling[2];  /* iterations of the interval's files, older first; -1: none */
    int n_failures;  /* writes that failed in a row */
    int last;        /* iteration of the newest file of this run; -1: none */
    double last_seconds; /* splat_clock_seconds of that, or of the start */
    splat_error failure; /* error of the last failed write */
} splat_run_checkpoints;

/* Loads what run->start_checkpoint names; with "latest" a damaged file is passed over, with a notice. */
splat_status splat_run_checkpoints_start(splat_run_checkpoints *checkpoints, splat_trainer *trainer,
                                         const splat_run_options *run, splat_error *error);
/* In the folder that is this run's alone: deletes what killed saves left and finds the files that the interval's two
 * come after. */
void splat_run_checkpoints_tidy(splat_run_checkpoints *checkpoints);
/* chkpntN.splatsmith of the trainer's iteration, reported as an event. */
splat_status splat_run_checkpoints_save(splat_run_checkpoints *checkpoints, const char *reason,
                                        const splat_step_info *step, splat_error *error);
/* After a step: the file that is due, if any. A write that fails is a warning; *enough becomes true when it is the
 * second in a row. Only a failure of the device is an error. */
splat_status splat_run_checkpoints_after_step(splat_run_checkpoints *checkpoints, const splat_step_info *step,
                                              bool *enough, splat_error *error);
/* After an error that ends the run: a checkpoint of what was reached, where the state is sound; a failure is logged.
 * Whether one was written. */
bool splat_run_checkpoints_rescue(splat_run_checkpoints *checkpoints, splat_status status, const splat_step_info *step);

#endif
