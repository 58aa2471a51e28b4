/* From the history of a run to SVG charts. */
#include "report/page/run_charts.h"

#include "base/compare.h"
#include "io/svg/svg_areas.h"
#include "report/profile/memory_colors.h"

#include <math.h>
#include <stdlib.h>

#define MOST_SERIES 16

/* One chart: its series are copied from a field of each record, divided by a unit. */
typedef struct chart {
    const void *records;
    size_t n, stride;      /* of the records */
    size_t x_offset;       /* of their iteration, an int */
    double *x, *values[MOST_SERIES];
    splat_area_series series[MOST_SERIES];
    size_t n_series;
    splat_area_chart made; /* n_areas: the first series that are areas, the others are lines; how they are shown */
    bool failed;           /* for want of memory */
} chart;

static const void *record(const chart *c, size_t i)
{
    return (const char *)c->records + i * c->stride;
}

static chart begin(const void *records, size_t n, size_t stride, size_t x_offset)
{
    chart c = {.records = records, .n = n, .stride = stride, .x_offset = x_offset};
    c.x = malloc((n + 1) * sizeof *c.x);
    c.failed = !c.x;
    for (size_t i = 0; i < n && c.x; i++)
        c.x[i] = *(const int *)((const char *)record(&c, i) + x_offset);
    return c;
}

static chart of_points(const splat_run_history *h)
{
    return begin(h->points, h->n_points, sizeof *h->points, offsetof(splat_history_point, iteration));
}

/* A series that has no value above `least` anywhere is left out. Returns whether it has one. */
static bool add(chart *c, const char *name, const char *color, size_t offset, double unit, double least)
{
    double most = NAN;
    double *values = c->n_series < MOST_SERIES ? malloc((c->n + 1) * sizeof *values) : NULL;
    if (!values) {
        c->failed = true;
        return false;
    }
    for (size_t i = 0; i < c->n; i++) {
        values[i] = *(const double *)((const char *)record(c, i) + offset) / unit;
        most = fmax(most, values[i]);
    }
    if (!(most > least)) {
        free(values);
        return false;
    }
    c->values[c->n_series] = values;
    c->series[c->n_series++] = (splat_area_series){name, color, values};
    return true;
}

/* Nothing without a series, or with one point, which makes no line. */
static splat_status put(FILE *out, chart *c, const char *title, const char *y_label, splat_error *error)
{
    splat_status status = c->failed ? splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a chart") : SPLAT_OK;
    if (status == SPLAT_OK && c->n_series && c->n > 1) {
        c->made.words = (splat_chart){title, "iteration", y_label};
        c->made.x = c->x;
        c->made.is_narrow = true;
        c->made.n_points = c->n;
        c->made.areas = c->series;
        c->made.lines = c->series + c->made.n_areas;
        c->made.n_lines = c->n_series - c->made.n_areas;
        fputs("<div class=\"card\">\n", out);
        status = splat_svg_areas_put(out, &c->made, error);
        fputs("</div>\n", out);
    }
    for (size_t i = 0; i < c->n_series; i++) free(c->values[i]);
    free(c->x);
    return status;
}

#define POINT(field) offsetof(splat_history_point, field)
#define EVALUATION(field) offsetof(splat_history_evaluation, field)

/* ---------------------------------------------------------------- learning */

static splat_status put_losses(FILE *out, const splat_run_history *h, splat_error *error)
{
    chart c = of_points(h);
    add(&c, "photo loss", "#332288", POINT(loss), 1, 0);
    add(&c, "L1", "#44aa99", POINT(l1), 1, 0);
    c.made.shows_means = c.made.log_y = true;
    return put(out, &c, "Training loss", "mean of ten steps", error);
}

/* The points that know any of the n numbers from `offset` on: lines shall not break at those that do not. The caller
 * frees them; NULL: no memory. */
