/* A benchmark's result as a file for programs, and two pictures of it. docs/files.md has the keys. */
#include "bench/json.h"
#include "run/checkpoint/options.h"

#include "bench/record.h"

#include "base/file.h"
#include "io/json.h"
#include "io/svg/svg_chart.h"
#include "report/environment.h"
#include "train/state.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An object in the making. A failure (no memory, text that is no UTF-8) is noted, and reported once at the end. */
typedef struct object {
    json_t *json;
    bool *failed; /* shared by all objects of a file */
} object;

/* Takes the value over; NULL is a failure. */
static void put(object o, const char *key, json_t *value)
{
    if (json_object_set_new(o.json, key, value) != 0) *o.failed = true;
}

/* JSON has no NaN and no infinity: null. */
static void put_real(object o, const char *key, double value)
{
    put(o, key, isfinite(value) ? json_real(value) : json_null());
}

static void put_count(object o, const char *key, size_t value)
{
    put(o, key, json_integer((json_int_t)value));
}

static void put_text(object o, const char *key, const char *text)
{
    put(o, key, splat_json_text(text));
}

static object put_object(object o, const char *key)
{
    json_t *value = json_object();
    put(o, key, value);
    return (object){value, o.failed}; /* borrowed; NULL takes no values and fails again */
}

/* ---------------------------------------------------------------- parts that every mode has */

/* The last part of a path, which stays when a scene lies elsewhere on another machine. */
static void put_name(object o, const char *path)
{
    char *copy = splat_format("%s", path);
    size_t length = copy ? strlen(copy) : 0;
    while (length > 1 && copy[length - 1] == '/') copy[--length] = '\0';
    if (copy)
        put_text(o, "name", splat_basename(copy));
    else
        *o.failed = true;
    free(copy);
}

static void put_version(object o, const char *key, int version)
{
    char text[32];
    if (!version) return;
    snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
    put_text(o, key, text);
}

static void put_header(object root, const splat_context *context, const splat_scene *scene, const char *mode,
                       const splat_bench_note *note)
{
    splat_environment e;
    splat_environment_read(context, &e);
    put_text(root, "schema", SPLAT_BENCH_SCHEMA);
    put_text(root, "mode", mode);
    object o = put_object(root, "environment");
    put_text(o, "splatsmith", splat_version());
    put_text(o, "date", e.date);
    if (note && note->command) put_text(o, "command", note->command);
    if (note && note->label) put_text(o, "label", note->label);
    if (note && note->notes) put_text(o, "notes", note->notes);
    put_text(o, "host", e.host);
    put_text(o, "system", e.system);
    put_text(o, "processor", e.processor);
    put_count(o, "cpus", (size_t)e.n_cpus);
    put_count(o, "threads", (size_t)context->threads);
    put_text(o, "backend", splat_backend_name(context->backend));
    put_text(o, "device", context->backend->description);
    put(o, "deterministic", json_boolean(context->backend->deterministic));
    if (e.gpu[0]) {
        put_text(o, "gpu", e.gpu);
        put_count(o, "gpu_bytes", e.gpu_bytes);
        put_version(o, "cuda_driver", e.driver_version);
        put_version(o, "cuda_runtime", e.runtime_version);
    }
    int width, height;
    splat_scene_largest_view(scene, &width, &height);
    o = put_object(root, "scene");
    put_text(o, "path", scene->options.source_path);
    put_name(o, scene->options.source_path);
    put_text(o, "format", scene->dataset.format);
    put_count(o, "train_views", scene->dataset.n_train);
    put_count(o, "test_views", scene->dataset.n_test);
    put_count(o, "width", (size_t)width);
    put_count(o, "height", (size_t)height);
}

static void put_times(object o, const splat_bench_times *t)
{
    put_real(o, "ms_mean", t->mean);
    put_real(o, "ms_mean_low", t->mean_low);
    put_real(o, "ms_mean_high", t->mean_high);
    put_count(o, "batches", (size_t)t->n_batches);
    put_real(o, "ms_median", t->median);
    put_real(o, "ms_min", t->min);
    put_real(o, "ms_max", t->max);
    put_real(o, "ms_p95", t->p95);
    put_real(o, "ms_p99", t->p99);
    put_real(o, "ms_standard_deviation", t->standard_deviation);
}

