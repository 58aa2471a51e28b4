/* One sample of field_loss, and its share of the gradient of one of its sixteen Gaussians; the same on every backend.
 *
 * Turns of a Gaussian are kept along its own axes: R becomes R exp[t]x, so that three numbers stand for dL/dR. The
 * generator's own weight is phi o exp(-9/8 |xi|^2) whatever its mean, shape and rotation are: it depends on the opacity
 * alone, and is computed so, because the difference p - mean of a needle has no digits along its short axes. */
#ifndef SPLAT_OPS_FIELD_LOSS_MATH_H
#define SPLAT_OPS_FIELD_LOSS_MATH_H

#include "base/rng.h"
#include "math/density.h"
#include "ops/field_loss/field_loss.h"

#define SPLAT_FIELD_KERNELS (SPLAT_NEIGHBORS + 1)
#define SPLAT_FIELD_REACH 1.5f         /* deviations of p */
#define SPLAT_FIELD_LEAST_DENSITY 1e-16f
#define SPLAT_FIELD_LEAST_SHORT 1e-6f  /* of s_min in a_i */
#define SPLAT_FIELD_LEAST_SUM 1e-6f    /* of sum a_i */
#define SPLAT_FIELD_NEAR 1e-4f

typedef struct splat_field_job {
    uint32_t n, n_samples, step;
    uint64_t seed;
    int mode, width, height;
    float phi, extent, field_weight, normal_weight;
    float r[9], t[3], center[3], fx, fy, offset_x, offset_y; /* u = fx X/Z + offset_x */
    const float *maps, *transmittance, *z_max;               /* SDF */
    const uint32_t *neighbors;
} splat_field_job;

/* A sample. Gradients are of its own field loss, not yet weighted or divided by the number of samples. */
typedef struct splat_field_sample {
    float p[3], xi[3];
    float grad_p[3];    /* without the share through the generator's weight, which does not depend on p */
    float residual[3];  /* n_g - sum a_i n_i' / sum a_i */
    float grad_density;
    float grad_beta;    /* of one of the sixteen s_min */
    float grad_short;   /* of the logarithm of the generator's smallest scale, through f */
    float per_sum;      /* 1 / sum a_i */
    float u, v, grad_depth; /* SDF: where the depth map is read, and dfield/dD there */
    float field, normal;    /* the losses */
    uint32_t sides;     /* bit k: n_i' = n_i for Gaussian k, the generator is 0; no bit: the sample does not count */
} splat_field_sample;

/* What the sixteen add up to. */
typedef struct splat_field_sums {
    float density, scale, outward[3], a, normal[3];
} splat_field_sums;

/* dL/d(mean, log scale, turn) along the Gaussian's axes, and dL/dlogit. */
typedef struct splat_field_gradient {
    float mean[3], scale[3], turn[3], logit;
} splat_field_gradient;

static inline splat_status splat_field_check(const struct splat_field_loss_args *args, splat_error *error)
{
    const splat_camera *c = &args->frame->camera;
    uint32_t n = args->gaussians->n;
    if (args->n_samples < 1 || args->n_samples > SPLAT_FIELD_MAX_SAMPLES)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the field loss takes 1 to %u samples, not %u",
                          SPLAT_FIELD_MAX_SAMPLES, args->n_samples);
    if (n > 0 && n <= SPLAT_NEIGHBORS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "the field loss needs %d neighbours of each Gaussian, but there are %u Gaussians",
                          SPLAT_NEIGHBORS, n);
    if (args->mode == SPLAT_FIELD_SDF && (uint64_t)c->width * (uint64_t)c->height >= UINT32_MAX)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a depth map of %d x %d pixels is too large for the field loss",
                          c->width, c->height);
    return SPLAT_OK;
}

static inline splat_field_job splat_field_job_of(const struct splat_field_loss_args *args, const float *z_max)
{
    const splat_camera *c = &args->frame->camera;
    splat_field_job job;
    memset(&job, 0, sizeof job);
    job.n = args->gaussians->n;
    job.n_samples = args->n_samples;
    job.step = args->step;
    job.seed = args->seed;
    job.mode = args->mode;
    job.width = c->width;
    job.height = c->height;
    job.phi = args->mode == SPLAT_FIELD_SDF ? 1.0f / SPLAT_FIELD_KERNELS : 1.0f;
    job.extent = args->extent;
    job.field_weight = args->field_weight;
    job.normal_weight = args->normal_weight;
    memcpy(job.r, c->rotation, sizeof job.r);
    memcpy(job.t, c->translation, sizeof job.t);
    memcpy(job.center, c->center, sizeof job.center);
    job.fx = c->fx;
    job.fy = c->fy;
    job.offset_x = c->cx - 0.5f;
    job.offset_y = c->cy - 0.5f;
    job.maps = args->maps;
    job.transmittance = args->transmittance;
    job.z_max = z_max;
    job.neighbors = args->neighbors;
    return job;
}

