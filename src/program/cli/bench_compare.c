/* Percent on the command line, tables of two records or of many. */
#include "bench_compare.h"

#include "progress.h"
#include "bench/compare.h"
#include "bench/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_TOLERANCE 0.005

/* "5%" or "0.5 %" as a part of one; NULL leaves the value as it is. A bare number would be read in two ways. */
static bool read_percent(const char *option, const char *text, double *part)
{
    char *end;
    if (!text) return true;
    double value = strtod(text, &end);
    if (end != text) end += strspn(end, " ");
    if (end != text && strcmp(end, "%") == 0 && value >= 0 && value <= 1e6) {
        *part = value / 100;
        return true;
    }
    cli_error("--%s takes a percentage such as 5%%, not '%s'", option, text);
    return false;
}

/* Every result is read, and every bad file is reported. All must be of the same mode: `mode`, or with NULL that of the
 * first. CLI_USAGE, not CLI_FAILED: a script must see that nothing was compared. */
static int read_records(const splat_line *line, const char *mode, splat_bench_record **records)
{
    splat_error error;
    splat_bench_figures figures;
    int code = CLI_OK;
    for (size_t i = 0; i < line->n_words; i++) {
        if (splat_bench_read(line->words[i], &records[i], &error) != SPLAT_OK) {
            cli_report(&error);
            code = CLI_USAGE;
            continue;
        }
        splat_bench_record_get(records[i], &figures);
        if (!mode) mode = figures.mode;
        if (strcmp(mode, figures.mode) == 0) continue;
        cli_error("%s is a result of --mode %s, and one of --mode %s is needed", line->words[i], figures.mode, mode);
        code = CLI_USAGE;
    }
    return code;
}

static void free_records(splat_bench_record **records, size_t n)
{
    for (size_t i = 0; i < n; i++) splat_bench_record_free(records[i]);
}

/* ---------------------------------------------------------------- the table of two */

/* Text of a number; "-" for one that was not measured. */
static const char *shown(double value, int decimals, char text[32])
{
    if (isfinite(value))
        snprintf(text, 32, "%.*f", decimals, value);
    else
        snprintf(text, 32, "-");
    return text;
}

/* A line of the table, with the change in percent. */
static void say(const char *what, double before, double after, int decimals)
{
    char first[32], second[32], change[32];
    if (!isfinite(before) && !isfinite(after)) return;
    snprintf(change, sizeof change, "%+.2f %%", 100 * (after / before - 1));
    cli_say("%-28s %14s %14s %12s", what, shown(before, decimals, first), shown(after, decimals, second),
            isfinite(after / before) ? change : "");
}

/* Prints one line for one network, and a line each for two, because their distances have no ratio. */
static void print_lpips(const splat_bench_figures *a, const splat_bench_figures *b)
{
    char first[64], second[64];
    snprintf(first, sizeof first, "LPIPS (%.32s)", a->lpips_net);
    snprintf(second, sizeof second, "LPIPS (%.32s)", b->lpips_net);
    if (strcmp(first, second) == 0) {
        say(first, a->lpips, b->lpips, 4);
        return;
    }
    say(first, a->lpips, (double)NAN, 4);
    say(second, (double)NAN, b->lpips, 4);
}

/* The heads of the columns: the names of the results, or their paths if the names are the same. Those that do not fit
 * are printed above the table. */
typedef struct heads {
    const char *baseline, *candidate;
} heads;

static void print_names(const heads *names)
{
    cli_say("baseline:  %s", names->baseline);
    cli_say("candidate: %s", names->candidate);
}

static void print_heads(const heads *names)
{
    bool fit = strlen(names->baseline) <= 14 && strlen(names->candidate) <= 14;
    if (!fit) print_names(names);
    cli_say("%-28s %14s %14s %12s", "", fit ? names->baseline : "baseline", fit ? names->candidate : "candidate",
            "change");
}

