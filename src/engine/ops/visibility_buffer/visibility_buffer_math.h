/* The rhombus of one Gaussian on the screen; the same on every backend.
 *
 * Camera space: mean m, ray direction d = m / m_z + (x, y, 0), where (x, y) is the offset from the projected mean at
 * z = 1. The ray meets the rhombus's plane (normal e1) at t = (m . e1) / (d . e1); there the coordinate along e2 is
 * (t d - m) . e2 = (d x m) . e3 / (d . e1) but for its sign, and d x m = (x, y, 0) x m, so that nothing cancels near
 * the centre. |c2| / 2 s2 + |c3| / 2 s3 <= 1 times (d . e1) has only terms that are linear in (x, y). */
#ifndef SPLAT_OPS_VISIBILITY_BUFFER_MATH_H
#define SPLAT_OPS_VISIBILITY_BUFFER_MATH_H

#include "math/density.h"
#include "math/projection.h"

#define SPLAT_DIAMOND_SIZE 2.0f /* standard deviations from the centre to a vertex */

/* At a pixel (i, j), with x = i - u, y = j - v: covered where |a . (x, y)| + |b . (x, y)| <= 1 + g . (x, y), at depth
 * z / (1 + k . (x, y)). */
typedef struct splat_diamond {
    float u, v, z;
    float ax, ay, bx, by, gx, gy, kx, ky;
    int x0, y0, x1, y1; /* half-open box of pixels that holds all that are covered; empty: draws nothing */
} splat_diamond;

/* Widens the box by a vertex at camera-space p. False: the vertex is not in front of the camera. */
SPLAT_MATH_INLINE int splat_diamond_reach(const splat_camera *camera, const float p[3], float nearest, float low[2],
                                          float high[2])
{
    float at[2];
    if (!(p[2] > nearest)) return 0;
    at[0] = camera->fx * p[0] / p[2] + camera->cx - 0.5f;
    at[1] = camera->fy * p[1] / p[2] + camera->cy - 0.5f;
    for (int k = 0; k < 2; k++) {
        float slack = 0.01f + 1e-5f * fabsf(at[k]); /* far above the rounding of the test below */
        low[k] = at[k] - slack < low[k] ? at[k] - slack : low[k];
        high[k] = at[k] + slack > high[k] ? at[k] + slack : high[k];
    }
    return 1;
}

/* The box of the four vertices; the whole picture when one of them is not in front. */
SPLAT_MATH_INLINE void splat_diamond_find_box(splat_diamond *d, const splat_camera *camera, const float m[3],
                                              const float half2[3], const float half3[3])
{
    float low[2] = {1e9f, 1e9f}, high[2] = {-1e9f, -1e9f}, width = (float)camera->width, height = (float)camera->height;
    int all = 1;
    for (int k = 0; k < 4; k++) {
        const float *half = k < 2 ? half2 : half3;
        float sign = k % 2 ? -1.0f : 1.0f;
        float p[3] = {m[0] + sign * half[0], m[1] + sign * half[1], m[2] + sign * half[2]};
        all &= splat_diamond_reach(camera, p, 0.01f * m[2], low, high);
    }
    if (!all) {
        low[0] = low[1] = 0.0f;
        high[0] = width - 1.0f;
        high[1] = height - 1.0f;
    }
    d->x0 = (int)ceilf(splat_clamp(low[0], 0.0f, width));
    d->y0 = (int)ceilf(splat_clamp(low[1], 0.0f, height));
    d->x1 = (int)floorf(splat_clamp(high[0], -1.0f, width - 1.0f)) + 1;
    d->y1 = (int)floorf(splat_clamp(high[1], -1.0f, height - 1.0f)) + 1;
}

