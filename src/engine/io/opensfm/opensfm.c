/* reconstruction.json: a list of reconstructions, each with cameras, shots (photos) and points. Shots are world to
 * camera, x right, y down, z forward; lengths of cameras are in longer sides of the photo, from its middle. */
#include "io/opensfm/opensfm.h"

#include "base/file.h"
#include "io/foreign_poses.h"
#include "io/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SIDE 1000000

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to read a reconstruction");
}

/* The reconstruction with the most shots of the file's list. */
static splat_status find_largest(const json_t *root, const char *path, const json_t **largest, splat_error *error)
{
    size_t most = 0;
    *largest = NULL;
    for (size_t i = 0; i < json_array_size(root); i++) {
        const json_t *candidate = json_array_get(root, i);
        size_t n = json_object_size(json_object_get(candidate, "shots"));
        if (n <= most) continue;
        most = n;
        *largest = candidate;
    }
    if (*largest) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                         "the file is no list of reconstructions with \"shots\"; is it OpenSfM's?");
}

/* ---------------------------------------------------------------- cameras */

/* The projections that a lens of ours has the same formula for, with the names of its coefficients in our order. */
typedef struct projection {
    const char *name;
    splat_lens_model model;
    const char *coefficients[6]; /* NULL: zero */
} projection;

static const projection projections[] = {
    {"perspective", SPLAT_LENS_NERFSTUDIO, {"k1", "k2"}},
    {"simple_radial", SPLAT_LENS_NERFSTUDIO, {"k1"}},
    {"radial", SPLAT_LENS_NERFSTUDIO, {"k1", "k2"}},
    {"brown", SPLAT_LENS_NERFSTUDIO, {"k1", "k2", "k3", NULL, "p1", "p2"}},
    {"fisheye", SPLAT_LENS_OPENCV_FISHEYE, {"k1", "k2"}},
    {"fisheye_opencv", SPLAT_LENS_OPENCV_FISHEYE, {"k1", "k2", "k3", "k4"}},
    {"spherical", SPLAT_LENS_EQUIRECTANGULAR, {NULL}},
    {"equirectangular", SPLAT_LENS_EQUIRECTANGULAR, {NULL}},
};

static splat_status find_projection(const json_t *camera, const char *path, const projection **found,
                                    splat_error *error)
{
    const char *name = NULL;
    SPLAT_TRY(splat_json_get_string(camera, "projection_type", path, &name, error));
    for (size_t i = 0; name && i < sizeof projections / sizeof projections[0]; i++)
        if (strcmp(name, projections[i].name) == 0) {
            *found = &projections[i];
            return SPLAT_OK;
        }
    return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                         "a camera's projection_type is %.60s; perspective, simple_radial, radial, brown, fisheye, "
                         "fisheye_opencv and spherical are read", name ? name : "missing");
}

static splat_status set_lens(const json_t *camera, const char *path, splat_transforms_frame *frame, splat_error *error)
{
    const projection *type = NULL;
    double focal = 0, focal_y, center[2] = {0, 0};
    SPLAT_TRY(find_projection(camera, path, &type, error));
    SPLAT_TRY(splat_json_get_count(camera, "width", path, MAX_SIDE, &frame->width, error));
    SPLAT_TRY(splat_json_get_count(camera, "height", path, MAX_SIDE, &frame->height, error));
    SPLAT_TRY(splat_json_get_number(camera, "focal", path, &focal, error));
    SPLAT_TRY(splat_json_get_number(camera, "focal_x", path, &focal, error));
    focal_y = focal;
    SPLAT_TRY(splat_json_get_number(camera, "focal_y", path, &focal_y, error));
    SPLAT_TRY(splat_json_get_number(camera, "c_x", path, &center[0], error));
    SPLAT_TRY(splat_json_get_number(camera, "c_y", path, &center[1], error));
    double side = frame->width > frame->height ? frame->width : frame->height;
    frame->model = type->model;
    if (type->model == SPLAT_LENS_EQUIRECTANGULAR && frame->width > 0 && frame->height > 0)
        return splat_poses_check_panorama(frame->width, frame->height, path, error);
    frame->fx = focal * side;
    frame->fy = focal_y * side;
    frame->cx = center[0] * side + 0.5 * frame->width; /* theirs are of pixels whose first centre is 0, 0 */
    frame->cy = center[1] * side + 0.5 * frame->height;
    bool is_sound = frame->width > 0 && frame->height > 0 && (float)frame->fx > 0 && (float)frame->fy > 0 &&
                    splat_poses_is_sound(frame->fx) && splat_poses_is_sound(frame->fy) &&
                    splat_poses_is_sound(frame->cx) && splat_poses_is_sound(frame->cy);
    for (int i = 0; i < 6; i++) {
        if (!type->coefficients[i]) continue;
        SPLAT_TRY(splat_json_get_number(camera, type->coefficients[i], path, &frame->coefficients[i], error));
        is_sound = is_sound && splat_poses_is_sound(frame->coefficients[i]);
    }
    if (is_sound) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                         "width, height, the focal length, c_x, c_y or a coefficient of a camera is missing or out of "
                         "range");
}

/* ---------------------------------------------------------------- shots */

static splat_status get_triple(const json_t *object, const char *key, const char *path, double triple[3],
                               splat_error *error)
{
    const json_t *values = json_object_get(object, key);
    bool is_sound = json_array_size(values) == 3;
    for (size_t i = 0; i < 3 && is_sound; i++) {
        const json_t *value = json_array_get(values, i);
        triple[i] = json_number_value(value);
        is_sound = json_is_number(value) && splat_poses_is_sound(triple[i]);
    }
    if (is_sound) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET, "\"%s\" is not 3 finite numbers", key);
}

