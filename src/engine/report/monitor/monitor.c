/* The monitor: a thread of its own looks at GPU and host once a period; others read its latest sample. */
#include "report/monitor/monitor.h"
#include "report/monitor/monitor_csv.h"

#include "backend/nvml.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/options.h"
#include "report/monitor/host_stats.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Above this part memory counts as full: the driver keeps some for itself, and fragments fit no allocation. */
#define FULL_PART 0.97

struct splat_monitor {
    /* set before the thread starts */
    int pid; /* -1: none */
    double period, created;
    char *proc_root, *csv_path;
    splat_log_function log;
    void *log_user;
    splat_nvml *nvml; /* NULL: the host only */
    pthread_t thread;
    bool has_thread, has_lock;
    /* the thread's */
    FILE *csv;
    splat_host_counters counters;
    double counters_time, first_held, held_when_full;
    bool was_full;
    /* under the lock */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopping, csv_failed;
    splat_error csv_error;
    splat_monitor_sample latest;
};

static const splat_gpu_sample no_gpu = {
    .memory_used_bytes = NAN, .memory_total_bytes = NAN, .process_bytes = NAN, .compute_percent = NAN,
    .memory_percent = NAN, .power_w = NAN, .power_limit_w = NAN, .power_percent = NAN, .temperature_c = NAN,
    .fan_percent = NAN, .clock_graphics_mhz = NAN, .clock_sm_mhz = NAN, .clock_memory_mhz = NAN, .pstate = NAN,
    .throttle_hw_slowdown = NAN, .throttle_power_cap = NAN, .throttle_thermal = NAN, .pcie_generation = NAN,
    .pcie_width = NAN};

void splat_monitor_options_init_sized(splat_monitor_options *options, size_t size)
{
    const splat_monitor_options defaults = {.period_s = 1};
    splat_options_give(options, size, &defaults, sizeof defaults);
}

/* ---------------------------------------------------------------- a sample */

static void sample_gpu(const splat_monitor *monitor, splat_gpu_sample *gpu)
{
    uint64_t bytes;
    *gpu = no_gpu;
    if (!monitor->nvml) return;
    splat_nvml_sample(monitor->nvml, gpu);
    if (monitor->pid >= 0 && splat_nvml_process_bytes(monitor->nvml, monitor->pid, &bytes))
        gpu->process_bytes = (double)bytes;
}

/* Memory and swap that the process holds; not its virtual size, which address ranges reserved for the GPU dominate. */
static double held_bytes(const splat_monitor_sample *sample)
{
    return sample->process_rss_bytes + sample->process_swap_bytes;
}

static void note_growth(splat_monitor *monitor, const splat_monitor_sample *before, splat_monitor_sample *sample)
{
    double held = held_bytes(sample);
    bool known = sample->gpu.memory_total_bytes > 0 && isfinite(held);
    bool full = known && sample->gpu.memory_used_bytes >= FULL_PART * sample->gpu.memory_total_bytes;
    if (sample->number == 1) monitor->first_held = held;
    if (full && !monitor->was_full) monitor->held_when_full = held;
    monitor->was_full = full;
    sample->process_growth_bytes = held - monitor->first_held;
    sample->process_virtual_delta_bytes = sample->process_virtual_bytes - before->process_virtual_bytes;
    sample->spill_bytes = !known ? NAN : full ? fmax(0, held - monitor->held_when_full) : 0;
}

/* Nobody else writes `latest`, so the thread reads the sample before without the lock. */
static void take_sample(splat_monitor *monitor, splat_monitor_sample *sample)
{
    const splat_monitor_sample *before = &monitor->latest;
    bool first = before->number == 0;
    splat_host_counters now;
    struct timespec wall;
    memset(sample, 0, sizeof *sample);
    clock_gettime(CLOCK_REALTIME, &wall);
    sample->wall_time = (double)wall.tv_sec + 1e-9 * (double)wall.tv_nsec;
    double time_now = splat_clock_seconds();
    splat_host_read(monitor->proc_root, monitor->pid, &now);
    sample->number = before->number + 1;
    sample->seconds = time_now - monitor->created;
    sample->process_alive =
        now.process_found && (first || now.process_start == monitor->counters.process_start);
    splat_host_sample(first ? NULL : &monitor->counters, &now, time_now - monitor->counters_time, sample);
    sample_gpu(monitor, &sample->gpu);
    note_growth(monitor, first ? sample : before, sample);
    monitor->counters = now;
    monitor->counters_time = time_now;
}

static void publish(splat_monitor *monitor, const splat_monitor_sample *sample)
{
    splat_error error;
    bool failed =
        monitor->csv && splat_monitor_csv_write(monitor->csv, monitor->csv_path, sample, &error) != SPLAT_OK;
    if (failed) {
        fclose(monitor->csv);
        monitor->csv = NULL;
    }
    pthread_mutex_lock(&monitor->lock);
    monitor->latest = *sample;
    if (failed) monitor->csv_error = error;
    if (failed) monitor->csv_failed = true;
    pthread_mutex_unlock(&monitor->lock);
}

/* ---------------------------------------------------------------- the thread */

/* Sleeps until a moment of the clock that never goes back. False: the monitor is to stop. */
static bool sleep_until(splat_monitor *monitor, double moment)
{
    struct timespec until;
    until.tv_sec = (time_t)moment;
    until.tv_nsec = (long)((moment - floor(moment)) * 1e9);
    pthread_mutex_lock(&monitor->lock);
    while (!monitor->stopping && splat_clock_seconds() < moment)
        pthread_cond_timedwait(&monitor->wake, &monitor->lock, &until);
    bool go_on = !monitor->stopping;
    pthread_mutex_unlock(&monitor->lock);
    return go_on;
}

