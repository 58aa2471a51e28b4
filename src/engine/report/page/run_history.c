/* Points and evaluations as JSON lines, and back. */
#include "report/page/run_history.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "io/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLUSH_SECONDS 1.0

const char *const splat_stage_names[SPLAT_N_STAGES] = {"data", "project",         "bin",             "raster",
                                                       "loss", "raster_backward", "project_backward"};

/* A number of a line: its key, or its keys in an object of the line. */
typedef struct field {
    const char *group, *key; /* group NULL: of the line itself */
    size_t offset;
} field;

#define MOST_FIELDS (7 + (int)SPLAT_N_MEMORY_CATEGORIES + (int)SPLAT_N_STAGES + SPLAT_MAX_LOSSES)

/* The one list of what a point has, for reading and for writing. */
static size_t list_fields(const splat_history_losses *losses, field fields[MOST_FIELDS])
{
    static const field plain[] = {{NULL, "seconds", offsetof(splat_history_point, seconds)},
                                  {NULL, "loss", offsetof(splat_history_point, loss)},
                                  {NULL, "l1", offsetof(splat_history_point, l1)},
                                  {NULL, "step_ms", offsetof(splat_history_point, step_ms)},
                                  {NULL, "gaussians", offsetof(splat_history_point, n_gaussians)},
                                  {"memory", "driver", offsetof(splat_history_point, driver)},
                                  {"memory", "process", offsetof(splat_history_point, process)}};
    size_t n = sizeof plain / sizeof plain[0];
    memcpy(fields, plain, sizeof plain);
    for (size_t i = 0; i < SPLAT_N_MEMORY_CATEGORIES; i++)
        fields[n++] = (field){"memory", splat_memory_category_name((splat_memory_category)i),
                              offsetof(splat_history_point, memory) + i * sizeof(double)};
    for (size_t i = 0; i < SPLAT_N_STAGES; i++)
        fields[n++] = (field){"stages_ms", splat_stage_names[i],
                              offsetof(splat_history_point, stages) + i * sizeof(double)};
    for (size_t i = 0; i < losses->n; i++)
        fields[n++] = (field){losses->group, losses->names[i],
                              offsetof(splat_history_point, losses) + i * sizeof(double)};
    return n;
}

static double *value_of(void *record, size_t offset)
{
    return (double *)((char *)record + offset);
}

splat_history_point splat_history_point_make(int iteration)
{
    static const splat_history_losses none;
    splat_history_point point = {.iteration = iteration};
    field fields[MOST_FIELDS];
    size_t n = list_fields(&none, fields);
    for (size_t i = 0; i < n; i++) *value_of(&point, fields[i].offset) = NAN;
    for (size_t i = 0; i < SPLAT_MAX_LOSSES; i++) point.losses[i] = NAN;
    return point;
}

/* ---------------------------------------------------------------- lines */

static void put_number(json_t **object, const char *key, double value)
{
    if (isfinite(value)) splat_json_set(object, key, json_real(value));
}

static void put_in_group(json_t **line, const field *f, double value)
{
    if (!json_object_get(*line, f->group)) splat_json_set(line, f->group, json_object());
    if (json_object_set_new(json_object_get(*line, f->group), f->key, json_real(value)) == 0) return;
    json_decref(*line);
    *line = NULL;
}

/* NULL when memory is exhausted, as of evaluation_to_json. */
static json_t *point_to_json(const splat_run_history *h, const splat_history_point *point)
{
    field fields[MOST_FIELDS];
    size_t n = list_fields(&h->losses, fields);
    json_t *line = json_pack("{s:i}", "iteration", point->iteration);
    for (size_t i = 0; i < n && line; i++) {
        double value = *value_of((void *)point, fields[i].offset);
        if (!isfinite(value)) continue;
        if (fields[i].group)
            put_in_group(&line, &fields[i], value);
        else
            put_number(&line, fields[i].key, value);
    }
    return line;
}

