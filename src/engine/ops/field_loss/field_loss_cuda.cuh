/* The work of a thread of field_loss on CUDA: the sums of a sample over its sixteen Gaussians, or its share of the
 * gradient of one of them. field_loss_simd.c does both, sixteen Gaussians at a time.
 *
 * Turns of a Gaussian are kept along its own axes: R becomes R exp[t]x, so that three numbers stand for dL/dR. */
#ifndef SPLAT_OPS_FIELD_LOSS_CUDA_CUH
#define SPLAT_OPS_FIELD_LOSS_CUDA_CUH

extern "C" {
#include "ops/field_loss/field_loss_math.h"
}

/* dL/d(mean, log scale, turn) along the Gaussian's axes, and dL/dlogit. */
typedef struct splat_field_gradient {
    float mean[3], scale[3], turn[3], logit;
} splat_field_gradient;

SPLAT_MATH_INLINE void splat_field_column(const splat_density_kernel *g, int m, float n[3])
{
    for (int a = 0; a < 3; a++) n[a] = m == 0 ? g->axes[a] : m == 1 ? g->axes[3 + a] : g->axes[6 + a];
}

/* Adds a x b. */
SPLAT_MATH_INLINE void splat_field_add_cross(const float a[3], const float b[3], float sum[3])
{
    sum[0] += a[1] * b[2] - a[2] * b[1];
    sum[1] += a[2] * b[0] - a[0] * b[2];
    sum[2] += a[0] * b[1] - a[1] * b[0];
}

/* a_i of Gaussian i with the short axis m. */
SPLAT_MATH_INLINE float splat_field_normal_weight(const splat_density_kernel *i, int m, float w, const float y[3])
{
    float s = splat_field_pick(i->scale, m);
    s = s > SPLAT_FIELD_LEAST_SHORT ? s : SPLAT_FIELD_LEAST_SHORT;
    return w * fabsf(splat_field_pick(y, m)) / s / s;
}

/* The generator's own w; y as in splat_density_weight. */
SPLAT_MATH_INLINE float splat_field_own_weight(const splat_field_job *job, const splat_density_kernel *g,
                                               const float xi[3], float y[3])
{
    float power = 0.0f;
    for (int k = 0; k < 3; k++) {
        y[k] = SPLAT_FIELD_REACH * g->scale[k] * xi[k];
        float in_deviations = y[k] * g->inverse[k];
        power += in_deviations * in_deviations;
    }
    return job->phi * g->opacity * expf(-0.5f * power);
}

/* From s->xi: p, and the sums of the generator alone. */
SPLAT_MATH_INLINE void splat_field_begin(const splat_field_job *job, const splat_density_kernel *g,
                                         splat_field_sample *s, splat_field_sums *sums)
{
    float y[3], n[3], w = splat_field_own_weight(job, g, s->xi, y);
    int m = splat_density_short_axis(g);
    splat_field_column(g, m, n);
    sums->density = w;
    sums->scale = splat_field_pick(g->scale, m);
    sums->a = splat_field_normal_weight(g, m, w, y);
    for (int a = 0; a < 3; a++) {
        s->p[a] = g->mean[a] + (g->axes[a] * y[0] + g->axes[3 + a] * y[1] + g->axes[6 + a] * y[2]);
        sums->outward[a] = 0.0f;
        sums->normal[a] = sums->a * n[a];
    }
    s->sides = 1;
}

/* Adds Gaussian k, k > 0. own: n_g. */
SPLAT_MATH_INLINE void splat_field_add(const splat_field_job *job, const float own[3], const splat_density_kernel *i,
                                       int k, splat_field_sample *s, splat_field_sums *sums)
{
    float y[3], n[3], w = job->phi * splat_density_weight(i, s->p, y);
    int m = splat_density_short_axis(i);
    splat_field_column(i, m, n);
    float a = splat_field_normal_weight(i, m, w, y);
    int turned = splat_field_dot(n, own) < 0.0f;
    sums->density += w;
    sums->scale += splat_field_pick(i->scale, m);
    splat_density_add_outward(i, w, y, sums->outward);
    sums->a += a;
    for (int axis = 0; axis < 3; axis++) sums->normal[axis] += turned ? -a * n[axis] : a * n[axis];
    s->sides |= turned ? 0u : 1u << k;
}

