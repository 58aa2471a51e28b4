/* A chart as SVG: stacked areas and lines over one axis, with a legend. */
#ifndef SPLAT_IO_SVG_AREAS_H
#define SPLAT_IO_SVG_AREAS_H

#include "base/error.h"

typedef struct splat_area_series {
    const char *name;
    const char *color;     /* "#4477aa" */
    const double *values;  /* [n_points], >= 0 */
} splat_area_series;

typedef struct splat_area_chart {
    const char *title, *x_label, *y_label; /* UTF-8 */
    const double *x;       /* [n_points], ascending */
    size_t n_points;       /* >= 1 */
    const splat_area_series *areas; /* stacked, the first at the bottom */
    size_t n_areas;
    const splat_area_series *lines; /* over them, not stacked */
    size_t n_lines;
} splat_area_chart;

/* Written atomically. With many points each column of the picture shows the largest value that falls into it. Errors:
 * ARGUMENT (no points), IO, MEMORY. */
splat_status splat_svg_areas(const char *path, const splat_area_chart *chart, splat_error *error);

#endif
