/* The log, the JSON lines and the snapshots of the memory profiler. */
#include "run/memory_profiler.h"

#include "base/clock.h"
#include "base/file.h"
#include "io/json.h"
#include "math/camera.h"
#include "run/reached_iteration.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOG_LARGEST 5      /* blocks that the log names, however small they are */
#define DRIVER_SECONDS 1.0 /* asking a driver takes up to a millisecond */

/* A file that only grows. */
typedef struct output {
    char *path;
    FILE *file; /* NULL: not open, or given up */
} output;

struct splat_memory_profiler {
    splat_memory_profiler_options options;
    char *folder;
    output log, lines;
    splat_memory_snapshot snapshot; /* of the sample in work */
    double started, driver_asked;
    size_t overhead_bytes;          /* the driver's last count outside the blocks */
};

/* ---------------------------------------------------------------- files */

static void close_output(output *out)
{
    if (out->file) fclose(out->file);
    out->file = NULL;
}

/* Writes all pending lines to the file before it returns. A file that fails is closed for good, and the log says so. */
static void flush_output(output *out, const splat_trainer *t)
{
    if (!out->file || (fflush(out->file) == 0 && !ferror(out->file))) return;
    splat_log(t->context, SPLAT_LOG_WARNING, "the memory profile %s ends here: it cannot be written (%s)", out->path,
              strerror(errno));
    close_output(out);
}

