/* Cameras from poses and intrinsics. Doubles in: files hold doubles, and centres are differences of large numbers. */
#ifndef SPLAT_MATH_CAMERA_H
#define SPLAT_MATH_CAMERA_H

#include "splatsmith/core.h"

#include <math.h>
#include <stddef.h>

/* Pixels of the camera's picture. */
static inline size_t splat_camera_pixels(const splat_camera *camera)
{
    return (size_t)camera->width * (size_t)camera->height;
}

/* Row-major rotation of a quaternion (w, x, y, z) of any length but zero. */
static inline void splat_quaternion_to_rotation(const double q[4], double rotation[9])
{
    double inverse = 1.0 / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    double w = q[0] * inverse, x = q[1] * inverse, y = q[2] * inverse, z = q[3] * inverse;
    rotation[0] = 1 - 2 * (y * y + z * z);
    rotation[1] = 2 * (x * y - w * z);
    rotation[2] = 2 * (x * z + w * y);
    rotation[3] = 2 * (x * y + w * z);
    rotation[4] = 1 - 2 * (x * x + z * z);
    rotation[5] = 2 * (y * z - w * x);
    rotation[6] = 2 * (x * z - w * y);
    rotation[7] = 2 * (y * z + w * x);
    rotation[8] = 1 - 2 * (x * x + y * y);
}

/* c = -R^T t: where a camera with x_camera = R x_world + t stands. */
static inline void splat_camera_center(const double rotation[9], const double translation[3], double center[3])
{
    const double *r = rotation, *t = translation;
    for (int k = 0; k < 3; k++) center[k] = -(r[k] * t[0] + r[3 + k] * t[1] + r[6 + k] * t[2]);
}

/* Sets rotation, translation and centre from a world-to-camera pose. */
static inline void splat_camera_set_pose(splat_camera *camera, const double rotation[9], const double translation[3])
{
    double center[3];
    splat_camera_center(rotation, translation, center);
    for (int k = 0; k < 9; k++) camera->rotation[k] = (float)rotation[k];
    for (int k = 0; k < 3; k++) camera->translation[k] = (float)translation[k];
    for (int k = 0; k < 3; k++) camera->center[k] = (float)center[k];
}

/* Intrinsics given at full_width x full_height, for a picture of width x height that shows the same field of view:
 * fx = W / (2 tan(FoVx / 2)), which is full_fx W / full_width; the principal point scales in the same way. */
static inline void splat_camera_set_intrinsics(splat_camera *camera, double fx, double fy, double cx, double cy,
                                               int full_width, int full_height, int width, int height)
{
    double scale_x = (double)width / full_width, scale_y = (double)height / full_height;
    camera->fx = (float)(fx * scale_x);
    camera->fy = (float)(fy * scale_y);
    camera->cx = (float)(cx * scale_x);
    camera->cy = (float)(cy * scale_y);
    camera->width = width;
    camera->height = height;
}

/* The same view with a picture of another size. */
static inline splat_camera splat_camera_resized(const splat_camera *camera, int width, int height)
{
    splat_camera resized = *camera;
    splat_camera_set_intrinsics(&resized, (double)camera->fx, (double)camera->fy, (double)camera->cx,
                                (double)camera->cy, camera->width, camera->height, width, height);
    return resized;
}

/* A camera at a place, looking as a quaternion (w, x, y, z) of any length but zero turns its axes (x right, y down, z
 * forward) into the world's; square pixels, fov_y in degrees, the principal point in the middle. */
static inline void splat_camera_look(splat_camera *camera, const double position[3], const double quaternion[4],
                                     double fov_y, int width, int height)
{
    double to_world[9], rotation[9], translation[3];
    splat_quaternion_to_rotation(quaternion, to_world);
    for (int i = 0; i < 3; i++) {
        translation[i] = 0;
        for (int k = 0; k < 3; k++) {
            rotation[3 * i + k] = to_world[3 * k + i];
            translation[i] -= to_world[3 * k + i] * position[k];
        }
    }
    splat_camera_set_pose(camera, rotation, translation);
    camera->width = width;
    camera->height = height;
    camera->fx = camera->fy = (float)(0.5 * height / tan(fov_y * 3.14159265358979323846 / 360));
    camera->cx = 0.5f * (float)width;
    camera->cy = 0.5f * (float)height;
}

#endif
