/* Reports on benchmarks. */
#ifndef SPLAT_BENCH_REPORT_H
#define SPLAT_BENCH_REPORT_H

#include "bench/record.h"

/* The table of phases, a row a record (of training) in their order, and what each differs in from the one before, as
 * malloc'd text the caller frees: Markdown, or a self-contained HTML page. quality_tolerance: relative loss that the
 * verdict forgives (0.005). NULL when memory is exhausted. */
char *splat_bench_report_markdown(splat_bench_record *const *records, size_t n, double quality_tolerance);
char *splat_bench_report_html(splat_bench_record *const *records, size_t n, double quality_tolerance);
/* Both, as benchmark_report.md and benchmark_report.html in a folder, created when absent. Errors: IO, MEMORY. */
splat_status splat_bench_report_write(splat_bench_record *const *records, size_t n, double quality_tolerance,
                                      const char *folder, splat_error *error);

#endif
