/* Stacked areas and lines, thinned to the columns of the page. */
#include "io/svg/svg_areas.h"

#include "io/svg/xml_text.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 960, HEIGHT = 420, LEFT = 80, RIGHT = 190 /* the legend */, TOP = 44, BOTTOM = 54 };
enum { NARROW_WIDTH = 400, NARROW_HEIGHT = 280 /* and the legend */, NARROW_RIGHT = 16, LEGEND_ROW = 22 };

/* A chart in the making. */
typedef struct layout {
    const splat_area_chart *chart;
    splat_svg_plot plot;
    size_t *columns; /* [n_columns + 1] first point of each column that has points, then n_points */
    size_t n_columns;
    double *base;    /* [n_columns] height of the stack so far */
} layout;

/* The x of a column's last point, so that the lines end where the data end. */
static double column_x(const layout *l, size_t column)
{
    return splat_svg_x(&l->plot, l->chart->x[column == 0 ? 0 : l->columns[column + 1] - 1]);
}

/* The value of a series in a column; NaN: it has none there. */
static double column_value(const layout *l, const splat_area_series *series, size_t column)
{
    double most = NAN, sum = 0;
    int n = 0;
    for (size_t i = l->columns[column]; i < l->columns[column + 1]; i++) {
        if (!isfinite(series->values[i]) || (l->plot.log_y && !(series->values[i] > 0))) continue;
        most = fmax(most, series->values[i]);
        sum += series->values[i];
        n++;
    }
    return l->chart->shows_means && n ? sum / n : most;
}

static double area_value(const layout *l, const splat_area_series *series, size_t column)
{
    return fmax(0, column_value(l, series, column)); /* fmax takes the number where the other is none */
}

/* ---------------------------------------------------------------- layout */

static void find_range(layout *l)
{
    const splat_area_chart *c = l->chart;
    double low = NAN, high = NAN;
    for (size_t k = 0; k < l->n_columns; k++) {
        double sum = c->n_areas ? 0 : NAN;
        for (size_t a = 0; a < c->n_areas; a++) sum += area_value(l, &c->areas[a], k);
        low = fmin(low, c->n_areas ? 0 : NAN);
        high = fmax(high, sum);
        for (size_t i = 0; i < c->n_lines; i++) {
            double value = column_value(l, &c->lines[i], k);
            low = fmin(low, value);
            high = fmax(high, value);
        }
    }
    if (isnan(low)) low = high = l->plot.log_y;
    if (l->plot.log_y) {
        int first = splat_svg_log_number(low, false), last = splat_svg_log_number(high, true);
        l->plot.y0 = splat_svg_log_tick(first);
        l->plot.y1 = splat_svg_log_tick(last > first ? last : first + 1);
        return;
    }
    splat_svg_widen(&low, &high);
    if (c->n_areas) low = 0;
    double step = splat_svg_tick_step(high - low);
    l->plot.y0 = step * floor(low / step + 1e-9);
    l->plot.y1 = step * ceil(high / step - 1e-9);
}

/* The page and its margins. */
static splat_svg_plot page_of(const splat_area_chart *c)
{
    const int legend = LEGEND_ROW * (int)((c->n_areas + c->n_lines + 1) / 2);
    splat_svg_plot wide = {.width = WIDTH, .height = HEIGHT, .left = LEFT, .right = RIGHT, .top = TOP,
                           .bottom = BOTTOM};
    splat_svg_plot narrow = {.width = NARROW_WIDTH, .height = NARROW_HEIGHT + legend, .left = LEFT,
                             .right = NARROW_RIGHT, .top = TOP + legend, .bottom = BOTTOM};
    return c->is_narrow ? narrow : wide;
}

static splat_status lay_out(layout *l, splat_error *error)
{
    const splat_area_chart *c = l->chart;
    if (c->n_points == 0) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a chart needs at least one point");
    double x0 = c->x[0], x1 = c->x[c->n_points - 1];
    splat_svg_widen(&x0, &x1);
    l->plot = page_of(c);
    l->plot.x0 = x0;
    l->plot.x1 = x1;
    l->plot.y1 = 1;
    l->plot.log_y = c->log_y && !c->n_areas;
    l->columns = calloc(c->n_points + 1, sizeof *l->columns);
    l->base = calloc(c->n_points, sizeof *l->base);
    if (!l->columns || !l->base)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a chart of %zu points", c->n_points);
    long last = -1;
    for (size_t i = 0; i < c->n_points; i++) {
        long column = lround(splat_svg_x(&l->plot, c->x[i]));
        if (column != last) l->columns[l->n_columns++] = i;
        last = column;
    }
    l->columns[l->n_columns] = c->n_points;
    find_range(l);
    return SPLAT_OK;
}