static splat_status save(json_t *root, bool failed, const char *path, splat_error *error)
{
    char *text = failed ? NULL : splat_json_print(root, JSON_INDENT(1) | JSON_REAL_PRECISION(10));
    splat_status status = text ? splat_file_write(path, text, strlen(text), error)
                               : splat_fail_at(error, SPLAT_ERROR_MEMORY, path, SPLAT_NO_OFFSET,
                                               "no memory for the benchmark's result");
    free(text);
    return status;
}

/* A path that ends in .json is the file; any other is a folder, which receives `name`. The caller frees *file. */
static splat_status file_of(const char *path, const char *name, char **file, splat_error *error)
{
    bool is_file = splat_bench_is_json(path);
    *file = NULL;
    if (!is_file) SPLAT_TRY(splat_folder_create(path, error));
    *file = is_file ? splat_format("%s", path) : splat_format("%s/%s", path, name);
    return *file ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
}

splat_status splat_bench_check_output(const char *path, splat_error *error)
{
    char *file;
    SPLAT_TRY(file_of(path, "benchmark_results.json", &file, error));
    splat_status status = splat_save_check(file, error);
    free(file);
    return status;
}

/* ---------------------------------------------------------------- training */

static void put_block(void *user, const char *owner, const char *name, size_t bytes)
{
    json_t *array = *(json_t **)user, *row = json_pack("[s,s,I]", owner, name, (json_int_t)bytes);
    if (json_array_append_new(array, row) != 0) *(json_t **)user = NULL;
}

static void put_memory(object o, const char *key, const splat_bench_memory *m)
{
    object phase = put_object(o, key);
    put_count(phase, "allocated_bytes", m->allocated_bytes);
    put_count(phase, "named_bytes", m->named_bytes);
    put_count(phase, "peak_bytes", m->peak_bytes);
    put_count(phase, "overhead_bytes", m->overhead_bytes);
    put_real(phase, "process_bytes", m->process_bytes);
}

static void put_memories(object root, const splat_context *context, const splat_bench_result *r)
{
    object memory = put_object(root, "memory");
    put_memory(memory, "training", &r->training);
    if (r->quality.n_views) put_memory(memory, "evaluation", &r->evaluation);
    object host = put_object(memory, "host");
    put_real(host, "rss_bytes", r->host_bytes);
    put_real(host, "peak_rss_bytes", r->host_peak_bytes);
    json_t *blocks = json_array(), *filled = blocks;
    splat_context_visit_memory_blocks(context, put_block, &filled);
    if (!filled) *memory.failed = true;
    put(memory, "blocks", blocks);
}

static void put_gpu(object root, const splat_bench_gpu *gpu)
{
    if (!gpu->present) return;
    object o = put_object(root, "gpu");
    put_text(o, "name", gpu->name);
    put_count(o, "samples", gpu->n_samples);
    put_real(o, "clock_sm_min_mhz", gpu->clock_sm_min_mhz);
    put_real(o, "clock_sm_mean_mhz", gpu->clock_sm_mean_mhz);
    put_real(o, "clock_sm_max_mhz", gpu->clock_sm_max_mhz);
    put_real(o, "clock_memory_mean_mhz", gpu->clock_memory_mean_mhz);
    put_real(o, "temperature_max_c", gpu->temperature_max_c);
    put_real(o, "power_mean_w", gpu->power_mean_w);
    put_real(o, "compute_mean_percent", gpu->compute_mean_percent);
    put_real(o, "throttled_hw", gpu->throttled_hw);
    put_real(o, "throttled_power", gpu->throttled_power);
    put_real(o, "throttled_thermal", gpu->throttled_thermal);
}