static void print_comparison(const heads *names, const splat_bench_figures *a, const splat_bench_figures *b,
                             const splat_bench_comparison *c)
{
    char first[32], second[32], saved[32];
    print_heads(names);
    say("ms/iter", a->step.mean, b->step.mean, 3);
    say("it/s", a->iterations_per_second, b->iterations_per_second, 1);
    say("ms/iter, median", a->step.median, b->step.median, 3);
    say("ms/iter, p95", a->step.p95, b->step.p95, 3);
    say("ms/iter, p99", a->step.p99, b->step.p99, 3);
    cli_say("%-28s %14s %13.3fx   (%+.1f %%)", "speed-up", "", c->speedup, 100 * (c->speedup - 1));
    cli_say("%-28s %14s %14s", "time to convergence (30k)", splat_duration(a->seconds_to_30k, first),
            splat_duration(b->seconds_to_30k, second));
    snprintf(first, sizeof first, "%s%s", c->seconds_saved < 0 ? "-" : "",
             splat_duration(fabs(c->seconds_saved), saved));
    cli_say("%-28s %14s %14s", "time saved", "", first);
    say("training loss", a->loss, b->loss, 5);
    say("Gaussians", a->n_gaussians, b->n_gaussians, 0);
    say("mean opacity", a->mean_opacity, b->mean_opacity, 4);
    say("train VRAM, MiB", a->training_peak_bytes / SPLAT_MIB, b->training_peak_bytes / SPLAT_MIB, 1);
    say("eval VRAM, MiB", a->evaluation_peak_bytes / SPLAT_MIB, b->evaluation_peak_bytes / SPLAT_MIB, 1);
    say("host memory, MiB", a->host_peak_bytes / SPLAT_MIB, b->host_peak_bytes / SPLAT_MIB, 1);
    say("PSNR", a->psnr, b->psnr, 3);
    say("SSIM", a->ssim, b->ssim, 4);
    say("L1", a->l1, b->l1, 5);
    print_lpips(a, b);
    if (isfinite(c->change_low))
        cli_say("The mean time changes by %+.2f %%, with 95 %% confidence by %+.2f to %+.2f %% (batch means, %d and %d "
                "batches)%s", 100 * c->change, 100 * c->change_low, 100 * c->change_high, a->step.n_batches,
                b->step.n_batches, c->is_significant ? "" : ": no difference is shown");
    else
        cli_say("Fewer than 8 iterations were measured: nothing is known about chance.");
}

/* ---------------------------------------------------------------- the table of photos or views */

/* The row of that name; NULL: there is none. */
static const splat_bench_row *find_row(const splat_bench_figures *figures, const char *name)
{
    for (size_t i = 0; i < figures->n_rows; i++)
        if (strcmp(figures->rows[i].name, name) == 0) return &figures->rows[i];
    return NULL;
}

/* A line of the table; false when it takes more time than is allowed. */
static bool compare_row(const char *name, const splat_bench_row *before, const splat_bench_row *after, double slowdown)
{
    char interval[80] = "";
    splat_bench_comparison c;
    splat_bench_compare_times(&before->ms, &after->ms, &c);
    double pictures = (double)after->n_together / (double)before->n_together; /* that one time stands for */
    double low = pictures * c.speedup_low - 1, high = pictures * c.speedup_high - 1;
    if (isfinite(low))
        snprintf(interval, sizeof interval, "%+.2f to %+.2f %%%s", 100 * low, 100 * high,
                 low > 0 || high < 0 ? "" : ": no difference is shown");
    cli_say("%-36s %12.1f %12.1f %+8.2f %%   %s", before->name, before->per_second, after->per_second,
            100 * (pictures * c.speedup - 1), interval);
    double slower = 1 / (pictures * c.speedup) - 1;
    if (!(slower > slowdown)) return true;
    cli_error("%s: %s takes %.2f %% more time than the baseline; %.4g %% is allowed", name, before->name, 100 * slower,
              100 * slowdown);
    return false;
}

/* Returns an exit code. */
static int compare_rows(const heads *names, const splat_bench_figures *a, const splat_bench_figures *b, double slowdown)
{
    int code = CLI_OK;
    print_names(names);
    cli_say("%-36s %12s %12s %10s   %s", "pictures a second", "baseline", "candidate", "change", "95 % confidence");
    for (size_t i = 0; i < a->n_rows; i++) {
        const splat_bench_row *after = find_row(b, a->rows[i].name);
        if (!after)
            cli_say("%-36s %12.1f %12s", a->rows[i].name, a->rows[i].per_second, "-");
        else if (!compare_row(names->candidate, &a->rows[i], after, slowdown))
            code = CLI_PASSED;
    }
    return code;
}

/* ---------------------------------------------------------------- both */

static void print_difference(void *user, const char *sentence)
{
    (void)user;
    cli_warning("%s", sentence);
}

/* ---------------------------------------------------------------- thresholds */

typedef struct thresholds {
    double slowdown, loss; /* NaN: none */
} thresholds;

