/* cameras.json and split.json, and the search for the newest saved iteration. */
#include "io/model_folder.h"

#include "base/file.h"
#include "io/json.h"
#include "math/camera.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Prints a JSON value into model_path/name, atomically, and gives the value up. NULL: its making has failed. */
static splat_status write_json(const char *model_path, const char *name, json_t *root, size_t flags, splat_error *error)
{
    char *path = splat_format("%s/%s", model_path, name);
    char *text = splat_json_print(root, flags);
    splat_status status = path && text ? splat_file_write(path, text, strlen(text), error)
                                       : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %s", name);
    free(text);
    free(path);
    json_decref(root);
    return status;
}

/* ---------------------------------------------------------------- cameras.json */

static json_t *camera_json(const splat_camera_entry *entry, size_t id)
{
    const float *r = entry->rotation;
    /* camera to world: the transpose */
    return json_pack("{s:I, s:o, s:i, s:i, s:[f,f,f], s:[[f,f,f],[f,f,f],[f,f,f]], s:f, s:f}", "id", (json_int_t)id,
                     "img_name", splat_json_text(entry->name), "width", entry->width, "height", entry->height,
                     "position", (double)entry->center[0], (double)entry->center[1], (double)entry->center[2],
                     "rotation",
                     (double)r[0], (double)r[3], (double)r[6], (double)r[1], (double)r[4], (double)r[7], (double)r[2],
                     (double)r[5], (double)r[8], "fy", entry->fy, "fx", entry->fx);
}

/* JSON has no NaN and no infinity. */
static bool is_writable(const splat_camera_entry *entry)
{
    bool finite = isfinite(entry->fx) && isfinite(entry->fy);
    for (int i = 0; i < 9; i++) finite = finite && isfinite(entry->rotation[i]);
    for (int i = 0; i < 3; i++) finite = finite && isfinite(entry->center[i]);
    return finite;
}

splat_status splat_cameras_json_write(const char *model_path, const splat_camera_entry *entries, size_t n,
                                      splat_error *error)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        if (!is_writable(&entries[i])) {
            json_decref(list);
            return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                              "camera %zu (%s) cannot be written to cameras.json: one of its numbers is not finite",
                              i, entries[i].name);
        }
        splat_json_append(&list, camera_json(&entries[i], i));
    }
    return write_json(model_path, "cameras.json", list, 0, error);
}

/* n numbers of a list. */
static bool read_numbers(const json_t *list, size_t n, double *numbers)
{
    bool good = json_array_size(list) == n;
    for (size_t i = 0; i < n && good; i++) {
        numbers[i] = json_number_value(json_array_get(list, i));
        good = json_is_number(json_array_get(list, i)) && fabs(numbers[i]) < 1e30;
    }
    return good;
}

/* rotation: camera to world in the file, world to camera in the struct. */
static bool read_camera(const json_t *entry, splat_camera *camera)
{
    double center[3], columns[9], rotation[9], translation[3] = {0, 0, 0};
    const json_t *rows = json_object_get(entry, "rotation");
    const double fx = json_number_value(json_object_get(entry, "fx"));
    const double fy = json_number_value(json_object_get(entry, "fy"));
    const json_int_t width = json_integer_value(json_object_get(entry, "width"));
    const json_int_t height = json_integer_value(json_object_get(entry, "height"));
    if (!(fx > 0 && fx < 1e30 && fy > 0 && fy < 1e30) || width < 1 || width > 1 << 20 || height < 1 ||
        height > 1 << 20 || json_array_size(rows) != 3 || !read_numbers(json_object_get(entry, "position"), 3, center))
        return false;
    for (size_t k = 0; k < 3; k++)
        if (!read_numbers(json_array_get(rows, k), 3, columns + 3 * k)) return false;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            rotation[3 * i + k] = columns[3 * k + i];
            translation[i] -= columns[3 * k + i] * center[k];
        }
    splat_camera_set_pose(camera, rotation, translation);
    splat_camera_set_intrinsics(camera, fx, fy, 0.5 * (double)width, 0.5 * (double)height, (int)width, (int)height,
                                (int)width, (int)height);
    return true;
}

splat_status splat_cameras_json_first(const char *path, splat_camera *camera, splat_error *error)
{
    json_t *root;
    SPLAT_TRY(splat_json_read(path, &root, error));
    const bool good = read_camera(json_array_get(root, 0), camera);
    json_decref(root);
    return good ? SPLAT_OK
                : splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                                "the first entry is no camera with width, height, position, rotation, fx and fy");
}

/* ---------------------------------------------------------------- split.json */

static splat_status names_json(char *const *names, size_t n, json_t **list, splat_error *error)
{
    *list = json_array();
    for (size_t i = 0; i < n; i++) splat_json_append(list, splat_json_text(names[i]));
    return *list ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for split.json");
}