static void put_metrics(object o, const splat_metrics *m)
{
    put_real(o, "PSNR", m->psnr);
    put_real(o, "PSNR_per_channel", m->psnr_per_channel);
    put_real(o, "SSIM", m->ssim);
    put_real(o, "L1", m->l1);
    put_real(o, "LPIPS", m->lpips_net ? m->lpips : (double)NAN);
    if (m->lpips_net) put_text(o, "lpips_net", m->lpips_net);
}

static void put_quality(object root, const splat_bench_result *r)
{
    if (!r->quality.n_views) return;
    object o = put_object(root, "quality");
    put_count(o, "views", r->quality.n_views);
    put_count(o, "iteration", (size_t)r->first_iteration + r->step.n - 1);
    put_real(o, "seconds", r->evaluation_seconds);
    put_metrics(o, &r->quality);
    if (!r->n_evaluations) return;
    json_t *list = json_array();
    for (size_t i = 0; i < r->n_evaluations; i++) {
        object e = {json_object(), root.failed};
        put_count(e, "iteration", (size_t)r->evaluations[i].iteration);
        put_metrics(e, &r->evaluations[i].quality);
        if (json_array_append_new(list, e.json) != 0) *root.failed = true;
    }
    put(root, "evaluations", list);
}

static void put_rank_stages(object rank, const splat_stage_times *sums)
{
    const struct {
        const char *name;
        double ms;
    } stages[] = {{"photo", sums->data},
                  {"project", sums->project},
                  {"send", sums->send},
                  {"bin", sums->bin},
                  {"raster", sums->raster},
                  {"loss", sums->loss},
                  {"raster backward", sums->raster_backward},
                  {"send back", sums->send_back},
                  {"project backward + Adam", sums->project_backward}};
    object o = put_object(rank, "stages_ms");
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
        put_real(o, stages[i].name, stages[i].ms / (sums->steps ? sums->steps : 1));
}

static void put_rank_memory(object rank, const splat_rank_memory *m)
{
    object o = put_object(rank, "memory");
    put_count(o, "parameters_bytes", m->parameters);
    put_count(o, "optimizer_bytes", m->optimizer);
    put_count(o, "statistics_bytes", m->statistics);
    put_count(o, "activations_bytes", m->activations);
    put_count(o, "buffers_bytes", m->buffers);
    put_count(o, "images_bytes", m->images);
    put_count(o, "other_bytes", m->other);
}

/* Writes the figures of the ranks; without ranks an empty list. */
static void put_ranks(object root, const splat_bench_result *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->n_ranks; i++) {
        const splat_rank_info *rank = &r->ranks[i];
        object o = {json_object(), root.failed};
        put_count(o, "peak_bytes", rank->peak_bytes);
        put_real(o, "visible", rank->n_visible);
        put_real(o, "instances", rank->n_instances);
        put_real(o, "exchange_ms", rank->exchange_ms);
        put_real(o, "sent_bytes", rank->sent_bytes);
        put_rank_stages(o, &rank->stages);
        put_rank_memory(o, &rank->memory);
        if (json_array_append_new(list, o.json) != 0) *root.failed = true;
    }
    put(root, "ranks", list);
}

static void put_result(object root, const splat_trainer *t, const splat_bench_result *r)
{
    put(root, "options", splat_train_options_json(t));
    object o = put_object(root, "measurement");
    put_count(o, "first_iteration", (size_t)r->first_iteration);
    put_count(o, "iterations", r->step.n);
    put_count(o, "warmup", (size_t)r->warmup);
    put_count(o, "gaussians_first", r->n_gaussians_first);
    put_count(o, "gaussians_last", r->n_gaussians_last);
    put_real(o, "loss", r->loss);
    put_real(o, "mean_opacity", r->mean_opacity);
    put_real(o, "visible", r->n_visible);
    put_real(o, "instances", r->n_instances);
    o = put_object(root, "speed");
    put_times(o, &r->step);
    put_real(o, "iterations_per_second", r->iterations_per_second);
    put_real(o, "views_a_step", r->views_a_step);
    put_real(o, "views_per_second", r->views_a_step * r->iterations_per_second);
    put_real(o, "seconds", r->seconds);
    put_real(o, "seconds_to_30k", r->seconds_to_30k);
    put_real(o, "copy_gb_per_s", r->copy_gb_per_s);
    object stages = put_object(root, "stages_ms");
    for (size_t i = 0; i < r->n_stages; i++) {
        o = put_object(stages, r->stages[i].name);
        put_real(o, "ms", r->stages[i].ms);
        put_real(o, "limit_ms", r->stages[i].limit_ms);
    }
    put_ranks(root, r);
    put_memories(root, t->context, r);
    put_gpu(root, &r->gpu);
    put_quality(root, r);
    json_t *times = json_array();
    for (size_t i = 0; i < r->step.n; i++)
        if (json_array_append_new(times, json_real(r->step_ms[i])) != 0) *root.failed = true;
    put(root, "iteration_ms", times);
}

