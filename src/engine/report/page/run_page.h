/* report.html: a run on one page that needs no other file and no network. */
#ifndef SPLAT_OBSERVE_RUN_PAGE_H
#define SPLAT_OBSERVE_RUN_PAGE_H

#include "report/page/run_history.h"
#include "report/page/run_pictures.h"
#include "report/tensorboard/tensorboard_report.h"

#define SPLAT_RUN_PAGE_FILE "report.html"

typedef struct splat_run_page {
    const char *folder;       /* the model folder, where the page is written */
    const char *ended;        /* how, when it ended before its last iteration; NULL: it did not */
    int iteration;
    size_t n_gaussians, n_train, n_test;
    int width, height;        /* size of the largest view */
    double seconds;           /* time of the training with evaluations and saves */
    double mean_opacity;      /* NaN: not known */
    size_t training_peak_bytes, evaluation_peak_bytes; /* most in named blocks on the device; 0: no such phase */
    size_t overhead_bytes;    /* memory of the driver, outside the blocks */
    const splat_report_config *settings; /* NULL: not shown */
    const splat_run_history *history;
    const splat_run_pictures *pictures;
} splat_run_page;

/* Written atomically. Errors: IO, MEMORY. */
splat_status splat_run_page_write(const splat_run_page *page, splat_error *error);

#endif
