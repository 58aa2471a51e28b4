/* Scenes as JSON. All three kinds hold camera-to-world matrices in OpenGL axes (x right, y up, z backward); see
 * docs/method.md 2.4 and 2.5, and the data format page of Nerfstudio. */
#include "io/transforms.h"

#include "base/file.h"
#include "io/json.h"
#include "io/orthonormal.h"
#include "io/picture/photo_folders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_SIDE 1000000
#define PI 3.14159265358979323846
#define N_DISTORTION 8

/* The camera of a file or of a frame; a frame's own values replace the file's. Zero: not given. */
typedef struct intrinsics {
    double fx, fy, cx, cy, angle_x, angle_y;
    int width, height;
    splat_lens_model model;
    double distortion[N_DISTORTION]; /* k1 k2 k3 k4 p1 p2 k5 k6 */
} intrinsics;

static splat_status fail_format(const char *path, splat_error *error, const char *format, ...) SPLAT_PRINTF(3, 4);
static splat_status fail_format(const char *path, splat_error *error, const char *format, ...)
{
    char message[sizeof error->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET, "%s", message);
}

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to read a scene");
}

static bool has_file(const char *scene, const char *name)
{
    char *path = splat_format("%s/%s", scene, name);
    bool there = path && splat_path_exists(path);
    free(path);
    return there;
}

/* ---------------------------------------------------------------- intrinsics */

static splat_status fail_lens(const char *path, const char *what, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                         "%s: lenses that are read are PINHOLE, SIMPLE_RADIAL, RADIAL, OPENCV, FULL_OPENCV, "
                         "OPENCV_FISHEYE and EQUIRECTANGULAR; undistort the photos, for example with \"colmap "
                         "image_undistorter\"", what);
}

/* The lens of a camera_model, in any case; -1: none of those that are read. What Nerfstudio calls OPENCV, and its
 * kin, is one perspective camera with four radial terms. */
static int find_model(const char *name)
{
    static const char *const perspective[] = {"PINHOLE", "SIMPLE_PINHOLE", "SIMPLE_RADIAL", "RADIAL", "OPENCV",
                                              "PERSPECTIVE"};
    for (size_t i = 0; i < sizeof perspective / sizeof perspective[0]; i++)
        if (strcasecmp(name, perspective[i]) == 0) return SPLAT_LENS_NERFSTUDIO;
    if (strcasecmp(name, "FULL_OPENCV") == 0) return SPLAT_LENS_FULL_OPENCV;
    if (strcasecmp(name, "OPENCV_FISHEYE") == 0) return SPLAT_LENS_OPENCV_FISHEYE;
    if (strcasecmp(name, "EQUIRECTANGULAR") == 0) return SPLAT_LENS_EQUIRECTANGULAR;
    return -1;
}

/* k1 to k6 and p1, p2, or `distortion_params` of k1 to k4, p1, p2; the camera model. */
static splat_status read_distortion(const json_t *object, const char *path, intrinsics *camera, splat_error *error)
{
    static const char *const keys[N_DISTORTION] = {"k1", "k2", "k3", "k4", "p1", "p2", "k5", "k6"};
    for (size_t i = 0; i < N_DISTORTION; i++)
        SPLAT_TRY(splat_json_get_number(object, keys[i], path, &camera->distortion[i], error));
    const json_t *parameters = NULL;
    SPLAT_TRY(splat_json_get_array(object, "distortion_params", path, &parameters, error));
    if (json_array_size(parameters) > 6)
        return fail_lens(path, "distortion_params has more than k1, k2, k3, k4, p1, p2", error);
    for (size_t i = 0; i < json_array_size(parameters); i++) {
        if (!json_is_number(json_array_get(parameters, i)))
            return fail_format(path, error, "distortion_params holds something that is not a number");
        camera->distortion[i] = json_number_value(json_array_get(parameters, i));
    }
    for (size_t i = 0; i < N_DISTORTION; i++)
        if (!isfinite((float)camera->distortion[i]))
            return fail_format(path, error, "%s is out of range", keys[i]);
    const char *model = NULL;
    SPLAT_TRY(splat_json_get_string(object, "camera_model", path, &model, error));
    if (model) {
        char what[96];
        int found = find_model(model);
        snprintf(what, sizeof what, "the camera model is %.60s", model);
        if (found < 0) return fail_lens(path, what, error);
        camera->model = (splat_lens_model)found;
    }
    if (json_is_true(json_object_get(object, "is_fisheye"))) camera->model = SPLAT_LENS_OPENCV_FISHEYE;
    return SPLAT_OK;
}