SPLAT_MATH_INLINE float splat_field_dot(const float *a, const float *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

SPLAT_MATH_INLINE float splat_field_sign(float x)
{
    return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f;
}

/* Element m of three, and column m of R. By choice, not by index: on a device an index would move the array out of
 * registers. */
SPLAT_MATH_INLINE float splat_field_pick(const float v[3], int m)
{
    return m == 0 ? v[0] : m == 1 ? v[1] : v[2];
}

SPLAT_MATH_INLINE void splat_field_column(const splat_density_kernel *g, int m, float n[3])
{
    for (int a = 0; a < 3; a++) n[a] = m == 0 ? g->axes[a] : m == 1 ? g->axes[3 + a] : g->axes[6 + a];
}

/* splat_density_short_axis, by choice too. */
SPLAT_MATH_INLINE int splat_field_short_axis(const splat_density_kernel *g)
{
    int m = g->scale[1] < g->scale[0];
    return g->scale[2] < (m ? g->scale[1] : g->scale[0]) ? 2 : m;
}

/* Adds a x b. */
SPLAT_MATH_INLINE void splat_field_add_cross(const float a[3], const float b[3], float sum[3])
{
    sum[0] += a[1] * b[2] - a[2] * b[1];
    sum[1] += a[2] * b[0] - a[0] * b[2];
    sum[2] += a[0] * b[1] - a[1] * b[0];
}

/* ---------------------------------------------------------------- the depth map */

/* The four pixels around (u, v), by rows, and their weights. */
typedef struct splat_field_corners {
    uint32_t pixel[4];
    float weight[4], across, down;
} splat_field_corners;

SPLAT_MATH_INLINE splat_field_corners splat_field_corners_of(const splat_field_job *job, float u, float v)
{
    splat_field_corners c;
    float x = splat_clamp(u, 0.0f, (float)(job->width - 1)), y = splat_clamp(v, 0.0f, (float)(job->height - 1));
    uint32_t left = (uint32_t)x, above = (uint32_t)y, width = (uint32_t)job->width;
    uint32_t right = left + 1 < width ? left + 1 : left;
    uint32_t below = above + 1 < (uint32_t)job->height ? above + 1 : above;
    c.across = x - (float)left;
    c.down = y - (float)above;
    for (int k = 0; k < 4; k++) {
        c.pixel[k] = (k < 2 ? above : below) * width + (k % 2 ? right : left);
        c.weight[k] = (k < 2 ? 1.0f - c.down : c.down) * (k % 2 ? c.across : 1.0f - c.across);
    }
    return c;
}

/* D(u, v) and its derivatives. */
SPLAT_MATH_INLINE float splat_field_depth(const splat_field_job *job, float u, float v, float slope[2])
{
    splat_field_corners c = splat_field_corners_of(job, u, v);
    float d[4];
    for (int k = 0; k < 4; k++) d[k] = job->maps[c.pixel[k]] + job->transmittance[c.pixel[k]] * *job->z_max;
    int inside_x = u >= 0.0f && u <= (float)(job->width - 1), inside_y = v >= 0.0f && v <= (float)(job->height - 1);
    slope[0] = inside_x ? (1.0f - c.down) * (d[1] - d[0]) + c.down * (d[3] - d[2]) : 0.0f;
    slope[1] = inside_y ? (1.0f - c.across) * (d[2] - d[0]) + c.across * (d[3] - d[1]) : 0.0f;
    return c.weight[0] * d[0] + c.weight[1] * d[1] + c.weight[2] * d[2] + c.weight[3] * d[3];
}

SPLAT_MATH_INLINE float splat_field_z(const splat_field_job *job, const float *p)
{
    return splat_field_dot(job->r + 6, p) + job->t[2];
}

/* Whether a visible Gaussian, seen at (u, v), is close to the depth map. */
SPLAT_MATH_INLINE int splat_field_is_close(const splat_field_job *job, const splat_density_kernel *g, const float *uv)
{
    float to_camera[3], slope[2], square = 0.0f, distance2 = 0.0f;
    for (int a = 0; a < 3; a++) {
        to_camera[a] = job->center[a] - g->mean[a];
        distance2 += to_camera[a] * to_camera[a];
    }
    for (int k = 0; k < 3; k++) {
        float along = g->scale[k] * splat_field_dot(g->axes + 3 * k, to_camera);
        square += along * along;
    }
    float off = splat_field_depth(job, uv[0], uv[1], slope) - splat_field_z(job, g->mean);
    return fabsf(off) < 2.0f * sqrtf(square / distance2);
}

/* ---------------------------------------------------------------- a sample */

/* The generator's place in the pool, and xi. */
SPLAT_MATH_INLINE uint32_t splat_field_draw(const splat_field_job *job, uint32_t index, uint32_t n_pool, float xi[3])
{
    splat_random4 a = splat_random(job->seed, SPLAT_STREAM_FIELD_SAMPLES, job->step, 2 * (uint64_t)index);
    splat_random4 b = splat_random(job->seed, SPLAT_STREAM_FIELD_SAMPLES, job->step, 2 * (uint64_t)index + 1);
    float unused;
    splat_normal2(a.x[0], a.x[1], &xi[0], &xi[1]);
    splat_normal2(a.x[2], a.x[3], &xi[2], &unused);
    return (uint32_t)((uint64_t)b.x[0] * n_pool >> 32);
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
    int m = splat_field_short_axis(g);
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
    int m = splat_field_short_axis(i);
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

SPLAT_MATH_INLINE void splat_field_finish_density(const splat_density_kernel *g, float d, float beta,
                                                  splat_field_sample *s)
{
    int m = splat_field_short_axis(g);
    float t = SPLAT_FIELD_REACH * splat_field_pick(g->scale, m) * splat_field_pick(s->xi, m) / beta;
    float target = expf(-0.5f * t * t);
    float sign = splat_field_sign(d - target), slope = sign * target * t * t;
    s->field = fabsf(d - target);
    s->grad_density = sign;
    s->grad_beta = -slope / beta / SPLAT_FIELD_KERNELS;
    s->grad_short = slope;
    s->u = s->v = s->grad_depth = 0.0f;
    s->grad_p[0] = s->grad_p[1] = s->grad_p[2] = 0.0f;
}

/* 0: the sample is behind the camera. */
SPLAT_MATH_INLINE int splat_field_finish_sdf(const splat_field_job *job, float d, float beta, splat_field_sample *s)
{
    float z = splat_field_z(job, s->p), slope[2];
    if (!(z > SPLAT_FIELD_NEAR)) return 0;
    float x = (splat_field_dot(job->r, s->p) + job->t[0]) / z;
    float y = (splat_field_dot(job->r + 3, s->p) + job->t[1]) / z;
    s->u = job->fx * x + job->offset_x;
    s->v = job->fy * y + job->offset_y;
    float estimate = splat_field_depth(job, s->u, s->v, slope) - z;
    float dense = d < 1.0f ? d > SPLAT_FIELD_LEAST_DENSITY ? d : SPLAT_FIELD_LEAST_DENSITY : 1.0f;
    float root = sqrtf(-2.0f * logf(dense)), error = beta * root - fabsf(estimate);
    float per_unit = 10.0f / job->extent, limit = 10.0f * job->extent, loss = fabsf(error) * per_unit;
    float through = loss < limit ? splat_field_sign(error) * per_unit : 0.0f;
    s->field = loss < limit ? loss : limit;
    s->grad_density = dense == d && root > 0.0f ? -through * beta / (d * root) : 0.0f;
    s->grad_beta = through * root / SPLAT_FIELD_KERNELS;
    s->grad_short = 0.0f;
    s->grad_depth = -through * splat_field_sign(estimate);
    float gx = s->grad_depth * slope[0] * job->fx / z, gy = s->grad_depth * slope[1] * job->fy / z;
    float gz = -(gx * x + gy * y) - s->grad_depth;
    for (int a = 0; a < 3; a++) s->grad_p[a] = job->r[a] * gx + job->r[3 + a] * gy + job->r[6 + a] * gz;
    return 1;
}

/* From the sums of all sixteen: the losses and their gradients. A sample that does not count has none. */
SPLAT_MATH_INLINE void splat_field_finish(const splat_field_job *job, const splat_density_kernel *g,
                                          const float own[3], const splat_field_sums *sums, splat_field_sample *s)
{
    float beta = sums->scale / SPLAT_FIELD_KERNELS;
    int counts = 1;
    s->per_sum = 1.0f / (sums->a > SPLAT_FIELD_LEAST_SUM ? sums->a : SPLAT_FIELD_LEAST_SUM);
    s->normal = 0.0f;
    for (int a = 0; a < 3; a++) {
        s->residual[a] = own[a] - sums->normal[a] * s->per_sum;
        s->normal += s->residual[a] * s->residual[a];
    }
    if (job->mode == SPLAT_FIELD_SDF)
        counts = splat_field_finish_sdf(job, sums->density, beta, s);
    else
        splat_field_finish_density(g, sums->density, beta, s);
    float probe = counts ? s->field + s->normal + s->grad_density + s->grad_beta + s->grad_short + s->grad_depth : 0.0f;
    for (int a = 0; counts && a < 3; a++) {
        s->grad_p[a] -= s->grad_density * sums->outward[a];
        probe += s->grad_p[a] + s->p[a];
    }
    if (counts && probe + sums->a - (probe + sums->a) == 0.0f) return;
    s->sides = 0;
    s->field = s->normal = s->grad_depth = 0.0f;
}

/* ---------------------------------------------------------------- the gradient of a Gaussian */

/* Adds what sample s says to its Gaussian k, which is i. The scales turn gradients of a sample into those of the
 * means over all: weight / samples that count. */
SPLAT_MATH_INLINE void splat_field_gather(const splat_field_job *job, const splat_density_kernel *i,
                                          const splat_field_sample *s, int k, float field_scale, float normal_scale,
                                          splat_field_gradient *sum)
{
    int m = splat_field_short_axis(i);
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
