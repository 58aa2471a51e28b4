/* Benchmarks as files. */
#ifndef SPLAT_BENCH_JSON_H
#define SPLAT_BENCH_JSON_H

#include "bench/bench.h"
#include "bench/throughput.h"

/* Texts that identify a result later; each may be NULL. */
typedef struct splat_bench_note {
    const char *command;     /* how the program was called */
    const char *label;       /* its name in tables instead of its folder's */
    const char *notes;       /* a sentence for the reader */
} splat_bench_note;

/* Checks that a result can be written to `path`, as the functions below take it; call it before a long measurement.
 * Creates the folder. Errors: IO, MEMORY. */
splat_status splat_bench_check_output(const char *path, splat_error *error);
/* Writes a result with environment, scene and options. A path that ends in ".json" is the file; any other is a folder,
 * created when absent, that receives training_benchmark_results.json, iteration_times.svg and iteration_histogram.svg.
 * note: NULL allowed. docs/files.md has the keys. Errors: IO, MEMORY. */
splat_status splat_bench_write(const splat_trainer *trainer, const splat_bench_result *result,
                               const splat_bench_note *note, const char *path, splat_error *error);
/* As splat_bench_write, into <mode>_benchmark_results.json. */
splat_status splat_bench_write_rows(const splat_context *context, const splat_scene *scene,
                                    const splat_bench_rows *rows, const splat_bench_note *note, const char *path,
                                    splat_error *error);

#endif
