/* Photos and renders a second. */
#ifndef SPLAT_BENCH_THROUGHPUT_H
#define SPLAT_BENCH_THROUGHPUT_H

#include "bench/times.h"
#include "splatsmith/model.h"
#include "splatsmith/scene.h"

/* One thing done n times. */
typedef struct splat_bench_row {
    const char *name;
    splat_bench_times ms;    /* time of one picture (n_together > 1: of a round) */
    size_t n_together;       /* done at the same time by several threads, or timed as one */
    double per_second;       /* pictures, or views */
    double mb_per_s;         /* 10^6 bytes a second; 0: bytes are not the point */
} splat_bench_row;

#define SPLAT_BENCH_ROWS 8
typedef struct splat_bench_rows {
    const char *mode;        /* "data", "render" */
    size_t n_rows;
    splat_bench_row rows[SPLAT_BENCH_ROWS];
    int width, height;       /* size of the largest picture */
    size_t n_gaussians;      /* 0 for "data" */
} splat_bench_rows;

/* Photos of the training views, n of them in turn: files decoded, decoded and resized, the same by all threads, taken
 * from the cache, and uploaded to the device blocking and ahead. Errors: ARGUMENT, those of reading a photo, MEMORY,
 * DEVICE. */
splat_status splat_bench_data(splat_context *context, splat_scene *scene, int n, splat_bench_rows *rows,
                              splat_error *error);
/* Views of a model from the scene's cameras in turn, then (with two training views or more) random ones between them,
 * at their size or (width, height > 0) another with the same field of view: rendered on the device, and rendered and
 * brought to the host; n each, after `warmup` that are not measured. Errors: ARGUMENT, MEMORY, DEVICE. */
splat_status splat_bench_render(splat_scene *scene, splat_model *model, int width, int height, int warmup, int n,
                                splat_bench_rows *rows, splat_error *error);

#endif
