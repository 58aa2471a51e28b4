/* Measuring the training loop as it runs: the same steps, nothing left out. */
#include "bench/bench.h"

#include "base/options.h"
#include "report/monitor/monitor.h"
#include "train/ranks/shards.h"
#include "train/state.h"

#include "base/clock.h"
#include "base/running_mean.h"
#include "bench/times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define COPY_BYTES ((size_t)1 << 30) /* far beyond any cache */
#define COPY_BYTES_HOST ((size_t)1 << 28)
#define COPY_REPEATS 5
#define WATCH_PERIOD_S 0.25 /* a look takes under a millisecond of another thread */
#define CONVERGENCE_STEPS 30000

/* ---------------------------------------------------------------- the machine meanwhile */

/* Sums over the monitor's samples. */
typedef struct watch {
    splat_monitor *monitor;
    uint64_t last_number;
    splat_bench_gpu gpu;
    size_t n_clock, n_memory_clock, n_power, n_compute; /* samples that knew the figure */
    double process_bytes, host_bytes;
} watch;

static void add_known(double *sum, size_t *n, double value)
{
    if (!isfinite(value)) return;
    *sum += value;
    (*n)++;
}

/* fmax and fmin pass over NaN. */
static void look(watch *w)
{
    splat_monitor_sample sample;
    if (!w->monitor) return;
    splat_monitor_get_latest(w->monitor, &sample);
    if (sample.number == w->last_number) return;
    w->last_number = sample.number;
    w->host_bytes = fmax(w->host_bytes, sample.process_rss_bytes);
    w->process_bytes = fmax(w->process_bytes, sample.gpu.process_bytes);
    splat_bench_gpu *gpu = &w->gpu;
    const splat_gpu_sample *now = &sample.gpu;
    if (!now->present) return;
    gpu->present = true;
    memcpy(gpu->name, now->name, sizeof gpu->name);
    gpu->n_samples++;
    gpu->clock_sm_min_mhz = fmin(gpu->clock_sm_min_mhz, now->clock_sm_mhz);
    gpu->clock_sm_max_mhz = fmax(gpu->clock_sm_max_mhz, now->clock_sm_mhz);
    gpu->temperature_max_c = fmax(gpu->temperature_max_c, now->temperature_c);
    add_known(&gpu->clock_sm_mean_mhz, &w->n_clock, now->clock_sm_mhz);
    add_known(&gpu->clock_memory_mean_mhz, &w->n_memory_clock, now->clock_memory_mhz);
    add_known(&gpu->power_mean_w, &w->n_power, now->power_w);
    add_known(&gpu->compute_mean_percent, &w->n_compute, now->compute_percent);
    gpu->throttled_hw += now->throttle_hw_slowdown > 0;
    gpu->throttled_power += now->throttle_power_cap > 0;
    gpu->throttled_thermal += now->throttle_thermal > 0;
}

/* Forgets the GPU's figures; memory counts from the start. */
static void forget_gpu(watch *w)
{
    memset(&w->gpu, 0, sizeof w->gpu);
    w->gpu.clock_sm_min_mhz = w->gpu.clock_sm_max_mhz = w->gpu.temperature_max_c = (double)NAN;
    w->n_clock = w->n_memory_clock = w->n_power = w->n_compute = 0;
}

static splat_status watch_begin(watch *w, const splat_trainer *t, splat_error *error)
{
    splat_monitor_options options;
    splat_monitor_options_init(&options);
    options.period_s = WATCH_PERIOD_S;
    options.gpu = t->backend->pci_bus_id;
    w->last_number = 0;
    return splat_monitor_create(&options, &w->monitor, error);
}

static void watch_stop(watch *w)
{
    look(w);
    splat_monitor_destroy(w->monitor);
    w->monitor = NULL;
}

/* Takes the final figures from a new monitor's first sample, because the last sample of the old one may be a period
 * old. */
