/* Types shared by the files that write, read, compare and tabulate benchmarks. */
#ifndef SPLAT_BENCH_RECORD_H
#define SPLAT_BENCH_RECORD_H

#include "base/error.h"
#include "bench/throughput.h"

#include <jansson.h>

/* A result that was written before. */
typedef struct splat_bench_record splat_bench_record;

typedef struct splat_bench_figures {
    const char *name;        /* name of its folder or file; the record owns all strings */
    const char *mode;        /* "training"; "data" and "render" have scene, device and rows only */
    const char *scene, *device;
    splat_bench_times step;  /* ms, computed again from the single times */
    double iterations_per_second, seconds_to_30k;
    double n_gaussians;      /* count at the end */
    double loss, mean_opacity; /* loss of the measured steps, opacity at the end; NaN: absent */
    const char *date;        /* "2026-11-20T08:15:00Z"; "": not in the file */
    const char *label, *notes; /* given at the measurement, "": none; a label is also the name */
    double training_peak_bytes, evaluation_peak_bytes, host_peak_bytes; /* NaN: not in the file */
    double psnr, ssim, l1, lpips; /* NaN: not measured */
    const char *lpips_net;   /* "" without LPIPS */
    size_t n_rows;           /* 0 for "training" */
    splat_bench_row rows[SPLAT_BENCH_ROWS];
} splat_bench_figures;

/* path: the file, or a folder with the result of training, else of photos, else of views. The record is owned by the
 * caller. Errors: IO, FORMAT (damaged, no benchmark), UNSUPPORTED (of another version of the schema), MEMORY. */
splat_status splat_bench_read(const char *path, splat_bench_record **record, splat_error *error);
void splat_bench_record_free(splat_bench_record *record);
void splat_bench_record_get(const splat_bench_record *record, splat_bench_figures *figures);

#define SPLAT_BENCH_SCHEMA_FAMILY "splatsmith-bench-"
#define SPLAT_BENCH_SCHEMA SPLAT_BENCH_SCHEMA_FAMILY "2" /* a new number when a key changes its meaning */
#define SPLAT_BENCH_FILE_END "_benchmark_results.json" /* after the mode */
#define SPLAT_BENCH_TRAINING "training"

struct splat_bench_record {
    json_t *root;
    char *name;
    splat_bench_figures figures; /* strings point into the two above */
};

/* True if a path names a JSON file, and not a folder for one. */
bool splat_bench_is_json(const char *path);

#endif
