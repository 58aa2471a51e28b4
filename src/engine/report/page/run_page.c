/* The HTML of report.html, part by part. */
#include "report/page/run_page.h"

#include "base/base64.h"
#include "base/c_locale.h"
#include "base/file.h"
#include "io/svg/xml_text.h"
#include "report/page/run_charts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>


static const char style[] =
    ":root { color-scheme: light; --ink: #1d2733; --soft: #5c6b7a; --line: #dfe5eb; --card: #fff; --page: #f4f6f8 }\n"
    "* { box-sizing: border-box }\n"
    "body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif }\n"
    "main { max-width: 1160px; margin: 0 auto; padding: 24px }\n"
    "h1 { margin: 0; font-size: 26px } h2 { margin: 32px 0 12px; font-size: 19px }\n"
    "p { margin: 4px 0 12px; color: var(--soft) } .bad { color: #b3261e }\n"
    ".tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px }\n"
    ".tile, .card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px 16px }\n"
    ".tile b { display: block; font-size: 21px; font-variant-numeric: tabular-nums }\n"
    ".tile span { color: var(--soft); font-size: 13px }\n"
    ".card { margin-bottom: 14px; overflow-x: auto } .card > svg { width: 100%; height: auto; display: block }\n"
    ".view { display: grid; grid-template-columns: repeat(3, 1fr); gap: 8px }\n"
    ".portraits, .charts { display: grid; gap: 0 14px; align-items: start }\n"
    ".charts { grid-template-columns: repeat(auto-fit, minmax(min(400px, 100%), 1fr)) }\n"
    ".portraits { grid-template-columns: repeat(auto-fit, minmax(min(480px, 100%), 1fr)) }\n"
    "figure { margin: 0 } figure img { width: 100%; display: block; border-radius: 4px }\n"
    "figcaption { color: var(--soft); font-size: 13px }\n"
    ".flip { display: grid } .flip img { grid-area: 1 / 1 } .flip:is(:hover, :focus) img:last-child { opacity: 0 }\n"
    "table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }\n"
    "th, td { border-bottom: 1px solid var(--line); padding: 4px 10px; text-align: left; vertical-align: top }\n"
    "td.n, th.n { text-align: right } td { overflow-wrap: anywhere }\n"
    "pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 13px }\n"
    "summary { cursor: pointer; font-weight: 600 } .touch { display: none }\n"
    "@media (pointer: coarse) { .touch { display: inline } .mouse { display: none } summary { padding: 10px 0 } }\n"
    "@media (max-width: 640px) { main { padding: 12px } .card { padding: 8px } th, td { padding: 4px 6px }\n"
    "  .view { grid-template-columns: 1fr 1fr } td.n { white-space: nowrap } }\n";

/* ---------------------------------------------------------------- the head */

static void put_tile(FILE *out, const char *what, const char *value)
{
    fprintf(out, "<div class=\"tile\"><b>%s</b><span>%s</span></div>\n", value, what);
}

/* "25,123" */
static const char *grouped(size_t value, char text[32])
{
    char digits[32];
    int n = snprintf(digits, sizeof digits, "%zu", value), at = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0) text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}

static const char *duration(double seconds, char text[32])
{
    long s = lround(seconds);
    if (seconds < 60) snprintf(text, 32, "%.1f s", seconds);
    else if (s < 3600) snprintf(text, 32, "%ld min %02ld s", s / 60, s % 60);
    else snprintf(text, 32, "%ld h %02ld min", s / 3600, s / 60 % 60);
    return text;
}

static const splat_history_evaluation *newest(const splat_run_history *history, bool is_test)
{
    const splat_history_evaluation *found = NULL;
    for (size_t i = 0; i < history->n_evaluations; i++)
        if (history->evaluations[i].is_test == is_test) found = &history->evaluations[i];
    return found;
}

