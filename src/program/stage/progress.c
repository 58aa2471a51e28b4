/* Lines on how far the work is. */
#include "stage/progress.h"

#include <math.h>
#include <stdio.h>

#define LINE_MAX_LENGTH 512

/* True when the next line is due. */
static bool is_due(const splat_talk *talk, double *last_call, double now)
{
    if (!talk || !talk->progress || now - *last_call < talk->interval) return false;
    *last_call = now;
    return true;
}

/* ---------------------------------------------------------------- a training */

splat_step_progress splat_step_progress_start(const splat_talk *talk, const char *activity,
                                              const splat_context *context, splat_monitor *monitor, int total)
{
    const double now = splat_seconds();
    return (splat_step_progress){talk, context, monitor, activity, total, .started = now, .last_measure = now,
                                 .last_call = now};
}

/* Rates of the last seconds count most: each measurement fades with a time constant of five seconds. */
static void measure_rate(splat_step_progress *progress, int iteration, double now)
{
    double elapsed = now - progress->last_measure;
    if (elapsed <= 0 || iteration <= progress->last_iteration) return;
    double rate = (iteration - progress->last_iteration) / elapsed;
    double weight = progress->rate > 0 ? 1.0 - exp(-elapsed / 5.0) : 1.0;
    progress->rate += weight * (rate - progress->rate);
    progress->last_measure = now;
    progress->last_iteration = iteration;
}

/* "42s", "14m", "1h02m": with minutes, seconds would only flicker. */
static const char *short_duration(double seconds, char text[32])
{
    if (seconds >= 60 && seconds < 3570)
        snprintf(text, 32, "%.0fm", seconds / 60);
    else
        splat_duration(seconds, text);
    return text;
}

typedef struct status_line {
    char text[LINE_MAX_LENGTH];
    size_t length;
} status_line;

static void add(status_line *l, const char *format, ...) SPLAT_PRINTF(2, 3);
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
static void add_machine(status_line *l, const splat_step_progress *progress)
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
            splat_bytes(memory.bytes, bytes));
    }
    if (watched && sample.ram_total_bytes > 0)
        add(l, " | RAM:%.0f%% (%.1fGiB)", sample.ram_percent, sample.ram_used_bytes / SPLAT_GIB);
    if (watched && !isnan(sample.cpu_percent)) add(l, " | CPU:%.0f%%", sample.cpu_percent);
    if (watched && sample.spill_bytes >= 64 * SPLAT_MIB)
        add(l, " | VRAM is full: %.1fGiB spilled to RAM", sample.spill_bytes / SPLAT_GIB);
}

bool splat_step_progress_show(splat_step_progress *progress, const splat_step_info *step)
{
    const splat_talk *talk = progress->talk;
    char elapsed[32], eta[32] = "?";
    double now = splat_seconds();
    progress->loss = progress->loss > 0 ? 0.4 * step->loss + 0.6 * progress->loss : step->loss;
    if (!talk || !talk->progress) return true;
    if (!is_due(talk, &progress->last_call, now) && step->iteration != progress->total) return true;
    measure_rate(progress, step->iteration, now);

    status_line l = {.length = 0};
    if (progress->rate > 0) short_duration((progress->total - step->iteration) / progress->rate, eta);
    add(&l, "%d/%d | L:%.*f", step->iteration, progress->total, progress->loss < 0.01 ? 4 : 3, progress->loss);
    add_machine(&l, progress);
    add(&l, " | %.*fit/s | %s | ETA:%s | %zu Gaussians", progress->rate < 100 ? 2 : 0, progress->rate,
        short_duration(now - progress->started, elapsed), eta, step->n_gaussians);
    const splat_talk_progress line = {progress->activity, l.text, (double)step->iteration / progress->total,
                                      step->iteration};
    return talk->progress(talk->user, &line);
}

void splat_step_progress_resume(splat_step_progress *progress, int iteration)
{
    progress->last_measure = splat_seconds();
    progress->last_iteration = iteration;
}

/* ---------------------------------------------------------------- counts */

splat_counter splat_counter_start(const splat_talk *talk, const char *what, size_t total)
{
    return (splat_counter){talk, what, total, splat_seconds()};
}

bool splat_counter_show(splat_counter *counter, const char *stage, double fraction)
{
    char line[256];
    if (splat_talk_stops(counter->talk)) return false;
    if (!is_due(counter->talk, &counter->last_call, splat_seconds())) return true;
    snprintf(line, sizeof line, "%s, %.0f%%", stage, 100 * fraction);
    const splat_talk_progress progress = {counter->what, line, fraction, 0};
    return counter->talk->progress(counter->talk->user, &progress);
}

bool splat_counter_view(void *user, size_t index_in_set, const splat_view_info *view, const float *render,
                        const uint8_t *photo, const splat_metrics *metrics)
{
    splat_counter *counter = user;
    char line[256];
    (void)view;
    (void)render;
    (void)photo;
    (void)metrics;
    if (splat_talk_stops(counter->talk)) return false;
    if (!is_due(counter->talk, &counter->last_call, splat_seconds())) return true;
    snprintf(line, sizeof line, "%zu/%zu", index_in_set + 1, counter->total);
    const splat_talk_progress progress = {counter->what, line, (double)(index_in_set + 1) / (double)counter->total, 0};
    return counter->talk->progress(counter->talk->user, &progress);
}

void splat_masked_words(const splat_metrics *metrics, char *text, size_t size)
{
    snprintf(text, size, " (masked: %.1f %% of the pixels; whole pictures %.2f dB)", 100 * metrics->kept,
             metrics->psnr_whole);
}