static splat_status write_charts(const splat_bench_result *r, const char *folder, splat_error *error)
{
    char title[160];
    char *series = splat_format("%s/iteration_times.svg", folder);
    char *histogram = splat_format("%s/iteration_histogram.svg", folder);
    splat_status status = SPLAT_OK;
    if (!series || !histogram) status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    snprintf(title, sizeof title, "Time of an iteration: mean %.4g ms, %.4g iterations a second", r->step.mean,
             r->iterations_per_second);
    splat_chart chart = {title, "iteration", "ms"};
    if (status == SPLAT_OK)
        status = splat_svg_series(series, &chart, r->first_iteration, r->step_ms, r->step.n, error);
    chart.x_label = "ms";
    chart.y_label = "iterations";
    if (status == SPLAT_OK) status = splat_svg_histogram(histogram, &chart, r->step_ms, r->step.n, error);
    free(series);
    free(histogram);
    return status;
}

splat_status splat_bench_write(const splat_trainer *trainer, const splat_bench_result *result,
                               const splat_bench_note *note, const char *path, splat_error *error)
{
    bool failed = false;
    char *file;
    SPLAT_TRY(file_of(path, SPLAT_BENCH_TRAINING SPLAT_BENCH_FILE_END, &file, error));
    object root = {json_object(), &failed};
    put_header(root, trainer->context, trainer->scene, SPLAT_BENCH_TRAINING, note);
    put_result(root, trainer, result);
    splat_status status = save(root.json, failed, file, error);
    json_decref(root.json);
    free(file);
    if (status == SPLAT_OK && !splat_bench_is_json(path)) status = write_charts(result, path, error);
    return status;
}

/* ---------------------------------------------------------------- data, render */

splat_status splat_bench_write_rows(const splat_context *context, const splat_scene *scene,
                                    const splat_bench_rows *rows, const splat_bench_note *note, const char *path,
                                    splat_error *error)
{
    bool failed = false;
    char name[64];
    snprintf(name, sizeof name, "%.32s" SPLAT_BENCH_FILE_END, rows->mode);
    char *file;
    SPLAT_TRY(file_of(path, name, &file, error));
    object root = {json_object(), &failed};
    put_header(root, context, scene, rows->mode, note);
    put_count(root, "width", (size_t)rows->width);
    put_count(root, "height", (size_t)rows->height);
    if (rows->n_gaussians) put_count(root, "gaussians", rows->n_gaussians);
    json_t *list = json_array();
    for (size_t i = 0; i < rows->n_rows; i++) {
        object o = {json_object(), &failed};
        put_text(o, "name", rows->rows[i].name);
        put_count(o, "n", rows->rows[i].ms.n);
        put_count(o, "together", rows->rows[i].n_together);
        put_real(o, "per_second", rows->rows[i].per_second);
        put_real(o, "mb_per_s", rows->rows[i].mb_per_s);
        put_times(o, &rows->rows[i].ms);
        if (json_array_append_new(list, o.json) != 0) failed = true;
    }
    put(root, "rows", list);
    splat_status status = save(root.json, failed, file, error);
    json_decref(root.json);
    free(file);
    return status;
}
