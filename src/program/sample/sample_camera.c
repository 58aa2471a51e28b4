/* Cameras of the ray-traced scenes: poses, rays, what they see. */
#include "sample/sample_camera.h"

void splat_sample_camera_look(splat_sample_camera *camera, splat_vec3 center, splat_vec3 target)
{
    splat_vec3 forward = splat_vec3_normalize(splat_vec3_sub(target, center));
    splat_vec3 right = splat_vec3_normalize(splat_vec3_cross(splat_vec3_make(0, 1, 0), forward));
    camera->center = center;
    camera->rows[0] = right;
    camera->rows[1] = splat_vec3_cross(forward, right);
    camera->rows[2] = forward;
}

void splat_sample_camera_roll(splat_sample_camera *camera, double angle)
{
    splat_vec3 right = camera->rows[0], down = camera->rows[1];
    camera->rows[0] = splat_vec3_along(splat_vec3_scale(right, cos(angle)), down, sin(angle));
    camera->rows[1] = splat_vec3_along(splat_vec3_scale(down, cos(angle)), right, -sin(angle));
}

splat_vec3 splat_sample_camera_ray(const splat_sample_camera *camera, double u, double v)
{
    double at[3] = {(u - 0.5 * camera->width) / camera->focal, (v - 0.5 * camera->height) / camera->focal, 1};
    if (camera->lens) splat_lens_unproject(camera->lens, (const double[2]){u, v}, at);
    splat_vec3 ray = splat_vec3_along(splat_vec3_scale(camera->rows[2], at[2]), camera->rows[0], at[0]);
    return splat_vec3_normalize(splat_vec3_along(ray, camera->rows[1], at[1]));
}

bool splat_sample_camera_pixel(const splat_sample_camera *camera, splat_vec3 place, double pixel[2])
{
    splat_vec3 offset = splat_vec3_sub(place, camera->center);
    double at[3];
    for (int k = 0; k < 3; k++) at[k] = splat_vec3_dot(camera->rows[k], offset);
    if (camera->lens) return splat_lens_project(camera->lens, at, pixel);
    pixel[0] = camera->focal * at[0] / at[2] + 0.5 * camera->width;
    pixel[1] = camera->focal * at[1] / at[2] + 0.5 * camera->height;
    return true;
}

bool splat_sample_camera_faces(const splat_sample_camera *camera, splat_vec3 place, splat_vec3 normal,
                               splat_vec3 *direction, double *distance)
{
    splat_vec3 offset = splat_vec3_sub(place, camera->center);
    double depth = splat_vec3_dot(camera->rows[2], offset);
    *distance = sqrt(splat_vec3_dot(offset, offset));
    *direction = splat_vec3_scale(offset, 1 / *distance);
    if ((depth <= 0 && !camera->lens) || splat_vec3_dot(*direction, normal) >= 0) return false;
    double pixel[2];
    if (!splat_sample_camera_pixel(camera, place, pixel)) return false;
    return pixel[0] >= 0 && pixel[0] <= camera->width && pixel[1] >= 0 && pixel[1] <= camera->height;
}

/* By the largest component (Shepperd 1978). */
void splat_sample_camera_quaternion(const splat_sample_camera *camera, double q[4])
{
    const splat_vec3 *r = camera->rows;
    double squares[4] = {1 + r[0].x + r[1].y + r[2].z, 1 + r[0].x - r[1].y - r[2].z, 1 - r[0].x + r[1].y - r[2].z,
                         1 - r[0].x - r[1].y + r[2].z};
    double wx = r[2].y - r[1].z, wy = r[0].z - r[2].x, wz = r[1].x - r[0].y;
    double xy = r[0].y + r[1].x, xz = r[0].z + r[2].x, yz = r[1].z + r[2].y;
    const double rows[4][4] = {{squares[0], wx, wy, wz}, {wx, squares[1], xy, xz}, {wy, xy, squares[2], yz},
                               {wz, xz, yz, squares[3]}};
    int largest = 0;
    for (int k = 1; k < 4; k++)
        if (squares[k] > squares[largest]) largest = k;
    double norm = 2 * sqrt(squares[largest]), sign = rows[largest][0] < 0 ? -1 : 1;
    for (int k = 0; k < 4; k++) q[k] = sign * rows[largest][k] / norm;
}
