/* Results of benchmarks, read back. */
#include "bench/record.h"

#include "base/file.h"
#include "io/json.h"
#include "bench/times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool splat_bench_is_json(const char *path)
{
    return splat_name_ends_with(path, ".json");
}

/* "b" of "a/b/training_benchmark_results.json" and of "a/b/", "c" of "a/c.json"; malloc'd. */
static char *name_of(const char *path)
{
    char *copy = splat_format("%s", path);
    if (!copy) return NULL;
    char *end = copy + strlen(copy);
    if (splat_name_ends_with(copy, SPLAT_BENCH_FILE_END) && strchr(copy, '/'))
        end -= strlen(splat_basename(copy));
    else if (splat_bench_is_json(copy))
        end -= strlen(".json");
    while (end > copy + 1 && end[-1] == '/') end--;
    *end = '\0';
    char *name = splat_format("%s", splat_basename(copy));
    free(copy);
    return name;
}

static const char *const modes[] = {SPLAT_BENCH_TRAINING, "data", "render"};
enum { N_MODES = sizeof modes / sizeof modes[0] };

static splat_status check_schema(const json_t *root, const char *path, const char **mode, splat_error *error)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));
    const char *found = json_string_value(json_object_get(root, "mode"));
    if (!schema || strncmp(schema, SPLAT_BENCH_SCHEMA_FAMILY, strlen(SPLAT_BENCH_SCHEMA_FAMILY)) != 0)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "this is not a result of splatsmith bench: \"schema\" does not say so");
    if (strcmp(schema, SPLAT_BENCH_SCHEMA) != 0)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                             "the result has the schema %.40s, but this version reads " SPLAT_BENCH_SCHEMA
                             ": measure again with the version that compares", schema);
    for (int i = 0; i < N_MODES; i++) {
        *mode = modes[i];
        if (found && strcmp(found, modes[i]) == 0) return SPLAT_OK;
    }
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                         "this is a benchmark of mode %.40s; there are training, data and render",
                         found ? found : "(none)");
}

static splat_status read_times(const json_t *root, const char *path, splat_bench_times *times, splat_error *error)
{
    const json_t *array = NULL;
    SPLAT_TRY(splat_json_get_array(root, "iteration_ms", path, &array, error));
    size_t n = json_array_size(array);
    if (n == 0)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "\"iteration_ms\", the times of the iterations, is missing or empty");
    double *values = malloc(n * sizeof *values); /* n elements exist in memory */
    if (!values) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu times", n);
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
        values[i] = json_number_value(json_array_get(array, i));
        if (!(values[i] > 0 && values[i] < 1e12)) /* also what is no number */
            status = splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                                   "time %zu of \"iteration_ms\" is not a positive number", i + 1);
    }
    if (status == SPLAT_OK) status = splat_bench_times_compute(values, n, times, error);
    free(values);
    return status;
}

/* The number root[group][part][key]; part may be NULL. Absent and null: NaN. Of another type: FORMAT. */
static splat_status number(const json_t *root, const char *group, const char *part, const char *key, const char *path,
                           double *value, splat_error *error)
{
    const json_t *object = json_object_get(root, group);
    if (part) object = json_object_get(object, part);
    *value = (double)NAN;
    return object ? splat_json_get_number(object, key, path, value, error) : SPLAT_OK;
}

static splat_status text(const json_t *root, const char *group, const char *key, const char *path, const char **value,
                         splat_error *error)
{
    const json_t *object = json_object_get(root, group);
    *value = "";
    return object ? splat_json_get_string(object, key, path, value, error) : SPLAT_OK;
}

/* One to 64 characters that a terminal takes for no command. */
static bool is_name(const char *text)
{
    size_t n = 0;
    while (text && (unsigned char)text[n] >= 0x20 && text[n] != 0x7F) n++;
    return text && !text[n] && n >= 1 && n <= 64;
}

/* A row of photos or views: as it was written, single times are absent. */
static splat_status read_row(const json_t *json, size_t index, const char *path, splat_bench_row *row,
                             splat_error *error)
{
    const char *name = json_string_value(json_object_get(json, "name"));
    splat_bench_times *t = &row->ms;
    double n = 0, together = 0, batches = 0;
    const struct { const char *key; double *value; } numbers[] = {
        {"n", &n}, {"together", &together}, {"batches", &batches}, {"per_second", &row->per_second},
        {"mb_per_s", &row->mb_per_s}, {"ms_mean", &t->mean}, {"ms_median", &t->median}, {"ms_min", &t->min},
        {"ms_max", &t->max}, {"ms_p95", &t->p95}, {"ms_p99", &t->p99}, {"ms_mean_low", &t->mean_low},
        {"ms_mean_high", &t->mean_high}, {"ms_standard_deviation", &t->standard_deviation}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (i > 2) *numbers[i].value = (double)NAN;
        SPLAT_TRY(splat_json_get_number(json, numbers[i].key, path, numbers[i].value, error));
    }
    if (!is_name(name) || !(row->per_second > 0 && row->per_second < 1e15) || !(t->mean > 0 && t->mean < 1e12) ||
        !(n >= 1 && n < 1e12) || !(together >= 1 && together < 1e12) || !(batches >= 0 && batches < 1e6) ||
        (batches > 0 && !(t->mean_low <= t->mean && t->mean <= t->mean_high)))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "row %zu has no name, or its times are not those of a measurement", index + 1);
    row->name = name;
    row->n_together = (size_t)together;
    t->n = (size_t)n;
    t->n_batches = batches >= 2 ? (int)batches : 0;
    t->mean_error = t->n_batches ? (t->mean_high - t->mean_low) / 2 / splat_student_t(batches - 1) : (double)NAN;
    return SPLAT_OK;
}

