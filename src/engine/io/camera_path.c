/* Camera paths, read and followed. */
#include "io/camera_path.h"

#include "base/file.h"
#include "io/json.h"
#include "math/camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 1000000.0

/* ---------------------------------------------------------------- reading */

static splat_status wrong(const char *name, size_t key, const char *what, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, name, SPLAT_NO_OFFSET, "keyframe %zu %s", key + 1, what);
}

static bool read_numbers(const json_t *array, size_t n, double *out)
{
    if (!json_is_array(array) || json_array_size(array) != n) return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_number(item)) return false;
        out[i] = json_number_value(item);
        if (!(fabs(out[i]) <= 1e7)) return false;
    }
    return true;
}

/* Chooses between a quaternion and its negative, which are the same rotation, the one nearer to that of the key
 * before. */
static void align(const double before[4], double q[4])
{
    double sum = 0;
    for (int k = 0; k < 4; k++) sum += before[k] * q[k];
    for (int k = 0; k < 4 && sum < 0; k++) q[k] = -q[k];
}

static splat_status read_key(const char *name, const json_t *object, splat_camera_path *path, splat_error *error)
{
    const size_t i = path->n;
    splat_camera_key *key = &path->keys[i];
    const json_t *time = json_object_get(object, "time"), *fov = json_object_get(object, "fov_y");
    key->time = json_number_value(time);
    key->fov_y = json_number_value(fov);
    if (!json_is_number(time) || !(key->time >= 0 && key->time <= SPLAT_CAMERA_PATH_SECONDS_MAX))
        return wrong(name, i, "has no time from 0 to 86400 seconds", error);
    if (i && !(key->time >= path->keys[i - 1].time + 1e-3))
        return wrong(name, i, "is not a millisecond after the one before", error);
    if (!read_numbers(json_object_get(object, "position"), 3, key->position))
        return wrong(name, i, "has no position of three numbers", error);
    if (!read_numbers(json_object_get(object, "quaternion"), 4, key->quaternion))
        return wrong(name, i, "has no quaternion of four numbers", error);
    if (!json_is_number(fov) || !(key->fov_y >= 1 && key->fov_y <= 160))
        return wrong(name, i, "has no fov_y from 1 to 160 degrees", error);
    double *q = key->quaternion, length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(length > 1e-6)) return wrong(name, i, "has a quaternion of length 0", error);
    for (int k = 0; k < 4; k++) q[k] /= length;
    if (i) align(path->keys[i - 1].quaternion, q);
    path->n++;
    return SPLAT_OK;
}

static splat_status read_path(const char *name, const json_t *root, splat_camera_path *path, splat_error *error)
{
    const char *format = NULL;
    const json_t *keys = NULL;
    if (!json_is_object(root))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, name, SPLAT_NO_OFFSET, "this is no camera path");
    SPLAT_TRY(splat_json_get_string(root, "format", name, &format, error));
    if (!format || strcmp(format, "splatsmith camera path") != 0)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, name, SPLAT_NO_OFFSET,
                             "this is no camera path: its format is not \"splatsmith camera path\"");
    SPLAT_TRY(splat_json_get_number(root, "fps", name, &path->fps, error));
    SPLAT_TRY(splat_json_get_count(root, "width", name, 16384, &path->width, error));
    SPLAT_TRY(splat_json_get_count(root, "height", name, 16384, &path->height, error));
    SPLAT_TRY(splat_json_get_array(root, "keyframes", name, &keys, error));
    if (!(path->fps >= 0.001 && path->fps <= 1000) || path->width < 16 || path->height < 16)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, name, SPLAT_NO_OFFSET,
                             "fps must be from 0.001 to 1000, width and height from 16 to 16384");
    const size_t n = keys ? json_array_size(keys) : 0;
    if (n == 0 || n > SPLAT_CAMERA_PATH_KEYS_MAX)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, name, SPLAT_NO_OFFSET,
                             "a camera path has 1 to %d keyframes, not %zu", SPLAT_CAMERA_PATH_KEYS_MAX, n);
    if (!(path->keys = calloc(n, sizeof *path->keys)))
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a camera path");
    for (size_t i = 0; i < n; i++) SPLAT_TRY(read_key(name, json_array_get(keys, i), path, error));
    if ((path->keys[n - 1].time - path->keys[0].time) * path->fps > FRAMES_MAX)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, name, SPLAT_NO_OFFSET,
                             "a camera path has at most %.0f pictures", FRAMES_MAX);
    return SPLAT_OK;
}