/* The quality of the newest evaluation: of the test views when there are any. */
static void put_quality(FILE *out, const splat_run_page *page)
{
    char text[64], what[64];
    const splat_history_evaluation *e = newest(page->history, true);
    const char *set = e ? "test" : "training";
    if (!e) e = newest(page->history, false);
    if (!e) return;
    snprintf(text, sizeof text, "%.2f dB", e->psnr);
    snprintf(what, sizeof what, "PSNR, %zu %s views at %d", e->n_views, set, e->iteration);
    put_tile(out, what, text);
    snprintf(text, sizeof text, "%.4f", e->ssim);
    put_tile(out, "SSIM", text);
    snprintf(text, sizeof text, "%.4f", e->lpips);
    put_tile(out, "LPIPS", isfinite(e->lpips) ? text : "not measured");
}

/* The median, which evaluations and a slow start do not move. */
static void put_speed(FILE *out, const splat_run_page *page)
{
    char text[64];
    double ms = splat_history_median_step_ms(page->history);
    if (!(ms > 0)) return;
    snprintf(text, sizeof text, ms < 100 ? "%.2f ms" : "%.0f ms", ms);
    put_tile(out, "a step, median", text);
}

/* A sentence of the library: options stand between backquotes there, and get their dashes here. */
static void put_message(FILE *out, const char *sentence)
{
    char part[sizeof ((splat_error *)0)->message];
    bool is_option = false;
    while (*sentence) {
        const char *end = strchr(sentence, '`');
        bool opens = end && (is_option || strchr(end + 1, '`')); /* one without a partner is a backquote */
        size_t length = opens ? (size_t)(end - sentence) : strlen(sentence);
        snprintf(part, sizeof part, "%.*s", (int)length, sentence);
        splat_xml_text(out, part);
        sentence += length;
        if (!opens) continue;
        fputs(is_option ? "</code>" : "<code>--", out);
        is_option = !is_option;
        sentence++;
    }
}

static void put_head(FILE *out, const splat_run_page *page, const char *name)
{
    char text[64];
    fputs("<h1>", out);
    splat_xml_text(out, name);
    fprintf(out, "</h1>\n<p%s>", page->ended ? " class=\"bad\"" : "");
    if (page->ended) put_message(out, page->ended);
    else fprintf(out, "finished: %d iterations", page->iteration);
    fprintf(out, "</p>\n<p>%zu training and %zu test views of up to %d x %d pixels</p>\n<div class=\"tiles\">\n",
            page->n_train, page->n_test, page->width, page->height);
    put_quality(out, page);
    put_tile(out, "Gaussians", grouped(page->n_gaussians, text));
    snprintf(text, sizeof text, "%.3f", page->mean_opacity);
    if (isfinite(page->mean_opacity)) put_tile(out, "mean opacity", text);
    put_tile(out, "training, evaluations and saves", duration(page->seconds, text));
    put_speed(out, page);
    put_tile(out, "of memory at most while training, in named blocks",
             splat_bytes_format(page->training_peak_bytes, text, sizeof text));
    if (page->evaluation_peak_bytes)
        put_tile(out, "at most while evaluating",
                 splat_bytes_format(page->evaluation_peak_bytes, text, sizeof text));
    if (page->overhead_bytes)
        put_tile(out, "more for the driver", splat_bytes_format(page->overhead_bytes, text, sizeof text));
    fputs("</div>\n", out);
}

/* ---------------------------------------------------------------- views */

static void put_image(FILE *out, const splat_jpeg *jpeg, const char *what)
{
    fprintf(out, "<img alt=\"%s\" src=\"data:image/jpeg;base64,", what);
    splat_base64_put(out, jpeg->data, jpeg->size);
    fputs("\">", out);
}

static void put_view(FILE *out, const splat_run_picture *p)
{
    fputs("<div class=\"card\"><div class=\"view\">\n<figure>", out);
    put_image(out, &p->photo, "photo");
    fputs("<figcaption>photo: ", out);
    splat_xml_text(out, p->name);
    fputs("</figcaption></figure>\n<figure><div class=\"flip\" tabindex=\"0\">", out);
    put_image(out, &p->photo, "photo");
    put_image(out, &p->render, "render");
    fprintf(out, "</div><figcaption>render: %.2f dB, SSIM %.4f", p->metrics.psnr, p->metrics.ssim);
    if (p->metrics.lpips_net) fprintf(out, ", LPIPS %.4f (%s)", p->metrics.lpips, p->metrics.lpips_net);
    fputs("</figcaption></figure>\n<figure>", out);
    put_image(out, &p->error_map, "error map");
    fprintf(out, "<figcaption>error: L1 %.4f</figcaption></figure>\n</div></div>\n", p->metrics.l1);
}