/* The coefficients in the order of the lens. Those that the model has no place for must be zero. */
static splat_status set_distortion(const intrinsics *camera, const char *path, splat_transforms_frame *frame,
                                   splat_error *error)
{
    const double *d = camera->distortion;
    bool is_rational = camera->model == SPLAT_LENS_FULL_OPENCV, is_fisheye = camera->model == SPLAT_LENS_OPENCV_FISHEYE;
    frame->model = camera->model;
    memset(frame->coefficients, 0, sizeof frame->coefficients);
    if (camera->model == SPLAT_LENS_EQUIRECTANGULAR) {
        frame->coefficients[0] = camera->width;
        frame->coefficients[1] = camera->height;
        return SPLAT_OK;
    }
    if (!is_rational && (d[6] != 0 || d[7] != 0))
        return fail_lens(path, "k5 or k6 is not zero, and the camera model is not FULL_OPENCV", error);
    if (is_fisheye && (d[4] != 0 || d[5] != 0))
        return fail_lens(path, "a fisheye camera has p1 or p2, which OPENCV_FISHEYE does not", error);
    memcpy(frame->coefficients, d, 6 * sizeof *d); /* k1 k2 k3 k4 p1 p2; a fisheye's end with k4 */
    if (is_rational) {
        const double order[8] = {d[0], d[1], d[4], d[5], d[2], d[3], d[6], d[7]};
        memcpy(frame->coefficients, order, sizeof order);
    }
    return SPLAT_OK;
}

/* As the float it becomes. */
static bool is_positive(double value)
{
    return (float)value > 0 && isfinite((float)value);
}

static bool has(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return value && !json_is_null(value);
}

/* *camera holds the shared values on entry. fl_x wins over camera_angle_x of the same object. */
static splat_status read_intrinsics(const json_t *object, const char *path, intrinsics *camera, splat_error *error)
{
    SPLAT_TRY(splat_json_get_count(object, "w", path, MAX_SIDE, &camera->width, error));
    SPLAT_TRY(splat_json_get_count(object, "h", path, MAX_SIDE, &camera->height, error));
    SPLAT_TRY(splat_json_get_number(object, "cx", path, &camera->cx, error));
    SPLAT_TRY(splat_json_get_number(object, "cy", path, &camera->cy, error));
    if (!isfinite((float)camera->cx) || !isfinite((float)camera->cy))
        return fail_format(path, error, "the principal point %g, %g is out of range", camera->cx, camera->cy);
    if (has(object, "fl_x")) {
        SPLAT_TRY(splat_json_get_number(object, "fl_x", path, &camera->fx, error));
        camera->fy = camera->fx;
        SPLAT_TRY(splat_json_get_number(object, "fl_y", path, &camera->fy, error));
        if (!is_positive(camera->fx) || !is_positive(camera->fy))
            return fail_format(path, error, "the focal lengths %g, %g are not positive", camera->fx, camera->fy);
    } else if (has(object, "camera_angle_x")) {
        camera->fx = camera->fy = camera->angle_y = 0;
        SPLAT_TRY(splat_json_get_number(object, "camera_angle_x", path, &camera->angle_x, error));
        SPLAT_TRY(splat_json_get_number(object, "camera_angle_y", path, &camera->angle_y, error));
        if (!(camera->angle_x > 0 && camera->angle_x < PI && camera->angle_y >= 0 && camera->angle_y < PI))
            return fail_format(path, error, "camera_angle_x, camera_angle_y are %g, %g; they are radians from 0 to pi",
                               camera->angle_x, camera->angle_y);
    }
    return read_distortion(object, path, camera, error);
}