static splat_history_point *points_with(const splat_run_history *h, size_t offset, size_t n, size_t *n_found)
{
    splat_history_point *found = malloc((h->n_points + 1) * sizeof *found);
    *n_found = 0;
    for (size_t i = 0; i < h->n_points && found; i++) {
        const double *numbers = (const double *)((const char *)&h->points[i] + offset);
        bool any = false;
        for (size_t k = 0; k < n; k++) any = any || isfinite(numbers[k]);
        if (any) found[(*n_found)++] = h->points[i];
    }
    return found;
}

static splat_status put_more_losses(FILE *out, const splat_run_history *h, splat_error *error)
{
    static const char *const colors[SPLAT_MAX_LOSSES] = {"#cc6677", "#332288", "#44aa99", "#ddcc77",
                                                         "#88ccee", "#117733", "#aa4499", "#999933",
                                                         "#882255", "#661100", "#6699cc", "#888888",
                                                         "#000000", "#ee8866", "#225522", "#aaaa00"};
    const splat_history_losses *losses = &h->losses;
    char title[80];
    size_t n;
    if (losses->n == 0) return SPLAT_OK;
    splat_history_point *points = points_with(h, POINT(losses), losses->n, &n);
    if (!points) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a chart");
    chart c = begin(points, n, sizeof *points, POINT(iteration));
    for (size_t i = 0; i < losses->n; i++)
        add(&c, losses->labels[i], colors[i], POINT(losses) + i * sizeof(double), 1, -INFINITY);
    c.made.shows_means = true;
    snprintf(title, sizeof title, "Losses of %.60s", losses->title);
    splat_status status = put(out, &c, title, "without factors", error);
    free(points);
    return status;
}

/* Test and training views have a row each: a chart has both, with gaps. One evaluation alone stands at the top of the
 * page. */
static splat_status put_quality(FILE *out, const splat_run_history *h, size_t offset, const char *name,
                                splat_error *error)
{
    typedef struct pair {
        int iteration;
        double test, train;
    } pair;
    size_t n = 0;
    pair *pairs = calloc(h->n_evaluations + 1, sizeof *pairs);
    if (!pairs) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a chart");
    for (size_t i = 0; i < h->n_evaluations; i++) {
        const splat_history_evaluation *e = &h->evaluations[i];
        if (n == 0 || pairs[n - 1].iteration != e->iteration) pairs[n++] = (pair){e->iteration, NAN, NAN};
        *(e->is_test ? &pairs[n - 1].test : &pairs[n - 1].train) = *(const double *)((const char *)e + offset);
    }
    chart c = begin(pairs, n > 1 ? n : 0, sizeof *pairs, offsetof(pair, iteration));
    add(&c, "test views", "#332288", offsetof(pair, test), 1, -INFINITY);
    add(&c, "training views", "#cc6677", offsetof(pair, train), 1, -INFINITY);
    c.made.shows_points = true;
    splat_status status = put(out, &c, name, name, error);
    free(pairs);
    return status;
}

static splat_status put_learning(FILE *out, const splat_run_history *h, splat_error *error)
{
    fputs("<h2>Learning</h2>\n<div class=\"charts\">\n", out);
    SPLAT_TRY(put_losses(out, h, error));
    SPLAT_TRY(put_more_losses(out, h, error));
    SPLAT_TRY(put_quality(out, h, EVALUATION(psnr), "PSNR (dB)", error));
    SPLAT_TRY(put_quality(out, h, EVALUATION(ssim), "SSIM", error));
    SPLAT_TRY(put_quality(out, h, EVALUATION(lpips), "LPIPS", error));
    chart c = of_points(h);
    c.made.n_areas = add(&c, "Gaussians", "#88ccee", POINT(n_gaussians), 1e3, 0);
    splat_status status = put(out, &c, "Gaussians", "thousands", error);
    fputs("</div>\n", out);
    return status;
}

/* ---------------------------------------------------------------- memory */