/* Rodrigues: an angle times its axis. */
static void set_rotation(const double vector[3], double matrix[12])
{
    double angle = sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]);
    double axis[3] = {0, 0, 0}, s = sin(angle), c = cos(angle);
    for (int k = 0; k < 3 && angle > 0; k++) axis[k] = vector[k] / angle;
    const double cross[9] = {0, -axis[2], axis[1], axis[2], 0, -axis[0], -axis[1], axis[0], 0};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            matrix[4 * i + k] = (i == k ? c : 0) + (1 - c) * axis[i] * axis[k] + s * cross[3 * i + k];
}

static splat_status read_shot(const json_t *shot, const json_t *cameras, const char *path,
                              splat_transforms_frame *frame, splat_error *error)
{
    double rotation[3], translation[3];
    const char *name = NULL;
    SPLAT_TRY(get_triple(shot, "rotation", path, rotation, error));
    SPLAT_TRY(get_triple(shot, "translation", path, translation, error));
    set_rotation(rotation, frame->world_to_camera);
    for (int k = 0; k < 3; k++) frame->world_to_camera[4 * k + 3] = translation[k];
    SPLAT_TRY(splat_json_get_string(shot, "camera", path, &name, error));
    const json_t *camera = name ? json_object_get(cameras, name) : NULL;
    if (!camera)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET, "its camera \"%.200s\" is not there",
                             name ? name : "");
    return set_lens(camera, path, frame, error);
}

/* Says which shot of the file is wrong. */
static splat_status in_shot(splat_status status, const char *name, splat_error *error)
{
    if (status == SPLAT_OK || !error) return status;
    char message[sizeof error->message];
    memcpy(message, error->message, sizeof message);
    snprintf(error->message, sizeof error->message, "shot \"%.100s\": %.800s", name, message);
    return status;
}

static splat_status read_shots(const json_t *reconstruction, const char *scene, const char *images, const char *path,
                               splat_transforms *transforms, splat_error *error)
{
    json_t *shots = json_object_get(reconstruction, "shots"), *shot;
    const char *name;
    transforms->frames = calloc(json_object_size(shots), sizeof *transforms->frames);
    if (!transforms->frames) return fail_memory(error);
    json_object_foreach(shots, name, shot) {
        splat_transforms_frame *frame = &transforms->frames[transforms->n_frames++];
        SPLAT_TRY(splat_poses_find_photo(scene, images, name, path, frame, error));
        SPLAT_TRY(in_shot(read_shot(shot, json_object_get(reconstruction, "cameras"), path, frame, error), name,
                          error));
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the file */

char *splat_opensfm_find(const char *scene)
{
    static const char *const names[] = {"reconstruction.json", "opensfm/reconstruction.json"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = splat_format("%s/%s", scene, names[i]);
        if (!path || splat_path_exists(path)) return path;
        free(path);
    }
    return NULL;
}

splat_status splat_opensfm_read(const char *scene, const char *images, const char *path, splat_transforms *transforms,
                                splat_error *error)
{
    json_t *root;
    const json_t *reconstruction;
    *transforms = (splat_transforms){.format = "opensfm"};
    SPLAT_TRY(splat_json_read(path, &root, error));
    transforms->n_parts = json_array_size(root);
    splat_status status = find_largest(root, path, &reconstruction, error);
    if (status == SPLAT_OK) status = read_shots(reconstruction, scene, images, path, transforms, error);
    json_decref(root);
    if (status == SPLAT_OK) splat_poses_recenter(transforms);
    else splat_transforms_free(transforms);
    return status;
}

static splat_status read_point(const json_t *item, const char *path, const double origin[3], splat_point *point,
                               splat_error *error)
{
    double position[3], color[3] = {128, 128, 128};
    SPLAT_TRY(get_triple(item, "coordinates", path, position, error));
    if (json_object_get(item, "color")) SPLAT_TRY(get_triple(item, "color", path, color, error));
    for (int k = 0; k < 3; k++) {
        if (!splat_poses_is_sound(position[k] - origin[k]))
            return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                                 "a point is too far from the cameras to be held in 32-bit numbers");
        point->position[k] = (float)(position[k] - origin[k]);
        point->color[k] = (uint8_t)(color[k] < 0 ? 0 : color[k] > 255 ? 255 : color[k] + 0.5);
    }
    return SPLAT_OK;
}

splat_status splat_opensfm_read_points(const char *path, const double origin[3], splat_point **points, size_t *n,
                                       splat_error *error)
{
    json_t *root, *items, *item;
    const json_t *reconstruction;
    const char *key;
    *points = NULL;
    *n = 0;
    SPLAT_TRY(splat_json_read(path, &root, error));
    splat_status status = find_largest(root, path, &reconstruction, error);
    items = status == SPLAT_OK ? json_object_get(reconstruction, "points") : NULL;
    if (json_object_size(items)) {
        *points = calloc(json_object_size(items), sizeof **points);
        if (!*points) status = fail_memory(error);
        json_object_foreach(items, key, item) {
            if (status == SPLAT_OK) status = read_point(item, path, origin, &(*points)[(*n)++], error);
        }
    }
    json_decref(root);
    if (status == SPLAT_OK) return SPLAT_OK;
    free(*points);
    *points = NULL;
    *n = 0;
    return status;
}
