/* keyframes/corrected_cameras/N.json: fx, fy, cx, cy, width, height, and t_00 to t_23, rows of the camera-to-world
 * matrix in ARKit's axes (x right, y up, z backward; the world's y is up, in metres); see the data format in
 * Polycam's repository "polyform". */
#include "io/polycam/polycam.h"

#include "base/file.h"
#include "io/foreign_poses.h"
#include "io/json.h"
#include "io/orthonormal.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SIDE 1000000
#define RIM 15 /* pixels, by Nerfstudio's default */

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to read Polycam's cameras");
}

static bool has_folder(const char *scene, const char *name)
{
    char *path = splat_format("%s/keyframes/%s", scene, name);
    bool found = path && splat_path_is_folder(path);
    free(path);
    return found;
}

static bool is_own(const char *images)
{
    return strcmp(images, "images") == 0;
}

static bool is_corrected(const char *scene, const char *images)
{
    return has_folder(scene, "corrected_cameras") && (!is_own(images) || has_folder(scene, "corrected_images"));
}

bool splat_polycam_found(const char *scene, const char *images)
{
    return is_corrected(scene, images) || has_folder(scene, "cameras");
}

/* ---------------------------------------------------------------- a camera */

static splat_status get(const json_t *camera, const char *key, const char *path, double *value, splat_error *error)
{
    const json_t *found = json_object_get(camera, key);
    if (!json_is_number(found) || !splat_poses_is_sound(json_number_value(found)))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET, "\"%s\" is missing or no finite number",
                             key);
    *value = json_number_value(found);
    return SPLAT_OK;
}

static splat_status set_pose(const json_t *camera, const char *path, splat_transforms_frame *frame, splat_error *error)
{
    double columns[4][3], axes[9];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++) {
            char key[32];
            snprintf(key, sizeof key, "t_%d%d", r, c);
            SPLAT_TRY(get(camera, key, path, &columns[c][r], error));
        }
    if (!splat_orthonormalize(columns))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "t_00 to t_23 are not a rotation and a translation");
    for (int k = 0; k < 3; k++) { /* y down, z forward */
        axes[3 * k] = columns[0][k];
        axes[3 * k + 1] = -columns[1][k];
        axes[3 * k + 2] = -columns[2][k];
    }
    splat_poses_set(frame, axes, columns[3]);
    return SPLAT_OK;
}

static splat_status set_camera(const json_t *camera, const char *path, splat_transforms_frame *frame,
                               splat_error *error)
{
    SPLAT_TRY(splat_json_get_count(camera, "width", path, MAX_SIDE, &frame->width, error));
    SPLAT_TRY(splat_json_get_count(camera, "height", path, MAX_SIDE, &frame->height, error));
    SPLAT_TRY(get(camera, "fx", path, &frame->fx, error));
    SPLAT_TRY(get(camera, "fy", path, &frame->fy, error));
    SPLAT_TRY(get(camera, "cx", path, &frame->cx, error));
    SPLAT_TRY(get(camera, "cy", path, &frame->cy, error));
    frame->model = SPLAT_LENS_PINHOLE;
    if (frame->width == 0 || frame->height == 0 || !((float)frame->fx > 0) || !((float)frame->fy > 0))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "width, height or a focal length is missing or not positive");
    return set_pose(camera, path, frame, error);
}

/* ---------------------------------------------------------------- the folder */

typedef struct export {
    const char *scene;
    char *cameras; /* their folder */
    char *photos;  /* as splat_poses_find_photo takes it */
    int rim;
} export;

static splat_status read_camera(const export *e, const char *name, splat_transforms_frame *frame, splat_error *error)
{
    json_t *camera = NULL;
    char *path = splat_format("%s/%s", e->cameras, name);
    char *stem = strndup(name, strlen(name) - strlen(".json"));
    splat_status status = path && stem ? splat_json_read(path, &camera, error) : fail_memory(error);
    if (status == SPLAT_OK) status = set_camera(camera, path, frame, error);
    if (status == SPLAT_OK) status = splat_poses_find_photo(e->scene, e->photos, stem, path, frame, error);
    frame->rim = e->rim;
    json_decref(camera);
    free(path);
    free(stem);
    return status;
}

static splat_status read_cameras(const export *e, splat_transforms *transforms, splat_error *error)
{
    char **names = NULL;
    size_t n = 0;
    SPLAT_TRY(splat_folder_list(e->cameras, &names, &n, error));
    transforms->frames = calloc(n + 1, sizeof *transforms->frames);
    splat_status status = transforms->frames ? SPLAT_OK : fail_memory(error);
    for (size_t i = 0; i < n && status == SPLAT_OK; i++)
        if (splat_name_ends_with(names[i], ".json"))
            status = read_camera(e, names[i], &transforms->frames[transforms->n_frames++], error);
    splat_names_free(names, n);
    if (status != SPLAT_OK || transforms->n_frames) return status;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, e->cameras, SPLAT_NO_OFFSET,
                         "the folder holds no .json of a camera");
}

splat_status splat_polycam_read(const char *scene, const char *images, splat_transforms *transforms,
                                splat_error *error)
{
    bool corrected = is_corrected(scene, images);
    const char *photos = corrected ? "keyframes/corrected_images" : "keyframes/images";
    export e = {.scene = scene, .rim = corrected && is_own(images) ? RIM : 0};
    *transforms = (splat_transforms){.format = "polycam"};
    e.cameras = splat_format("%s/keyframes/%s", scene, corrected ? "corrected_cameras" : "cameras");
    e.photos = strdup(is_own(images) ? photos : images);
    splat_status status = e.cameras && e.photos ? read_cameras(&e, transforms, error) : fail_memory(error);
    free(e.cameras);
    free(e.photos);
    if (status == SPLAT_OK) splat_poses_recenter(transforms);
    else splat_transforms_free(transforms);
    return status;
}
