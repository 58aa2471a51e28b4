/* The losses of a pixel and of a point; the same lines on every backend. */
#ifndef SPLAT_OPS_DEPTH_PRIOR_MATH_H
#define SPLAT_OPS_DEPTH_PRIOR_MATH_H

#include "math/inline.h"
#include "ops/depth_prior/depth_prior.h"
#include "ops/loss/loss.h"

#include <math.h>

/* The factor of the gradient of a pixel of a drawn patch. */
SPLAT_MATH_INLINE float splat_depth_map_scale(const struct splat_depth_map_args *args)
{
    return args->weight * (float)args->patches.n_parts / (float)((size_t)args->width * (size_t)args->height);
}

/* |Q - q| of a pixel; *gradient: its sign. */
SPLAT_MATH_INLINE float splat_depth_map_pixel(const struct splat_depth_map_args *args, size_t i, float *gradient)
{
    float q = args->scale * ((float)args->target[i] / SPLAT_DEPTH_UNIT) + args->offset;
    float d = args->inverse[i] - (q > 0.0f ? q : 0.0f);
    int counts = !args->mask || args->mask[i] >= SPLAT_LOSS_KEPT;
    *gradient = counts ? (float)(d > 0.0f) - (float)(d < 0.0f) : 0.0f;
    return counts ? fabsf(d) : 0.0f;
}

/* The pixels around a place and their shares. */
typedef struct splat_depth_corners {
    size_t pixel[4];
    float share[4];
} splat_depth_corners;

SPLAT_MATH_INLINE splat_depth_corners splat_depth_corners_of(float x, float y, int32_t width, int32_t height)
{
    splat_depth_corners c;
    int32_t x0 = (int32_t)x, y0 = (int32_t)y;
    float u = x - (float)x0, v = y - (float)y0;
    for (int k = 0; k < 4; k++) {
        int32_t right = x0 + (k & 1), below = y0 + (k >> 1);
        right = right < width ? right : width - 1; /* at the border the share is 0 */
        below = below < height ? below : height - 1;
        c.pixel[k] = (size_t)below * (size_t)width + (size_t)right;
        c.share[k] = (k & 1 ? u : 1.0f - u) * (k >> 1 ? v : 1.0f - v);
    }
    return c;
}

/* A point's part of the loss; adds its gradients. *counts: whether it has one. */
SPLAT_MATH_INLINE float splat_depth_points_one(const struct splat_depth_points_args *args, uint32_t i, int *counts)
{
    const splat_depth_point p = args->points[i];
    const splat_depth_corners c = splat_depth_corners_of(p.x, p.y, args->width, args->height);
    float along = 0.0f, alpha = 0.0f;
    *counts = 0;
    if (args->mask && args->mask[splat_pixel_under(p.x, p.y, args->width, args->height)] < SPLAT_LOSS_KEPT) return 0.0f;
    for (int k = 0; k < 4; k++) {
        along += c.share[k] * args->along[c.pixel[k]];
        alpha += c.share[k] * (1.0f - args->transmittance[c.pixel[k]]);
    }
    if (!(alpha > SPLAT_DEPTH_LEAST_ALPHA) || !(along > 0.0f)) return 0.0f;
    *counts = 1;
    const float per_along = 1.0f / (p.inverse * along); /* Z'/S */
    const float e = alpha * per_along - 1.0f, size = fabsf(e), d = SPLAT_DEPTH_HUBER;
    const float slope = size > d ? (e > 0.0f ? 1.0f : -1.0f) : e / d;
    const float pull = args->weight * p.weight * slope;
    const float of_along = -pull * alpha * per_along / along, of_alpha = pull * per_along;
    for (int k = 0; k < 4; k++) {
        args->grad_along[c.pixel[k]] += c.share[k] * of_along;
        args->grad_alpha[c.pixel[k]] += c.share[k] * of_alpha;
    }
    return p.weight * (size > d ? size - 0.5f * d : 0.5f * e * e / d);
}

#endif
