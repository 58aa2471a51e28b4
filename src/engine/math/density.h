/* The density of a splat at a point: the sum of its Gaussians there, each as high as its opacity (SuGaR, Guedon and
 * Lepetit, CVPR 2024, eq. 3). Who takes part is the caller's choice: a Gaussian and its neighbours. The 3D filter has
 * no part in it: it is fused before surfaces are looked for. Shared by C and CUDA. */
#ifndef SPLAT_MATH_DENSITY_H
#define SPLAT_MATH_DENSITY_H

#include "math/gaussian.h"

/* Nearest other centres that stand for the splat around a Gaussian: with itself SuGaR's K = 16. */
#define SPLAT_NEIGHBORS 15

#define SPLAT_DENSITY_LEAST_SCALE 1e-8f

/* One Gaussian, activated. */
typedef struct splat_density_kernel {
    float mean[3];
    float axes[9];    /* column k of R at axes + 3 k: the direction of scale[k] */
    float scale[3];
    float inverse[3]; /* 1 / max(scale, SPLAT_DENSITY_LEAST_SCALE) */
    float opacity;
} splat_density_kernel;

/* From the raw parameters: mean[3], log scale[3], quaternion[4] (w, x, y, z, any length above 0), logit. */
SPLAT_MATH_INLINE splat_density_kernel splat_density_kernel_make(const float *mean, const float *log_scale,
                                                                 const float *rotation, float logit)
{
    splat_density_kernel g;
    float w = rotation[0], x = rotation[1], y = rotation[2], z = rotation[3];
    float inverse = 1.0f / sqrtf(w * w + x * x + y * y + z * z);
    w *= inverse;
    x *= inverse;
    y *= inverse;
    z *= inverse;
    splat_rotation r = splat_rotation_make(w, x, y, z);
    const float axes[9] = {r.r00, r.r10, r.r20, r.r01, r.r11, r.r21, r.r02, r.r12, r.r22};
    for (int k = 0; k < 9; k++) g.axes[k] = axes[k];
    for (int k = 0; k < 3; k++) {
        g.mean[k] = mean[k];
        g.scale[k] = expf(log_scale[k]);
        g.inverse[k] = 1.0f / (g.scale[k] > SPLAT_DENSITY_LEAST_SCALE ? g.scale[k] : SPLAT_DENSITY_LEAST_SCALE);
    }
    g.opacity = splat_sigmoid(logit);
    return g;
}

/* The axis of the smallest scale; of equal ones the first. By choice, not by index: on a device an index would move the
 * array out of registers. */
SPLAT_MATH_INLINE int splat_density_short_axis(const splat_density_kernel *g)
{
    int axis = g->scale[1] < g->scale[0];
    return g->scale[2] < (axis ? g->scale[1] : g->scale[0]) ? 2 : axis;
}

/* The Gaussian's share of the density at a point; y: the point's coordinates along its axes, R^T (p - mean). */
SPLAT_MATH_INLINE float splat_density_weight(const splat_density_kernel *g, const float point[3], float y[3])
{
    float d[3] = {point[0] - g->mean[0], point[1] - g->mean[1], point[2] - g->mean[2]}, power = 0.0f;
    for (int k = 0; k < 3; k++) {
        y[k] = g->axes[3 * k] * d[0] + g->axes[3 * k + 1] * d[1] + g->axes[3 * k + 2] * d[2];
        float in_deviations = y[k] * g->inverse[k];
        power += in_deviations * in_deviations;
    }
    return g->opacity * expf(-0.5f * (power < 1e8f ? power : 1e8f));
}

/* Adds w Sigma^-1 (p - mean) to a vector: minus the Gaussian's share of the density's gradient, so it points out of
 * what is dense. w and y are those of splat_density_weight. */
SPLAT_MATH_INLINE void splat_density_add_outward(const splat_density_kernel *g, float w, const float y[3],
                                                 float outward[3])
{
    for (int k = 0; k < 3; k++) {
        float along = w * y[k] * g->inverse[k] * g->inverse[k];
        for (int a = 0; a < 3; a++) outward[a] += along * g->axes[3 * k + a];
    }
}

#endif
