/* Series and histograms. */
#include "io/svg/svg_chart.h"

#include "base/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 900, HEIGHT = 420, LEFT = 80, RIGHT = 20, TOP = 44, BOTTOM = 54 };
#define COLUMNS (WIDTH - LEFT - RIGHT) /* one a pixel */
#define BARS 48
#define SHOWN_PART 0.995
#define MARK_WIDTH 110 /* pixels that the words at a line may take */
#define BLUE "#3366aa"

/* A chart in the making. */
typedef struct value_chart {
    splat_svg_plot plot;
    const splat_chart *words;
    const double *values;
    size_t n;
    void (*draw)(const splat_svg_plot *plot, const double *values, size_t n);
} value_chart;

static void draw_chart(FILE *out, void *user)
{
    value_chart *c = user;
    c->plot.out = out;
    splat_svg_begin(&c->plot, c->words);
    c->draw(&c->plot, c->values, c->n);
    fputs("</svg>\n", out);
}

static splat_svg_plot make_plot(double x0, double x1, double y0, double y1)
{
    return (splat_svg_plot){NULL, WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, x0, x1, y0, y1, false};
}

static splat_status check(const char *path, const double *values, size_t n, splat_error *error)
{
    bool finite = n > 0;
    for (size_t i = 0; i < n && finite; i++) finite = isfinite(values[i]);
    if (finite) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET,
                         "a chart needs at least one value, and finite ones only");
}

/* ---------------------------------------------------------------- values over a number */

static void put_line(const splat_svg_plot *p, const double *values, size_t n)
{
    fputs("<polyline fill=\"none\" stroke=\"" BLUE "\" points=\"", p->out);
    for (size_t i = 0; i < n; i++)
        fprintf(p->out, "%.2f,%.2f ", splat_svg_x(p, p->x0 + (double)i), splat_svg_y(p, values[i]));
    fputs("\"/>\n", p->out);
}

static void put_band(const splat_svg_plot *p, const double *values, size_t n)
{
    for (size_t column = 0; column < COLUMNS; column++) {
        size_t begin = n / COLUMNS * column + n % COLUMNS * column / COLUMNS;
        size_t end = n / COLUMNS * (column + 1) + n % COLUMNS * (column + 1) / COLUMNS;
        double low = values[begin], high = values[begin];
        for (size_t i = begin; i < end; i++) {
            low = fmin(low, values[i]);
            high = fmax(high, values[i]);
        }
        double x = LEFT + (double)column + 0.5;
        fprintf(p->out, "<line x1=\"%.1f\" y1=\"%.2f\" x2=\"%.1f\" y2=\"%.2f\" stroke=\"" BLUE "\"/>\n", x,
                splat_svg_y(p, low) + 0.5, x, splat_svg_y(p, high) - 0.5);
    }
}

static void draw_series(const splat_svg_plot *p, const double *values, size_t n)
{
    if (n <= 2 * COLUMNS)
        put_line(p, values, n);
    else
        put_band(p, values, n);
    if (n == 1) fprintf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"" BLUE "\"/>\n", splat_svg_x(p, p->x0),
                        splat_svg_y(p, values[0]));
}

splat_status splat_svg_series(const char *path, const splat_chart *chart, double first_x, const double *values,
                              size_t n, splat_error *error)
{
    SPLAT_TRY(check(path, values, n, error));
    splat_svg_plot p = make_plot(first_x, first_x + (n > 1 ? (double)(n - 1) : 1), values[0], values[0]);
    for (size_t i = 0; i < n; i++) {
        p.y0 = fmin(p.y0, values[i]);
        p.y1 = fmax(p.y1, values[i]);
    }
    if (p.y0 > 0 && p.y0 < 0.7 * p.y1) p.y0 = 0; /* the zero is worth its room unless values lie close together */
    splat_svg_widen(&p.y0, &p.y1);
    value_chart c = {p, chart, values, n, draw_series};
    return splat_svg_save(path, draw_chart, &c, error);
}

/* ---------------------------------------------------------------- how often values occur */

