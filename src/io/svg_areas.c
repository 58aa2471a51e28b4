#include "io/svg_areas.h"

#include "base/file.h"
#include "io/xml_text.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

#define WIDTH 960
#define HEIGHT 520
#define LEFT 80
#define RIGHT 190 /* the legend */
#define TOP 50
#define BOTTOM 60
#define PLOT_WIDTH (WIDTH - LEFT - RIGHT)
#define PLOT_HEIGHT (HEIGHT - TOP - BOTTOM)

/* Where a chart's values lie on the page. */
typedef struct frame {
    const splat_area_chart *chart;
    FILE *out;
    double x_low, x_high, y_high, y_step;
    size_t *columns; /* [n_columns + 1] first point of each column that has points, then n_points */
    size_t n_columns;
    double *base;    /* [n_columns] height of the stack so far */
} frame;

static void label(FILE *out, int x, int y, const char *attributes, const char *text)
{
    fprintf(out, "<text x=\"%d\" y=\"%d\" %s>", x, y, attributes);
    splat_xml_text(out, text);
    fputs("</text>\n", out);
}

/* 1, 2 or 5 times a power of ten, so that about five steps reach `high`. */
static double nice_step(double high)
{
    double power = pow(10, floor(log10(high / 5))), ratio = high / 5 / power;
    return power * (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10);
}

static double page_x(const frame *f, double x)
{
    return LEFT + PLOT_WIDTH * (f->x_high > f->x_low ? (x - f->x_low) / (f->x_high - f->x_low) : 0.5);
}

static double page_y(const frame *f, double y)
{
    return TOP + PLOT_HEIGHT * (1 - y / f->y_high);
}

/* The x of a column's last point, so that the axes end where the data end. */
static double column_x(const frame *f, size_t column)
{
    return page_x(f, f->chart->x[column == 0 ? 0 : f->columns[column + 1] - 1]);
}

static double largest(const double *values, size_t begin, size_t end)
{
    double most = 0;
    for (size_t i = begin; i < end; i++) most = fmax(most, values[i]);
    return most;
}

/* ---------------------------------------------------------------- layout */