static splat_status set_intrinsics(const intrinsics *camera, const char *path, splat_transforms_frame *frame,
                                   splat_error *error)
{
    frame->cx = camera->cx;
    frame->cy = camera->cy;
    bool sized = camera->width > 0 && camera->height > 0;
    frame->width = sized ? camera->width : 0;
    frame->height = sized ? camera->height : 0;
    SPLAT_TRY(set_distortion(camera, path, frame, error));
    if (camera->model == SPLAT_LENS_EQUIRECTANGULAR) { /* what stands for focal lengths means nothing */
        frame->fx = frame->fy = frame->cx = frame->cy = 0;
        return SPLAT_OK;
    }
    if (camera->fx > 0) {
        frame->fx = camera->fx;
        frame->fy = camera->fy;
    } else if (camera->angle_x > 0) {
        frame->fov_x = camera->angle_x;
        frame->fov_y = camera->angle_y;
    } else {
        return fail_format(path, error, "the focal length is missing; give fl_x (pixels) or camera_angle_x (radians)");
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- poses and photos */

/* OpenGL camera-to-world -> world-to-camera with y down and z forward: negate columns 1 and 2, invert. */
static splat_status read_pose(const json_t *matrix, const char *path, double world_to_camera[12], splat_error *error)
{
    double columns[4][3];
    size_t n_rows = json_array_size(matrix);
    if (n_rows != 3 && n_rows != 4)
        return fail_format(path, error, "the camera's matrix is not 4 rows of 4 numbers (camera to world)");
    for (size_t r = 0; r < 3; r++) {
        const json_t *row = json_array_get(matrix, r);
        if (json_array_size(row) != 4)
            return fail_format(path, error, "row %zu of the camera's matrix is not 4 numbers", r);
        for (size_t c = 0; c < 4; c++) {
            const json_t *value = json_array_get(row, c);
            if (!json_is_number(value) || !isfinite((float)json_number_value(value)))
                return fail_format(path, error, "row %zu, column %zu of the camera's matrix is not a finite number", r,
                                   c);
            columns[c][r] = json_number_value(value);
        }
    }
    if (!splat_orthonormalize(columns))
        return fail_format(path, error, "the camera's matrix is not a rotation and a translation (its columns are not "
                                        "orthogonal, or it mirrors)");
    for (int r = 0; r < 3; r++) { /* rows of the inverse are the columns */
        double sign = r == 0 ? 1 : -1, sum = 0;
        for (int k = 0; k < 3; k++) {
            world_to_camera[4 * r + k] = sign * columns[r][k];
            sum -= sign * columns[r][k] * columns[3][k];
        }
        world_to_camera[4 * r + 3] = sum;
    }
    return SPLAT_OK;
}

static const char *without_dot(const char *name)
{
    while (name[0] == '.' && name[1] == '/') name += 2;
    return name;
}

splat_status splat_transforms_set_absent(splat_transforms_frame *frame, const char *name, const splat_error *reason,
                                         splat_error *error)
{
    char *copy = strdup(name);
    frame->absent = malloc(sizeof *frame->absent);
    if (!copy || !frame->absent) {
        free(copy);
        return fail_memory(error);
    }
    *frame->absent = *reason;
    free(frame->path);
    frame->path = copy;
    return SPLAT_OK;
}

/* The name with the extension that is on the disk: as it is, or with .png, .jpg, .jpeg after it. */
static splat_status find_photo(const char *scene, const char *file_path, const char *path,
                               splat_transforms_frame *frame, splat_error *error)
{
    splat_error reason;
    static const char *const extensions[] = {"", ".png", ".jpg", ".jpeg", ".PNG", ".JPG", ".JPEG"};
    const char *name = without_dot(file_path);
    if (!splat_name_is_inside(name))
        return fail_format(path, error, "the photo's name \"%.200s\" leaves the scene's folder; names must be "
                                        "relative, with forward slashes and without \"..\"", file_path);
    for (size_t i = 0; i < sizeof extensions / sizeof extensions[0]; i++) {
        char *full = splat_format("%s/%s%s", scene, name, extensions[i]);
        if (!full) return fail_memory(error);
        bool there = splat_path_exists(full) && !splat_path_is_folder(full);
        free(full);
        if (!there) continue;
        frame->path = splat_format("%s%s", name, extensions[i]);
        return frame->path ? SPLAT_OK : fail_memory(error);
    }
    splat_fail_at(&reason, SPLAT_ERROR_IO, path, SPLAT_NO_OFFSET,
                  "the photo \"%.200s\" is not in the scene's folder (.png, .jpg and .jpeg were tried too); put it "
                  "there or take its frame out of the file", file_path);
    return splat_transforms_set_absent(frame, name, &reason, error);
}

static splat_status take_mask(const char *mask_path, const char *path, char **mask, splat_error *error)
{
    const char *name = without_dot(mask_path);
    if (!splat_name_is_inside(name))
        return fail_format(path, error, "the mask's name \"%.200s\" leaves the scene's folder; names must be "
                                        "relative, with forward slashes and without \"..\"", mask_path);
    *mask = strdup(name);
    return *mask ? SPLAT_OK : fail_memory(error);
}

/* ---------------------------------------------------------------- frames */

static splat_status add_frames(splat_transforms *transforms, size_t n, splat_error *error)
{
    size_t total = transforms->n_frames + n; /* both are counts of things in memory: no overflow */
    splat_transforms_frame *grown = realloc(transforms->frames, (total ? total : 1) * sizeof *grown);
    if (!grown) return fail_memory(error);
    memset(grown + transforms->n_frames, 0, n * sizeof *grown);
    transforms->frames = grown;
    transforms->n_frames = total;
    return SPLAT_OK;
}

/* Says which frame of a file is wrong. */
static splat_status in_frame(splat_status status, size_t index, splat_error *error)
{
    if (status == SPLAT_OK || !error) return status;
    char message[sizeof error->message];
    memcpy(message, error->message, sizeof message);
    snprintf(error->message, sizeof error->message, "frame %zu: %.900s", index, message);
    return status;
}

static splat_status read_frame(const json_t *object, const char *scene, const char *path, const intrinsics *shared,
                               splat_transforms_frame *frame, splat_error *error)
{
    intrinsics camera = *shared;
    const char *file_path = NULL, *mask_path = NULL;
    SPLAT_TRY(splat_json_get_string(object, "file_path", path, &file_path, error));
    if (!file_path) return fail_format(path, error, "\"file_path\", the name of the photo, is missing");
    SPLAT_TRY(splat_json_get_string(object, "mask_path", path, &mask_path, error));
    if (mask_path) SPLAT_TRY(take_mask(mask_path, path, &frame->mask, error));
    SPLAT_TRY(read_intrinsics(object, path, &camera, error));
    SPLAT_TRY(set_intrinsics(&camera, path, frame, error));
    SPLAT_TRY(read_pose(json_object_get(object, "transform_matrix"), path, frame->world_to_camera, error));
    return find_photo(scene, file_path, path, frame, error);
}

/* Appends the frames of a transforms*.json. */
static splat_status read_frames(const json_t *root, const char *scene, const char *path, bool is_test,
                                splat_transforms *transforms, splat_error *error)
{
    intrinsics shared = {.model = SPLAT_LENS_NERFSTUDIO};
    const json_t *frames = NULL;
    if (!json_is_object(root)) return fail_format(path, error, "the file does not hold a JSON object");
    SPLAT_TRY(read_intrinsics(root, path, &shared, error));
    SPLAT_TRY(splat_json_get_array(root, "frames", path, &frames, error));
    if (json_array_size(frames) == 0) return fail_format(path, error, "the file has no \"frames\"");
    size_t first = transforms->n_frames, n = json_array_size(frames);
    SPLAT_TRY(add_frames(transforms, n, error));
    for (size_t i = 0; i < n; i++) {
        splat_transforms_frame *frame = &transforms->frames[first + i];
        frame->is_test = is_test;
        SPLAT_TRY(in_frame(read_frame(json_array_get(frames, i), scene, path, &shared, frame, error), i, error));
        if (frame->absent) in_frame(SPLAT_ERROR_IO, i, frame->absent);
    }
    return SPLAT_OK;
}

/* Finds a point cloud next to a NeRF-synthetic scene, written by the published loaders or by the user. */
static splat_status find_blender_points(const char *scene, splat_transforms *transforms, splat_error *error)
{
    if (!has_file(scene, "points3d.ply")) return SPLAT_OK;
    transforms->point_cloud = strdup("points3d.ply");
    return transforms->point_cloud ? SPLAT_OK : fail_memory(error);
}

static splat_status read_frames_file(const char *scene, const char *name, bool is_test, splat_transforms *transforms,
                                     splat_error *error)
{
    json_t *root = NULL;
    char *path = splat_format("%s/%s", scene, name);
    splat_status status = path ? splat_json_read(path, &root, error) : fail_memory(error);
    if (status == SPLAT_OK) status = read_frames(root, scene, path, is_test, transforms, error);
    json_decref(root);
    free(path);
    return status;
}

/* ---------------------------------------------------------------- multi-scale Blender */

/* metadata.json[split]: arrays of equal length, one entry a picture. */
static splat_status read_metadata_frame(const json_t *split, size_t i, const char *scene, const char *path,
                                        splat_transforms_frame *frame, splat_error *error)
{
    const json_t *name = json_array_get(json_object_get(split, "file_path"), i);
    const json_t *width = json_array_get(json_object_get(split, "width"), i);
    const json_t *height = json_array_get(json_object_get(split, "height"), i);
    const json_t *focal = json_array_get(json_object_get(split, "focal"), i);
    if (!json_is_string(name) || !json_is_number(width) || !json_is_number(height) || !json_is_number(focal))
        return fail_format(path, error, "file_path, width, height or focal is missing or of the wrong type");
    double w = json_number_value(width), h = json_number_value(height), f = json_number_value(focal);
    if (!(w >= 1 && w <= MAX_SIDE && h >= 1 && h <= MAX_SIDE && is_positive(f)))
        return fail_format(path, error, "the size %g x %g or the focal length %g is not positive", w, h, f);
    frame->width = (int)w;
    frame->height = (int)h;
    frame->fx = frame->fy = f;
    SPLAT_TRY(read_pose(json_array_get(json_object_get(split, "cam2world"), i), path, frame->world_to_camera, error));
    SPLAT_TRY(find_photo(scene, json_string_value(name), path, frame, error));
    const char *dot = strrchr(frame->path, '.');
    size_t stem = dot ? (size_t)(dot - frame->path) : strlen(frame->path);
    frame->is_lower_scale = stem < 2 || memcmp(frame->path + stem - 2, "d0", 2) != 0;
    return SPLAT_OK;
}

static splat_status read_metadata_split(const json_t *root, const char *key, bool is_test, const char *scene,
                                        const char *path, splat_transforms *transforms, splat_error *error)
{
    const json_t *split = json_object_get(root, key);
    if (!split && is_test) return SPLAT_OK;
    size_t n = json_array_size(json_object_get(split, "file_path")), first = transforms->n_frames;
    if (n == 0 && !is_test)
        return fail_format(path, error, "\"%s\" has no file_path entries; is this the metadata.json of a multi-scale "
                                        "Blender scene?", key);
    SPLAT_TRY(add_frames(transforms, n, error));
    for (size_t i = 0; i < n; i++) {
        splat_transforms_frame *frame = &transforms->frames[first + i];
        frame->is_test = is_test;
        transforms->has_split |= is_test;
        SPLAT_TRY(in_frame(read_metadata_frame(split, i, scene, path, frame, error), i, error));
        if (frame->absent) in_frame(SPLAT_ERROR_IO, i, frame->absent);
    }
    return SPLAT_OK;
}

static splat_status read_metadata(const char *scene, splat_transforms *transforms, splat_error *error)
{
    json_t *root = NULL;
    char *path = splat_format("%s/metadata.json", scene);
    splat_status status = path ? splat_json_read(path, &root, error) : fail_memory(error);
    if (status == SPLAT_OK) status = read_metadata_split(root, "train", false, scene, path, transforms, error);
    if (status == SPLAT_OK) status = read_metadata_split(root, "test", true, scene, path, transforms, error);
    if (status == SPLAT_OK) status = find_blender_points(scene, transforms, error);
    json_decref(root);
    free(path);
    return status;
}

/* ---------------------------------------------------------------- transforms.json */

/* Marks the frames that a *_filenames list names; a name without a frame is an error, as it is in Nerfstudio. */
static splat_status mark_split(const json_t *root, const char *key, const json_t *frame_of, bool is_test,
                               const char *path, splat_transforms *transforms, splat_error *error)
{
    const json_t *names = NULL;
    SPLAT_TRY(splat_json_get_array(root, key, path, &names, error));
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        const json_t *index = name ? json_object_get(frame_of, without_dot(name)) : NULL;
        if (!index)
            return fail_format(path, error, "%s lists \"%.200s\", which is no file_path of a frame", key,
                               name ? name : "(not a text)");
        if (!is_test) continue;
        transforms->frames[json_integer_value(index)].is_test = true;
        transforms->has_split = true;
    }
    return SPLAT_OK;
}

/* train_filenames, val_filenames, test_filenames: the latter two are held out, frames in no list are trained on. */
static splat_status read_split(const json_t *root, const char *path, splat_transforms *transforms, splat_error *error)
{
    const json_t *frames = json_object_get(root, "frames");
    json_t *frame_of = json_object(); /* file_path -> index */
    if (!frame_of) return fail_memory(error);
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < transforms->n_frames && status == SPLAT_OK; i++) {
        const char *name = json_string_value(json_object_get(json_array_get(frames, i), "file_path"));
        if (json_object_set_new(frame_of, without_dot(name), json_integer((json_int_t)i)) != 0)
            status = fail_memory(error);
    }
    if (status == SPLAT_OK) status = mark_split(root, "train_filenames", frame_of, false, path, transforms, error);
    if (status == SPLAT_OK) status = mark_split(root, "val_filenames", frame_of, true, path, transforms, error);
    if (status == SPLAT_OK) status = mark_split(root, "test_filenames", frame_of, true, path, transforms, error);
    json_decref(frame_of);
    return status;
}

