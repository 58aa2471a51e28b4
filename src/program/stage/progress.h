/* Lines on how far the work is: of the steps of a training, and of what is counted. */
#ifndef SPLAT_STAGE_PROGRESS_H
#define SPLAT_STAGE_PROGRESS_H

#include "report/monitor/monitor.h"
#include "splatsmith/model.h"
#include "splatsmith/train.h"
#include "stage/talk.h"

/* A training. */
typedef struct splat_step_progress {
    const splat_talk *talk;
    const splat_context *context;
    splat_monitor *monitor; /* NULL: none; borrowed for as long as steps are shown */
    const char *activity;
    int total;
    int last_iteration; /* when the rate was last measured */
    double started, last_measure, last_call;
    double rate; /* steps a second, smoothed */
    double loss; /* smoothed as 3DGS does */
} splat_step_progress;

splat_step_progress splat_step_progress_start(const splat_talk *talk, const char *activity,
                                              const splat_context *context, splat_monitor *monitor, int total);
/* False: the caller wants the training to stop. */
bool splat_step_progress_show(splat_step_progress *progress, const splat_step_info *step);
/* The rate is measured from here on: after the first step, and after an evaluation or a save. */
void splat_step_progress_resume(splat_step_progress *progress, int iteration);

/* The counted work: "mesh: reconstructing, 40%", "measuring test views: 3/12". */
typedef struct splat_counter {
    const splat_talk *talk;
    const char *what;
    size_t total;
    double last_call;
} splat_counter;

splat_counter splat_counter_start(const splat_talk *talk, const char *what, size_t total);
/* False: the caller wants the work to stop. */
bool splat_counter_show(splat_counter *counter, const char *stage, double fraction);
/* A splat_view_function, whose user is the counter. */
bool splat_counter_view(void *counter, size_t index_in_set, const splat_view_info *view, const float *render,
                        const uint8_t *photo, const splat_metrics *metrics);

/* " (masked: 91.2 % of the pixels; whole pictures 21.35 dB)": what stands behind figures of masked views. */
void splat_masked_words(const splat_metrics *metrics, char *text, size_t size);

#endif
