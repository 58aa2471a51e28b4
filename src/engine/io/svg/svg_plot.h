/* The common parts of charts: the page, its axes, words on it, and the file around it. */
#ifndef SPLAT_IO_SVG_PLOT_H
#define SPLAT_IO_SVG_PLOT_H

#include "base/error.h"

#include <stdio.h>

typedef struct splat_chart {
    const char *title, *x_label, *y_label; /* any UTF-8 text */
} splat_chart;

/* The map from values to the page: x0 at the left, y0 at the bottom. */
typedef struct splat_svg_plot {
    FILE *out;
    double width, height, left, right, top, bottom; /* the page and its margins, in pixels */
    double x0, x1, y0, y1;
    bool log_y; /* powers of ten are as far from each other as they can be; 0 < y0 */
} splat_svg_plot;

double splat_svg_x(const splat_svg_plot *plot, double x);
double splat_svg_y(const splat_svg_plot *plot, double y);
/* Makes the range wider than nothing, so that no division by zero follows. */
void splat_svg_widen(double *low, double *high);
/* 1, 2 or 5 times a power of ten: five to ten steps over the range. */
double splat_svg_tick_step(double range);
/* Ticks of a logarithmic axis: number 0 is 1, 1 is 2, 2 is 5, 3 is 10, -1 is 0.5, ... */
double splat_svg_log_tick(int number);
/* The tick at value > 0, or the next one above (up) or below it. */
int splat_svg_log_number(double value, bool up);
void splat_svg_label(FILE *out, double x, double y, const char *attributes, const char *text);
/* The svg element up to the axes; what shows the values follows, then "</svg>". */
void splat_svg_begin(const splat_svg_plot *plot, const splat_chart *chart);

/* Writes a file, atomically, with what `draw` puts between XML's first line and the end. Errors: IO, MEMORY. */
typedef void (*splat_svg_draw)(FILE *out, void *user);
splat_status splat_svg_save(const char *path, splat_svg_draw draw, void *user, splat_error *error);

#endif