static splat_status lay_out(frame *f, splat_error *error)
{
    const splat_area_chart *c = f->chart;
    f->x_low = c->x[0];
    f->x_high = c->x[c->n_points - 1];
    f->columns = calloc(c->n_points + 2, sizeof *f->columns);
    f->base = calloc(c->n_points + 1, sizeof *f->base);
    if (!f->columns || !f->base)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a chart of %zu points", c->n_points);
    long last = -1;
    for (size_t i = 0; i < c->n_points; i++) {
        long column = lround(page_x(f, c->x[i]));
        if (column != last) f->columns[f->n_columns++] = i;
        last = column;
    }
    f->columns[f->n_columns] = c->n_points;
    double most = 0;
    for (size_t k = 0; k < f->n_columns; k++) {
        double sum = 0;
        for (size_t a = 0; a < c->n_areas; a++) sum += largest(c->areas[a].values, f->columns[k], f->columns[k + 1]);
        for (size_t l = 0; l < c->n_lines; l++)
            sum = fmax(sum, largest(c->lines[l].values, f->columns[k], f->columns[k + 1]));
        most = fmax(most, sum);
    }
    if (!(most > 0) || !isfinite(most)) most = 1;
    f->y_step = nice_step(most);
    f->y_high = f->y_step * ceil(most / f->y_step);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- parts */

static void write_axes(const frame *f)
{
    const splat_area_chart *c = f->chart;
    FILE *out = f->out;
    char text[32];
    int n = (int)lround(f->y_high / f->y_step);
    for (int i = 0; i <= n; i++) {
        double value = f->y_step * i;
        int y = (int)lround(page_y(f, value));
        fprintf(out, "<path d=\"M%d %dH%d\" stroke=\"#ddd\"/>\n", LEFT, y, LEFT + PLOT_WIDTH);
        snprintf(text, sizeof text, "%.*f", f->y_step < 0.1 ? 2 : f->y_step < 1 ? 1 : 0, value);
        label(out, LEFT - 8, y + 4, "text-anchor=\"end\"", text);
    }
    double step = f->x_high > f->x_low ? nice_step(f->x_high - f->x_low) : 1;
    for (double value = step * ceil(f->x_low / step); value <= f->x_high; value += step) {
        int x = (int)lround(page_x(f, value));
        snprintf(text, sizeof text, "%.0f", value);
        label(out, x, TOP + PLOT_HEIGHT + 20, "text-anchor=\"middle\"", text);
    }
    fprintf(out, "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#333\"/>\n", LEFT, TOP, TOP + PLOT_HEIGHT,
            LEFT + PLOT_WIDTH);
    label(out, LEFT + PLOT_WIDTH / 2, HEIGHT - 15, "text-anchor=\"middle\"", c->x_label);
    label(out, LEFT, TOP - 10, "text-anchor=\"end\"", c->y_label);
    label(out, LEFT, 24, "font-size=\"16\"", c->title);
}

/* From the left along the top, and back along the stack below. */
static void write_area(frame *f, const splat_area_series *series)
{
    fprintf(f->out, "<polygon fill=\"%s\" points=\"", series->color);
    for (size_t k = f->n_columns; k-- > 0;) fprintf(f->out, "%.1f,%.1f ", column_x(f, k), page_y(f, f->base[k]));
    for (size_t k = 0; k < f->n_columns; k++) {
        f->base[k] += largest(series->values, f->columns[k], f->columns[k + 1]);
        fprintf(f->out, "%.1f,%.1f ", column_x(f, k), page_y(f, f->base[k]));
    }
    fputs("\"><title>", f->out);
    splat_xml_text(f->out, series->name);
    fputs("</title></polygon>\n", f->out);
}

static void write_line(const frame *f, const splat_area_series *series)
{
    fprintf(f->out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", series->color);
    for (size_t k = 0; k < f->n_columns; k++)
        fprintf(f->out, "%.1f,%.1f ", column_x(f, k),
                page_y(f, largest(series->values, f->columns[k], f->columns[k + 1])));
    fputs("\"/>\n", f->out);
}

/* In the order of the stack, the uppermost first. */
static void write_legend(const frame *f)
{
    const splat_area_chart *c = f->chart;
    int x = LEFT + PLOT_WIDTH + 20, y = TOP + 10;
    for (size_t l = 0; l < c->n_lines; l++, y += 22) {
        fprintf(f->out, "<path d=\"M%d %dh14\" stroke=\"%s\" stroke-width=\"2\"/>\n", x, y, c->lines[l].color);
        label(f->out, x + 22, y + 4, "", c->lines[l].name);
    }
    for (size_t a = c->n_areas; a-- > 0; y += 22) {
        fprintf(f->out, "<rect x=\"%d\" y=\"%d\" width=\"14\" height=\"14\" fill=\"%s\"/>\n", x, y - 7,
                c->areas[a].color);
        label(f->out, x + 22, y + 4, "", c->areas[a].name);
    }
}

static void write_chart(frame *f)
{
    const splat_area_chart *c = f->chart;
    fprintf(f->out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
                    "font-size=\"12\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    write_axes(f);
    for (size_t a = 0; a < c->n_areas; a++) write_area(f, &c->areas[a]);
    for (size_t l = 0; l < c->n_lines; l++) write_line(f, &c->lines[l]);
    write_legend(f);
    fputs("</svg>\n", f->out);
}

splat_status splat_svg_areas(const char *path, const splat_area_chart *chart, splat_error *error)
{
    frame f = {.chart = chart};
    splat_save save;
    if (chart->n_points == 0) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a chart needs at least one point");
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* numbers have decimal points in every locale */
    if (!c_locale) return splat_fail_errno(error, path, "set the C locale to write");
    splat_status status = lay_out(&f, error);
    if (status == SPLAT_OK) status = splat_save_open(&save, path, error);
    if (status == SPLAT_OK) {
        locale_t previous = uselocale(c_locale);
        f.out = save.stream;
        write_chart(&f);
        uselocale(previous);
        status = splat_save_commit(&save, error);
    }
    freelocale(c_locale);
    free(f.columns);
    free(f.base);
    return status;
}