static void put_views(FILE *out, const splat_run_pictures *pictures, bool is_portrait)
{
    if (pictures->n == 0) return;
    fprintf(out, "<h2>%s views at iteration %d</h2>\n<p><span class=\"mouse\">Point at</span>"
                 "<span class=\"touch\">Tap</span> a render to see its photo. Errors: the mean over the channels, "
                 "black 0 to yellow 0.25 and more.</p>\n",
            pictures->is_test ? "Test" : "Training", pictures->iteration);
    if (is_portrait) fputs("<div class=\"portraits\">\n", out); /* two abreast: they are taller than wide */
    for (size_t i = 0; i < pictures->n; i++) put_view(out, &pictures->views[i]);
    if (is_portrait) fputs("</div>\n", out);
}

/* ---------------------------------------------------------------- settings */

static void put_table(FILE *out, const char *title, bool open, const splat_report_table *table)
{
    if (table->n == 0) return;
    fprintf(out, "<div class=\"card\"><details%s><summary>%s</summary>\n<table>\n", open ? " open" : "",
            title);
    for (size_t i = 0; i < table->n; i++) {
        fputs("<tr><td>", out);
        splat_xml_text(out, table->rows[i].name);
        fputs("</td><td>", out);
        splat_xml_text(out, table->rows[i].value);
        fputs("</td></tr>\n", out);
    }
    fputs("</table></details></div>\n", out);
}

static void put_settings(FILE *out, const splat_report_config *settings)
{
    if (!settings) return;
    fputs("<h2>Settings</h2>\n", out);
    if (settings->command) {
        fputs("<div class=\"card\"><pre>", out);
        splat_xml_text(out, settings->command);
        fputs("</pre></div>\n", out);
    }
    put_table(out, "Machine", true, &settings->performance);
    put_table(out, "Scene", false, &settings->dataset);
    put_table(out, "Training", false, &settings->optimization);
}

/* ---------------------------------------------------------------- the page */

static splat_status put_page(FILE *out, const splat_run_page *page, const char *name, splat_error *error)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n<title>", out);
    splat_xml_text(out, name);
    fprintf(out, ": training report</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n", style);
    put_head(out, page, name);
    put_views(out, page->pictures, page->height > page->width);
    SPLAT_TRY(splat_run_charts_put(out, page->history, error));
    put_settings(out, page->settings);
    fputs("</main>\n</body>\n</html>\n", out);
    return SPLAT_OK;
}

/* The last two names of a path: "garden_output/20261120_081500", "garden/coarse". */
static const char *title_of(const char *path)
{
    const char *name = splat_basename(path), *before = name;
    if (name - path < 2) return name;
    for (before--; before > path && before[-1] != '/'; before--) {}
    return before;
}

splat_status splat_run_page_write(const splat_run_page *page, splat_error *error)
{
    splat_save save;
    splat_c_locale locale;
    char *path = splat_format("%s/" SPLAT_RUN_PAGE_FILE, page->folder);
    if (!path || !splat_c_locale_begin(&locale)) {
        free(path);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a report");
    }
    splat_status status = splat_save_open(&save, path, error);
    if (status == SPLAT_OK) {
        char *resolved = realpath(page->folder, NULL); /* "." has a name, too */
        status = put_page(save.stream, page, title_of(resolved ? resolved : page->folder), error);
        free(resolved);
        if (status == SPLAT_OK) status = splat_save_commit(&save, error);
        else splat_save_abort(&save);
    }
    splat_c_locale_end(&locale);
    free(path);
    return status;
}