/* The box is empty when the Gaussian draws nothing. */
SPLAT_MATH_INLINE splat_diamond splat_diamond_make(const splat_camera *camera, const float *mean,
                                                   const float *log_scale, const float *rotation)
{
    splat_diamond d;
    splat_density_kernel g = splat_density_kernel_make(mean, log_scale, rotation, 0.0f);
    const float *r = camera->rotation;
    float m[3], e[3][3], half[3][3];
    int first = splat_density_short_axis(&g);
    memset(&d, 0, sizeof d);
    for (int k = 0; k < 3; k++) {
        int axis = (first + k) % 3;
        const float *world = g.axes + 3 * axis;
        m[k] = r[3 * k] * mean[0] + r[3 * k + 1] * mean[1] + r[3 * k + 2] * mean[2] + camera->translation[k];
        for (int a = 0; a < 3; a++) {
            e[k][a] = r[3 * a] * world[0] + r[3 * a + 1] * world[1] + r[3 * a + 2] * world[2];
            half[k][a] = SPLAT_DIAMOND_SIZE * g.scale[axis] * e[k][a];
        }
    }
    float distance2 = m[0] * m[0] + m[1] * m[1] + m[2] * m[2], side = e[0][0] * m[0] + e[0][1] * m[1] + e[0][2] * m[2];
    if (!(m[2] > SPLAT_NEAR) || !(distance2 < 1e30f) || side == 0.0f) return d;
    for (int k = 1; k < 3; k++) {
        float along = fabsf(half[k][0] * m[0] + half[k][1] * m[1] + half[k][2] * m[2]);
        if (!(along < distance2)) return d; /* NaN too */
    }
    float size2 = SPLAT_DIAMOND_SIZE * g.scale[(first + 1) % 3], size3 = SPLAT_DIAMOND_SIZE * g.scale[(first + 2) % 3];
    float scale = m[2] / side; /* 1 / (d . e1) at the mean */
    float per_x = 1.0f / camera->fx, per_y = 1.0f / camera->fy;
    d.u = camera->fx * m[0] / m[2] + camera->cx - 0.5f;
    d.v = camera->fy * m[1] / m[2] + camera->cy - 0.5f;
    d.z = m[2];
    d.ax = (m[1] * e[2][2] - m[2] * e[2][1]) * scale * per_x / size2; /* (1, 0, 0) x m = (0, -m_z, m_y) */
    d.ay = (m[2] * e[2][0] - m[0] * e[2][2]) * scale * per_y / size2; /* (0, 1, 0) x m = (m_z, 0, -m_x) */
    d.bx = (m[1] * e[1][2] - m[2] * e[1][1]) * scale * per_x / size3;
    d.by = (m[2] * e[1][0] - m[0] * e[1][2]) * scale * per_y / size3;
    d.gx = e[0][0] * scale * per_x;
    d.gy = e[0][1] * scale * per_y;
    d.kx = m[2] * m[0] / distance2 * per_x;
    d.ky = m[2] * m[1] / distance2 * per_y;
    splat_diamond_find_box(&d, camera, m, half[1], half[2]);
    return d;
}

/* True if pixel (i, j) is covered, with its depth. */
SPLAT_MATH_INLINE int splat_diamond_covers(const splat_diamond *d, int i, int j, float *depth)
{
    float x = (float)i - d->u, y = (float)j - d->v, nearer = 1.0f + d->kx * x + d->ky * y;
    *depth = d->z / nearer;
    return fabsf(d->ax * x + d->ay * y) + fabsf(d->bx * x + d->by * y) <= 1.0f + d->gx * x + d->gy * y &&
           nearer > 0.0f && *depth < 1e30f;
}

/* Keys order by depth, then by index: positive floats order as their bits do. */
#define SPLAT_VISIBILITY_NOTHING UINT64_MAX
SPLAT_MATH_INLINE uint64_t splat_visibility_key(float depth, uint32_t index)
{
    return (uint64_t)splat_bits_of_float(depth) << 32 | index;
}

SPLAT_MATH_INLINE void splat_visibility_unpack(uint64_t key, uint32_t *id, float *depth)
{
    *id = key == SPLAT_VISIBILITY_NOTHING ? 0u : (uint32_t)key + 1u;
    *depth = key == SPLAT_VISIBILITY_NOTHING ? 0.0f : splat_float_of_bits((uint32_t)(key >> 32));
}

#endif
