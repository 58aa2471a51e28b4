/* A chart as SVG: stacked areas and lines over one axis, with a legend. */
#ifndef SPLAT_IO_SVG_AREAS_H
#define SPLAT_IO_SVG_AREAS_H

#include "io/svg/svg_plot.h"

typedef struct splat_area_series {
    const char *name;
    const char *color;     /* "#4477aa" */
    const double *values;  /* [n_points]; of an area >= 0, of a line any, NaN where it has a gap */
} splat_area_series;

typedef struct splat_area_chart {
    splat_chart words;
    const double *x;       /* [n_points], ascending */
    size_t n_points;       /* >= 1 */
    const splat_area_series *areas; /* stacked, the first at the bottom */
    size_t n_areas;
    const splat_area_series *lines; /* over them, not stacked */
    size_t n_lines;
    bool shows_means;      /* many points in a column of the picture: their mean; else the largest */
    bool shows_points;     /* a dot at each point of the lines */
    bool is_narrow;        /* 400 pixels wide, with the legend above the plot, for a phone or a column */
    bool log_y;            /* lines alone, of values > 0: others are gaps */
} splat_area_chart;

/* As an element of a page whose numbers have decimal points (splat_c_locale). The axis of the values begins at zero
 * when there are areas; of lines alone it covers their values. Errors: ARGUMENT (no points), MEMORY. */
splat_status splat_svg_areas_put(FILE *out, const splat_area_chart *chart, splat_error *error);
/* As a file, written atomically. Errors: those, IO. */
splat_status splat_svg_areas(const char *path, const splat_area_chart *chart, splat_error *error);

#endif