static json_t *evaluation_to_json(const splat_history_evaluation *e)
{
    json_t *line = json_pack("{s:i, s:s, s:I}", "iteration", e->iteration, "set", e->is_test ? "test" : "train",
                             "views", (json_int_t)e->n_views);
    put_number(&line, "l1", e->l1);
    put_number(&line, "psnr", e->psnr);
    put_number(&line, "ssim", e->ssim);
    put_number(&line, "lpips", e->lpips);
    return line;
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static splat_history_point point_of(const splat_run_history *h, const json_t *line, int iteration)
{
    splat_history_point point = splat_history_point_make(iteration);
    field fields[MOST_FIELDS];
    size_t n = list_fields(&h->losses, fields);
    for (size_t i = 0; i < n; i++) {
        const json_t *object = fields[i].group ? json_object_get(line, fields[i].group) : line;
        *value_of(&point, fields[i].offset) = number_of(object, fields[i].key);
    }
    return point;
}

static splat_history_evaluation evaluation_of(const json_t *line, int iteration)
{
    const char *set = json_string_value(json_object_get(line, "set"));
    double views = number_of(line, "views");
    return (splat_history_evaluation){.iteration = iteration,
                                      .is_test = set && strcmp(set, "test") == 0,
                                      .n_views = views >= 0 && views < 1e9 ? (size_t)views : 0,
                                      .l1 = number_of(line, "l1"),
                                      .psnr = number_of(line, "psnr"),
                                      .ssim = number_of(line, "ssim"),
                                      .lpips = number_of(line, "lpips")};
}

/* ---------------------------------------------------------------- memory */

/* Every second point, the newest among them: a run of any length takes the same memory. */
static void thin_points(splat_run_history *h)
{
    h->n_points /= 2;
    for (size_t i = 0; i < h->n_points; i++) h->points[i] = h->points[2 * i + 1];
    h->stride *= 2;
}

/* Both false when memory is exhausted. While a run goes on its page then lacks a point, which the file has. */
static bool keep_point(splat_run_history *h, const splat_history_point *point)
{
    if (++h->n_passed < h->stride) return true;
    h->n_passed = 0;
    if (h->n_points == SPLAT_HISTORY_POINTS_MAX) {
        h->n_passed = h->stride; /* this one lies between two that are kept from now on */
        thin_points(h);
        return true;
    }
    void *grown = splat_array_grow(h->points, &h->points_capacity, h->n_points, sizeof *point);
    if (!grown) return false;
    h->points = grown;
    h->points[h->n_points++] = *point;
    return true;
}

static bool keep_evaluation(splat_run_history *h, const splat_history_evaluation *evaluation)
{
    void *grown = splat_array_grow(h->evaluations, &h->evaluations_capacity, h->n_evaluations, sizeof *evaluation);
    if (!grown) return false;
    h->evaluations = grown;
    h->evaluations[h->n_evaluations++] = *evaluation;
    return true;
}

/* ---------------------------------------------------------------- the file */

/* Lines must come in the order of their iterations, as they were written; others, such as the torn last line of a
 * process that was killed, are left out. False when memory is exhausted. */
static bool keep_line(splat_run_history *h, const char *text, size_t length, int last)
{
    json_error_t problem;
    bool kept = true;
    json_t *line;
    if (splat_json_parse(text, length, 0, &line, &problem) == SPLAT_ERROR_MEMORY) return false;
    const json_t *number = json_object_get(line, "iteration");
    json_int_t iteration = json_is_integer(number) ? json_integer_value(number) : 0;
    bool is_evaluation = json_object_get(line, "set");
    int newest = h->n_points ? h->points[h->n_points - 1].iteration : 0;
    if (iteration >= 1 && iteration <= last && is_evaluation) {
        splat_history_evaluation evaluation = evaluation_of(line, (int)iteration);
        kept = keep_evaluation(h, &evaluation);
    } else if (iteration > newest && iteration <= last) {
        splat_history_point point = point_of(h, line, (int)iteration);
        kept = keep_point(h, &point);
        if (isfinite(point.seconds)) h->seconds_before = point.seconds;
    }
    json_decref(line);
    return kept;
}

static splat_status fail_memory(const splat_run_history *h, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_MEMORY, h->path, SPLAT_NO_OFFSET, "no memory for the curves of the run");
}