splat_status splat_split_write(const char *model_path, const splat_split *split, splat_error *error)
{
    json_t *train = NULL, *test = NULL;
    splat_status status = names_json(split->train, split->n_train, &train, error);
    if (status == SPLAT_OK) status = names_json(split->test, split->n_test, &test, error);
    if (status != SPLAT_OK) {
        json_decref(train);
        return status;
    }
    /* o steals both lists, also when packing fails */
    json_t *root = json_pack("{s:i, s:o, s:o}", "version", 1, "train", train, "test", test);
    return write_json(model_path, "split.json", root, JSON_INDENT(1), error);
}

static splat_status read_names(const json_t *root, const char *key, const char *path, char ***names, size_t *n,
                               splat_error *error)
{
    const json_t *list = NULL;
    SPLAT_TRY(splat_json_get_array(root, key, path, &list, error));
    if (!list) return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET, "it has no list \"%s\"", key);
    size_t n_names = json_array_size(list);
    *names = calloc(n_names ? n_names : 1, sizeof **names);
    if (!*names) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu photo names", n_names);
    for (; *n < n_names; (*n)++) {
        const json_t *name = json_array_get(list, *n);
        if (!json_is_string(name))
            return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET, "entry %zu of \"%s\" is not a text",
                                 *n, key);
        if (!((*names)[*n] = strdup(json_string_value(name))))
            return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a photo name");
    }
    return SPLAT_OK;
}

static splat_status read_split(const json_t *root, const char *path, splat_split *split, splat_error *error)
{
    double version = 0.0;
    if (!json_is_object(root))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET, "the split is not a JSON object");
    SPLAT_TRY(splat_json_get_number(root, "version", path, &version, error));
    if (version != 1.0)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                             "\"version\" of the split is not 1, the only one known");
    SPLAT_TRY(read_names(root, "train", path, &split->train, &split->n_train, error));
    return read_names(root, "test", path, &split->test, &split->n_test, error);
}

splat_status splat_split_read(const char *path, splat_split *split, splat_error *error)
{
    json_t *root;
    memset(split, 0, sizeof *split);
    SPLAT_TRY(splat_json_read(path, &root, error));
    splat_status status = read_split(root, path, split, error);
    json_decref(root);
    if (status != SPLAT_OK) splat_split_free(split);
    return status;
}

void splat_split_free(splat_split *split)
{
    splat_names_free(split->train, split->n_train);
    splat_names_free(split->test, split->n_test);
    memset(split, 0, sizeof *split);
}

/* ---------------------------------------------------------------- point_cloud/iteration_N */

/* N of "iteration_N"; -1 for other names. */
static int iteration_number(const char *name)
{
    static const char prefix[] = "iteration_";
    int number = 0;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) return -1;
    const char *digit = name + sizeof prefix - 1;
    if (!*digit || (digit[0] == '0' && digit[1])) return -1; /* no second spelling of a number */
    for (; *digit; digit++) {
        if (*digit < '0' || *digit > '9' || number > (INT_MAX - 9) / 10) return -1;
        number = 10 * number + (*digit - '0');
    }
    return number;
}

/* The highest iteration with a PLY, or the wanted one; -1: none. */
static splat_status best_iteration(const char *folder, int requested, int *best, splat_error *error)
{
    char **names;
    size_t n;
    *best = -1;
    if (!splat_path_is_folder(folder)) return SPLAT_OK;
    SPLAT_TRY(splat_folder_list(folder, &names, &n, error));
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
        int number = iteration_number(names[i]);
        if (number <= *best || (requested >= 0 && number != requested)) continue;
        char *path = splat_format("%s/%s/point_cloud.ply", folder, names[i]);
        if (!path) status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        if (path && splat_path_exists(path)) *best = number;
        free(path);
    }
    splat_names_free(names, n);
    return status;
}

splat_status splat_find_iteration(const char *model_path, int iteration, char *path, size_t size, int *found,
                                  splat_error *error)
{
    char *folder = splat_format("%s/point_cloud", model_path);
    int best;
    if (!folder) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    if (!splat_path_exists(model_path)) {
        free(folder);
        return splat_fail_at(error, SPLAT_ERROR_IO, model_path, SPLAT_NO_OFFSET,
                             "there is no such folder: name the model folder that train wrote");
    }
    splat_status status = best_iteration(folder, iteration, &best, error);
    free(folder);
    if (status != SPLAT_OK) return status;
    if (best < 0 && iteration >= 0)
        return splat_fail_at(error, SPLAT_ERROR_IO, model_path, SPLAT_NO_OFFSET,
                             "the model folder has no point_cloud/iteration_%d/point_cloud.ply", iteration);
    if (best < 0)
        return splat_fail_at(error, SPLAT_ERROR_IO, model_path, SPLAT_NO_OFFSET,
                             "this is not a model folder: it has no point_cloud/iteration_N/point_cloud.ply");
    int length = snprintf(path, size, "%s/point_cloud/iteration_%d/point_cloud.ply", model_path, best);
    if (length < 0 || (size_t)length >= size)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, model_path, SPLAT_NO_OFFSET, "the path is too long");
    *found = best;
    return SPLAT_OK;
}
