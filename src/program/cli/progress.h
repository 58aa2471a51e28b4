/* What the user sees while a command works: messages, one progress line, the lines of an evaluation. */
#ifndef SPLAT_CLI_PROGRESS_H
#define SPLAT_CLI_PROGRESS_H

#include "splatsmith.h"
#include "report/monitor/monitor.h"

#if defined(__GNUC__)
#define CLI_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define CLI_PRINTF(format_index, first)
#endif

/* Nothing but errors from now on. */
void cli_set_quiet(bool quiet);
bool cli_is_quiet(void);
/* Nothing at all from now on: a process that another one speaks for. */
void cli_set_silent(void);
/* The sentence of the last cli_error, said or not; "" before the first. */
const char *cli_last_error(void);

/* "splatsmith: error: <sentence>" and the like, on the standard error output. */
void cli_error(const char *format, ...) CLI_PRINTF(1, 2);
void cli_warning(const char *format, ...) CLI_PRINTF(1, 2);
void cli_notice(const char *format, ...) CLI_PRINTF(1, 2);
/* A result, on the standard output. Empty lines before it are those at the start of the format; a later newline is
 * shown as \x0a, since it may come from a name. */
void cli_say(const char *format, ...) CLI_PRINTF(1, 2);
/* A sentence of the library as a command line has it: options, which stand between backquotes there, get their dashes,
 * "name another with `images`" becomes "name another with --images". Returns text. */
const char *cli_library_text(const char *sentence, char *text, size_t size);
/* Prints the library's error; returns the exit code that fits it. */
int cli_report(const splat_error *error);
/* The splat_log_function of every context. */
void cli_log(void *user, splat_log_level level, const char *message);

/* The end of a noun after its count: "%zu photo%s". */
const char *cli_plural(size_t n);
double cli_seconds(void);
/* "1h02m", "3m07s", "42s" */
const char *cli_duration(double seconds, char text[32]);
/* "1.25 GiB", "312 MiB": splat_bytes_format */
const char *cli_bytes(size_t bytes, char text[32]);

/* When a line was shown last. */
typedef struct cli_pace {
    double last_draw;
    int last_percent; /* -1: there was none */
} cli_pace;

/* On a terminal one line that is redrawn, elsewhere a plain line when the percent changes. */
typedef struct cli_progress {
    const splat_context *context;
    splat_monitor *monitor; /* NULL: none */
    int total;
    int last_iteration;  /* when the rate was last measured */
    double started, last_measure;
    cli_pace pace;
    double rate;         /* steps a second, smoothed */
    double loss;         /* smoothed as 3DGS does */
} cli_progress;

void cli_progress_start(cli_progress *progress, const splat_context *context, int total);
/* From now on the line tells the state of GPU and machine. Borrowed for as long as steps are shown. */
void cli_progress_watch(cli_progress *progress, splat_monitor *monitor);
void cli_progress_step(cli_progress *progress, const splat_step_info *step);
/* The rate is measured from here on: after the first step, and after an evaluation or a save. */
void cli_progress_resume(cli_progress *progress, int iteration);

/* " (masked: 91.2 % of the pixels; whole pictures 21.35 dB)": what stands behind figures of masked views. */
void cli_masked_words(const splat_metrics *metrics, char *text, size_t size);

/* "rendering test views: 3/12": a splat_view_function, whose user is the counter. */
typedef struct cli_counter {
    const char *what;
    size_t total;
    cli_pace pace;
} cli_counter;

cli_counter cli_counter_start(const char *what, size_t total);
/* "mesh: reconstructing, 40%". */
void cli_counter_show(cli_counter *counter, const char *stage, double fraction);
bool cli_count_view(void *counter, size_t index_in_set, const splat_view_info *view, const float *render,
                    const uint8_t *photo, const splat_metrics *metrics);

/* Removes the line from the screen. */
void cli_progress_end(void);

#endif
