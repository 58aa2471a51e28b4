/* What the files that write, read, compare and tabulate benchmarks share. */
#ifndef SPLAT_TRAIN_BENCH_RECORD_H
#define SPLAT_TRAIN_BENCH_RECORD_H

#include "base/error.h"

#include <jansson.h>

#define SPLAT_BENCH_SCHEMA_FAMILY "splatsmith-bench-"
#define SPLAT_BENCH_SCHEMA SPLAT_BENCH_SCHEMA_FAMILY "2" /* a new number when a key changes its meaning */
#define SPLAT_BENCH_FILE "training_benchmark_results.json"
#define SPLAT_BENCH_TRAINING "training"

struct splat_bench_record {
    json_t *root;
    char *name;
    splat_bench_figures figures; /* strings point into the two above */
};

/* Whether a path names a JSON file, and not a folder for one. */
bool splat_bench_is_json(const char *path);

#endif
