/* Cameras of the ray-traced scenes: pinholes, or with a lens. */
#ifndef SPLAT_SCENE_SAMPLE_CAMERA_H
#define SPLAT_SCENE_SAMPLE_CAMERA_H

#include "math/lens.h"
#include "sample/sample_vec.h"

#include <stdbool.h>

/* Rows are right, down, forward; the principal point is the middle of the picture. */
typedef struct splat_sample_camera {
    splat_vec3 center, rows[3];
    double focal; /* pixels */
    int width, height;
    const splat_lens *lens; /* NULL: a pinhole camera */
} splat_sample_camera;

/* Looks from center to target, the horizon level. */
void splat_sample_camera_look(splat_sample_camera *camera, splat_vec3 center, splat_vec3 target);
/* Turns around the line of sight, radians. */
void splat_sample_camera_roll(splat_sample_camera *camera, double angle);
/* The ray through a place of the picture in pixels, length 1. */
splat_vec3 splat_sample_camera_ray(const splat_sample_camera *camera, double u, double v);
/* The pixel in which a place before the camera is seen; false: the lens does not see it. */
bool splat_sample_camera_pixel(const splat_sample_camera *camera, splat_vec3 place, double pixel[2]);
/* True if a place is in the frame and, with a normal, faces the camera; *direction and *distance are those of the line
 * of sight. */
bool splat_sample_camera_faces(const splat_sample_camera *camera, splat_vec3 place, splat_vec3 normal,
                               splat_vec3 *direction, double *distance);
/* (w, x, y, z) of the rotation. */
void splat_sample_camera_quaternion(const splat_sample_camera *camera, double q[4]);

#endif