/* The exit code. The measured mean decides, not the interval: a threshold means what it says. */
static int judge(const thresholds *t, const splat_bench_figures *b, const splat_bench_comparison *c)
{
    int code = CLI_OK;
    if (!isnan(t->loss) && isnan(c->quality_loss)) {
        cli_error("--quality_tolerance cannot be judged for %s: a result has no quality; measure both with --eval",
                  b->name);
        return CLI_USAGE;
    }
    if (c->change > t->slowdown) {
        cli_error("%s takes %.2f %% more time than the baseline; %.4g %% is allowed%s", b->name, 100 * c->change,
                  100 * t->slowdown,
                  c->change_low < t->slowdown ? " (within the measurement's error: measure more iterations)" : "");
        code = CLI_PASSED;
    }
    if (c->quality_loss > t->loss) {
        cli_error("%s loses %.2f %% of the quality; %.4g %% is allowed", b->name, 100 * c->quality_loss, 100 * t->loss);
        code = CLI_PASSED;
    }
    return code;
}

static int compare_two(const heads *names, const splat_bench_record *a, const splat_bench_record *b,
                       const thresholds *t)
{
    splat_bench_figures baseline, candidate;
    splat_bench_comparison comparison;
    int code = CLI_OK;
    splat_bench_record_get(a, &baseline);
    splat_bench_record_get(b, &candidate);
    if (baseline.n_rows) {
        code = compare_rows(names, &baseline, &candidate, t->slowdown);
    } else {
        splat_bench_compare(a, b, &comparison);
        print_comparison(names, &baseline, &candidate, &comparison);
    }
    splat_bench_list_differences(a, b, print_difference, NULL);
    return baseline.n_rows ? code : judge(t, &candidate, &comparison);
}

static int compare(splat_bench_record *const *records, const char *const *paths, size_t n, const thresholds *t)
{
    int worst = CLI_OK;
    splat_bench_figures baseline, candidate;
    splat_bench_record_get(records[0], &baseline);
    if (baseline.n_rows && !isnan(t->loss)) {
        cli_error("--quality_tolerance is for results of training; photos and views have no quality");
        return CLI_USAGE;
    }
    for (size_t i = 1; i < n; i++) {
        splat_bench_record_get(records[i], &candidate);
        bool same_name = strcmp(baseline.name, candidate.name) == 0; /* then their paths tell them apart */
        const heads names = {same_name ? paths[0] : baseline.name, same_name ? paths[i] : candidate.name};
        if (i > 1) cli_say("%s", "");
        int code = compare_two(&names, records[0], records[i], t);
        if (worst != CLI_USAGE && code != CLI_OK) worst = code; /* "cannot be judged" outweighs "passed" */
    }
    return worst;
}

int cmd_bench_compare(const splat_line *line)
{
    splat_bench_record *records[SPLAT_LINE_WORDS_MAX] = {NULL};
    thresholds t = {(double)NAN, (double)NAN};
    if (line->n_words < 2) {
        cli_error("bench compare needs the result of a baseline and of at least one candidate");
        return CLI_USAGE;
    }
    if (line->output->path) {
        cli_error("bench compare writes no files; bench report does");
        return CLI_USAGE;
    }
    if (!read_percent("max_slowdown", line->bench->max_slowdown, &t.slowdown) ||
        !read_percent("quality_tolerance", line->bench->quality_tolerance, &t.loss))
        return CLI_USAGE;
    int code = read_records(line, NULL, records);
    if (code == CLI_OK) code = compare(records, line->words, line->n_words, &t);
    free_records(records, line->n_words);
    return code;
}

/* ---------------------------------------------------------------- report */

static int report(splat_bench_record *const *records, size_t n, double tolerance, const char *folder)
{
    splat_error error;
    char *text = splat_bench_report_markdown(records, n, tolerance);
    if (!text) {
        cli_error("no memory for the report");
        return CLI_FAILED;
    }
    for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
        cli_say("%.*s", (int)(end - line), line);
    free(text);
    if (!folder) return CLI_OK;
    if (splat_bench_report_write(records, n, tolerance, folder, &error) != SPLAT_OK) return cli_report(&error);
    cli_say("%s/benchmark_report.md and .html", folder);
    return CLI_OK;
}

int cmd_bench_report(const splat_line *line)
{
    splat_bench_record *records[SPLAT_LINE_WORDS_MAX] = {NULL};
    double tolerance = USUAL_TOLERANCE;
    if (line->n_words < 1 || line->bench->max_slowdown) {
        cli_error("bench report needs results in their order%s",
                  line->bench->max_slowdown ? "; --max_slowdown is for bench compare" : "");
        return CLI_USAGE;
    }
    if (!read_percent("quality_tolerance", line->bench->quality_tolerance, &tolerance)) return CLI_USAGE;
    int code = read_records(line, "training", records);
    if (code == CLI_OK) code = report(records, line->n_words, tolerance, line->output->path);
    free_records(records, line->n_words);
    return code;
}
