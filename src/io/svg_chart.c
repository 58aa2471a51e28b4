#include "io/svg_chart.h"

#include "base/compare.h"
#include "base/file.h"
#include "io/xml_text.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 900, HEIGHT = 420, LEFT = 80, RIGHT = 20, TOP = 44, BOTTOM = 54 };
#define COLUMNS (WIDTH - LEFT - RIGHT) /* one a pixel */
#define BARS 48
#define SHOWN_PART 0.995
#define MARK_WIDTH 110 /* pixels that the words at a line may take */
#define BLUE "#3366aa"

/* From values to pixels. */
typedef struct plot {
    FILE *out;
    double x0, x1, y0, y1;
} plot;

static double at_x(const plot *p, double x)
{
    return LEFT + (x - p->x0) / (p->x1 - p->x0) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const plot *p, double y)
{
    return HEIGHT - BOTTOM - (y - p->y0) / (p->y1 - p->y0) * (HEIGHT - TOP - BOTTOM);
}

static void put_label(const plot *p, double x, double y, const char *more, const char *text)
{
    fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, more);
    splat_xml_text(p->out, text);
    fputs("</text>\n", p->out);
}

/* 1, 2 or 5 times a power of ten: five to ten steps over the range. */
static double tick_step(double range)
{
    double power = pow(10, floor(log10(range / 5))), part = range / 5 / power;
    return power * (part < 2 ? 1 : part < 5 ? 2 : 5);
}

static void put_axes(const plot *p, const splat_chart *chart)
{
    char number[32];
    double right = WIDTH - RIGHT, bottom = HEIGHT - BOTTOM, step = tick_step(p->x1 - p->x0);
    for (double x = ceil(p->x0 / step - 1e-9) * step; x <= p->x1 + 1e-9 * step; x += step) {
        fprintf(p->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#333\"/>\n", at_x(p, x), bottom,
                at_x(p, x), bottom + 5);
        snprintf(number, sizeof number, "%.6g", fabs(x) < 1e-9 * step ? 0 : x);
        put_label(p, at_x(p, x), bottom + 20, "text-anchor=\"middle\"", number);
    }
    step = tick_step(p->y1 - p->y0);
    for (double y = ceil(p->y0 / step - 1e-9) * step; y <= p->y1 + 1e-9 * step; y += step) {
        fprintf(p->out, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", LEFT, at_y(p, y),
                right, at_y(p, y));
        snprintf(number, sizeof number, "%.6g", fabs(y) < 1e-9 * step ? 0 : y);
        put_label(p, LEFT - 8, at_y(p, y) + 4, "text-anchor=\"end\"", number);
    }
    fprintf(p->out, "<path d=\"M%d %d V%.1f H%.1f\" fill=\"none\" stroke=\"#333\"/>\n", LEFT, TOP, bottom, right);
    put_label(p, (LEFT + right) / 2, HEIGHT - 12, "text-anchor=\"middle\"", chart->x_label);
    snprintf(number, sizeof number, "%.1f", (TOP + bottom) / 2);
    fprintf(p->out, "<text transform=\"translate(18 %s) rotate(-90)\" text-anchor=\"middle\">", number);
    splat_xml_text(p->out, chart->y_label);
    fputs("</text>\n", p->out);
}

/* Finite, and wider than nothing, so that no division by zero follows. */
static void widen(double *low, double *high)
{
    if (*high - *low > 1e-9 * fabs(*high)) return;
    double margin = *high != 0 ? 0.05 * fabs(*high) : 1;
    *low -= margin;
    *high += margin;
}

typedef void (*draw_function)(const plot *p, const double *values, size_t n);

/* The file around what `draw` adds. Numbers have decimal points, whatever locale the program has set. */
static splat_status write_chart(const char *path, const splat_chart *chart, plot *p, draw_function draw,
                                const double *values, size_t n, splat_error *error)
{
    splat_save save;
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale) return splat_fail_errno(error, path, "set the C locale to write");
    splat_status status = splat_save_open(&save, path, error);
    if (status == SPLAT_OK) {
        locale_t previous = uselocale(c_locale);
        p->out = save.stream;
        fprintf(p->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
                        "viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
                        "font-size=\"13\">\n<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
                WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
        put_label(p, (double)WIDTH / 2, 26, "text-anchor=\"middle\" font-size=\"16\"", chart->title);
        put_axes(p, chart);
        draw(p, values, n);
        fputs("</svg>\n", p->out);
        uselocale(previous);
        status = splat_save_commit(&save, error);
    }
    freelocale(c_locale);
    return status;
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

static void put_line(const plot *p, const double *values, size_t n)
{
    fputs("<polyline fill=\"none\" stroke=\"" BLUE "\" points=\"", p->out);
    for (size_t i = 0; i < n; i++) fprintf(p->out, "%.2f,%.2f ", at_x(p, p->x0 + (double)i), at_y(p, values[i]));
    fputs("\"/>\n", p->out);
}

static void put_band(const plot *p, const double *values, size_t n)
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
                at_y(p, low) + 0.5, x, at_y(p, high) - 0.5);
    }
}

