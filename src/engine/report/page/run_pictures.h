/* A few views of the newest evaluation as small JPEGs, for the report of a run. */
#ifndef SPLAT_OBSERVE_RUN_PICTURES_H
#define SPLAT_OBSERVE_RUN_PICTURES_H

#include "report/tensorboard/tensorboard_report.h"
#include "splatsmith/model.h"

#define SPLAT_PICTURE_MOST_WIDTH 640 /* wider ones are shrunk */

typedef struct splat_jpeg {
    uint8_t *data;
    size_t size;
} splat_jpeg;

/* The pictures and figures of one view. */
typedef struct splat_run_picture {
    char name[128];
    int width, height;   /* size of the view */
    splat_metrics metrics;
    splat_jpeg render, photo, error_map;
} splat_run_picture;

typedef struct splat_run_pictures {
    splat_run_picture views[SPLAT_TENSORBOARD_VIEWS];
    size_t n;
    int iteration;       /* iteration of the evaluation */
    bool is_test;
} splat_run_pictures;

/* Views of one set, as many as there is room for, made by as many threads. Test views replace training views, and any
 * replace those of an earlier iteration; training views of an iteration that has test views are left out, as are views
 * for which there is no memory. */
void splat_run_pictures_add(splat_run_pictures *pictures, int iteration, const splat_report_view *views, size_t n,
                            int threads);
/* Empties it. */
void splat_run_pictures_free(splat_run_pictures *pictures);

#endif
