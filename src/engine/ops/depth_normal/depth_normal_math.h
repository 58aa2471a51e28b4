/* One pixel of depth_normal; the same on every backend. */
#ifndef SPLAT_OPS_DEPTH_NORMAL_MATH_H
#define SPLAT_OPS_DEPTH_NORMAL_MATH_H

#include "math/inline.h"
#include "ops/depth_normal/depth_normal.h"
#include "ops/geometry/plane_depth.h"

typedef struct splat_depth_normal_job {
    int width, height;
    splat_plane_rays rays;
    float scale;        /* factor of the gradients: weight / pixels */
    const float *maps, *transmittance, *edge_weight;
    float *grad_maps;
    float *slopes;      /* [6][height][width]: dL/d(P right - P left), dL/d(P below - P above) */
} splat_depth_normal_job;

SPLAT_MATH_INLINE splat_depth_normal_job splat_depth_normal_job_of(const struct splat_depth_normal_args *args,
                                                                   float *slopes)
{
    const splat_camera *c = args->camera;
    splat_depth_normal_job job = {c->width, c->height, splat_plane_rays_of(c, 0),
                                  (float)((double)args->weight / ((double)c->width * (double)c->height)), args->maps,
                                  args->transmittance, args->edge_weight, args->grad_maps, slopes};
    return job;
}

/* The values and the ray of a pixel; and whether it has a depth. */
SPLAT_MATH_INLINE int splat_depth_normal_read(const splat_depth_normal_job *job, int x, int y, float maps[4],
                                              float ray[3], float *depth)
{
    size_t plane = (size_t)job->width * (size_t)job->height, at = (size_t)y * (size_t)job->width + (size_t)x;
    splat_plane_read(job->maps, plane, at, maps);
    splat_plane_ray(&job->rays, (float)x, (float)y, ray);
    return splat_plane_depth(maps, 1.0f - job->transmittance[at], ray, depth);
}

/* The point of a pixel; 0 when it has no depth. */
SPLAT_MATH_INLINE int splat_depth_normal_point(const splat_depth_normal_job *job, int x, int y, float point[3])
{
    float maps[4], ray[3], depth;
    int valid = splat_depth_normal_read(job, x, y, maps, ray, &depth);
    for (int k = 0; k < 3; k++) point[k] = depth * ray[k];
    return valid;
}

SPLAT_MATH_INLINE void splat_depth_normal_cross(const float a[3], const float b[3], float c[3])
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

SPLAT_MATH_INLINE float splat_depth_normal_length(const float v[3])
{
    return sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/* The pixel's loss (before the mean); whether it counts. g: dL/d(n, P right - P left, P below - P above), zero when it
 * does not. */
SPLAT_MATH_INLINE int splat_depth_normal_pixel(const splat_depth_normal_job *job, int x, int y, float *loss, float g[9])
{
    size_t plane = (size_t)job->width * (size_t)job->height, at = (size_t)y * (size_t)job->width + (size_t)x;
    float right[3], left[3], below[3], above[3], own[3], cross[3];
    *loss = 0.0f;
    for (int k = 0; k < 9; k++) g[k] = 0.0f;
    if (x < 1 || y < 1 || x >= job->width - 1 || y >= job->height - 1) return 0;
    int counts = splat_depth_normal_point(job, x, y, own) & splat_depth_normal_point(job, x + 1, y, right) &
                 splat_depth_normal_point(job, x - 1, y, left) & splat_depth_normal_point(job, x, y + 1, below) &
                 splat_depth_normal_point(job, x, y - 1, above);
    if (!counts) return 0;
    float n[3], m[3];
    for (int k = 0; k < 3; k++) {
        right[k] -= left[k];
        below[k] -= above[k];
        n[k] = job->maps[(size_t)(1 + k) * plane + at];
    }
    splat_depth_normal_cross(below, right, cross);
    float area = splat_depth_normal_length(cross), length = splat_depth_normal_length(n);
    if (!(area > 0.0f && length > 0.0f)) return 0;
    for (int k = 0; k < 3; k++) {
        m[k] = cross[k] / area;
        n[k] /= length;
    }
    float cosine = n[0] * m[0] + n[1] * m[1] + n[2] * m[2], gm[3];
    float edge = job->edge_weight ? job->edge_weight[at] : 1.0f, scale = job->scale * edge;
    *loss = edge * (1.0f - cosine);
    for (int k = 0; k < 3; k++) {
        g[k] = -scale * (m[k] - cosine * n[k]) / length;
        gm[k] = -scale * (n[k] - cosine * m[k]) / area;
    }
    splat_depth_normal_cross(gm, below, g + 3);
    splat_depth_normal_cross(right, gm, g + 6);
    return 1;
}

/* First pass: the gradient of the normal, and the slopes for the neighbours. */
SPLAT_MATH_INLINE int splat_depth_normal_first(const splat_depth_normal_job *job, int x, int y, float *loss)
{
    size_t plane = (size_t)job->width * (size_t)job->height, at = (size_t)y * (size_t)job->width + (size_t)x;
    float g[9];
    int counts = splat_depth_normal_pixel(job, x, y, loss, g);
    for (int k = 0; k < 3; k++) job->grad_maps[(size_t)(1 + k) * plane + at] = g[k];
    for (int k = 0; k < 6; k++) job->slopes[(size_t)k * plane + at] = g[3 + k];
    return counts;
}

/* Second pass: what the four neighbours say of the pixel's depth, through its plane. */
SPLAT_MATH_INLINE void splat_depth_normal_second(const splat_depth_normal_job *job, int x, int y)
{
    size_t width = (size_t)job->width, plane = width * (size_t)job->height, at = (size_t)y * width + (size_t)x;
    float g[3], maps[4], ray[3], depth, grad_maps[4];
    if (!splat_depth_normal_read(job, x, y, maps, ray, &depth)) { /* all slopes around it are zero */
        job->grad_maps[at] = 0.0f;
        return;
    }
    for (int k = 0; k < 3; k++) {
        const float *across = job->slopes + (size_t)k * plane, *down = job->slopes + (size_t)(3 + k) * plane;
        g[k] = 0.0f;
        if (x > 0) g[k] += across[at - 1];
        if (x < job->width - 1) g[k] -= across[at + 1];
        if (y > 0) g[k] += down[at - width];
        if (y < job->height - 1) g[k] -= down[at + width];
    }
    grad_maps[0] = 0.0f;
    for (int k = 1; k < 4; k++) grad_maps[k] = job->grad_maps[(size_t)k * plane + at];
    splat_plane_depth_backward(maps, ray, g[0] * ray[0] + g[1] * ray[1] + g[2] * ray[2], grad_maps);
    for (int k = 0; k < 4; k++) job->grad_maps[(size_t)k * plane + at] = grad_maps[k];
}

#endif