static splat_status watch_end(watch *w, const splat_trainer *t, splat_error *error)
{
    watch_stop(w);
    SPLAT_TRY(watch_begin(w, t, error));
    watch_stop(w);
    splat_bench_gpu *gpu = &w->gpu;
    gpu->clock_sm_mean_mhz /= (double)w->n_clock; /* 0 / 0: NaN, not known */
    gpu->clock_memory_mean_mhz /= (double)w->n_memory_clock;
    gpu->power_mean_w /= (double)w->n_power;
    gpu->compute_mean_percent /= (double)w->n_compute;
    gpu->throttled_hw /= (double)gpu->n_samples;
    gpu->throttled_power /= (double)gpu->n_samples;
    gpu->throttled_thermal /= (double)gpu->n_samples;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- memory of a phase */

static void end_phase(splat_backend *b, double process_bytes, splat_bench_memory *memory)
{
    const splat_memory_count *device = &b->memory.device;
    *memory = (splat_bench_memory){.allocated_bytes = device->bytes,
                                   .named_bytes = device->reserved,
                                   .peak_bytes = device->phase_peak,
                                   .overhead_bytes = splat_backend_overhead(b),
                                   .process_bytes = process_bytes};
}

/* ---------------------------------------------------------------- the loop */

static splat_view_job test_views(splat_lpips *lpips)
{
    splat_view_job job;
    splat_view_job_init(&job);
    job.quantize = true;
    job.lpips = lpips;
    return job;
}

static bool is_test_iteration(const splat_bench_options *options, int iteration)
{
    for (size_t i = 0; i < options->n_test_iterations; i++)
        if (options->test_iterations[i] == iteration) return true;
    return false;
}

/* The quality on the way, whose time and memory do not count. */
static splat_status evaluate_between(splat_trainer *t, const splat_bench_options *options, splat_bench_result *result,
                                     splat_error *error)
{
    const splat_view_job job = test_views(options->lpips);
    size_t peak = t->backend->memory.device.phase_peak;
    splat_bench_evaluation *e = &result->evaluations[result->n_evaluations];
    if (t->scene->dataset.n_test == 0 || result->n_evaluations == options->n_test_iterations) return SPLAT_OK;
    e->iteration = t->iteration;
    splat_status status = splat_trainer_evaluate(t, &job, &e->quality, error);
    t->backend->memory.device.phase_peak = peak;
    if (status == SPLAT_OK) result->n_evaluations++;
    return status;
}

/* Step times end where the next begin. A device trails the host by up to a step at both ends of the measurement, so the
 * sum is that of n whole steps without waiting anywhere. */
static splat_status measure(splat_trainer *t, const splat_bench_options *options, watch *w,
                            splat_bench_result *result, splat_error *error)
{
    splat_step_info info;
    splat_running_mean loss = {0};
    int n = options->iterations;
    double last = splat_clock_seconds();
    splat_step_info_init(&info);
    for (int i = 0; i < n; i++) {
        SPLAT_TRY(splat_trainer_step(t, &info, error));
        double now = splat_clock_seconds();
        result->step_ms[i] = 1e3 * (now - last);
        last = now;
        result->n_visible += (double)info.n_visible / n;
        result->n_instances += (double)info.n_instances / n;
        result->views_a_step += (double)info.n_views / n;
        if (info.loss > 0) splat_running_mean_add(&loss, (double)info.loss); /* none came with the first step */
        look(w);
        if (i + 1 == n || !is_test_iteration(options, t->iteration)) continue; /* the last one is measured later */
        SPLAT_TRY(evaluate_between(t, options, result, error));
        last = splat_clock_seconds();
    }
    result->loss = splat_running_mean_take(&loss);
    return SPLAT_OK;
}

static splat_status warm_up(splat_trainer *t, const splat_bench_options *options, watch *w, splat_bench_result *result,
                            splat_error *error)
{
    for (int i = 0; i < options->warmup; i++) {
        SPLAT_TRY(splat_trainer_step(t, NULL, error));
        look(w);
        if (is_test_iteration(options, t->iteration)) SPLAT_TRY(evaluate_between(t, options, result, error));
    }
    return SPLAT_OK;
}

/* Takes the figures of the ranks. */
static splat_status take_ranks(splat_trainer *t, splat_bench_result *result, splat_error *error)
{
    size_t n;
    result->ranks = calloc(SPLAT_MAX_RANKS, sizeof *result->ranks);
    if (!result->ranks) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for what ranks did");
    SPLAT_TRY(splat_trainer_get_ranks(t, result->ranks, SPLAT_MAX_RANKS, &n, error));
    result->n_ranks = n;
    return SPLAT_OK;
}

static splat_status take_rank_stages(splat_trainer *t, splat_bench_result *result, splat_error *error)
{
    size_t n;
    splat_rank_info *ranks = calloc(result->n_ranks, sizeof *ranks);
    if (!ranks) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for what ranks did");
    splat_status status = splat_trainer_get_ranks(t, ranks, result->n_ranks, &n, error);
    for (size_t r = 0; r < result->n_ranks && status == SPLAT_OK; r++) result->ranks[r].stages = ranks[r].stages;
    free(ranks);
    return status;
}

static splat_status train(splat_trainer *t, const splat_bench_options *options, splat_bench_result *result,
                          splat_error *error)
{
    watch w = {.process_bytes = (double)NAN, .host_bytes = (double)NAN};
    SPLAT_TRY(watch_begin(&w, t, error));
    splat_status status = warm_up(t, options, &w, result, error);
    forget_gpu(&w);
    result->first_iteration = t->iteration + 1;
    result->warmup = options->warmup;
    result->n_gaussians_first = splat_shards_count(t);
    if (status == SPLAT_OK) status = measure(t, options, &w, result, error);
    if (status != SPLAT_OK) {
        watch_stop(&w);
        return status;
    }
    SPLAT_TRY(watch_end(&w, t, error));
    SPLAT_TRY(splat_backend_synchronize(t->backend, error));
    struct rusage usage;
    SPLAT_TRY(take_ranks(t, result, error));
    result->n_gaussians_last = splat_shards_count(t);
    SPLAT_TRY(splat_trainer_get_mean_opacity(t, &result->mean_opacity, error));
    result->gpu = w.gpu;
    result->host_bytes = w.host_bytes;
    /* The kernel's peak is kept roughly and may lie a little below what was seen. */
    result->host_peak_bytes = w.host_bytes;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        result->host_peak_bytes = fmax(w.host_bytes, 1024.0 * (double)usage.ru_maxrss);
    result->training.process_bytes = w.process_bytes;
    SPLAT_TRY(splat_bench_times_compute(result->step_ms, (size_t)options->iterations, &result->step, error));
    result->seconds = 1e-3 * result->step.mean * options->iterations;
    result->iterations_per_second = 1e3 / result->step.mean;
    result->seconds_to_30k = 1e-3 * result->step.mean / result->views_a_step * CONVERGENCE_STEPS;
    return SPLAT_OK;
}

static splat_status evaluate(splat_trainer *t, splat_lpips *lpips, splat_bench_result *result, splat_error *error)
{
    const splat_view_job job = test_views(lpips);
    watch w = {.process_bytes = (double)NAN, .host_bytes = (double)NAN};
    double begin = splat_clock_seconds();
    SPLAT_TRY(splat_trainer_evaluate(t, &job, &result->quality, error));
    result->evaluation_seconds = splat_clock_seconds() - begin;
    SPLAT_TRY(watch_end(&w, t, error)); /* nothing is given back before */
    result->evaluation.process_bytes = w.process_bytes;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- stages and their limits */

/* Best of a few copies; the bandwidth that bounds every memory-bound stage. */
static splat_status measure_copy(splat_backend *b, double *gb_per_s, splat_error *error)
{
    splat_block from = {0}, to = {0};
    size_t bytes = b->device_bytes ? COPY_BYTES : COPY_BYTES_HOST;
    splat_status status = splat_block_resize(b, &from, "copy source", SPLAT_OWNER_OTHER, bytes, error);
    if (status == SPLAT_OK) status = splat_block_resize(b, &to, "copy target", SPLAT_OWNER_OTHER, bytes, error);
    bool no_room = status == SPLAT_ERROR_MEMORY; /* a full card, or a memory limit: no reason to lose the rest */
    *gb_per_s = 0;
    for (int i = 0; i < COPY_REPEATS && status == SPLAT_OK; i++) {
        double ms = 0;
        status = splat_backend_stamp(b, 0, error);
        if (status == SPLAT_OK) status = splat_backend_copy(b, to.data, from.data, bytes, error);
        if (status == SPLAT_OK) status = splat_backend_stamp(b, 1, error);
        if (status == SPLAT_OK) status = splat_backend_stamp_ms(b, 0, 1, &ms, error);
        *gb_per_s = fmax(*gb_per_s, ms > 0 ? 2e-6 * (double)bytes / ms : 0);
    }
    splat_block_free(b, &from);
    splat_block_free(b, &to);
    return no_room ? SPLAT_OK : status;
}

/* Bytes that must move once over the measured copy bandwidth; docs/lab/README.md has the table. */
static void name_stages(const splat_trainer *t, const splat_stage_times *sums, splat_bench_result *result)
{
    int width, height;
    splat_scene_largest_view(t->scene, &width, &height);
    double steps = sums->steps ? sums->steps : 1;
    const double n_ranks = result->n_ranks ? (double)result->n_ranks : 1;
    double n = (double)result->n_gaussians_last / n_ranks, visible = result->n_visible, pairs = result->n_instances;
    double pixels = (double)width * height;
    double rest = 3.0 * ((t->options.sh_degree + 1) * (t->options.sh_degree + 1) - 1), parameters = 14 + rest;
    const splat_bench_stage all[SPLAT_BENCH_STAGES] = { /* limit_ms in bytes here */
        {"photo", sums->data, 0},
        {"project", sums->project, n * 4 * 12 + visible * 4 * (3 + rest + 14)},
        {"send", sums->send, 0},
        {"bin", sums->bin, visible * 4 * 8 * 2 + pairs * 6 * 4},
        {"raster", sums->raster, pairs * 40 + pixels * 20},
        {"loss", sums->loss, pixels * (12 + 3 + 12 + 2 * 36)},
        {"raster backward", sums->raster_backward, pairs * 40 + pixels * 20 + visible * 80},
        {"send back", sums->send_back, 0},
        {"project backward + Adam", sums->project_backward, n * parameters * 4 * 6 + visible * 60},
    };
    result->n_stages = 0;
    for (size_t i = 0; i < SPLAT_BENCH_STAGES; i++) /* one rank sends nothing */
        if (all[i].limit_ms > 0 || all[i].ms > 0 || i == 0) result->stages[result->n_stages++] = all[i];
    for (size_t i = 0; i < result->n_stages; i++) {
        splat_bench_stage *stage = &result->stages[i];
        stage->ms /= steps;
        stage->limit_ms = result->copy_gb_per_s > 0 ? 1e-6 * stage->limit_ms / result->copy_gb_per_s : 0;
    }
}

static splat_status measure_stages(splat_trainer *t, int n, splat_stage_times *sums, splat_error *error)
{
    splat_trainer_measure_stages(t, true);
    splat_status status = SPLAT_OK;
    for (int i = 0; i < n && status == SPLAT_OK; i++) status = splat_trainer_step(t, NULL, error);
    splat_trainer_take_stage_times(t, sums);
    splat_trainer_measure_stages(t, false);
    if (status == SPLAT_OK) status = splat_backend_synchronize(t->backend, error);
    return status;
}

/* ---------------------------------------------------------------- all of it */

void splat_bench_options_init_sized(splat_bench_options *options, size_t size)
{
    const splat_bench_options defaults = {.warmup = 50, .iterations = 200, .stages = true};
    splat_options_give(options, size, &defaults, sizeof defaults);
}

splat_status splat_trainer_bench(splat_trainer *t, const splat_bench_options *options, splat_bench_result *result,
                                 splat_error *error)
{
    memset(result, 0, sizeof *result);
    splat_bench_options own;
    splat_bench_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, options, "splat_bench_options", error));
    options = &own;
    if (options->iterations < 1 || options->warmup < 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "a benchmark needs at least one iteration and no negative warm-up");
    result->step_ms = malloc((size_t)options->iterations * sizeof *result->step_ms);
    result->evaluations = calloc(options->n_test_iterations + 1, sizeof *result->evaluations);
    if (!result->step_ms || !result->evaluations)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %d times", options->iterations);
    splat_stage_times sums = {0};
    splat_memory_begin_phase(&t->backend->memory);
    splat_status status = train(t, options, result, error);
    end_phase(t->backend, result->training.process_bytes, &result->training);
    SPLAT_TRY(status);
    if (t->scene->dataset.n_test > 0) {
        splat_memory_begin_phase(&t->backend->memory);
        status = evaluate(t, options->lpips, result, error);
        end_phase(t->backend, result->evaluation.process_bytes, &result->evaluation);
        SPLAT_TRY(status);
    }
    int n_staged = options->iterations < SPLAT_BENCH_STAGE_STEPS ? options->iterations : SPLAT_BENCH_STAGE_STEPS;
    if (options->stages) SPLAT_TRY(measure_stages(t, n_staged, &sums, error));
    if (options->stages && result->n_ranks) SPLAT_TRY(take_rank_stages(t, result, error));
    size_t before = t->backend->memory.device.peak_reserved; /* the copy is not part of the training */
    status = measure_copy(t->backend, &result->copy_gb_per_s, error);
    t->backend->memory.device.peak_reserved = before;
    if (status == SPLAT_OK && options->stages) name_stages(t, &sums, result);
    return status;
}

void splat_bench_result_free(splat_bench_result *result)
{
    free(result->step_ms);
    free(result->evaluations);
    free(result->ranks);
    result->ranks = NULL;
    result->step_ms = NULL;
    result->evaluations = NULL;
}