/* applied_transform and applied_scale say what was done to COLMAP's frame; poses and points both have it already. */
static splat_status read_point_cloud(const json_t *root, const char *path, splat_transforms *transforms,
                                     splat_error *error)
{
    const char *name = NULL;
    SPLAT_TRY(splat_json_get_string(root, "ply_file_path", path, &name, error));
    if (!name) return SPLAT_OK;
    name = without_dot(name);
    if (!splat_name_is_inside(name))
        return fail_format(path, error, "ply_file_path \"%.200s\" leaves the scene's folder", name);
    transforms->point_cloud = strdup(name);
    return transforms->point_cloud ? SPLAT_OK : fail_memory(error);
}

static splat_status read_transforms(const char *scene, splat_transforms *transforms, splat_error *error)
{
    json_t *root = NULL;
    char *path = splat_format("%s/transforms.json", scene);
    splat_status status = path ? splat_json_read(path, &root, error) : fail_memory(error);
    if (status == SPLAT_OK) status = read_frames(root, scene, path, false, transforms, error);
    if (status == SPLAT_OK) status = read_split(root, path, transforms, error);
    if (status == SPLAT_OK) status = read_point_cloud(root, path, transforms, error);
    json_decref(root);
    free(path);
    return status;
}

/* ---------------------------------------------------------------- the scene */

