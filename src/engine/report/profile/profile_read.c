/* Memory profiles: finding and reading them. Files are hostile: every figure is checked, every error has its line. */
#include "report/profile/profile_read.h"
#include "report/profile/profile_report.h"

#include "base/file.h"
#include "io/json.h"
#include "ops/types.h"
#include "report/profile/memory_profile.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---------------------------------------------------------------- figures of a line */

static splat_status get_int(const json_t *object, const char *key, const char *path, size_t number, int *value,
                            splat_error *error)
{
    size_t size;
    SPLAT_TRY(splat_profile_get_size(object, key, path, number, &size, error));
    if (size > INT_MAX)
        return splat_fail_line(error, SPLAT_ERROR_FORMAT, path, number, "\"%s\" is %zu; the most is %d", key, size,
                               INT_MAX);
    *value = (int)size;
    return SPLAT_OK;
}

static splat_status read_run(const json_t *object, const char *path, splat_profile *profile, splat_profile_run *run,
                             splat_error *error)
{
    const char *format = json_string_value(json_object_get(object, "format"));
    const char *backend = json_string_value(json_object_get(object, "backend"));
    int version = 0;
    if (!format || strcmp(format, SPLAT_PROFILE_FORMAT) != 0)
        return splat_fail_line(error, SPLAT_ERROR_FORMAT, path, 1, "this is not a memory profile of splatsmith");
    SPLAT_TRY(get_int(object, "version", path, 1, &version, error));
    if (version != SPLAT_PROFILE_VERSION)
        return splat_fail_line(error, SPLAT_ERROR_UNSUPPORTED, path, 1,
                               "the profile has version %d and this program reads version %d", version,
                               SPLAT_PROFILE_VERSION);
    snprintf(profile->backend, sizeof profile->backend, "%s", backend ? backend : "");
    run->gpu = json_is_true(json_object_get(object, "gpu"));
    SPLAT_TRY(get_int(object, "iterations", path, 1, &run->iterations, error));
    SPLAT_TRY(get_int(object, "densify_until", path, 1, &run->densify_until, error));
    SPLAT_TRY(get_int(object, "train_views", path, 1, &run->train_views, error));
    SPLAT_TRY(get_int(object, "sh_degree", path, 1, &run->sh_degree, error));
    SPLAT_TRY(splat_profile_get_size(object, "largest_photo_bytes", path, 1, &run->largest_photo_bytes, error));
    if (run->sh_degree > SPLAT_MAX_SH_DEGREE)
        return splat_fail_line(error, SPLAT_ERROR_FORMAT, path, 1, "\"sh_degree\" is %d; the most is %d",
                               run->sh_degree, SPLAT_MAX_SH_DEGREE);
    return SPLAT_OK;
}

/* "categories": {"parameters": [in use, reserved], ...}: together exactly what is reserved. */
static splat_status read_categories(const json_t *object, const char *path, size_t number, splat_profile_sample *sample,
                                    splat_error *error)
{
    const json_t *categories = json_object_get(object, "categories");
    size_t sum = 0;
    for (int i = 0; i < SPLAT_N_MEMORY_CATEGORIES; i++) {
        const char *name = splat_memory_category_name((splat_memory_category)i);
        const json_t *pair = json_object_get(categories, name);
        if (!pair) continue;
        const json_t *reserved = json_array_get(pair, 1);
        json_int_t bytes = json_integer_value(reserved);
        if (!json_is_integer(reserved) || bytes < 0 || bytes > SPLAT_PROFILE_MOST_BYTES)
            return splat_fail_line(error, SPLAT_ERROR_FORMAT, path, number,
                                   "\"categories\": \"%s\" must be two whole numbers: in use and reserved", name);
        sample->category_bytes[i] = (size_t)bytes;
        sum += (size_t)bytes;
    }
    if (sum != sample->reserved_bytes)
        return splat_fail_line(error, SPLAT_ERROR_FORMAT, path, number,
                               "the categories add up to %zu bytes, but %zu are reserved", sum, sample->reserved_bytes);
    return SPLAT_OK;
}