/* Both files get the same free name. */
static splat_status open_outputs(splat_memory_profiler *p, splat_error *error)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(stamp, sizeof stamp, "%Y%m%d_%H%M%S", &local);
    for (int number = 1; number < 1000; number++) {
        char suffix[16] = "";
        if (number > 1) snprintf(suffix, sizeof suffix, "_%03d", number);
        free(p->lines.path);
        p->lines.path = splat_format("%s/tensor_profile_%s%s.jsonl", p->folder, stamp, suffix);
        p->log.path = splat_format("%s/tensor_profile_%s%s.log", p->folder, stamp, suffix);
        if (!p->lines.path || !p->log.path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        int descriptor = open(p->lines.path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (descriptor >= 0) {
            p->lines.file = fdopen(descriptor, "a");
            if (!p->lines.file) close(descriptor);
            p->log.file = fopen(p->log.path, "we");
            if (p->lines.file && p->log.file) return SPLAT_OK;
            return splat_fail_errno(error, p->log.path, "create");
        }
        if (errno != EEXIST) return splat_fail_errno(error, p->lines.path, "create");
        free(p->log.path);
        p->log.path = NULL;
    }
    return splat_fail_at(error, SPLAT_ERROR_IO, p->folder, SPLAT_NO_OFFSET,
                         "the folder has a thousand profiles of this second; name another model folder");
}

/* ---------------------------------------------------------------- figures outside the blocks */

/* Resident memory of this process; 0 where the system does not tell. */
static size_t process_bytes(void)
{
    unsigned long long total, resident;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    int n = fscanf(file, "%llu %llu", &total, &resident);
    fclose(file);
    return n == 2 ? (size_t)resident * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

/* The driver's figure for the process: 0 on the host. Between two questions the blocks are ours to count. */
static size_t driver_bytes(splat_memory_profiler *p, splat_backend *backend)
{
    double now = splat_clock_seconds();
    if (now - p->driver_asked >= DRIVER_SECONDS) {
        p->overhead_bytes = splat_backend_overhead(backend);
        p->driver_asked = now;
    }
    return p->overhead_bytes ? p->overhead_bytes + backend->memory.device.reserved : 0;
}

/* ---------------------------------------------------------------- the text log */

/* "123.45": binary megabytes, whatever the locale. */
static const char *megabytes(size_t bytes, char text[32])
{
    unsigned long long hundredths = (unsigned long long)((double)bytes * 100 / SPLAT_MIB + 0.5);
    snprintf(text, 32, "%llu.%02llu", hundredths / 100, hundredths % 100);
    return text;
}

static void log_sum(FILE *file, const char *name, const splat_memory_sum *sum)
{
    char size[32];
    if (sum->n) fprintf(file, "  %s: %s MB (%zu tensors)\n", name, megabytes(sum->bytes, size), sum->n);
}

static void log_block(FILE *file, const splat_memory_row *row)
{
    char size[32];
    fprintf(file, "  %s: %s MB (%s, %s)\n", row->name, megabytes(row->bytes, size), splat_element_type_name(row->type),
            splat_memory_category_name(row->category));
}

static void write_log(FILE *file, const splat_trainer *t, const splat_memory_snapshot *s)
{
    char allocated[32], reserved[32];
    int percent = (int)(splat_memory_fragmentation_percent(s) * 100 + 0.5);
    fprintf(file, "==== Iteration %d | Gaussians: %u\n", t->iteration, t->model->gaussians.n);
    fprintf(file, "Total Tensors: %zu\n", s->places[SPLAT_PLACE_DEVICE].n);
    fprintf(file, "Allocated: %s MB | Reserved: %s MB | Fragmentation: %d.%02d%%\n",
            megabytes(s->device.bytes, allocated), megabytes(s->device.reserved, reserved), percent / 100,
            percent % 100);
    fprintf(file, "Tensor Categories:\n");
    for (int i = 0; i < SPLAT_N_MEMORY_CATEGORIES; i++)
        log_sum(file, splat_memory_category_name((splat_memory_category)i), &s->categories[SPLAT_PLACE_DEVICE][i]);
    fprintf(file, "Data Types:\n");
    for (int i = 0; i < SPLAT_N_ELEMENT_TYPES; i++)
        log_sum(file, splat_element_type_name((splat_element_type)i), &s->types[i]);
    fprintf(file, "Large Tensors (>100MB): %zu\n", s->large.n);
    for (size_t i = 0; i < s->n_rows; i++) {
        const splat_memory_row *row = &s->rows[i];
        if (row->place == SPLAT_PLACE_DEVICE && row->bytes > SPLAT_LARGE_BLOCK) log_block(file, row);
    }
    fprintf(file, "Largest Tensors:\n");
    for (size_t i = 0, n = 0; i < s->n_rows && n < LOG_LARGEST; i++) {
        if (s->rows[i].place != SPLAT_PLACE_DEVICE) continue;
        log_block(file, &s->rows[i]);
        n++;
    }
    fprintf(file, "\n");
}

/* ---------------------------------------------------------------- JSON */

static void set_count(json_t **object, const char *key, size_t value)
{
    splat_json_set(object, key, json_integer((json_int_t)value));
}

/* Facts of the run that savings and verdicts need. */
static json_t *run_object(const splat_memory_profiler *p, const splat_trainer *t)
{
    const splat_train_options *o = &t->options;
    const splat_dataset *dataset = &t->scene->dataset;
    size_t photo = 0;
    for (size_t i = 0; i < dataset->n_train; i++) {
        size_t bytes = splat_view_decoded_bytes(&dataset->views[dataset->train[i]]);
        if (bytes > photo) photo = bytes;
    }
    json_t *run = json_object();
    splat_json_set(&run, "format", json_string(SPLAT_PROFILE_FORMAT));
    set_count(&run, "version", SPLAT_PROFILE_VERSION);
    splat_json_set(&run, "program", json_string(splat_version()));
    splat_json_set(&run, "backend", json_string(t->backend->description));
    splat_json_set(&run, "gpu", json_boolean(t->backend->device_bytes > 0));
    set_count(&run, "interval", (size_t)p->options.interval);
    set_count(&run, "iterations", (size_t)o->iterations);
    set_count(&run, "densify_until", o->densify_until_iter > 0 ? (size_t)o->densify_until_iter : 0);
    set_count(&run, "train_views", dataset->n_train);
    set_count(&run, "largest_photo_bytes", photo);
    set_count(&run, "sh_degree", (size_t)o->sh_degree);
    return run;
}

/* Sums of a sample as {"parameters": [in use, reserved], ...}; empty ones are left out. */
static void add_sum(json_t **object, const char *name, const splat_memory_sum *sum)
{
    if (sum->n)
        splat_json_set(object, name, json_pack("[I,I]", (json_int_t)sum->bytes, (json_int_t)sum->reserved));
}

static json_t *block_objects(const splat_memory_snapshot *s)
{
    json_t *blocks = json_array();
    for (size_t i = 0; i < s->n_rows; i++) {
        const splat_memory_row *row = &s->rows[i];
        splat_json_append(&blocks, json_pack("{s:s,s:s,s:s,s:s,s:s,s:I,s:I}", "name", row->name, "owner", row->owner,
                                             "category", splat_memory_category_name(row->category), "place",
                                             splat_memory_place_name(row->place), "type",
                                             splat_element_type_name(row->type), "bytes", (json_int_t)row->bytes,
                                             "reserved", (json_int_t)row->reserved));
    }
    return blocks;
}

static json_t *sample_object(splat_memory_profiler *p, const splat_trainer *t)
{
    const splat_memory_snapshot *s = &p->snapshot;
    json_t *sample = json_object(), *categories = json_object(), *types = json_object();
    set_count(&sample, "iteration", (size_t)t->iteration);
    set_count(&sample, "gaussians", t->model->gaussians.n);
    splat_json_set(&sample, "seconds", json_real(splat_clock_seconds() - p->started));
    set_count(&sample, "allocated", s->device.bytes);
    set_count(&sample, "reserved", s->device.reserved);
    set_count(&sample, "peak", s->device.peak_reserved);
    splat_json_set(&sample, "fragmentation_percent", json_real(splat_memory_fragmentation_percent(s)));
    set_count(&sample, "driver", driver_bytes(p, t->backend));
    set_count(&sample, "pinned", s->pinned.reserved);
    set_count(&sample, "host", s->places[SPLAT_PLACE_HOST].reserved);
    set_count(&sample, "process", process_bytes());
    for (int i = 0; i < SPLAT_N_MEMORY_CATEGORIES; i++)
        add_sum(&categories, splat_memory_category_name((splat_memory_category)i),
                &s->categories[SPLAT_PLACE_DEVICE][i]);
    for (int i = 0; i < SPLAT_N_ELEMENT_TYPES; i++)
        add_sum(&types, splat_element_type_name((splat_element_type)i), &s->types[i]);
    splat_json_set(&sample, "categories", categories);
    splat_json_set(&sample, "types", types);
    splat_json_set(&sample, "blocks", block_objects(s));
    return sample;
}

static void write_line(output *out, const splat_trainer *t, json_t *object)
{
    char *text = splat_json_print(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(object);
    if (!text) {
        splat_log(t->context, SPLAT_LOG_WARNING, "no memory for a line of the memory profile; it is left out");
        return;
    }
    fprintf(out->file, "%s\n", text);
    free(text);
    flush_output(out, t);
}

static void write_snapshot(splat_memory_profiler *p, const splat_trainer *t)
{
    splat_error error;
    json_t *object = sample_object(p, t);
    char *text = splat_json_print(object, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    char *path = splat_format("%s/memory_snapshot_%d.json", p->folder, t->iteration);
    json_decref(object);
    splat_status status = text && path ? splat_file_write(path, text, strlen(text), &error)
                                       : splat_fail(&error, SPLAT_ERROR_MEMORY, "no memory for a memory snapshot");
    if (status != SPLAT_OK) {
        char message[1700];
        splat_log(t->context, SPLAT_LOG_WARNING, "%s", splat_error_format(&error, message, sizeof message));
    }
    free(path);
    free(text);
}

/* ---------------------------------------------------------------- TensorBoard */

static void add_megabytes(splat_tensorboard *writer, int64_t step, const char *group, const char *name, size_t bytes)
{
    char tag[96];
    snprintf(tag, sizeof tag, "%s%s_MB", group, name);
    splat_tensorboard_add_scalar(writer, tag, step, (double)bytes / SPLAT_MIB);
}

#define TENSORS "TensorProfiling/"

static void write_tensorboard(splat_memory_profiler *p, const splat_trainer *t, splat_tensorboard *writer)
{
    const splat_memory_snapshot *s = &p->snapshot;
    int64_t step = t->iteration;
    double fragmentation = splat_memory_fragmentation_percent(s);
    for (int i = 0; i < SPLAT_N_MEMORY_CATEGORIES; i++)
        add_megabytes(writer, step, TENSORS "Tensor_Category/", splat_memory_category_name((splat_memory_category)i),
                      s->categories[SPLAT_PLACE_DEVICE][i].bytes);
    for (int i = 0; i < SPLAT_N_ELEMENT_TYPES; i++)
        if (s->types[i].n)
            add_megabytes(writer, step, TENSORS "Tensor_DType/", splat_element_type_name((splat_element_type)i),
                          s->types[i].bytes);
    splat_tensorboard_add_scalar(writer, TENSORS "Large_Tensors/count", step, (double)s->large.n);
    add_megabytes(writer, step, TENSORS "Large_Tensors/", "total", s->large.bytes);
    splat_tensorboard_add_scalar(writer, TENSORS "Tensor_Count/total", step, (double)s->places[SPLAT_PLACE_DEVICE].n);
    splat_tensorboard_add_scalar(writer, TENSORS "fragmentation_percent", step, fragmentation);

    size_t driver = driver_bytes(p, t->backend);
    add_megabytes(writer, step, "Memory/", "allocated", s->device.bytes);
    add_megabytes(writer, step, "Memory/", "reserved", s->device.reserved);
    add_megabytes(writer, step, "Memory/", "peak_reserved", s->device.peak_reserved);
    splat_tensorboard_add_scalar(writer, "Memory/fragmentation_percent", step, fragmentation);
    if (driver) add_megabytes(writer, step, "Memory/", "driver", driver);
    add_megabytes(writer, step, "Memory/", "host", s->pinned.reserved + s->places[SPLAT_PLACE_HOST].reserved);
    add_megabytes(writer, step, "Memory/", "process", process_bytes());
}

/* ---------------------------------------------------------------- the profiler */

splat_status splat_memory_profiler_open(const char *model_path, const splat_memory_profiler_options *options,
                                        const splat_trainer *trainer, splat_memory_profiler **result,
                                        splat_error *error)
{
    *result = NULL;
    if (options->interval < 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "profile_interval must be 1 or more, not %d", options->interval);
    splat_memory_profiler *p = calloc(1, sizeof *p);
    if (!p) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a memory profiler");
    p->options = *options;
    p->started = splat_clock_seconds();
    p->driver_asked = p->started - DRIVER_SECONDS;
    p->folder = splat_format("%s/profiles", model_path);
    splat_status status = p->folder ? splat_folder_create(p->folder, error)
                                    : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    if (status == SPLAT_OK && options->interval) status = open_outputs(p, error);
    if (status != SPLAT_OK) {
        splat_memory_profiler_close(p);
        return status;
    }
    if (p->lines.file) write_line(&p->lines, trainer, run_object(p, trainer));
    *result = p;
    return SPLAT_OK;
}

void splat_memory_profiler_step(splat_memory_profiler *p, const splat_trainer *t, const splat_step_info *step,
                                splat_tensorboard *writer)
{
    splat_error error;
    if (!p) return;
    const int interval = p->options.interval;
    bool sample = splat_reached_multiple(step, interval) || (interval && t->iteration == t->options.iterations);
    bool full = splat_reached_iteration(step, p->options.snapshot_iterations, p->options.n_snapshot_iterations);
    if (!sample && !full) return;
    if (splat_memory_snapshot_take(&p->snapshot, t->backend, &error) != SPLAT_OK) {
        splat_log(t->context, SPLAT_LOG_WARNING, "%s", error.message);
        return;
    }
    if (full) write_snapshot(p, t);
    if (!sample) return;
    if (p->log.file) write_log(p->log.file, t, &p->snapshot);
    flush_output(&p->log, t);
    if (p->lines.file) write_line(&p->lines, t, sample_object(p, t));
    if (writer) write_tensorboard(p, t, writer);
}

void splat_memory_profiler_close(splat_memory_profiler *p)
{
    if (!p) return;
    close_output(&p->log);
    close_output(&p->lines);
    free(p->log.path);
    free(p->lines.path);
    free(p->folder);
    splat_memory_snapshot_free(&p->snapshot);
    free(p);
}
