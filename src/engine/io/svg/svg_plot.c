/* Scales, ticks and labels of a chart. */
#include "io/svg/svg_plot.h"

#include "base/c_locale.h"
#include "base/file.h"
#include "io/svg/xml_text.h"

#include <math.h>

double splat_svg_x(const splat_svg_plot *p, double x)
{
    return p->left + (x - p->x0) / (p->x1 - p->x0) * (p->width - p->left - p->right);
}

double splat_svg_y(const splat_svg_plot *p, double y)
{
    double part = p->log_y ? (log(y) - log(p->y0)) / (log(p->y1) - log(p->y0)) : (y - p->y0) / (p->y1 - p->y0);
    return p->height - p->bottom - part * (p->height - p->top - p->bottom);
}

void splat_svg_widen(double *low, double *high)
{
    if (*high - *low > 1e-9 * fabs(*high)) return;
    double margin = *high != 0 ? 0.05 * fabs(*high) : 1;
    *low -= margin;
    *high += margin;
}

double splat_svg_tick_step(double range)
{
    double power = pow(10, floor(log10(range / 5))), part = range / 5 / power;
    return power * (part < 2 ? 1 : part < 5 ? 2 : 5);
}

double splat_svg_log_tick(int number)
{
    static const double steps[] = {1, 2, 5};
    int decade = number >= 0 ? number / 3 : -((2 - number) / 3);
    return steps[number - 3 * decade] * pow(10, decade);
}

int splat_svg_log_number(double value, bool up)
{
    int number = 3 * (int)floor(log10(value)) + 4; /* above it, also where the logarithm is rounded */
    double near = 1e-9 * value;
    while (splat_svg_log_tick(number) > value + near) number--;
    return number + (up && splat_svg_log_tick(number) < value - near);
}

void splat_svg_label(FILE *out, double x, double y, const char *attributes, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    splat_xml_text(out, text);
    fputs("</text>\n", out);
}

/* A line of the grid, and its number. */
static void put_row(const splat_svg_plot *p, double y)
{
    char number[32];
    fprintf(p->out, "<path d=\"M%.0f %.1fH%.0f\" stroke=\"#ddd\"/>\n", p->left, splat_svg_y(p, y), p->width - p->right);
    snprintf(number, sizeof number, "%.6g", y);
    splat_svg_label(p->out, p->left - 8, splat_svg_y(p, y) + 4, "text-anchor=\"end\"", number);
}

/* The grid, and what its lines stand for. */
static void put_ticks(const splat_svg_plot *p)
{
    char number[32];
    const double room = p->width < 600 ? 0.5 : 1; /* for numbers next to each other */
    double bottom = p->height - p->bottom, step = splat_svg_tick_step((p->x1 - p->x0) / room);
    for (double x = ceil(p->x0 / step - 1e-9) * step; x <= p->x1 + 1e-9 * step; x += step) {
        fprintf(p->out, "<path d=\"M%.1f %.1fv5\" stroke=\"#333\"/>\n", splat_svg_x(p, x), bottom);
        snprintf(number, sizeof number, "%.6g", fabs(x) < 1e-9 * step ? 0 : x);
        splat_svg_label(p->out, splat_svg_x(p, x), bottom + 20, "text-anchor=\"middle\"", number);
    }
    if (p->log_y) {
        int first = splat_svg_log_number(p->y0, true), last = splat_svg_log_number(p->y1, false);
        int stride = last - first > 12 ? 3 * ((last - first) / 36 + 1) : 1; /* then powers of ten, or fewer */
        if (stride > 1) first = 3 * (int)ceil(first / 3.0);
        for (int i = first; i <= last; i += stride) put_row(p, splat_svg_log_tick(i));
        return;
    }
    step = splat_svg_tick_step(p->y1 - p->y0);
    for (double y = ceil(p->y0 / step - 1e-9) * step; y <= p->y1 + 1e-9 * step; y += step)
        put_row(p, fabs(y) < 1e-9 * step ? 0 : y);
}

void splat_svg_begin(const splat_svg_plot *p, const splat_chart *chart)
{
    double right = p->width - p->right, bottom = p->height - p->bottom, middle = (p->left + right) / 2;
    fprintf(p->out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
                    "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"13\">\n"
                    "<rect width=\"%.0f\" height=\"%.0f\" fill=\"white\"/>\n",
            p->width, p->height, p->width, p->height, p->width, p->height);
    splat_svg_label(p->out, middle, 26, "text-anchor=\"middle\" font-size=\"16\"", chart->title);
    put_ticks(p);
    fprintf(p->out, "<path d=\"M%.0f %.0fV%.1fH%.1f\" fill=\"none\" stroke=\"#333\"/>\n", p->left, p->top, bottom,
            right);
    splat_svg_label(p->out, middle, p->height - 12, "text-anchor=\"middle\"", chart->x_label);
    fprintf(p->out, "<text transform=\"translate(18 %.1f) rotate(-90)\" text-anchor=\"middle\">",
            (p->top + bottom) / 2);
    splat_xml_text(p->out, chart->y_label);
    fputs("</text>\n", p->out);
}

splat_status splat_svg_save(const char *path, splat_svg_draw draw, void *user, splat_error *error)
{
    splat_save save;
    splat_c_locale locale;
    if (!splat_c_locale_begin(&locale)) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a locale");
    splat_status status = splat_save_open(&save, path, error);
    if (status == SPLAT_OK) {
        fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", save.stream);
        draw(save.stream, user);
        status = splat_save_commit(&save, error);
    }
    splat_c_locale_end(&locale);
    return status;
}