static splat_status read_lines(splat_run_history *h, int last, splat_error *error)
{
    uint8_t *data;
    size_t size;
    if (last < 1 || !splat_path_exists(h->path)) return SPLAT_OK;
    SPLAT_TRY(splat_file_read(h->path, &data, &size, error));
    bool kept = true;
    for (size_t begin = 0; begin < size && kept;) {
        const uint8_t *end = memchr(data + begin, '\n', size - begin);
        size_t length = end ? (size_t)(end - data) - begin : size - begin;
        kept = keep_line(h, (const char *)data + begin, length, last);
        begin += length + 1;
    }
    free(data);
    return kept ? SPLAT_OK : fail_memory(h, error);
}

/* Takes the object over. False when memory is exhausted: the line is left out. */
static bool write_line(FILE *file, json_t *line)
{
    char *text = splat_json_print(line, JSON_COMPACT | JSON_REAL_PRECISION(9));
    bool whole = text;
    if (text) fprintf(file, "%s\n", text);
    free(text);
    json_decref(line);
    return whole;
}

static splat_status rewrite(const splat_run_history *h, splat_error *error)
{
    splat_save save;
    SPLAT_TRY(splat_save_open(&save, h->path, error));
    size_t e = 0;
    bool whole = true;
    for (size_t i = 0; i < h->n_points; i++) {
        for (; e < h->n_evaluations && h->evaluations[e].iteration < h->points[i].iteration; e++)
            whole = write_line(save.stream, evaluation_to_json(&h->evaluations[e])) && whole;
        whole = write_line(save.stream, point_to_json(h, &h->points[i])) && whole;
    }
    for (; e < h->n_evaluations; e++)
        whole = write_line(save.stream, evaluation_to_json(&h->evaluations[e])) && whole;
    if (whole) return splat_save_commit(&save, error);
    splat_save_abort(&save); /* the old file keeps its lines */
    return fail_memory(h, error);
}

splat_status splat_run_history_open(splat_run_history *h, const char *folder, int iteration,
                                    const splat_history_losses *losses, splat_error *error)
{
    memset(h, 0, sizeof *h);
    if (losses) h->losses = *losses;
    h->stride = 1;
    h->started = h->flushed = splat_clock_seconds();
    h->path = splat_format("%s/" SPLAT_HISTORY_FILE, folder);
    if (!h->path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    SPLAT_TRY(read_lines(h, iteration, error));
    SPLAT_TRY(rewrite(h, error));
    h->file = fopen(h->path, "ae");
    return h->file ? SPLAT_OK : splat_fail_errno(error, h->path, "open");
}

void splat_run_history_close(splat_run_history *h)
{
    if (h->file) fclose(h->file);
    free(h->path);
    free(h->points);
    free(h->evaluations);
    memset(h, 0, sizeof *h);
}

bool splat_run_history_flush(splat_run_history *h)
{
    if (!h->file) return true;
    h->flushed = splat_clock_seconds();
    if (fflush(h->file) == 0 && !ferror(h->file)) return true;
    fclose(h->file);
    h->file = NULL;
    return false;
}

bool splat_run_history_sync(splat_run_history *h)
{
    if (!splat_run_history_flush(h)) return false;
    if (h->file) (void)fdatasync(fileno(h->file)); /* not every file system can */
    return true;
}

/* On to the disk each second, so that a run that is killed has its curves. */
static bool add_line(splat_run_history *h, json_t *line)
{
    if (h->file)
        (void)write_line(h->file, line);
    else
        json_decref(line);
    return splat_clock_seconds() - h->flushed < FLUSH_SECONDS || splat_run_history_flush(h);
}

double splat_run_history_seconds(const splat_run_history *h)
{
    return h->seconds_before + splat_clock_seconds() - h->started;
}

bool splat_run_history_add(splat_run_history *h, const splat_history_point *point)
{
    splat_history_point timed = *point;
    timed.seconds = splat_run_history_seconds(h);
    (void)keep_point(h, &timed);
    return add_line(h, point_to_json(h, &timed));
}

bool splat_run_history_add_evaluation(splat_run_history *h, const splat_history_evaluation *evaluation)
{
    (void)keep_evaluation(h, evaluation);
    return add_line(h, evaluation_to_json(evaluation));
}
