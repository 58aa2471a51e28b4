/* Code shared by all backends of field_loss: the draws, the depth map, and a sample's losses from its sums.
 *
 * The generator's own weight is phi o exp(-9/8 |xi|^2) whatever its mean, shape and rotation are: it depends on the
 * opacity alone, and is computed so, because the difference p - mean of a needle has no digits along its short axes. */
#ifndef SPLAT_OPS_FIELD_LOSS_MATH_H
#define SPLAT_OPS_FIELD_LOSS_MATH_H

#include "base/rng.h"
#include "math/density.h"
#include "ops/field_loss/field_loss.h"

#define SPLAT_FIELD_KERNELS (SPLAT_NEIGHBORS + 1)
#define SPLAT_FIELD_REACH 1.5f         /* standard deviation of p, in scales of its Gaussian */
#define SPLAT_FIELD_LEAST_DENSITY 1e-16f
#define SPLAT_FIELD_LEAST_SHORT 1e-6f  /* least s_min in a_i */
#define SPLAT_FIELD_LEAST_SUM 1e-6f    /* least sum of a_i */
#define SPLAT_FIELD_NEAR 1e-4f

typedef struct splat_field_job {
    uint32_t n, n_samples, step;
    uint64_t seed;
    int mode, width, height;
    float phi, extent, range, field_weight, normal_weight;
    float r[9], t[3], center[3], fx, fy, offset_x, offset_y; /* u = fx X/Z + offset_x */
    const float *maps, *transmittance, *z_max;               /* SDF */
    const uint32_t *neighbors;
} splat_field_job;

/* A sample. Gradients are of its own field loss, not yet weighted or divided by the number of samples. */
typedef struct splat_field_sample {
    float p[3], xi[3];
    float grad_p[3];    /* dL/dp, without the generator's weight, which does not depend on p */
    float residual[3];  /* n_g - sum a_i n_i' / sum a_i */
    float grad_density;
    float grad_beta;    /* dL/d of each of the sixteen s_min */
    float grad_short;   /* dL/d ln of the generator's smallest scale, through f */
    float per_sum;      /* 1 / sum a_i */
    float u, v, grad_depth; /* SDF: where the depth map is read, and dfield/dD there */
    float field, normal;    /* the losses */
    uint32_t sides;     /* no bit: the sample does not count; bit 0: it does; on CUDA also bit k: n_i' = n_i */
} splat_field_sample;

/* The sums over the sixteen Gaussians. */
typedef struct splat_field_sums {
    float density, scale, outward[3], a, normal[3];
} splat_field_sums;

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
    job.range = args->sdf_range;
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

/* True if a visible Gaussian, seen at (u, v), is close to the depth map. */
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

SPLAT_MATH_INLINE void splat_field_draw_xi(const splat_field_job *job, uint32_t index, float xi[3])
{
    splat_random4 a = splat_random(job->seed, SPLAT_STREAM_FIELD_SAMPLES, job->step, 2 * (uint64_t)index);
    float unused;
    splat_normal2(a.x[0], a.x[1], &xi[0], &xi[1]);
    splat_normal2(a.x[2], a.x[3], &xi[2], &unused);
}

/* The generator's place in the pool. */
SPLAT_MATH_INLINE uint32_t splat_field_draw_place(const splat_field_job *job, uint32_t index, uint32_t n_pool)
{
    splat_random4 b = splat_random(job->seed, SPLAT_STREAM_FIELD_SAMPLES, job->step, 2 * (uint64_t)index + 1);
    return (uint32_t)((uint64_t)b.x[0] * n_pool >> 32);
}

SPLAT_MATH_INLINE void splat_field_finish_density(const splat_density_kernel *g, float d, float beta,
                                                  splat_field_sample *s)
{
    int m = splat_density_short_axis(g);
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

/* 0: the sample is behind the camera, or too far from the depth map. */
SPLAT_MATH_INLINE int splat_field_finish_sdf(const splat_field_job *job, float d, float beta, splat_field_sample *s)
{
    float z = splat_field_z(job, s->p), slope[2];
    if (!(z > SPLAT_FIELD_NEAR)) return 0;
    float x = (splat_field_dot(job->r, s->p) + job->t[0]) / z;
    float y = (splat_field_dot(job->r + 3, s->p) + job->t[1]) / z;
    s->u = job->fx * x + job->offset_x;
    s->v = job->fy * y + job->offset_y;
    float estimate = splat_field_depth(job, s->u, s->v, slope) - z;
    if (!(fabsf(estimate) <= job->range * beta)) return 0;
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

#endif
