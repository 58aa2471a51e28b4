/* Two charts as SVG files: values over a running number, and how often values occur. */
#ifndef SPLAT_IO_SVG_CHART_H
#define SPLAT_IO_SVG_CHART_H

#include "io/svg/svg_plot.h"

/* A line through n >= 1 finite values at first_x, first_x + 1, ...; more than fit side by side are drawn as the band
 * from the least to the largest of a column. Atomic. Errors: ARGUMENT, IO. */
splat_status splat_svg_series(const char *path, const splat_chart *chart, double first_x, const double *values,
                              size_t n, splat_error *error);
/* Bars over the values up to their 99.5 % point; the few beyond are counted in the last bar, which is marked. The mean
 * and the median are vertical lines. Atomic. Errors: ARGUMENT, IO, MEMORY. */
splat_status splat_svg_histogram(const char *path, const splat_chart *chart, const double *values, size_t n,
                                 splat_error *error);

#endif