static void *watch(void *argument)
{
    splat_monitor *monitor = argument;
    splat_monitor_sample sample;
    double next = monitor->created + monitor->period;
    while (sleep_until(monitor, next)) {
        take_sample(monitor, &sample);
        if (monitor->pid >= 0 && !sample.process_alive) { /* the end: its figures are those of nobody */
            pthread_mutex_lock(&monitor->lock);
            monitor->latest.process_alive = false;
            pthread_mutex_unlock(&monitor->lock);
            break;
        }
        publish(monitor, &sample);
        double now = splat_clock_seconds(); /* a machine that slept is not sampled for every period it missed */
        next += monitor->period * fmax(1, ceil((now - next) / monitor->period));
    }
    return NULL;
}

/* Signals are the business of the threads that the program knows of. */
static splat_status start_thread(splat_monitor *monitor, splat_error *error)
{
    sigset_t all, kept;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &kept);
    monitor->has_thread = pthread_create(&monitor->thread, NULL, watch, monitor) == 0;
    pthread_sigmask(SIG_SETMASK, &kept, NULL);
    return monitor->has_thread ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no thread for the monitor");
}

/* ---------------------------------------------------------------- the handle */

static bool make_lock(splat_monitor *monitor)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) return false;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&monitor->lock, NULL);
    pthread_cond_init(&monitor->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    return true;
}

static void open_gpu(splat_monitor *monitor, const char *gpu)
{
    splat_error error;
    char line[sizeof error.message + 64];
    if (gpu && !gpu[0]) return;
    if (splat_nvml_open(gpu, &monitor->nvml, &error) == SPLAT_OK || !monitor->log) return;
    snprintf(line, sizeof line, "only the host is watched, no GPU: %s", error.message);
    monitor->log(monitor->log_user, SPLAT_LOG_NOTICE, line);
}

static splat_status open_monitor(splat_monitor *monitor, const splat_monitor_options *options, splat_error *error)
{
    splat_monitor_sample sample;
    const char *proc_root = options->proc_root ? options->proc_root : "/proc";
    monitor->pid = options->pid == 0 ? (int)getpid() : options->pid;
    monitor->period = options->period_s;
    monitor->created = splat_clock_seconds();
    monitor->log = options->log;
    monitor->log_user = options->log_user;
    monitor->proc_root = splat_format("%s", proc_root);
    monitor->csv_path = splat_format("%s", options->csv_path ? options->csv_path : "");
    monitor->has_lock = make_lock(monitor);
    if (!monitor->proc_root || !monitor->csv_path || !monitor->has_lock)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a monitor");
    splat_host_read(monitor->proc_root, monitor->pid, &monitor->counters);
    if (monitor->pid >= 0 && monitor->counters.no_memory)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to read of process %d in %s", monitor->pid, proc_root);
    if (monitor->pid >= 0 && !monitor->counters.process_found)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "there is no process %d to watch (not in %s)", monitor->pid,
                          monitor->proc_root);
    if (options->csv_path) SPLAT_TRY(splat_monitor_csv_open(options->csv_path, &monitor->csv, error));
    open_gpu(monitor, options->gpu);
    take_sample(monitor, &sample);
    publish(monitor, &sample);
    return start_thread(monitor, error);
}

splat_status splat_monitor_create(const splat_monitor_options *options, splat_monitor **result, splat_error *error)
{
    *result = NULL;
    splat_monitor_options own;
    splat_monitor_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, options, "splat_monitor_options", error));
    options = &own;
    if (!(options->period_s >= 0.01 && options->period_s <= 86400))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the monitor's period must be 0.01 to 86400 seconds, not %g",
                          options->period_s);
    if (options->pid < -1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "there is no process %d to watch", options->pid);
    splat_monitor *monitor = calloc(1, sizeof *monitor);
    if (!monitor) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a monitor");
    splat_status status = open_monitor(monitor, options, error);
    if (status != SPLAT_OK) {
        splat_monitor_destroy(monitor);
        return status;
    }
    *result = monitor;
    return SPLAT_OK;
}

/* Once, on a thread of the caller's. */
static void report_csv(splat_monitor *monitor)
{
    char text[sizeof monitor->csv_error.file + sizeof monitor->csv_error.message + 64], line[sizeof text + 64];
    pthread_mutex_lock(&monitor->lock);
    bool due = monitor->csv_failed;
    splat_error error = monitor->csv_error;
    monitor->csv_failed = false;
    pthread_mutex_unlock(&monitor->lock);
    if (!due || !monitor->log) return;
    snprintf(line, sizeof line, "no more rows of the monitor are written: %s",
             splat_error_format(&error, text, sizeof text));
    monitor->log(monitor->log_user, SPLAT_LOG_WARNING, line);
}

void splat_monitor_get_latest(splat_monitor *monitor, splat_monitor_sample *sample)
{
    pthread_mutex_lock(&monitor->lock);
    *sample = monitor->latest;
    bool failed = monitor->csv_failed;
    pthread_mutex_unlock(&monitor->lock);
    if (failed) report_csv(monitor);
}

void splat_monitor_destroy(splat_monitor *monitor)
{
    if (!monitor) return;
    if (monitor->has_thread) {
        pthread_mutex_lock(&monitor->lock);
        monitor->stopping = true;
        pthread_cond_signal(&monitor->wake);
        pthread_mutex_unlock(&monitor->lock);
        pthread_join(monitor->thread, NULL);
        report_csv(monitor);
    }
    if (monitor->csv) fclose(monitor->csv);
    if (monitor->has_lock) {
        pthread_cond_destroy(&monitor->wake);
        pthread_mutex_destroy(&monitor->lock);
    }
    splat_nvml_close(monitor->nvml);
    free(monitor->proc_root);
    free(monitor->csv_path);
    free(monitor);
}
