/* Metashape's cameras as poses and lenses.
 *
 * A camera's matrix places it in its component, and the component's transform in the world: X_world = s R X + t. The
 * camera sees x right, y down, z forward. With the distances of its manual (appendix "Camera models"), r² = x² + y²,
 *   x' = x (1 + k1 r² + k2 r⁴ + k3 r⁶ + k4 r⁸) + p1 (r² + 2 x²) + 2 p2 x y,
 *   y' the same with p2 (r² + 2 y²) + 2 p1 x y,
 *   u = w/2 + cx + x' (f + b1) + y' b2, v = h/2 + cy + y' f;
 * p1 and p2 stand for those of OpenCV exchanged. A fisheye is the same of the point at the angle's distance. */
#include "io/metashape/metashape.h"

#include "base/file.h"
#include "io/foreign_poses.h"
#include "io/metashape/metashape_xml.h"
#include "io/orthonormal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SKEW 0.5 /* pixels at the photo's upper and lower border */

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to read Metashape's cameras");
}

/* ---------------------------------------------------------------- sensors */

static const metashape_sensor *find_sensor(const metashape_file *file, int id)
{
    for (size_t i = 0; i < file->n_sensors; i++)
        if (file->sensors[i].id == id) return &file->sensors[i];
    return NULL;
}

static splat_status set_lens(const metashape_sensor *sensor, const char *path, splat_transforms_frame *frame,
                             splat_error *error)
{
    const double *v = sensor->values;
    bool is_fisheye = strcmp(sensor->type, "fisheye") == 0 || strcmp(sensor->type, "equidistant_fisheye") == 0;
    frame->width = sensor->width;
    frame->height = sensor->height;
    if (frame->width <= 0 || frame->height <= 0)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET, "sensor %d has no <resolution>",
                             sensor->id);
    if (strcmp(sensor->type, "spherical") == 0) {
        frame->model = SPLAT_LENS_EQUIRECTANGULAR;
        return splat_poses_check_panorama(frame->width, frame->height, path, error);
    }
    if (!is_fisheye && strcmp(sensor->type, "frame") != 0)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                             "sensor %d is of the type %s; frame, fisheye and spherical are read", sensor->id,
                             sensor->type);
    if (!sensor->has_calibration || !(v[MS_F] > 0) || !(v[MS_F] + v[MS_B1] > 0))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "sensor %d has no calibration with a focal length above zero: align the photos before the "
                             "export", sensor->id);
    double skew = fabs(v[MS_B2]) * 0.5 * frame->height / v[MS_F];
    if (skew > MOST_SKEW || v[MS_P3] != 0 || v[MS_P4] != 0)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                             "the calibration of sensor %d has %s, which no lens here has; fit it without, or let "
                             "Metashape export undistorted photos (COLMAP)", sensor->id,
                             skew > MOST_SKEW ? "a skew (b2) of more than half a pixel" : "p3 or p4");
    frame->fx = v[MS_F] + v[MS_B1];
    frame->fy = v[MS_F];
    frame->cx = 0.5 * frame->width + v[MS_CX];
    frame->cy = 0.5 * frame->height + v[MS_CY];
    const double brown[6] = {v[MS_K1], v[MS_K2], v[MS_K3], v[MS_K4], v[MS_P2], v[MS_P1]};
    const double prism[6] = {v[MS_K1], v[MS_K2], v[MS_P2], v[MS_P1], v[MS_K3], v[MS_K4]};
    frame->model = is_fisheye ? SPLAT_LENS_THIN_PRISM_FISHEYE : SPLAT_LENS_NERFSTUDIO;
    memcpy(frame->coefficients, is_fisheye ? prism : brown, sizeof brown);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- cameras */

static const metashape_placement *find_placement(const metashape_file *file, int component)
{
    for (size_t i = 0; i < file->n_components; i++)
        if (file->components[i].id == component) return &file->components[i];
    return &file->chunk;
}

/* columns = rows of 3 of a row-major matrix with `stride` numbers a row. */
static bool take_rotation(const double *matrix, int stride, double columns[3][3])
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) columns[c][r] = matrix[stride * r + c];
    return splat_orthonormalize(columns);
}

static splat_status set_pose(const metashape_camera *camera, const metashape_placement *placement, const char *path,
                             splat_transforms_frame *frame, splat_error *error)
{
    double own[3][3], world[3][3], axes[9] = {0}, center[3];
    if (!take_rotation(camera->pose, 4, own) || !take_rotation(placement->rotation, 3, world))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "camera \"%.200s\": its transform, or that of its component, is no rotation with a "
                             "translation", camera->label);
    for (int r = 0; r < 3; r++) {
        center[r] = placement->translation[r];
        for (int k = 0; k < 3; k++) {
            center[r] += placement->scale * world[k][r] * camera->pose[4 * k + 3];
            for (int c = 0; c < 3; c++) axes[3 * r + c] += world[k][r] * own[c][k];
        }
    }
    splat_poses_set(frame, axes, center);
    return SPLAT_OK;
}

static splat_status read_camera(const metashape_file *file, const metashape_camera *camera, const char *scene,
                                const char *images, const char *path, splat_transforms_frame *frame,
                                splat_error *error)
{
    const metashape_sensor *sensor = find_sensor(file, camera->sensor);
    if (!sensor)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "camera \"%.200s\": its sensor is not in the file", camera->label);
    SPLAT_TRY(set_lens(sensor, path, frame, error));
    SPLAT_TRY(set_pose(camera, find_placement(file, camera->component), path, frame, error));
    return splat_poses_find_photo(scene, images, camera->label, path, frame, error);
}

static splat_status read_cameras(const metashape_file *file, const char *scene, const char *images, const char *path,
                                 splat_transforms *transforms, splat_error *error)
{
    transforms->frames = calloc(file->n_cameras + 1, sizeof *transforms->frames);
    if (!transforms->frames) return fail_memory(error);
    for (size_t i = 0; i < file->n_cameras; i++) {
        const metashape_camera *camera = &file->cameras[i];
        if (!camera->has_pose || !camera->is_on) {
            SPLAT_TRY(splat_poses_leave_out(transforms, camera->label, error));
            continue;
        }
        SPLAT_TRY(read_camera(file, camera, scene, images, path, &transforms->frames[transforms->n_frames++], error));
    }
    if (transforms->n_frames) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                         "none of the %zu cameras in the file has a pose: align the photos before the export",
                         file->n_cameras);
}

/* ---------------------------------------------------------------- the folder */

static bool is_of_metashape(char *start)
{
    return strstr(start, "<document") && strstr(start, "<chunk");
}

char *splat_metashape_find(const char *scene)
{
    return splat_poses_find_file(scene, ".xml", is_of_metashape);
}

splat_status splat_metashape_read(const char *scene, const char *images, const char *path,
                                  splat_transforms *transforms, splat_error *error)
{
    metashape_file file;
    *transforms = (splat_transforms){.format = "metashape"};
    SPLAT_TRY(metashape_file_read(path, &file, error));
    splat_status status = read_cameras(&file, scene, images, path, transforms, error);
    metashape_file_free(&file);
    if (status == SPLAT_OK) status = splat_poses_find_points(scene, path, transforms, error);
    if (status == SPLAT_OK) splat_poses_recenter(transforms);
    else splat_transforms_free(transforms);
    return status;
}
