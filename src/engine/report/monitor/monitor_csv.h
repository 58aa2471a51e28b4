/* The figures of a sample by name: columns of the CSV and tags of TensorBoard. */
#ifndef SPLAT_REPORT_MONITOR_CSV_H
#define SPLAT_REPORT_MONITOR_CSV_H

#include "base/error.h"
#include "base/monitor_sample.h"

#include <stdio.h>

typedef void (*splat_monitor_tag_function)(void *user, const char *tag, double value);
/* Calls back with every known figure of a sample under its TensorBoard tag, "4_performance/gpu_power_watts" etc. */
void splat_monitor_visit_tags(const splat_monitor_sample *sample, splat_monitor_tag_function visit, void *user);

/* Opens a CSV for appending and writes the line of titles when it is empty. Errors: ARGUMENT (a file with other
 * columns), IO. */
splat_status splat_monitor_csv_open(const char *path, FILE **csv, splat_error *error);
/* One row, flushed; unknown figures are empty. IO: the caller gives the file up. */
splat_status splat_monitor_csv_write(FILE *csv, const char *path, const splat_monitor_sample *sample,
                                     splat_error *error);

#endif
