/* TensorBoard files of a training run, with the tags of the tuned Mip-Splatting trainer (default) or of the
 * published one (upstream). Nothing here fails but open, model (the device) and flush, close (the disk, reported
 * once); a report that was not opened does nothing. GB in tags are 2^30 bytes, K are thousands. */
#ifndef SPLAT_OBSERVE_TENSORBOARD_REPORT_H
#define SPLAT_OBSERVE_TENSORBOARD_REPORT_H

#include "backend/backend.h"
#include "base/monitor_sample.h"
#include "base/running_mean.h"
#include "io/tensorboard.h"
#include "ops/summary/summary.h"
#include "train/parts/regularizer.h"
#include "splatsmith/model.h"
#include "splatsmith/train.h"

typedef enum splat_tensorboard_tags {
    SPLAT_TENSORBOARD_TAGS_DEFAULT = 0,
    SPLAT_TENSORBOARD_TAGS_UPSTREAM = 1
} splat_tensorboard_tags;

#define SPLAT_TENSORBOARD_STEP_INTERVAL 50        /* default tags: losses and time of a step; upstream: every step */
#define SPLAT_TENSORBOARD_MODEL_INTERVAL 100      /* default tags: opacity and scale */
#define SPLAT_TENSORBOARD_HISTOGRAM_INTERVAL 1000 /* default tags; histograms are also made at every evaluation */
#define SPLAT_TENSORBOARD_SAMPLES 10000           /* values a histogram */
#define SPLAT_TENSORBOARD_VIEWS 5                 /* views of a set that are shown */

typedef struct splat_tensorboard_report {
    splat_tensorboard *writer; /* NULL: not open */
    splat_tensorboard_tags tags;
    const splat_regularizer_report *more; /* default tags: what a regularizer shows besides, or NULL */
    int last_iteration;        /* of the run */
    splat_running_mean step_ms, more_ms; /* times of steps: since their mean was last written */
    int first_step;            /* first step of this file, which has the texts */
    int statistics_at, histograms_at; /* iterations of the last ones */
    int first_evaluation;      /* iteration of the first pictures: only then photos are written */
    splat_block scratch;       /* scratch of the summary op */
    splat_trainer *trainer;    /* whose Gaussians these are; NULL: splat_tensorboard_report_model gets them */
    int threads;
    double edges[SPLAT_TENSORBOARD_EDGES];
    uint32_t counts[SPLAT_SUMMARY_N][SPLAT_TENSORBOARD_UNSIGNED_EDGES - 1];
} splat_tensorboard_report;

/* Zeroes the report and opens an event file in `folder` (the model folder). iteration: the last one that was done, 0
 * for a new run; curves of earlier files in the folder end there. threads: for the compression of pictures. */
splat_status splat_tensorboard_report_open(splat_tensorboard_report *report, const char *folder,
                                           splat_tensorboard_tags tags, int iteration, int threads,
                                           splat_error *error);
/* At every evaluation and save. Fails once, when something could not be written: a warning, no reason to stop. */
splat_status splat_tensorboard_report_flush(splat_tensorboard_report *report, splat_error *error);
/* The same, and gives everything back; harmless on a zeroed report. `backend` is that of the model. */
splat_status splat_tensorboard_report_close(splat_tensorboard_report *report, splat_backend *backend,
                                            splat_error *error);

/* With the default tags: the texts Config/00_Training_Command, 01_Dataset, 02_Optimization, 03_Performance, and
 * what the regularizer adds. */
typedef struct splat_report_row {
    const char *name, *value;
} splat_report_row;
typedef struct splat_report_table {
    const splat_report_row *rows;
    size_t n;
} splat_report_table;
typedef struct splat_report_config {
    const char *command; /* the command line; NULL: left out, as are tables without rows */
    splat_report_table dataset, optimization, performance;
    const splat_regularizer_report *more; /* what the run's regularizer shows besides; NULL: nothing */
    int last_iteration;                   /* of the run */
} splat_report_config;
void splat_tensorboard_report_begin(splat_tensorboard_report *report, const splat_report_config *config);

/* A step. The iteration is that which the losses belong to, as on a GPU they come a step late. */
typedef struct splat_report_step {
    double l1, total; /* losses */
    double ms;        /* time of the step; default tags show the mean of the steps since the last one shown */
} splat_report_step;
void splat_tensorboard_report_step(splat_tensorboard_report *report, int iteration, const splat_report_step *step);

/* The losses and figures of a regularizer by their tags, in either kind: losses with their factors, as they are part of
 * Loss/total, to which the loss of the photo, Loss/component_rendering, belongs as well. Those that are NaN are left
 * out. rendering NaN: not known, and there is no total. */
void splat_tensorboard_report_losses(splat_tensorboard_report *report, int iteration, double rendering,
                                     const splat_loss *losses, size_t n);

/* The machine (default tags: 4_performance/...): named blocks in use and mapped, and every known figure of a sample of
 * the monitor (NULL: none). */
void splat_tensorboard_report_performance(splat_tensorboard_report *report, int iteration, double allocated_bytes,
                                          double reserved_bytes, const splat_monitor_sample *sample);

/* Density control (default tags: gaussians/...). */
void splat_tensorboard_report_density(splat_tensorboard_report *report, int iteration, size_t n_added,
                                      size_t n_removed);

/* The photos' exposures in stops (default tags: exposure/...), before their mean is taken away. */
void splat_tensorboard_report_exposures(splat_tensorboard_report *report, int iteration, double mean, double min,
                                        double max);

/* After every step: runs the summary op when figures of the model are due (a multiple of the intervals, or an
 * evaluation) and writes them, for which it waits for the device; writes out what has waited for long. backend and
 * gaussians: without a trainer. Errors: those of the op. */
splat_status splat_tensorboard_report_model(splat_tensorboard_report *report, splat_backend *backend,
                                            const splat_gaussians *gaussians, int iteration, bool evaluation,
                                            splat_error *error);

/* Means over a set; is_test: the test views, else the five training views. lpips is NAN when it was not measured. */
void splat_tensorboard_report_evaluation(splat_tensorboard_report *report, int iteration, bool is_test,
                                         const splat_metrics *metrics, double lpips);

/* An evaluated view, for pictures of it. */
typedef struct splat_report_view {
    const char *name;         /* name of the photo; the tag has no extension */
    size_t index_in_set;
    bool is_test;
    int width, height;
    const float *render;      /* [3][height][width] */
    const uint8_t *photo;     /* [height][width][3] */
    const uint32_t *blended;  /* [height][width] Gaussians blended a pixel, NULL: no heat map */
    splat_metrics metrics;
} splat_report_view;
/* The pictures of some views; only the first SPLAT_TENSORBOARD_VIEWS of a set are taken. */
void splat_tensorboard_report_views(splat_tensorboard_report *report, int iteration, const splat_report_view *views,
                                    size_t n);

#endif
