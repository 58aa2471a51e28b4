/* The normal of one Gaussian and its gradient; the same on every backend. */
#ifndef SPLAT_OPS_GEOMETRY_MATH_H
#define SPLAT_OPS_GEOMETRY_MATH_H

#include "math/gaussian.h"
#include "ops/geometry/geometry.h"
#include "ops/geometry/plane_depth.h"

/* Which axis of the ellipsoid is the shortest: the filtered scales have the order of the logarithms of the scales. */
SPLAT_MATH_INLINE int splat_geometry_axis(const float *scales)
{
    int axis = 0;
    if (scales[1] < scales[axis]) axis = 1;
    if (scales[2] < scales[axis]) axis = 2;
    return axis;
}

/* Column `axis` of R of the unit quaternion q = (w, x, y, z). */
SPLAT_MATH_INLINE void splat_geometry_column(const float q[4], int axis, float n[3])
{
    splat_rotation r = splat_rotation_make(q[0], q[1], q[2], q[3]);
    n[0] = axis == 0 ? r.r00 : axis == 1 ? r.r01 : r.r02;
    n[1] = axis == 0 ? r.r10 : axis == 1 ? r.r11 : r.r12;
    n[2] = axis == 0 ? r.r20 : axis == 1 ? r.r21 : r.r22;
}

/* dL/dq of splat_geometry_column, as if q's four numbers were independent. */
SPLAT_MATH_INLINE void splat_geometry_column_backward(const float q[4], int axis, const float g[3], float gq[4])
{
    float w = q[0], x = q[1], y = q[2], z = q[3];
    if (axis == 0) {
        gq[0] = 2.0f * (z * g[1] - y * g[2]);
        gq[1] = 2.0f * (y * g[1] + z * g[2]);
        gq[2] = 2.0f * (-2.0f * y * g[0] + x * g[1] - w * g[2]);
        gq[3] = 2.0f * (-2.0f * z * g[0] + w * g[1] + x * g[2]);
    } else if (axis == 1) {
        gq[0] = 2.0f * (-z * g[0] + x * g[2]);
        gq[1] = 2.0f * (y * g[0] - 2.0f * x * g[1] + w * g[2]);
        gq[2] = 2.0f * (x * g[0] + z * g[2]);
        gq[3] = 2.0f * (-w * g[0] - 2.0f * z * g[1] + y * g[2]);
    } else {
        gq[0] = 2.0f * (y * g[0] - x * g[1]);
        gq[1] = 2.0f * (z * g[0] - w * g[1] - 2.0f * x * g[2]);
        gq[2] = 2.0f * (w * g[0] + z * g[1] - 2.0f * y * g[2]);
        gq[3] = 2.0f * (x * g[0] + y * g[1]);
    }
}

/* The unit quaternion of a raw one; returns 1 / |raw|. */
SPLAT_MATH_INLINE float splat_geometry_unit(const float raw[4], float q[4])
{
    float inverse = 1.0f / sqrtf(raw[0] * raw[0] + raw[1] * raw[1] + raw[2] * raw[2] + raw[3] * raw[3]);
    for (int k = 0; k < 4; k++) q[k] = raw[k] * inverse;
    return inverse;
}

/* +1, or -1 when the normal n (world) must be turned to face the camera. */
SPLAT_MATH_INLINE float splat_geometry_side(const float n[3], const float *mean, const float *center)
{
    float along = n[0] * (center[0] - mean[0]) + n[1] * (center[1] - mean[1]) + n[2] * (center[2] - mean[2]);
    return along < 0.0f ? -1.0f : 1.0f;
}

/* The distance and the normal. rotation, center: of the camera; z: of the centre, or NULL. */
SPLAT_MATH_INLINE void splat_geometry_feature(const float *mean, const float *scales, const float *raw,
                                              const float *rotation, const float *center, int world, const float *z,
                                              float feature[4])
{
    float q[4], n[3];
    splat_geometry_unit(raw, q);
    splat_geometry_column(q, splat_geometry_axis(scales), n);
    float side = splat_geometry_side(n, mean, center);
    for (int k = 0; k < 3; k++) n[k] *= side;
    feature[0] = n[0] * (center[0] - mean[0]) + n[1] * (center[1] - mean[1]) + n[2] * (center[2] - mean[2]);
    if (z) feature[0] = *z;
    for (int k = 0; k < 3; k++)
        feature[1 + k] =
            world ? n[k] : rotation[3 * k] * n[0] + rotation[3 * k + 1] * n[1] + rotation[3 * k + 2] * n[2];
}

/* The extent of the Gaussian along the camera's z. depth: of its centre; filter: its 3D smoothing filter. */
SPLAT_MATH_INLINE void splat_geometry_span(const float *scales, const float *raw, float filter, float depth,
                                           const float *rotation, float span[2])
{
    float q[4], n[3], variance = 0.0f;
    splat_geometry_unit(raw, q);
    for (int k = 0; k < 3; k++) {
        splat_geometry_column(q, k, n);
        float along = rotation[6] * n[0] + rotation[7] * n[1] + rotation[8] * n[2], s = expf(scales[k]);
        variance += (s * s + filter * filter) * (along * along);
    }
    float reach = SPLAT_GEOMETRY_SPAN * sqrtf(variance);
    span[0] = depth - reach;
    span[1] = depth + reach;
}

/* Adds what geometry shares with the colours on the screen. */
SPLAT_MATH_INLINE void splat_geometry_screen_add(splat_grad2d *screen, const splat_grad2d *g)
{
    screen->mean_x += g->mean_x;
    screen->mean_y += g->mean_y;
    screen->conic_a += g->conic_a;
    screen->conic_b += g->conic_b;
    screen->conic_c += g->conic_c;
    screen->opacity += g->opacity;
}

/* Adds to dL/dmean and dL/draw quaternion. g: dL/d(d, n). */
SPLAT_MATH_INLINE void splat_geometry_feature_backward(const float *mean, const float *scales, const float *raw,
                                                       const float *rotation, const float *center, int world,
                                                       int centers, const float g[4], float *grad_mean, float *grad_raw)
{
    float q[4], n[3], gn[3], gq[4], inverse = splat_geometry_unit(raw, q);
    int axis = splat_geometry_axis(scales);
    splat_geometry_column(q, axis, n);
    float side = splat_geometry_side(n, mean, center);
    for (int k = 0; k < 3; k++) {
        gn[k] = world ? g[1 + k] : rotation[k] * g[1] + rotation[3 + k] * g[2] + rotation[6 + k] * g[3];
        gn[k] = side * (gn[k] + (centers ? 0.0f : g[0] * (center[k] - mean[k]))); /* d = n . (center - mean) */
        grad_mean[k] += g[0] * (centers ? rotation[6 + k] : -side * n[k]);
    }
    splat_geometry_column_backward(q, axis, gn, gq);
    float along = gq[0] * q[0] + gq[1] * q[1] + gq[2] * q[2] + gq[3] * q[3];
    for (int k = 0; k < 4; k++) grad_raw[k] += (gq[k] - along * q[k]) * inverse;
}

#endif
