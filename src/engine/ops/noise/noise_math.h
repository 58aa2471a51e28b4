/* How far one Gaussian moves: the same on every backend. */
#ifndef SPLAT_OPS_NOISE_MATH_H
#define SPLAT_OPS_NOISE_MATH_H

#include "base/rng.h"
#include "math/gaussian.h"
#include "ops/noise/noise.h"

#define SPLAT_NOISE_SLOPE 100.0f
#define SPLAT_NOISE_GATE 0.005f
#define SPLAT_NOISE_LEAST 1e-7f /* least of the smallest standard deviation */

SPLAT_MATH_INLINE void splat_noise_move(const struct splat_means_noise_args *args, size_t i)
{
    const splat_tensors *p = &args->gaussians->p;
    const float *log_scales = p->scales + 3 * i, *raw = p->rotations + 4 * i;
    const float filter = args->gaussians->filter_3d[i];
    float *mean = p->means + 3 * i;
    float variance[3], opacity = splat_sigmoid(p->opacities[i]), least = 0.0f, most = 0.0f;
    for (int k = 0; k < 3; k++) {
        float s = expf(log_scales[k]);
        variance[k] = s * s + filter * filter;
        opacity *= s / sqrtf(variance[k]);
        least = k == 0 || variance[k] < least ? variance[k] : least;
        most = k == 0 || variance[k] > most ? variance[k] : most;
    }
    float scale = args->strength / (1.0f + expf(SPLAT_NOISE_SLOPE * (opacity - SPLAT_NOISE_GATE)));
    if (!(scale * most >= SPLAT_NOISE_LEAST * sqrtf(least))) return;

    float xi[4], local[3];
    float norm = sqrtf(raw[0] * raw[0] + raw[1] * raw[1] + raw[2] * raw[2] + raw[3] * raw[3]);
    norm = norm > 1e-12f ? norm : 1e-12f;
    splat_rotation t = splat_rotation_make(raw[0] / norm, raw[1] / norm, raw[2] / norm, raw[3] / norm);
    size_t index = args->stride ? args->first + i * args->stride : i;
    splat_random4 r = splat_random(args->seed, SPLAT_STREAM_MEANS_NOISE, args->step, index);
    splat_normal2(r.x[0], r.x[1], &xi[0], &xi[1]);
    splat_normal2(r.x[2], r.x[3], &xi[2], &xi[3]);
    local[0] = scale * variance[0] * (t.r00 * xi[0] + t.r10 * xi[1] + t.r20 * xi[2]);
    local[1] = scale * variance[1] * (t.r01 * xi[0] + t.r11 * xi[1] + t.r21 * xi[2]);
    local[2] = scale * variance[2] * (t.r02 * xi[0] + t.r12 * xi[1] + t.r22 * xi[2]);
    float x = mean[0] + (t.r00 * local[0] + t.r01 * local[1] + t.r02 * local[2]);
    float y = mean[1] + (t.r10 * local[0] + t.r11 * local[1] + t.r12 * local[2]);
    float z = mean[2] + (t.r20 * local[0] + t.r21 * local[1] + t.r22 * local[2]);
    if (!isfinite(x) || !isfinite(y) || !isfinite(z)) return;
    mean[0] = x;
    mean[1] = y;
    mean[2] = z;
}

#endif
