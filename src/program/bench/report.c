/* The table of phases: what each step of a tuning brought, in Markdown and as a page. */
#include "bench/report.h"

#include "bench/compare.h"
#include "bench/record.h"

#include "base/c_locale.h"
#include "base/file.h"
#include "io/svg/xml_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PHASE, DATE, MS, SPEED, VS_FIRST, VS_PREVIOUS, LOSS, TRAIN_VRAM, EVAL_VRAM, PSNR, SSIM, LPIPS, COLUMNS };
enum { CELL = 160 };
static const char *const titles[COLUMNS] = {
    [PHASE] = "phase",         [DATE] = "date", [MS] = "ms/iter",            [SPEED] = "it/s",
    [VS_FIRST] = "vs first",   [VS_PREVIOUS] = "vs previous",                [LOSS] = "loss",
    [TRAIN_VRAM] = "train VRAM", [EVAL_VRAM] = "eval VRAM", [PSNR] = "PSNR", [SSIM] = "SSIM", [LPIPS] = "LPIPS"};
#define NOTES "Notes, differences from the row before, and clocks that were held down:"

typedef struct row {
    char cells[COLUMNS][CELL];
    const char *verdict;
} row;

static void number(char cell[CELL], double value, int decimals, const char *unit)
{
    if (isfinite(value) && value > 0) /* zero is no quality and no memory */
        snprintf(cell, CELL, "%.*f%s", decimals, value, unit);
    else
        snprintf(cell, CELL, "-");
}

/* "1.25x", and "~" before it when the difference may be chance. */
static void factor(char cell[CELL], const splat_bench_record *before, const splat_bench_record *after)
{
    splat_bench_comparison c;
    splat_bench_compare(before, after, &c);
    if (splat_bench_is_comparable(before, after))
        snprintf(cell, CELL, "%s%.2fx", c.is_significant ? "" : "~", c.speedup);
    else
        snprintf(cell, CELL, "-");
}

static const char *verdict(const splat_bench_record *before, const splat_bench_record *after, double tolerance)
{
    splat_bench_comparison comparison, *c = &comparison;
    splat_bench_compare(before, after, c);
    if (!splat_bench_is_comparable(before, after)) return "not comparable";
    if (c->quality_loss > tolerance) return "quality lost";
    if (!c->is_significant) return "no difference in speed";
    if (c->speedup > 1) return isnan(c->quality_loss) ? "faster, quality not measured" : "faster, quality kept";
    return "slower";
}

static void make_row(splat_bench_record *const *records, size_t i, double tolerance, row *r)
{
    const splat_bench_figures *f = &records[i]->figures;
    snprintf(r->cells[PHASE], CELL, "%s", f->name);
    snprintf(r->cells[DATE], CELL, "%.10s", *f->date ? f->date : "-");
    number(r->cells[LOSS], f->loss, 4, "");
    number(r->cells[MS], f->step.mean, 3, "");
    if (f->step.n_batches) {
        size_t length = strlen(r->cells[MS]);
        snprintf(r->cells[MS] + length, CELL - length, " ± %.3f", (f->step.mean_high - f->step.mean_low) / 2);
    }
    number(r->cells[SPEED], f->iterations_per_second, 1, "");
    snprintf(r->cells[VS_FIRST], CELL, "-");
    snprintf(r->cells[VS_PREVIOUS], CELL, "-");
    r->verdict = "the start";
    if (i > 0) {
        factor(r->cells[VS_FIRST], records[0], records[i]);
        factor(r->cells[VS_PREVIOUS], records[i - 1], records[i]);
        r->verdict = verdict(records[i - 1], records[i], tolerance);
    }
    number(r->cells[TRAIN_VRAM], f->training_peak_bytes / SPLAT_MIB, 0, " MiB");
    number(r->cells[EVAL_VRAM], f->evaluation_peak_bytes / SPLAT_MIB, 0, " MiB");
    number(r->cells[PSNR], f->psnr, 2, "");
    number(r->cells[SSIM], f->ssim, 4, "");
    number(r->cells[LPIPS], f->lpips, 4, "");
    if (f->lpips > 0) {
        size_t length = strlen(r->cells[LPIPS]);
        snprintf(r->cells[LPIPS] + length, CELL - length, " %.40s", f->lpips_net);
    }
}

/* ---------------------------------------------------------------- text */

static void put_markdown(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '\\') fputc('\\', out);
        if ((unsigned char)*text >= 0x20) fputc(*text, out);
    }
}

static const char legend[] =
    "ms/iter: mean with its 95 % interval (batch means). vs: times as fast; ~ where the difference may be chance. "
    "VRAM: the most reserved in named blocks. -: not measured. The verdict compares with the row before; another "
    "machine, scene or size cannot be compared.";

/* Notes of a row: settings that differ from those of the row before, and its clocks. */
typedef struct note_list {
    FILE *out;
    void (*put)(FILE *out, const char *text);
    const char *name, *begin, *end, *opening; /* of the row; around a note; before the first note */
    int n;
} note_list;

static void put_note(void *user, const char *sentence)
{
    note_list *notes = user;
    fprintf(notes->out, "%s%s", notes->n++ ? "" : notes->opening, notes->begin);
    notes->put(notes->out, notes->name);
    fputs(": ", notes->out);
    notes->put(notes->out, sentence);
    fputs(notes->end, notes->out);
}

