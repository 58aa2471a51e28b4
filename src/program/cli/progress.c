/* Messages on stderr, and the line that is redrawn on a terminal or printed now and then elsewhere. */
#include "progress.h"
#include "cli.h"
#include "printable.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_LENGTH 512
#define SENTENCE_MAX 8192 /* two long paths; what is longer is cut */

/* The screen is one, so is its state. */
static bool screen_quiet, screen_silent;
static char last_error[1024];
static bool screen_has_line; /* a progress line stands on the terminal without a newline */

void cli_set_quiet(bool quiet)
{
    screen_quiet = quiet;
}

bool cli_is_quiet(void)
{
    return screen_quiet || screen_silent;
}

void cli_set_silent(void)
{
    screen_silent = true;
}

const char *cli_last_error(void)
{
    return last_error;
}

static bool is_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

static bool has_colour(void)
{
    const char *no_color = getenv("NO_COLOR");
    return is_terminal() && !(no_color && no_color[0]);
}

/* ---------------------------------------------------------------- messages */

void cli_progress_end(void)
{
    if (screen_has_line) fputs("\r\x1b[K", stderr);
    screen_has_line = false;
}

/* A line of formatted text. Paths and names in it may come from anybody: their control characters are made visible. */
static void print_line(FILE *out, const char *format, va_list arguments)
{
    char text[SENTENCE_MAX], shown[2 * SENTENCE_MAX];
    vsnprintf(text, sizeof text, format, arguments);
    fprintf(out, "%s\n", cli_printable(text, shown, sizeof shown));
}

static void print_message(const char *kind, const char *colour, const char *format, va_list arguments)
{
    bool coloured = has_colour();
    cli_progress_end();
    fflush(stdout); /* where both go to one place the order is kept */
    fprintf(stderr, "splatsmith: %s%s:%s ", coloured ? colour : "", kind, coloured ? "\x1b[0m" : "");
    print_line(stderr, format, arguments);
}

void cli_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    va_start(arguments, format);
    if (!screen_silent) print_message("error", "\x1b[1;31m", format, arguments);
    va_end(arguments);
}

void cli_warning(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!cli_is_quiet()) print_message("warning", "\x1b[33m", format, arguments);
    va_end(arguments);
}

void cli_notice(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!cli_is_quiet()) print_message("notice", "\x1b[36m", format, arguments);
    va_end(arguments);
}

void cli_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!cli_is_quiet()) {
        cli_progress_end();
        fflush(stderr);
        for (; *format == '\n'; format++) putchar('\n');
        print_line(stdout, format, arguments);
        fflush(stdout);
    }
    va_end(arguments);
}

static bool is_option(const char *name, size_t length)
{
    for (size_t i = 0; i < splat_line_n_options; i++)
        if (strlen(splat_line_options[i].name) == length && memcmp(splat_line_options[i].name, name, length) == 0)
            return true;
    return false;
}

const char *cli_library_text(const char *sentence, char *text, size_t size)
{
    size_t n = 0;
    while (*sentence && n + 1 < size) {
        const char *option = sentence + 1, *end = *sentence == '`' ? strchr(option, '`') : NULL;
        if (end && is_option(option, strcspn(option, " `"))) { /* a value may follow: "`resolution 1`" */
            n += (size_t)snprintf(text + n, size - n, "--%.*s", (int)(end - option), option);
            if (n >= size) n = size - 1;
            sentence = end + 1;
        } else {
            text[n++] = *sentence++;
        }
    }
    text[n] = '\0';
    return text;
}

int cli_report(const splat_error *error)
{
    char text[sizeof error->file + sizeof error->message + 64], shown[sizeof text + 64];
    cli_error("%s", cli_library_text(splat_error_format(error, text, sizeof text), shown, sizeof shown));
    if (error->status == SPLAT_ERROR_CHECKPOINT) return CLI_CHECKPOINT;
    return error->status == SPLAT_ERROR_ARGUMENT ? CLI_USAGE : CLI_FAILED;
}

void cli_log(void *user, splat_log_level level, const char *message)
{
    char text[2048];
    (void)user;
    cli_library_text(message, text, sizeof text);
    if (level == SPLAT_LOG_WARNING) cli_warning("%s", text);
    if (level == SPLAT_LOG_NOTICE) cli_notice("%s", text);
}

