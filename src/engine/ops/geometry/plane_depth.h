/* Plane depth (PGSR, Chen et al., TVCG 2024, eq. 3 to 6; docs/method.md, "Depth and normals"): the blended planes of
 * the Gaussians of a pixel, met by its ray. A Gaussian's plane goes through its centre, across its shortest axis; with
 * n the unit normal on the camera's side and d = n . (c - mean) >= 0 the camera's distance to it, maps = sum w (d, n).
 *
 *     D(x, y) = maps[0] / (-N . r), N = maps[1..3], r = ((x + 1/2 - cx) / fx, (y + 1/2 - cy) / fy, 1)
 *
 * is a depth along the camera's axis where A = sum w > 1/2 and -N . r > 0.02 A. It needs no division by A, and is exact
 * for Gaussians of one plane, however wide they are. The same lines for every op and backend, and for the host. */
#ifndef SPLAT_OPS_GEOMETRY_PLANE_DEPTH_H
#define SPLAT_OPS_GEOMETRY_PLANE_DEPTH_H

#include "math/inline.h"
#include "splatsmith/core.h"

#define SPLAT_PLANE_ALPHA 0.5f   /* pixels with less alpha have no depth */
#define SPLAT_PLANE_COSINE 0.02f /* least cosine of ray and normal, times the ray's length */

/* The rays of a camera, with z = 1 in camera space: origin + x across + y down goes through the centre of pixel (x, y).
 * In the axes of the normals: the camera's, or the world's. */
typedef struct splat_plane_rays {
    float origin[3], across[3], down[3];
} splat_plane_rays;

SPLAT_MATH_INLINE splat_plane_rays splat_plane_rays_of(const splat_camera *c, int world)
{
    splat_plane_rays rays;
    const float x = (0.5f - c->cx) / c->fx, y = (0.5f - c->cy) / c->fy, per_fx = 1.0f / c->fx, per_fy = 1.0f / c->fy;
    for (int k = 0; k < 3; k++) {
        float right = world ? c->rotation[k] : (float)(k == 0), below = world ? c->rotation[3 + k] : (float)(k == 1);
        float ahead = world ? c->rotation[6 + k] : (float)(k == 2);
        rays.origin[k] = x * right + y * below + ahead;
        rays.across[k] = per_fx * right;
        rays.down[k] = per_fy * below;
    }
    return rays;
}

/* x, y: a pixel, or a place between centres. */
SPLAT_MATH_INLINE void splat_plane_ray(const splat_plane_rays *rays, float x, float y, float ray[3])
{
    for (int k = 0; k < 3; k++) ray[k] = rays->origin[k] + (x * rays->across[k] + y * rays->down[k]);
}

/* -N . r of a plane (d, N). */
SPLAT_MATH_INLINE float splat_plane_toward(const float plane[4], const float ray[3])
{
    return -(plane[1] * ray[0] + plane[2] * ray[1] + plane[3] * ray[2]);
}

/* True if there is a depth; else it is 0. maps: the pixel's four values, not normalized. */
SPLAT_MATH_INLINE int splat_plane_depth(const float maps[4], float alpha, const float ray[3], float *depth)
{
    float toward = splat_plane_toward(maps, ray);
    int valid = alpha > SPLAT_PLANE_ALPHA && toward > SPLAT_PLANE_COSINE * alpha;
    *depth = valid ? maps[0] / toward : 0.0f;
    return valid;
}

/* Adds grad dD/dmaps of a valid pixel: dD/ddistance = 1 / (-N . r), dD/dN = distance r / (N . r)^2. */
SPLAT_MATH_INLINE void splat_plane_depth_backward(const float maps[4], const float ray[3], float grad,
                                                  float grad_maps[4])
{
    float toward = splat_plane_toward(maps, ray), of_distance = grad / toward;
    float of_normal = of_distance * (maps[0] / toward);
    grad_maps[0] += of_distance;
    for (int k = 0; k < 3; k++) grad_maps[1 + k] += of_normal * ray[k];
}

/* The pixel `at` of maps of [4][n_pixels]. */
SPLAT_MATH_INLINE void splat_plane_read(const float *maps, size_t n_pixels, size_t at, float values[4])
{
    for (size_t k = 0; k < 4; k++) values[k] = maps[k * n_pixels + at];
}

/* The intersection of a ray with one Gaussian's plane, no farther from the centre than the Gaussian's extent:
 * between from and to, the ends along the camera's axis. For a plane that the ray only grazes the depth of the
 * centre is taken. */
SPLAT_MATH_INLINE float splat_plane_median(const float plane[4], float from, float to, const float ray[3])
{
    float toward = splat_plane_toward(plane, ray);
    if (!(toward > SPLAT_PLANE_COSINE)) return 0.5f * (from + to);
    float depth = plane[0] / toward;
    depth = depth < to ? depth : to;
    return depth > from ? depth : from;
}

#endif