static splat_status read_rows(const json_t *root, const char *path, splat_bench_figures *f, splat_error *error)
{
    const json_t *rows = NULL;
    SPLAT_TRY(splat_json_get_array(root, "rows", path, &rows, error));
    size_t n = json_array_size(rows);
    if (n < 1 || n > SPLAT_BENCH_ROWS)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "\"rows\" must hold 1 to %d measurements, not %zu", SPLAT_BENCH_ROWS, n);
    for (; f->n_rows < n; f->n_rows++)
        SPLAT_TRY(read_row(json_array_get(rows, f->n_rows), f->n_rows, path, &f->rows[f->n_rows], error));
    return SPLAT_OK;
}

static splat_status read_figures(splat_bench_record *record, const char *path, splat_error *error)
{
    const json_t *root = record->root;
    splat_bench_figures *f = &record->figures;
    f->name = record->name;
    f->lpips_net = f->date = f->label = f->notes = "";
    f->loss = f->mean_opacity = (double)NAN;
    SPLAT_TRY(check_schema(root, path, &f->mode, error));
    SPLAT_TRY(text(root, "scene", "path", path, &f->scene, error));
    SPLAT_TRY(text(root, "environment", "device", path, &f->device, error));
    SPLAT_TRY(text(root, "environment", "date", path, &f->date, error));
    SPLAT_TRY(text(root, "environment", "label", path, &f->label, error));
    SPLAT_TRY(text(root, "environment", "notes", path, &f->notes, error));
    if (*f->label && !is_name(f->label))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "the label must be 1 to 64 printable characters");
    if (*f->label) f->name = f->label;
    if (strcmp(f->mode, SPLAT_BENCH_TRAINING) != 0) return read_rows(root, path, f, error);
    SPLAT_TRY(read_times(root, path, &f->step, error));
    f->iterations_per_second = 1e3 / f->step.mean;
    f->seconds_to_30k = 30 * f->step.mean;
    SPLAT_TRY(number(root, "measurement", NULL, "gaussians_last", path, &f->n_gaussians, error));
    SPLAT_TRY(number(root, "measurement", NULL, "loss", path, &f->loss, error));
    SPLAT_TRY(number(root, "measurement", NULL, "mean_opacity", path, &f->mean_opacity, error));
    SPLAT_TRY(number(root, "memory", "training", "peak_bytes", path, &f->training_peak_bytes, error));
    SPLAT_TRY(number(root, "memory", "evaluation", "peak_bytes", path, &f->evaluation_peak_bytes, error));
    SPLAT_TRY(number(root, "memory", "host", "peak_rss_bytes", path, &f->host_peak_bytes, error));
    SPLAT_TRY(number(root, "quality", NULL, "PSNR", path, &f->psnr, error));
    SPLAT_TRY(number(root, "quality", NULL, "SSIM", path, &f->ssim, error));
    SPLAT_TRY(number(root, "quality", NULL, "L1", path, &f->l1, error));
    SPLAT_TRY(number(root, "quality", NULL, "LPIPS", path, &f->lpips, error));
    return text(root, "quality", "lpips_net", path, &f->lpips_net, error);
}

/* The result in a folder: of the first mode that has one. */
static char *file_in(const char *folder)
{
    char *first = NULL;
    for (int i = 0; i < N_MODES; i++) {
        char *file = splat_format("%s/%s" SPLAT_BENCH_FILE_END, folder, modes[i]);
        if (!file || splat_path_exists(file)) {
            free(first);
            return file;
        }
        if (i == 0)
            first = file; /* its absence is reported */
        else
            free(file);
    }
    return first;
}

splat_status splat_bench_read(const char *path, splat_bench_record **result, splat_error *error)
{
    *result = NULL;
    char *file = splat_path_is_folder(path) ? file_in(path) : splat_format("%s", path);
    splat_bench_record *record = calloc(1, sizeof *record);
    if (record) record->name = name_of(path);
    splat_status status = file && record && record->name
                              ? SPLAT_OK
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a benchmark's result");
    if (status == SPLAT_OK) status = splat_json_read(file, &record->root, error);
    if (status == SPLAT_OK) status = read_figures(record, file, error);
    free(file);
    if (status != SPLAT_OK) {
        splat_bench_record_free(record);
        return status;
    }
    *result = record;
    return SPLAT_OK;
}

void splat_bench_record_free(splat_bench_record *record)
{
    if (!record) return;
    json_decref(record->root);
    free(record->name);
    free(record);
}

void splat_bench_record_get(const splat_bench_record *record, splat_bench_figures *figures)
{
    *figures = record->figures;
}