/* Every block, and that those on the device are together exactly what is allocated and reserved. */
static splat_status check_blocks(const json_t *object, const char *path, size_t number, splat_profile_sample *sample,
                                 splat_error *error)
{
    const json_t *blocks = json_object_get(object, "blocks");
    size_t bytes = 0, reserved = 0;
    sample->n_blocks = json_array_size(blocks);
    if (!json_is_array(blocks) || sample->n_blocks > SPLAT_PROFILE_MOST_BLOCKS)
        return splat_fail_line(error, SPLAT_ERROR_FORMAT, path, number,
                               "\"blocks\" must be an array of at most %d blocks", SPLAT_PROFILE_MOST_BLOCKS);
    for (size_t i = 0; i < sample->n_blocks; i++) {
        splat_profile_block block;
        SPLAT_TRY(splat_profile_read_block(json_array_get(blocks, i), path, number, &block, error));
        if (block.place != SPLAT_PLACE_DEVICE) continue;
        bytes += block.bytes;
        reserved += block.reserved;
    }
    if (bytes == sample->allocated_bytes && reserved == sample->reserved_bytes) return SPLAT_OK;
    return splat_fail_line(error, SPLAT_ERROR_FORMAT, path, number,
                           "the blocks add up to %zu bytes allocated and %zu reserved, but the line says %zu and %zu",
                           bytes, reserved, sample->allocated_bytes, sample->reserved_bytes);
}

static splat_status read_sample(const json_t *object, const char *path, size_t number, splat_profile_sample *sample,
                                splat_error *error)
{
    size_t pinned, host;
    const json_t *seconds = json_object_get(object, "seconds");
    SPLAT_TRY(get_int(object, "iteration", path, number, &sample->iteration, error));
    SPLAT_TRY(splat_profile_get_size(object, "gaussians", path, number, &sample->n_gaussians, error));
    SPLAT_TRY(splat_profile_get_size(object, "allocated", path, number, &sample->allocated_bytes, error));
    SPLAT_TRY(splat_profile_get_size(object, "reserved", path, number, &sample->reserved_bytes, error));
    SPLAT_TRY(splat_profile_get_size(object, "peak", path, number, &sample->peak_bytes, error));
    SPLAT_TRY(splat_profile_get_size(object, "driver", path, number, &sample->driver_bytes, error));
    SPLAT_TRY(splat_profile_get_size(object, "pinned", path, number, &pinned, error));
    SPLAT_TRY(splat_profile_get_size(object, "host", path, number, &host, error));
    SPLAT_TRY(splat_profile_get_size(object, "process", path, number, &sample->process_bytes, error));
    if (!json_is_number(seconds))
        return splat_fail_line(error, SPLAT_ERROR_FORMAT, path, number, "\"seconds\" must be a number");
    sample->seconds = json_number_value(seconds);
    sample->host_bytes = pinned + host;
    if (sample->allocated_bytes > sample->reserved_bytes)
        return splat_fail_line(error, SPLAT_ERROR_FORMAT, path, number,
                               "%zu bytes are allocated, but only %zu reserved", sample->allocated_bytes,
                               sample->reserved_bytes);
    SPLAT_TRY(check_blocks(object, path, number, sample, error));
    return read_categories(object, path, number, sample, error);
}

/* ---------------------------------------------------------------- the file */

/* The required keys alone, with a digit each: no line of a sample is shorter. */
#define LEAST_LINE 128

static splat_status make_room(splat_profile_lines *lines, splat_profile *profile, splat_error *error)
{
    size_t n = lines->size / LEAST_LINE + 1;
    lines->begin = calloc(n, sizeof *lines->begin);
    lines->length = calloc(n, sizeof *lines->length);
    lines->number = calloc(n, sizeof *lines->number);
    profile->samples = calloc(n, sizeof *profile->samples);
    if (lines->begin && lines->length && lines->number && profile->samples) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_MEMORY, lines->path, SPLAT_NO_OFFSET, "no memory for %zu samples", n);
}