/* ---------------------------------------------------------------- the gradient of a Gaussian */

/* Adds what sample s says to its Gaussian k, which is i. The scales turn gradients of a sample into those of the
 * means over all: weight / samples that count. */
SPLAT_MATH_INLINE void splat_field_gather(const splat_field_job *job, const splat_density_kernel *i,
                                          const splat_field_sample *s, int k, float field_scale, float normal_scale,
                                          splat_field_gradient *sum)
{
    int m = splat_density_short_axis(i);
    float y[3], v[3], w, of_normal, grad_density = field_scale * s->grad_density;
    float of_short = field_scale * s->grad_beta * splat_field_pick(i->scale, m);
    if (k == 0) {
        w = splat_field_own_weight(job, i, s->xi, y);
        for (int j = 0; j < 3; j++) {
            v[j] = field_scale * splat_field_dot(i->axes + 3 * j, s->grad_p);
            sum->scale[j] += v[j] * y[j];
            /* below the least scale xi alone does not say how far p is */
            if (i->scale[j] < SPLAT_DENSITY_LEAST_SCALE)
                sum->scale[j] -= grad_density * w * (y[j] * i->inverse[j]) * (y[j] * i->inverse[j]);
        }
        of_short += field_scale * s->grad_short;
        of_normal = 2.0f * normal_scale * (1.0f - splat_field_normal_weight(i, m, w, y) * s->per_sum);
    } else {
        w = job->phi * splat_density_weight(i, s->p, y);
        for (int j = 0; j < 3; j++) {
            v[j] = grad_density * w * y[j] * i->inverse[j] * i->inverse[j];
            if (i->scale[j] > SPLAT_DENSITY_LEAST_SCALE) sum->scale[j] += v[j] * y[j];
        }
        of_normal = -2.0f * normal_scale * (splat_field_normal_weight(i, m, w, y) * s->per_sum);
        if (!(s->sides >> k & 1)) of_normal = -of_normal;
    }
    float axis[3], of_axis[3]; /* the normal and dL/dn along the axes */
    for (int j = 0; j < 3; j++) {
        sum->mean[j] += v[j];
        sum->scale[j] += j == m ? of_short : 0.0f;
        axis[j] = j == m ? 1.0f : 0.0f;
        of_axis[j] = of_normal * splat_field_dot(i->axes + 3 * j, s->residual);
    }
    splat_field_add_cross(y, v, sum->turn);
    splat_field_add_cross(axis, of_axis, sum->turn);
    sum->logit += grad_density * w * (1.0f - i->opacity);
}

/* Adds the sum to the gradients of the raw parameters. raw: the quaternion. A turn t moves the unit quaternion q by
 * q (0, t) / 2, an orthogonal frame of its tangents, so nothing is left to project. */
SPLAT_MATH_INLINE void splat_field_apply(const splat_density_kernel *i, const float *raw,
                                         const splat_field_gradient *sum, float *grad_mean, float *grad_scales,
                                         float *grad_raw, float *grad_logit)
{
    const float *t = sum->turn, w = raw[0], x = raw[1], y = raw[2], z = raw[3];
    float scale = 2.0f / (w * w + x * x + y * y + z * z);
    for (int k = 0; k < 3; k++) {
        grad_mean[k] += i->axes[k] * sum->mean[0] + i->axes[3 + k] * sum->mean[1] + i->axes[6 + k] * sum->mean[2];
        grad_scales[k] += sum->scale[k];
    }
    grad_raw[0] -= scale * (x * t[0] + y * t[1] + z * t[2]);
    grad_raw[1] += scale * (w * t[0] + y * t[2] - z * t[1]);
    grad_raw[2] += scale * (w * t[1] + z * t[0] - x * t[2]);
    grad_raw[3] += scale * (w * t[2] + x * t[1] - y * t[0]);
    *grad_logit += sum->logit;
}

#endif