static splat_status read_nerf_synthetic(const char *scene, splat_transforms *transforms, splat_error *error)
{
    SPLAT_TRY(read_frames_file(scene, "transforms_train.json", false, transforms, error));
    if (has_file(scene, "transforms_test.json")) {
        SPLAT_TRY(read_frames_file(scene, "transforms_test.json", true, transforms, error));
        transforms->has_split = true;
    }
    return find_blender_points(scene, transforms, error);
}

bool splat_transforms_found(const char *scene)
{
    return has_file(scene, "transforms_train.json") || has_file(scene, "metadata.json") ||
           has_file(scene, "transforms.json");
}

/* The folder is no scene of any kind: it may be empty, or hold photos deeper than they are looked for. */
static splat_status fail_without_scene(const char *scene, splat_error *error)
{
    char **names = NULL, *images = splat_format("%s/images", scene);
    size_t n = 0;
    const bool is_empty = splat_folder_list(scene, &names, &n, NULL) == SPLAT_OK && n == 0;
    const bool has_photos = splat_folder_has_photos(scene, false) || (images && splat_folder_has_photos(images, true));
    char *below = has_photos ? NULL : splat_photo_folder_find_below(scene);
    splat_status status = SPLAT_ERROR_FORMAT;
    if (is_empty)
        splat_fail_at(error, status, scene, SPLAT_NO_OFFSET,
                      "the folder is empty; name the folder of a scene or of photos");
    else if (below)
        splat_fail_at(error, status, scene, SPLAT_NO_OFFSET,
                      "there is no scene here, but there are photos in the folder %.400s; name that folder", below);
    else
        splat_fail_at(error, status, scene, SPLAT_NO_OFFSET,
                      "no scene was found: looked for a folder sparse/ (COLMAP), transforms_train.json "
                      "(NeRF-synthetic), metadata.json (multi-scale Blender), transforms.json (Nerfstudio, "
                      "instant-ngp), a .csv of RealityCapture or RealityScan, reconstruction.json "
                      "(OpenSfM, OpenDroneMap), an .xml of Metashape's cameras and keyframes/ (Polycam); "
                      "photos alone need cameras first: 'splatsmith cameras PHOTOS "
                      "-o SCENE'");
    splat_names_free(names, n);
    free(images);
    free(below);
    return status;
}

splat_status splat_transforms_read(const char *scene, splat_transforms *transforms, splat_error *error)
{
    *transforms = (splat_transforms){0};
    splat_status status;
    if (has_file(scene, "transforms_train.json")) {
        transforms->format = "nerf-synthetic";
        status = read_nerf_synthetic(scene, transforms, error);
    } else if (has_file(scene, "metadata.json")) {
        transforms->format = "multiscale-blender";
        status = read_metadata(scene, transforms, error);
    } else if (has_file(scene, "transforms.json")) {
        transforms->format = "transforms";
        status = read_transforms(scene, transforms, error);
    } else {
        status = fail_without_scene(scene, error);
    }
    if (status != SPLAT_OK) splat_transforms_free(transforms);
    return status;
}

void splat_transforms_free(splat_transforms *transforms)
{
    for (size_t i = 0; i < transforms->n_frames; i++) {
        free(transforms->frames[i].path);
        free(transforms->frames[i].mask);
        free(transforms->frames[i].absent);
    }
    free(transforms->frames);
    free(transforms->point_cloud);
    free(transforms->left_out);
    *transforms = (splat_transforms){0};
}