static splat_status add_sample(const json_t *object, splat_profile_lines *lines, splat_profile *profile, size_t begin,
                               size_t length, size_t number, splat_error *error)
{
    splat_profile_sample *sample = &profile->samples[profile->n_samples];
    SPLAT_TRY(read_sample(object, lines->path, number, sample, error));
    if (profile->n_samples && sample->iteration <= sample[-1].iteration)
        return splat_fail_line(error, SPLAT_ERROR_FORMAT, lines->path, number,
                               "iteration %d follows iteration %d: the samples are not in order", sample->iteration,
                               sample[-1].iteration);
    lines->begin[lines->n] = begin;
    lines->length[lines->n] = length;
    lines->number[lines->n++] = number;
    profile->n_samples++;
    return SPLAT_OK;
}

static splat_status read_lines(splat_profile_lines *lines, splat_profile *profile, splat_profile_run *run,
                               splat_error *error)
{
    size_t number = 0;
    for (size_t begin = 0, end; begin < lines->size; begin = end + 1) {
        const uint8_t *newline = memchr(lines->data + begin, '\n', lines->size - begin);
        json_t *object;
        number++;
        end = newline ? (size_t)(newline - lines->data) : lines->size;
        splat_status parsed = splat_profile_parse_line(lines->path, lines->data + begin, end - begin, number, &object,
                                                       error);
        profile->is_cut = parsed == SPLAT_ERROR_FORMAT && !newline && number > 1;
        if (profile->is_cut) break;
        SPLAT_TRY(parsed);
        splat_status status = number == 1 ? read_run(object, lines->path, profile, run, error)
                                          : add_sample(object, lines, profile, begin, end - begin, number, error);
        json_decref(object);
        SPLAT_TRY(status);
    }
    if (profile->n_samples) return SPLAT_OK;
    return splat_fail_line(error, SPLAT_ERROR_FORMAT, lines->path, number ? number : 1,
                           "the profile has no samples: the run ended before the first one");
}

static void find_peaks(splat_profile *profile)
{
    for (size_t i = 1; i < profile->n_samples; i++) {
        const splat_profile_sample *sample = &profile->samples[i];
        if (sample->reserved_bytes > profile->samples[profile->peak].reserved_bytes) profile->peak = i;
        for (int c = 0; c < SPLAT_N_MEMORY_CATEGORIES; c++)
            if (sample->category_bytes[c] > profile->samples[profile->category_peaks[c]].category_bytes[c])
                profile->category_peaks[c] = i;
    }
}

static splat_status judge(splat_profile *profile, const splat_profile_run *run, const splat_profile_lines *lines,
                          splat_error *error)
{
    const splat_profile_sample *first = &profile->samples[0];
    find_peaks(profile);
    profile->overhead_bytes = first->driver_bytes > first->reserved_bytes ? first->driver_bytes - first->reserved_bytes
                                                                          : 0;
    SPLAT_TRY(splat_profile_look_at_peak(profile, run, lines, error));
    return splat_profile_judge(profile, run, lines, error);
}