/* ---------------------------------------------------------------- numbers for people */

const char *cli_plural(size_t n)
{
    return n == 1 ? "" : "s";
}

double cli_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

const char *cli_duration(double seconds, char text[32])
{
    double whole = floor(fmin(fmax(seconds, 0), 3.6e9) + 0.5);
    long s = (long)whole;
    if (s >= 3600)
        snprintf(text, 32, "%ldh%02ldm", s / 3600, s / 60 % 60);
    else if (s >= 60)
        snprintf(text, 32, "%ldm%02lds", s / 60, s % 60);
    else
        snprintf(text, 32, "%lds", s);
    return text;
}

const char *cli_bytes(size_t bytes, char text[32])
{
    return splat_bytes_format(bytes, text, 32);
}

/* ---------------------------------------------------------------- the line */

/* True when a line is due. On a terminal the line is drawn over itself; a log file gets one when the percent changes,
 * a hundred in all. */
static bool is_due(cli_pace *pace, double fraction, double now)
{
    const int percent = (int)(100 * fraction);
    if (now - pace->last_draw < (is_terminal() ? 0.1 : 1.0)) return false;
    if (!is_terminal() && percent == pace->last_percent) return false;
    pace->last_draw = now;
    pace->last_percent = percent;
    return true;
}

static cli_pace pace_start(void)
{
    return (cli_pace){cli_seconds(), -1};
}

/* The length of the part that a terminal can show: cut between two figures, as half a number is another number. */
static int fitting(const char *line, int width)
{
    int length = (int)strlen(line), end = width;
    if (length <= width) return length;
    while (end > 0 && strncmp(line + end, " | ", 3) != 0) end--;
    return end > 0 ? end : width;
}

/* Draws over the line before; what is wider than the terminal would wrap and stay, so it is cut. */
static void draw(const char *text)
{
    char line[LINE_MAX_LENGTH];
    cli_printable(text, line, sizeof line);
    if (!is_terminal()) {
        fprintf(stderr, "%s\n", line);
        return;
    }
    struct winsize window;
    int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1 ? window.ws_col - 1 : 79;
    fprintf(stderr, "\r%.*s\x1b[K", fitting(line, width), line);
    fflush(stderr);
    screen_has_line = true;
}

void cli_progress_start(cli_progress *progress, const splat_context *context, int total)
{
    memset(progress, 0, sizeof *progress);
    progress->context = context;
    progress->total = total;
    progress->pace = pace_start();
    progress->started = progress->last_measure = cli_seconds();
}

void cli_progress_watch(cli_progress *progress, splat_monitor *monitor)
{
    progress->monitor = monitor;
}

/* Rates of the last seconds count most: each measurement fades with a time constant of five seconds. */
static void measure_rate(cli_progress *progress, int iteration, double now)
{
    double elapsed = now - progress->last_measure;
    if (elapsed <= 0 || iteration <= progress->last_iteration) return;
    double rate = (iteration - progress->last_iteration) / elapsed;
    double weight = progress->rate > 0 ? 1.0 - exp(-elapsed / 5.0) : 1.0;
    progress->rate += weight * (rate - progress->rate);
    progress->last_measure = now;
    progress->last_iteration = iteration;
}

/* "42s", "14m", "1h02m": seconds would only flicker beside minutes. */
static const char *short_duration(double seconds, char text[32])
{
    if (seconds >= 60 && seconds < 3570)
        snprintf(text, 32, "%.0fm", seconds / 60);
    else
        cli_duration(seconds, text);
    return text;
}

typedef struct status_line {
    char text[LINE_MAX_LENGTH];
    size_t length;
} status_line;

static void add(status_line *l, const char *format, ...) CLI_PRINTF(2, 3);
static void add(status_line *l, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(l->text + l->length, sizeof l->text - l->length, format, arguments);
    va_end(arguments);
    if (n > 0) l->length = l->length + (size_t)n < sizeof l->text ? l->length + (size_t)n : sizeof l->text - 1;
}