splat_status splat_camera_path_parse(const char *name, const char *text, size_t size, splat_camera_path *path,
                                     splat_error *error)
{
    json_t *root;
    splat_error problem;
    *path = (splat_camera_path){.fps = 30, .width = 1280, .height = 720};
    if (size > SPLAT_CAMERA_PATH_BYTES_MAX)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, name, SPLAT_NO_OFFSET, "a camera path has at most %d bytes",
                             SPLAT_CAMERA_PATH_BYTES_MAX);
    splat_status status = splat_json_parse_message("the camera path", text, size, &root, &problem);
    if (status != SPLAT_OK) return splat_fail_at(error, status, name, SPLAT_NO_OFFSET, "%s", problem.message);
    status = read_path(name, root, path, error);
    json_decref(root);
    if (status != SPLAT_OK) splat_camera_path_free(path);
    return status;
}

splat_status splat_camera_path_read(const char *file, splat_camera_path *path, splat_error *error)
{
    uint8_t *data;
    size_t size;
    SPLAT_TRY(splat_file_read(file, &data, &size, error));
    splat_status status = splat_camera_path_parse(file, (const char *)data, size, path, error);
    free(data);
    return status;
}

void splat_camera_path_free(splat_camera_path *path)
{
    free(path->keys);
    *path = (splat_camera_path){0};
}

/* ---------------------------------------------------------------- following */

size_t splat_camera_path_frames(const splat_camera_path *path)
{
    return 1 + (size_t)floor((path->keys[path->n - 1].time - path->keys[0].time) * path->fps + 1e-6);
}

/* Interpolated numbers of a key: position, rotation, field of view. */
#define N_NUMBERS 8

static double number_of(const splat_camera_key *key, int c)
{
    return c < 3 ? key->position[c] : c < 7 ? key->quaternion[c - 3] : key->fov_y;
}

static double slope(const splat_camera_path *path, size_t i, int c)
{
    const splat_camera_key *before = &path->keys[i ? i - 1 : 0], *after = &path->keys[i + 1 < path->n ? i + 1 : i];
    return (number_of(after, c) - number_of(before, c)) / (after->time - before->time);
}

static void interpolate(const splat_camera_path *path, double time, double out[N_NUMBERS])
{
    const splat_camera_key *keys = path->keys;
    const size_t last = path->n - 1;
    size_t i = 0;
    if (last == 0 || time >= keys[last].time) {
        for (int c = 0; c < N_NUMBERS; c++) out[c] = number_of(&keys[last], c);
        return;
    }
    while (i + 1 < last && time >= keys[i + 1].time) i++;
    const double length = keys[i + 1].time - keys[i].time, t = fmax(0, (time - keys[i].time) / length), u = 1 - t;
    for (int c = 0; c < N_NUMBERS; c++)
        out[c] = u * u * (1 + 2 * t) * number_of(&keys[i], c) + t * t * (3 - 2 * t) * number_of(&keys[i + 1], c) +
                 length * t * u * (u * slope(path, i, c) - t * slope(path, i + 1, c));
}

splat_camera splat_camera_path_at(const splat_camera_path *path, size_t frame)
{
    double v[N_NUMBERS];
    splat_camera camera;
    interpolate(path, path->keys[0].time + (double)frame / path->fps, v);
    splat_camera_look(&camera, v, v + 3, fmin(fmax(v[7], 1), 160), path->width, path->height);
    return camera;
}