splat_status splat_profile_read(const char *path, splat_profile **result, splat_error *error)
{
    splat_profile_run run = {.gpu = false};
    splat_profile_lines lines = {.path = path};
    *result = NULL;
    splat_profile *profile = calloc(1, sizeof *profile);
    if (profile) profile->path = strdup(path);
    splat_status status = profile && profile->path
                              ? splat_file_read(path, &lines.data, &lines.size, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a memory profile");
    if (status == SPLAT_OK) status = make_room(&lines, profile, error);
    if (status == SPLAT_OK) status = read_lines(&lines, profile, &run, error);
    if (status == SPLAT_OK) status = judge(profile, &run, &lines, error);
    free(lines.data);
    free(lines.begin);
    free(lines.length);
    free(lines.number);
    if (status == SPLAT_OK)
        *result = profile;
    else
        splat_profile_free(profile);
    return status;
}

void splat_profile_free(splat_profile *profile)
{
    if (!profile) return;
    free(profile->path);
    free(profile->samples);
    free(profile);
}

/* ---------------------------------------------------------------- finding the newest */

#define DEEPEST 2 /* folders below the one that is searched */

typedef struct newest {
    char *path, *name;
    struct timespec modified;
} newest;

static bool is_profile(const char *name)
{
    static const char prefix[] = "tensor_profile_", suffix[] = ".jsonl";
    size_t length = strlen(name);
    return length > sizeof prefix + sizeof suffix - 2 && strncmp(name, prefix, sizeof prefix - 1) == 0 &&
           strcmp(name + length - (sizeof suffix - 1), suffix) == 0;
}

/* Names hold the time, which copies keep; files of the same second differ in the file system's time. */
static bool is_newer(const newest *best, const char *name, const struct timespec *modified)
{
    static const size_t time_end = sizeof "tensor_profile_20000101_000000" - 1;
    if (!best->path) return true;
    int order = strncmp(name, best->name, time_end);
    if (order == 0 && modified->tv_sec != best->modified.tv_sec)
        order = modified->tv_sec > best->modified.tv_sec ? 1 : -1;
    if (order == 0 && modified->tv_nsec != best->modified.tv_nsec)
        order = modified->tv_nsec > best->modified.tv_nsec ? 1 : -1;
    return order ? order > 0 : strcmp(name, best->name) > 0;
}

static splat_status consider(newest *best, const char *folder, const char *name, splat_error *error)
{
    struct stat info;
    char *path = splat_format("%s/%s", folder, name), *copy = strdup(name);
    if (!path || !copy) {
        free(path);
        free(copy);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    }
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || !is_newer(best, name, &info.st_mtim)) {
        free(path);
        free(copy);
        return SPLAT_OK;
    }
    free(best->path);
    free(best->name);
    *best = (newest){path, copy, info.st_mtim};
    return SPLAT_OK;
}

/* Profiles lie in the folder "profiles" of a model folder. A folder that cannot be read has none for us. */
static splat_status search(newest *best, const char *folder, int depth, splat_error *error)
{
    char **names;
    size_t n;
    splat_status status = splat_folder_list(folder, &names, &n, error);
    if (status != SPLAT_OK) return status == SPLAT_ERROR_MEMORY ? status : SPLAT_OK;
    bool profiles = strcmp(splat_basename(folder), "profiles") == 0;
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
        if (profiles && is_profile(names[i])) status = consider(best, folder, names[i], error);
        if (profiles || (depth == 0 && strcmp(names[i], "profiles") != 0)) continue;
        char *path = splat_format("%s/%s", folder, names[i]);
        if (!path) status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        if (path && splat_path_is_folder(path)) status = search(best, path, depth - 1, error);
        free(path);
    }
    splat_names_free(names, n);
    return status;
}

splat_status splat_profile_find(const char *run, const char *folder, char *path, size_t size, splat_error *error)
{
    newest best = {NULL, NULL, {0, 0}};
    bool latest = strcmp(run, "latest") == 0;
    const char *where = latest ? folder : run;
    if (!where) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "name the folder that holds the runs");
    if (!splat_path_exists(where))
        return splat_fail_at(error, SPLAT_ERROR_IO, where, SPLAT_NO_OFFSET, "there is no such run");
    bool is_file = !splat_path_is_folder(where);
    splat_status status = is_file ? SPLAT_OK : search(&best, where, latest ? DEEPEST : 0, error);
    const char *found = is_file ? where : best.path;
    if (status == SPLAT_OK && !found)
        status = splat_fail_at(error, SPLAT_ERROR_IO, where, SPLAT_NO_OFFSET,
                               "there is no profiles/tensor_profile_*.jsonl; train with `profile_tensors`");
    if (status == SPLAT_OK && (size_t)snprintf(path, size, "%s", found) >= size)
        status = splat_fail(error, SPLAT_ERROR_ARGUMENT, "the path %.200s... is too long", found);
    free(best.path);
    free(best.name);
    return status;
}