/* " | VRAM:37% (5.9GB) | RAM:61% (15.3GB) | CPU:11%", as far as it is known. What the driver counts on the whole GPU
 * comes first: it tells how near the end is; without it our own blocks do. */
static void add_machine(status_line *l, const cli_progress *progress)
{
    char bytes[32];
    splat_monitor_sample sample;
    splat_memory_info memory = {0};
    bool watched = progress->monitor != NULL;
    if (watched) splat_monitor_get_latest(progress->monitor, &sample);
    if (watched && sample.gpu.memory_total_bytes > 0) {
        add(l, " | VRAM:%.0f%% (%.1fGiB)", 100.0 * sample.gpu.memory_used_bytes / sample.gpu.memory_total_bytes,
            sample.gpu.memory_used_bytes / SPLAT_GIB);
    } else {
        splat_context_get_memory(progress->context, &memory);
        add(l, " | %s:%s", splat_context_get_pci_bus_id(progress->context)[0] ? "VRAM" : "Tensors",
            cli_bytes(memory.bytes, bytes));
    }
    if (watched && sample.ram_total_bytes > 0)
        add(l, " | RAM:%.0f%% (%.1fGiB)", sample.ram_percent, sample.ram_used_bytes / SPLAT_GIB);
    if (watched && !isnan(sample.cpu_percent)) add(l, " | CPU:%.0f%%", sample.cpu_percent);
    if (watched && sample.spill_bytes >= 64 * SPLAT_MIB)
        add(l, " | VRAM is full: %.1fGiB spilled to RAM", sample.spill_bytes / SPLAT_GIB);
}

void cli_progress_step(cli_progress *progress, const splat_step_info *step)
{
    char elapsed[32], eta[32] = "?";
    double now = cli_seconds();
    progress->loss = progress->loss > 0 ? 0.4 * step->loss + 0.6 * progress->loss : step->loss;
    if (cli_is_quiet()) return;
    bool due = is_due(&progress->pace, (double)step->iteration / progress->total, now);
    if (!due && step->iteration != progress->total) return;
    measure_rate(progress, step->iteration, now);

    status_line l = {.length = 0};
    if (progress->rate > 0) short_duration((progress->total - step->iteration) / progress->rate, eta);
    add(&l, "%d/%d | L:%.*f", step->iteration, progress->total, progress->loss < 0.01 ? 4 : 3, progress->loss);
    add_machine(&l, progress);
    add(&l, " | %.*fit/s | %s | ETA:%s | %zu Gaussians", progress->rate < 100 ? 2 : 0, progress->rate,
        short_duration(now - progress->started, elapsed), eta, step->n_gaussians);
    draw(l.text);
}

void cli_progress_resume(cli_progress *progress, int iteration)
{
    progress->last_measure = cli_seconds();
    progress->last_iteration = iteration;
}

void cli_counter_show(cli_counter *counter, const char *stage, double fraction)
{
    char line[256];
    if (cli_is_quiet() || !is_due(&counter->pace, fraction, cli_seconds())) return;
    snprintf(line, sizeof line, "%s: %s, %.0f%%", counter->what, stage, 100 * fraction);
    draw(line);
}

cli_counter cli_counter_start(const char *what, size_t total)
{
    cli_counter counter = {what, total, pace_start()};
    return counter;
}

bool cli_count_view(void *user, size_t index_in_set, const splat_view_info *view, const float *render,
                    const uint8_t *photo, const splat_metrics *metrics)
{
    cli_counter *counter = user;
    char line[256];
    (void)view;
    (void)render;
    (void)photo;
    (void)metrics;
    double fraction = (double)(index_in_set + 1) / (double)counter->total;
    if (cli_is_quiet() || !is_due(&counter->pace, fraction, cli_seconds())) return true;
    snprintf(line, sizeof line, "%s: %zu/%zu", counter->what, index_in_set + 1, counter->total);
    draw(line);
    return true;
}

void cli_masked_words(const splat_metrics *metrics, char *text, size_t size)
{
    snprintf(text, size, " (masked: %.1f %% of the pixels; whole pictures %.2f dB)", 100 * metrics->kept,
             metrics->psnr_whole);
}