/* `values` are sorted. */
static size_t count_bars(const splat_svg_plot *p, const double *values, size_t n, size_t bars[BARS])
{
    size_t most = 0;
    memset(bars, 0, BARS * sizeof *bars);
    for (size_t i = 0; i < n; i++) {
        double at = (values[i] - p->x0) / (p->x1 - p->x0) * BARS;
        size_t bar = at < BARS - 1 ? (size_t)at : BARS - 1;
        if (++bars[bar] > most) most = bars[bar];
    }
    return most;
}

typedef struct mark {
    double x;
    const char *name, *colour;
} mark;

/* Draws vertical lines with labels; `low` is left of `high`. Labels go outwards if there is room; they have a white
 * rim, because they may lie on the other line. */
static void put_marks(const splat_svg_plot *p, const mark *low, const mark *high)
{
    const mark *marks[2] = {low, high};
    char more[160], text[64];
    for (int i = 0; i < 2; i++)
        if (marks[i]->x <= p->x1)
            fprintf(p->out, "<line x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%d\" stroke=\"%s\" "
                            "stroke-dasharray=\"5 3\"/>\n",
                    splat_svg_x(p, marks[i]->x), TOP, splat_svg_x(p, marks[i]->x), HEIGHT - BOTTOM, marks[i]->colour);
    for (int i = 0; i < 2; i++) {
        if (marks[i]->x > p->x1) continue;
        double x = splat_svg_x(p, marks[i]->x);
        bool left = i == 0 ? x > LEFT + MARK_WIDTH : x > WIDTH - RIGHT - MARK_WIDTH;
        snprintf(text, sizeof text, "%s %.4g", marks[i]->name, marks[i]->x);
        snprintf(more, sizeof more, "fill=\"%s\" text-anchor=\"%s\" stroke=\"white\" stroke-width=\"4\" "
                                    "paint-order=\"stroke\"", marks[i]->colour, left ? "end" : "start");
        splat_svg_label(p->out, x + (left ? -5 : 5), TOP + 12 + 16 * i, more, text);
    }
}

static void draw_histogram(const splat_svg_plot *p, const double *values, size_t n)
{
    size_t bars[BARS], beyond = 0;
    double width = (double)(WIDTH - LEFT - RIGHT) / BARS, mean = 0;
    count_bars(p, values, n, bars);
    for (size_t i = 0; i < n; i++) {
        beyond += values[i] > p->x1;
        mean += values[i] / (double)n;
    }
    for (int i = 0; i < BARS; i++) {
        if (!bars[i]) continue;
        double y = splat_svg_y(p, (double)bars[i]);
        fprintf(p->out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n", LEFT + i * width,
                y, width - 1, HEIGHT - BOTTOM - y, i == BARS - 1 && beyond ? "#aa7733" : BLUE);
    }
    const mark means = {mean, "mean", "#aa3333"};
    const mark median = {(values[(n - 1) / 2] + values[n / 2]) / 2, "median", "#338844"};
    put_marks(p, mean < median.x ? &means : &median, mean < median.x ? &median : &means);
    if (!beyond) return;
    char text[96];
    snprintf(text, sizeof text, "%zu beyond, up to %.4g", beyond, values[n - 1]);
    splat_svg_label(p->out, WIDTH - RIGHT, TOP + 44, "text-anchor=\"end\" fill=\"#aa7733\"", text);
}

splat_status splat_svg_histogram(const char *path, const splat_chart *chart, const double *values, size_t n,
                                 splat_error *error)
{
    size_t bars[BARS];
    SPLAT_TRY(check(path, values, n, error));
    double *sorted = malloc(n * sizeof *sorted);
    if (!sorted) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu values", n);
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, splat_compare_doubles);
    splat_svg_plot p = make_plot(sorted[0], sorted[(size_t)(SHOWN_PART * (double)(n - 1))], 0, 1);
    splat_svg_widen(&p.x0, &p.x1);
    p.y1 = 1.25 * (double)count_bars(&p, sorted, n, bars); /* room for words above the bars */
    value_chart c = {p, chart, sorted, n, draw_histogram};
    splat_status status = splat_svg_save(path, draw_chart, &c, error);
    free(sorted);
    return status;
}