/* Returns how many there are. */
static int put_notes(note_list notes, splat_bench_record *const *records, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        notes.name = records[i]->figures.name;
        if (*records[i]->figures.notes) put_note(&notes, records[i]->figures.notes);
        if (i > 0) splat_bench_setting_differences(records[i - 1], records[i], put_note, &notes);
        splat_bench_throttling(records[i], "the GPU", put_note, &notes);
    }
    return notes.n;
}

typedef void (*write_function)(FILE *out, splat_bench_record *const *records, size_t n, double tolerance);

static void write_markdown(FILE *out, splat_bench_record *const *records, size_t n, double tolerance)
{
    fputs("# Benchmarks\n\n", out);
    if (n) {
        put_markdown(out, records[0]->figures.scene);
        fputs(", ", out);
        put_markdown(out, records[0]->figures.device);
        fputs("\n\n", out);
    }
    for (int c = 0; c < COLUMNS; c++) fprintf(out, "| %s ", titles[c]);
    fputs("| verdict |\n|---|", out);
    for (int c = 1; c < COLUMNS; c++) fputs("---:|", out);
    fputs("---|\n", out);
    for (size_t i = 0; i < n; i++) {
        row r;
        make_row(records, i, tolerance, &r);
        for (int c = 0; c < COLUMNS; c++) {
            fputs("| ", out);
            put_markdown(out, r.cells[c]);
            fputc(' ', out);
        }
        fprintf(out, "| %s |\n", r.verdict);
    }
    fprintf(out, "\n%s\n", legend);
    put_notes((note_list){.out = out, .put = put_markdown, .begin = "- ", .end = "\n", .opening = "\n" NOTES "\n\n"},
              records, n);
}

static void write_html(FILE *out, splat_bench_record *const *records, size_t n, double tolerance)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<title>Benchmarks</title>\n<style>\n"
          "body { font-family: sans-serif; margin: 2em; color: #222 }\n"
          "table { border-collapse: collapse }\n"
          "th, td { border: 1px solid #ccc; padding: 0.3em 0.7em; text-align: right }\n"
          "th { background: #eef2f7 }\n"
          "th:first-child, td:first-child, th:last-child, td:last-child { text-align: left }\n"
          "</style>\n</head>\n<body>\n<h1>Benchmarks</h1>\n", out);
    if (n) {
        fputs("<p>", out);
        splat_xml_text(out, records[0]->figures.scene);
        fputs(", ", out);
        splat_xml_text(out, records[0]->figures.device);
        fputs("</p>\n", out);
    }
    fputs("<table>\n<tr>", out);
    for (int c = 0; c < COLUMNS; c++) fprintf(out, "<th>%s</th>", titles[c]);
    fputs("<th>verdict</th></tr>\n", out);
    for (size_t i = 0; i < n; i++) {
        row r;
        make_row(records, i, tolerance, &r);
        fputs("<tr>", out);
        for (int c = 0; c < COLUMNS; c++) {
            fputs("<td>", out);
            splat_xml_text(out, r.cells[c]);
            fputs("</td>", out);
        }
        fprintf(out, "<td>%s</td></tr>\n", r.verdict);
    }
    fprintf(out, "</table>\n<p>%s</p>\n", legend);
    note_list notes = {.out = out, .put = splat_xml_text, .begin = "<li>", .end = "</li>\n",
                       .opening = "<p>" NOTES "</p>\n<ul>\n"};
    if (put_notes(notes, records, n) > 0) fputs("</ul>\n", out);
    fputs("</body>\n</html>\n", out);
}

static char *make_text(write_function write, splat_bench_record *const *records, size_t n, double tolerance)
{
    char *text = NULL;
    size_t size = 0;
    splat_c_locale locale;
    if (!splat_c_locale_begin(&locale)) return NULL;
    FILE *out = open_memstream(&text, &size);
    if (out) {
        write(out, records, n, tolerance);
        bool failed = ferror(out) != 0;
        if (fclose(out) != 0 || failed) {
            free(text);
            text = NULL;
        }
    }
    splat_c_locale_end(&locale);
    return text;
}

char *splat_bench_report_markdown(splat_bench_record *const *records, size_t n, double quality_tolerance)
{
    return make_text(write_markdown, records, n, quality_tolerance);
}

char *splat_bench_report_html(splat_bench_record *const *records, size_t n, double quality_tolerance)
{
    return make_text(write_html, records, n, quality_tolerance);
}

static splat_status save(const char *folder, const char *name, char *text, splat_error *error)
{
    char *path = splat_format("%s/%s", folder, name);
    splat_status status = path && text ? splat_file_write(path, text, strlen(text), error)
                                       : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %s", name);
    free(path);
    free(text);
    return status;
}

splat_status splat_bench_report_write(splat_bench_record *const *records, size_t n, double quality_tolerance,
                                      const char *folder, splat_error *error)
{
    SPLAT_TRY(splat_folder_create(folder, error));
    SPLAT_TRY(save(folder, "benchmark_report.md", splat_bench_report_markdown(records, n, quality_tolerance), error));
    return save(folder, "benchmark_report.html", splat_bench_report_html(records, n, quality_tolerance), error);
}