static void discard(layout *l)
{
    free(l->columns);
    free(l->base);
}

/* ---------------------------------------------------------------- parts */

/* From the right along the stack below, and back along the top. */
static void write_area(layout *l, const splat_area_series *series)
{
    FILE *out = l->plot.out;
    fprintf(out, "<polygon fill=\"%s\" points=\"", series->color);
    for (size_t k = l->n_columns; k-- > 0;)
        fprintf(out, "%.1f,%.1f ", column_x(l, k), splat_svg_y(&l->plot, l->base[k]));
    for (size_t k = 0; k < l->n_columns; k++) {
        l->base[k] += area_value(l, series, k);
        fprintf(out, "%.1f,%.1f ", column_x(l, k), splat_svg_y(&l->plot, l->base[k]));
    }
    fputs("\"><title>", out);
    splat_xml_text(out, series->name);
    fputs("</title></polygon>\n", out);
}

static void write_line(const layout *l, const splat_area_series *series)
{
    FILE *out = l->plot.out;
    bool drawn = false;
    fprintf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"", series->color);
    for (size_t k = 0; k < l->n_columns; k++) {
        double value = column_value(l, series, k);
        if (isfinite(value))
            fprintf(out, "%c%.1f %.1f", drawn ? 'L' : 'M', column_x(l, k), splat_svg_y(&l->plot, value));
        drawn = isfinite(value);
    }
    fputs("\"/>\n", out);
    for (size_t k = 0; k < l->n_columns && l->chart->shows_points; k++) {
        double value = column_value(l, series, k);
        if (isfinite(value))
            fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"><title>%.6g</title></circle>\n",
                    column_x(l, k), splat_svg_y(&l->plot, value), series->color, value);
    }
}

/* Entry number `index`: to the right of the plot one below the other, or two in a row above it. */
static void legend_place(const layout *l, size_t index, int *x, int *y)
{
    const bool is_narrow = l->chart->is_narrow;
    *x = is_narrow ? 20 + (int)(index % 2) * (NARROW_WIDTH / 2 - 10) : WIDTH - RIGHT + 20;
    *y = TOP + (is_narrow ? 4 : 10) + LEGEND_ROW * (int)(is_narrow ? index / 2 : index);
}

/* In the order of the stack, the uppermost first. */
static void write_legend(const layout *l)
{
    const splat_area_chart *c = l->chart;
    FILE *out = l->plot.out;
    int x, y;
    for (size_t i = 0; i < c->n_lines; i++) {
        legend_place(l, i, &x, &y);
        fprintf(out, "<path d=\"M%d %dh14\" stroke=\"%s\" stroke-width=\"2\"/>\n", x, y, c->lines[i].color);
        splat_svg_label(out, x + 22, y + 4, "", c->lines[i].name);
    }
    for (size_t a = c->n_areas; a-- > 0;) {
        legend_place(l, c->n_lines + c->n_areas - 1 - a, &x, &y);
        fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"14\" height=\"14\" fill=\"%s\"/>\n", x, y - 7,
                c->areas[a].color);
        splat_svg_label(out, x + 22, y + 4, "", c->areas[a].name);
    }
}

static void draw(FILE *out, void *user)
{
    layout *l = user;
    l->plot.out = out;
    splat_svg_begin(&l->plot, &l->chart->words);
    for (size_t a = 0; a < l->chart->n_areas; a++) write_area(l, &l->chart->areas[a]);
    for (size_t i = 0; i < l->chart->n_lines; i++) write_line(l, &l->chart->lines[i]);
    write_legend(l);
    fputs("</svg>\n", out);
}

splat_status splat_svg_areas_put(FILE *out, const splat_area_chart *chart, splat_error *error)
{
    layout l = {.chart = chart};
    splat_status status = lay_out(&l, error);
    if (status == SPLAT_OK) draw(out, &l);
    discard(&l);
    return status;
}

splat_status splat_svg_areas(const char *path, const splat_area_chart *chart, splat_error *error)
{
    layout l = {.chart = chart};
    splat_status status = lay_out(&l, error);
    if (status == SPLAT_OK) status = splat_svg_save(path, draw, &l, error);
    discard(&l);
    return status;
}