static splat_status put_memory(FILE *out, const splat_run_history *h, splat_error *error)
{
    fputs("<h2>Memory</h2>\n<div class=\"charts\">\n", out);
    chart c = of_points(h);
    for (size_t i = 0; i < SPLAT_N_MEMORY_CATEGORIES; i++)
        c.made.n_areas += add(&c, splat_memory_category_name((splat_memory_category)i), splat_memory_colors[i],
                              POINT(memory) + i * sizeof(double), SPLAT_MIB, 0);
    add(&c, "driver's figure", "#333333", POINT(driver), SPLAT_MIB, 0);
    SPLAT_TRY(put(out, &c, "Device memory by category", "MiB", error));
    c = of_points(h);
    c.made.n_areas = add(&c, "process", "#ddcc77", POINT(process), SPLAT_MIB, 0);
    splat_status status = put(out, &c, "Host memory of the process", "MiB", error);
    fputs("</div>\n", out);
    return status;
}

/* ---------------------------------------------------------------- times */

double splat_history_median_step_ms(const splat_run_history *h)
{
    size_t n = 0;
    double *sorted = malloc((h->n_points + 1) * sizeof *sorted), median = NAN;
    for (size_t i = 0; i < h->n_points && sorted; i++)
        if (isfinite(h->points[i].step_ms)) sorted[n++] = h->points[i].step_ms;
    if (n) {
        qsort(sorted, n, sizeof *sorted, splat_compare_doubles);
        median = sorted[n / 2];
    }
    free(sorted);
    return median;
}

/* Means over the run, with their shares. */
static void put_stage_table(FILE *out, const splat_history_point *points, size_t n)
{
    double means[SPLAT_N_STAGES] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++)
        for (int s = 0; s < SPLAT_N_STAGES; s++) means[s] += points[i].stages[s] / (double)n;
    for (int s = 0; s < SPLAT_N_STAGES; s++) sum += means[s];
    fputs("<div class=\"card\"><table>\n<tr><th>stage</th><th class=\"n\">ms a step</th>"
          "<th class=\"n\">share</th></tr>\n", out);
    for (int s = 0; s < SPLAT_N_STAGES; s++)
        fprintf(out, "<tr><td>%s</td><td class=\"n\">%.3f</td><td class=\"n\">%.1f %%</td></tr>\n",
                splat_stage_names[s], means[s], sum > 0 ? 100 * means[s] / sum : 0.0);
    fprintf(out, "<tr><th>all</th><th class=\"n\">%.3f</th><th></th></tr>\n</table>\n"
                 "<p>Stages are timed in a few steps of every five hundred.</p></div>\n", sum);
}

static splat_status put_stages(FILE *out, const splat_run_history *h, splat_error *error)
{
    static const char *const colors[SPLAT_N_STAGES] = {"#bbbbbb", "#332288", "#6699cc", "#88ccee",
                                                       "#ddcc77", "#cc6677", "#aa4499"};
    size_t n;
    splat_history_point *measured = points_with(h, POINT(stages), SPLAT_N_STAGES, &n);
    if (!measured) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a chart");
    splat_status status = SPLAT_OK;
    if (n) {
        chart c = begin(measured, n, sizeof *measured, POINT(iteration));
        for (size_t i = 0; i < SPLAT_N_STAGES; i++)
            c.made.n_areas += add(&c, splat_stage_names[i], colors[i], POINT(stages) + i * sizeof(double), 1, 0);
        c.made.shows_means = true;
        status = put(out, &c, "Stages of a step", "ms", error);
        put_stage_table(out, measured, n);
    }
    free(measured);
    return status;
}

splat_status splat_run_charts_put(FILE *out, const splat_run_history *h, splat_error *error)
{
    if (h->n_points == 0 && h->n_evaluations == 0) return SPLAT_OK;
    SPLAT_TRY(put_learning(out, h, error));
    SPLAT_TRY(put_memory(out, h, error));
    fputs("<h2>Time</h2>\n<div class=\"charts\">\n", out);
    chart c = of_points(h);
    add(&c, "a step", "#332288", POINT(step_ms), 1, 0);
    c.made.shows_means = true;
    SPLAT_TRY(put(out, &c, "Time of a step", "ms, mean of ten", error));
    splat_status status = put_stages(out, h, error);
    fputs("</div>\n", out);
    return status;
}