static void draw_series(const plot *p, const double *values, size_t n)
{
    if (n <= 2 * COLUMNS)
        put_line(p, values, n);
    else
        put_band(p, values, n);
    if (n == 1) fprintf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"" BLUE "\"/>\n", at_x(p, p->x0),
                        at_y(p, values[0]));
}

splat_status splat_svg_series(const char *path, const splat_chart *chart, double first_x, const double *values,
                              size_t n, splat_error *error)
{
    SPLAT_TRY(check(path, values, n, error));
    plot p = {.x0 = first_x, .x1 = first_x + (n > 1 ? (double)(n - 1) : 1), .y0 = values[0], .y1 = values[0]};
    for (size_t i = 0; i < n; i++) {
        p.y0 = fmin(p.y0, values[i]);
        p.y1 = fmax(p.y1, values[i]);
    }
    if (p.y0 > 0 && p.y0 < 0.7 * p.y1) p.y0 = 0; /* the zero is worth its room unless values lie close together */
    widen(&p.y0, &p.y1);
    return write_chart(path, chart, &p, draw_series, values, n, error);
}

/* ---------------------------------------------------------------- how often values occur */

/* `values` are sorted. */
static size_t count_bars(const plot *p, const double *values, size_t n, size_t bars[BARS])
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

/* Vertical lines with words beside them; `low` is left of `high`. Words go outwards where there is room; they have a
 * white rim, as they may lie on the other's line. */
static void put_marks(const plot *p, const mark *low, const mark *high)
{
    const mark *marks[2] = {low, high};
    char more[160], text[64];
    for (int i = 0; i < 2; i++)
        if (marks[i]->x <= p->x1)
            fprintf(p->out, "<line x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%d\" stroke=\"%s\" "
                            "stroke-dasharray=\"5 3\"/>\n",
                    at_x(p, marks[i]->x), TOP, at_x(p, marks[i]->x), HEIGHT - BOTTOM, marks[i]->colour);
    for (int i = 0; i < 2; i++) {
        if (marks[i]->x > p->x1) continue;
        double x = at_x(p, marks[i]->x);
        bool left = i == 0 ? x > LEFT + MARK_WIDTH : x > WIDTH - RIGHT - MARK_WIDTH;
        snprintf(text, sizeof text, "%s %.4g", marks[i]->name, marks[i]->x);
        snprintf(more, sizeof more, "fill=\"%s\" text-anchor=\"%s\" stroke=\"white\" stroke-width=\"4\" "
                                    "paint-order=\"stroke\"", marks[i]->colour, left ? "end" : "start");
        put_label(p, x + (left ? -5 : 5), TOP + 12 + 16 * i, more, text);
    }
}

static void draw_histogram(const plot *p, const double *values, size_t n)
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
        double y = at_y(p, (double)bars[i]);
        fprintf(p->out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n", LEFT + i * width,
                y, width - 1, HEIGHT - BOTTOM - y, i == BARS - 1 && beyond ? "#aa7733" : BLUE);
    }
    const mark means = {mean, "mean", "#aa3333"};
    const mark median = {(values[(n - 1) / 2] + values[n / 2]) / 2, "median", "#338844"};
    put_marks(p, means.x < median.x ? &means : &median, means.x < median.x ? &median : &means);
    if (!beyond) return;
    char text[96];
    snprintf(text, sizeof text, "%zu beyond, up to %.4g", beyond, values[n - 1]);
    put_label(p, WIDTH - RIGHT, TOP + 44, "text-anchor=\"end\" fill=\"#aa7733\"", text);
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
    plot p = {.x0 = sorted[0], .x1 = sorted[(size_t)(SHOWN_PART * (double)(n - 1))]};
    widen(&p.x0, &p.x1);
    p.y1 = 1.25 * (double)count_bars(&p, sorted, n, bars); /* room for words above the bars */
    splat_status status = write_chart(path, chart, &p, draw_histogram, sorted, n, error);
    free(sorted);
    return status;
}
