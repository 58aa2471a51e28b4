/* What the files that write, read, compare and tabulate benchmarks share. */
#ifndef SPLAT_BENCH_RECORD_H
#define SPLAT_BENCH_RECORD_H

#include "base/error.h"
#include "splatsmith/observe.h"

#include <jansson.h>

#define SPLAT_BENCH_SCHEMA_FAMILY "splatsmith-bench-"
#define SPLAT_BENCH_SCHEMA SPLAT_BENCH_SCHEMA_FAMILY "2" /* a new number when a key changes its meaning */
#define SPLAT_BENCH_FILE_END "_benchmark_results.json" /* after the mode */
#define SPLAT_BENCH_TRAINING "training"

struct splat_bench_record {
    json_t *root;
    char *name;
    splat_bench_figures figures; /* strings point into the two above */
};

/* Whether a path names a JSON file, and not a folder for one. */
bool splat_bench_is_json(const char *path);

/* Same machine, backend, scene and size: figures of others say nothing about each other. */
bool splat_bench_is_comparable(const splat_bench_record *a, const splat_bench_record *b);
/* The two parts of splat_bench_list_differences: what was measured, and clocks held down ("of <whose>"). */
void splat_bench_setting_differences(const splat_bench_record *baseline, const splat_bench_record *candidate,
                                     splat_bench_difference_function visit, void *user);
void splat_bench_throttling(const splat_bench_record *record, const char *whose, splat_bench_difference_function visit,
                            void *user);

#endif
