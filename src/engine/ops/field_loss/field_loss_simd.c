/* Groups of field_loss. A lane is one of the sixteen Gaussians of a group, lane 0 the generator; all loops over lanes
 * are plain ones, which the compiler vectorises.
 *
 * Gradients of a Gaussian are kept along its own axes until the group ends: R becomes R exp[t]x, so that three numbers,
 * the turn t, stand for dL/dR. */
#include "ops/field_loss/field_loss_kernel.h"
#include "ops/simd.h"

#include <math.h>

#define LANES SPLAT_LANES
_Static_assert(SPLAT_FIELD_KERNELS == LANES, "a lane is a Gaussian");

typedef float SIMD(row)[LANES] __attribute__((aligned(4 * LANES)));

/* The Gaussians, activated. */
typedef struct SIMD(field_lanes) {
    SIMD(row) mean[3], axes[9], scale[3], opacity; /* as in splat_density_kernel */
    SIMD(row) inverse2[3];   /* 1 / max(scale, least)^2 */
    SIMD(row) rotation[4], per_length; /* the unit quaternion; 1 / length of the raw one */
    SIMD(row) is_short[3];   /* 1 for the axis of the smallest scale, else 0 */
    SIMD(row) short_scale, per_short2; /* s_min; 1 / max(s_min, least)^2 */
    SIMD(row) normal[3], side; /* n_i'; 1 or -1: n_i' = side n_i */
    SIMD(row) is_thin[3];    /* 1: the scale's gradient through the weight is 0, as inverse2 does not follow it */
} SIMD(field_lanes);

/* The weights of a sample's Gaussians. */
typedef struct SIMD(field_weights) {
    SIMD(row) y[3], w, a; /* y = R^T (p - mean) */
} SIMD(field_weights);

/* Sums over the samples of a group. */
typedef struct SIMD(field_gradients) {
    SIMD(row) mean[3], scale[3], turn[3], logit; /* along the axes; but for what the smallest scale and n_i' add: */
    SIMD(row) normal[3];                         /* dL/dn_i' */
    float short_scale, generator_short;          /* dL/ds_min, and dL/d(its logarithm) of the generator alone */
} SIMD(field_gradients);

/* ---------------------------------------------------------------- the Gaussians */

/* The raw parameters into mean, scale, rotation and opacity. */
SPLAT_FORCE_INLINE void SIMD(field_read)(const splat_tensors *p, const uint32_t ids[LANES], SIMD(field_lanes) *g)
{
    for (int l = 0; l < LANES; l++) {
        size_t i = ids[l];
        for (int a = 0; a < 3; a++) g->mean[a][l] = p->means[3 * i + (size_t)a];
        for (int a = 0; a < 3; a++) g->scale[a][l] = p->scales[3 * i + (size_t)a];
        for (int c = 0; c < 4; c++) g->rotation[c][l] = p->rotations[4 * i + (size_t)c];
        g->opacity[l] = p->opacities[i];
    }
}

SPLAT_FORCE_INLINE void SIMD(field_turn)(SIMD(field_lanes) *g)
{
    for (int l = 0; l < LANES; l++) {
        float w = g->rotation[0][l], x = g->rotation[1][l], y = g->rotation[2][l], z = g->rotation[3][l];
        float inverse = 1.0f / sqrtf(w * w + x * x + y * y + z * z);
        g->per_length[l] = inverse;
        g->rotation[0][l] = w = w * inverse;
        g->rotation[1][l] = x = x * inverse;
        g->rotation[2][l] = y = y * inverse;
        g->rotation[3][l] = z = z * inverse;
        g->axes[0][l] = 1.0f - 2.0f * (y * y + z * z);
        g->axes[1][l] = 2.0f * (x * y + w * z);
        g->axes[2][l] = 2.0f * (x * z - w * y);
        g->axes[3][l] = 2.0f * (x * y - w * z);
        g->axes[4][l] = 1.0f - 2.0f * (x * x + z * z);
        g->axes[5][l] = 2.0f * (y * z + w * x);
        g->axes[6][l] = 2.0f * (x * z + w * y);
        g->axes[7][l] = 2.0f * (y * z - w * x);
        g->axes[8][l] = 1.0f - 2.0f * (x * x + y * y);
    }
}

SPLAT_FORCE_INLINE void SIMD(field_scale)(SIMD(field_lanes) *g)
{
    const float least = SPLAT_DENSITY_LEAST_SCALE;
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < LANES; l++) {
            float s = splat_exp(g->scale[k][l]), inverse = 1.0f / (s > least ? s : least);
            g->scale[k][l] = s;
            g->inverse2[k][l] = inverse * inverse;
            g->is_thin[k][l] = s > least ? 0.0f : 1.0f;
        }
    /* the generator's weight does not follow its scales (field_loss_math.h) */
    for (int k = 0; k < 3; k++) g->is_thin[k][0] = g->scale[k][0] < least ? 1.0f : 0.0f;
    for (int l = 0; l < LANES; l++) {
        float a = g->scale[0][l], b = g->scale[1][l], c = g->scale[2][l], ab = b < a ? b : a, s = c < ab ? c : ab;
        float wide = s > SPLAT_FIELD_LEAST_SHORT ? s : SPLAT_FIELD_LEAST_SHORT;
        g->is_short[2][l] = c < ab ? 1.0f : 0.0f;
        g->is_short[1][l] = c < ab ? 0.0f : b < a ? 1.0f : 0.0f;
        g->is_short[0][l] = c < ab ? 0.0f : b < a ? 0.0f : 1.0f;
        g->short_scale[l] = s;
        g->per_short2[l] = 1.0f / (wide * wide);
        g->opacity[l] = 1.0f / (1.0f + splat_exp(-g->opacity[l]));
    }
}

SPLAT_FORCE_INLINE void SIMD(field_orient)(SIMD(field_lanes) *g)
{
    for (int a = 0; a < 3; a++)
        for (int l = 0; l < LANES; l++)
            g->normal[a][l] = g->is_short[0][l] * g->axes[a][l] + g->is_short[1][l] * g->axes[3 + a][l] +
                              g->is_short[2][l] * g->axes[6 + a][l];
    float own[3] = {g->normal[0][0], g->normal[1][0], g->normal[2][0]};
    for (int l = 0; l < LANES; l++) {
        float along = g->normal[0][l] * own[0] + g->normal[1][l] * own[1] + g->normal[2][l] * own[2];
        g->side[l] = along < 0.0f ? -1.0f : 1.0f;
    }
    for (int a = 0; a < 3; a++)
        for (int l = 0; l < LANES; l++) g->normal[a][l] *= g->side[l];
}

/* The generator alone. */
SPLAT_FORCE_INLINE splat_density_kernel SIMD(field_generator)(const SIMD(field_lanes) *g)
{
    splat_density_kernel own;
    for (int a = 0; a < 3; a++) {
        own.mean[a] = g->mean[a][0];
        own.scale[a] = g->scale[a][0];
    }
    for (int a = 0; a < 9; a++) own.axes[a] = g->axes[a][0];
    own.opacity = g->opacity[0];
    return own;
}

/* ---------------------------------------------------------------- a sample */

/* Sums of sixteen lanes, in an order that is the same at every level. */
SPLAT_FORCE_INLINE void SIMD(field_sum_rows)(SIMD(row) *rows, int n, float *sums)
{
    for (int r = 0; r < n; r++) {
        float *x = rows[r];
        for (int l = 0; l < 8; l++) x[l] += x[l + 8];
        for (int l = 0; l < 4; l++) x[l] += x[l + 4];
        sums[r] = (x[0] + x[2]) + (x[1] + x[3]);
    }
}

/* p is s->p; own_y is the generator's y, from xi. */
SPLAT_FORCE_INLINE void SIMD(field_weigh)(const SIMD(field_lanes) *g, float phi, const float p[3], const float own_y[3],
                                          SIMD(field_weights) *out, splat_field_sums *sums)
{
    SIMD(row) terms[8];
    for (int l = 0; l < LANES; l++) {
        float x = p[0] - g->mean[0][l], y = p[1] - g->mean[1][l], z = p[2] - g->mean[2][l];
        float y0 = g->axes[0][l] * x + g->axes[1][l] * y + g->axes[2][l] * z;
        float y1 = g->axes[3][l] * x + g->axes[4][l] * y + g->axes[5][l] * z;
        float y2 = g->axes[6][l] * x + g->axes[7][l] * y + g->axes[8][l] * z;
        y0 = l ? y0 : own_y[0];
        y1 = l ? y1 : own_y[1];
        y2 = l ? y2 : own_y[2];
        float t0 = y0 * g->inverse2[0][l], t1 = y1 * g->inverse2[1][l], t2 = y2 * g->inverse2[2][l];
        float w = phi * g->opacity[l] * splat_exp(-0.5f * (y0 * t0 + y1 * t1 + y2 * t2));
        float y_short = y0 * g->is_short[0][l] + y1 * g->is_short[1][l] + y2 * g->is_short[2][l];
        float a = w * fabsf(y_short) * g->per_short2[l], w_other = l ? w : 0.0f;
        out->y[0][l] = y0;
        out->y[1][l] = y1;
        out->y[2][l] = y2;
        out->w[l] = w;
        out->a[l] = a;
        terms[0][l] = w;
        terms[1][l] = a;
        for (int k = 0; k < 3; k++) {
            terms[2 + k][l] = a * g->normal[k][l];
            terms[5 + k][l] = w_other * (g->axes[k][l] * t0 + g->axes[3 + k][l] * t1 + g->axes[6 + k][l] * t2);
        }
    }
    float s[8];
    SIMD(field_sum_rows)(terms, 8, s);
    sums->density = s[0];
    sums->a = s[1];
    memcpy(sums->normal, s + 2, sizeof sums->normal);
    memcpy(sums->outward, s + 5, sizeof sums->outward);
}

/* Adds what sample s says. The scales turn its gradients into those of the means over all samples. */
SPLAT_FORCE_INLINE void SIMD(field_add)(const SIMD(field_lanes) *g, const SIMD(field_weights) *in,
                                        const splat_field_sample *s, float field_scale, float normal_scale,
                                        SIMD(field_gradients) *sum)
{
    float grad_density = field_scale * s->grad_density, of_normal = -2.0f * normal_scale * s->per_sum;
    float of_own = 2.0f * normal_scale, grad_p[3];
    for (int a = 0; a < 3; a++) grad_p[a] = field_scale * s->grad_p[a];
    for (int l = 0; l < LANES; l++) {
        float u = grad_density * in->w[l], y[3], v[3], normal = of_normal * in->a[l] + (l ? 0.0f : of_own);
        for (int k = 0; k < 3; k++) {
            y[k] = in->y[k][l];
            float through_weight = u * y[k] * g->inverse2[k][l];
            float through_point = g->axes[3 * k][l] * grad_p[0] + g->axes[3 * k + 1][l] * grad_p[1] +
                                  g->axes[3 * k + 2][l] * grad_p[2];
            v[k] = l ? through_weight : through_point;
            sum->mean[k][l] += v[k];
            sum->scale[k][l] += (v[k] - g->is_thin[k][l] * through_weight) * y[k];
        }
        sum->turn[0][l] += y[1] * v[2] - y[2] * v[1];
        sum->turn[1][l] += y[2] * v[0] - y[0] * v[2];
        sum->turn[2][l] += y[0] * v[1] - y[1] * v[0];
        sum->logit[l] += u;
        for (int a = 0; a < 3; a++) sum->normal[a][l] += normal * s->residual[a];
    }
    sum->short_scale += field_scale * s->grad_beta;
    sum->generator_short += field_scale * s->grad_short;
}

/* ---------------------------------------------------------------- a group */

/* To the raw parameters. A turn t moves the unit quaternion q by q (0, t) / 2, an orthogonal frame of its tangents, so
 * nothing is left to project. */
SPLAT_FORCE_INLINE void SIMD(field_end)(const SIMD(field_lanes) *g, SIMD(field_gradients) *sum,
                                        splat_field_record *record)
{
    SIMD(row) *out = record->gradient;
    for (int l = 0; l < LANES; l++) {
        float of_short = sum->short_scale * g->short_scale[l] + (l ? 0.0f : sum->generator_short), of_axis[3], t[3];
        float h0 = g->is_short[0][l], h1 = g->is_short[1][l], h2 = g->is_short[2][l], m[3];
        for (int k = 0; k < 3; k++) {
            of_axis[k] = g->axes[3 * k][l] * sum->normal[0][l] + g->axes[3 * k + 1][l] * sum->normal[1][l] +
                         g->axes[3 * k + 2][l] * sum->normal[2][l];
            of_axis[k] *= g->side[l];
            m[k] = sum->mean[k][l];
        }
        t[0] = sum->turn[0][l] + (h1 * of_axis[2] - h2 * of_axis[1]);
        t[1] = sum->turn[1][l] + (h2 * of_axis[0] - h0 * of_axis[2]);
        t[2] = sum->turn[2][l] + (h0 * of_axis[1] - h1 * of_axis[0]);
        for (int a = 0; a < 3; a++) {
            out[a][l] = g->axes[a][l] * m[0] + g->axes[3 + a][l] * m[1] + g->axes[6 + a][l] * m[2];
            out[3 + a][l] = sum->scale[a][l] + g->is_short[a][l] * of_short;
        }
        float scale = 2.0f * g->per_length[l];
        float w = scale * g->rotation[0][l], x = scale * g->rotation[1][l], y = scale * g->rotation[2][l];
        float z = scale * g->rotation[3][l];
        out[6][l] = -(x * t[0] + y * t[1] + z * t[2]);
        out[7][l] = w * t[0] + y * t[2] - z * t[1];
        out[8][l] = w * t[1] + z * t[0] - x * t[2];
        out[9][l] = w * t[2] + x * t[1] - y * t[0];
        out[10][l] = sum->logit[l] * (1.0f - g->opacity[l]);
    }
}

/* p and the losses of sample s, which has its xi. */
SPLAT_FORCE_INLINE void SIMD(field_sample)(const splat_field_job *job, const SIMD(field_lanes) *g,
                                           const splat_density_kernel *own, float sum_short, splat_field_sample *s,
                                           SIMD(field_weights) *weights)
{
    splat_field_sums sums = {.scale = sum_short};
    float y[3], normal[3];
    for (int k = 0; k < 3; k++) y[k] = SPLAT_FIELD_REACH * own->scale[k] * s->xi[k];
    for (int a = 0; a < 3; a++) {
        s->p[a] = own->mean[a] + (own->axes[a] * y[0] + own->axes[3 + a] * y[1] + own->axes[6 + a] * y[2]);
        normal[a] = g->normal[a][0];
    }
    s->sides = 1;
    SIMD(field_weigh)(g, job->phi, s->p, y, weights, &sums);
    splat_field_finish(job, own, normal, &sums, s);
}

static void SIMD(field_group)(const splat_field_groups *groups, uint32_t group, splat_field_record *record)
{
    const splat_field_job *job = &groups->job;
    uint32_t first = groups->begin[group], generator = groups->pool[groups->places[groups->order[first]]];
    float field_scale = job->field_weight / (float)job->n_samples, sum_short;
    float normal_scale = job->normal_weight / (float)job->n_samples;
    SIMD(field_lanes) g;
    SIMD(field_gradients) sum;
    SIMD(row) shorts;
    record->ids[0] = generator;
    memcpy(record->ids + 1, job->neighbors + SPLAT_NEIGHBORS * (size_t)generator, SPLAT_NEIGHBORS * sizeof(uint32_t));
    record->n_counting = 0;
    record->field = record->normal = 0.0;
    SIMD(field_read)(groups->parameters, record->ids, &g);
    SIMD(field_turn)(&g);
    SIMD(field_scale)(&g);
    SIMD(field_orient)(&g);
    splat_density_kernel own = SIMD(field_generator)(&g);
    memcpy(shorts, g.short_scale, sizeof shorts);
    SIMD(field_sum_rows)(&shorts, 1, &sum_short);
    memset(&sum, 0, sizeof sum);
    for (uint32_t at = first; at < groups->begin[group + 1]; at++) {
        splat_field_sample s = {0};
        SIMD(field_weights) weights;
        splat_field_draw_xi(job, groups->order[at], s.xi);
        SIMD(field_sample)(job, &g, &own, sum_short, &s, &weights);
        if (groups->spots) groups->spots[at] = (splat_field_spot){s.u, s.v, s.grad_depth};
        if (!s.sides) continue;
        SIMD(field_add)(&g, &weights, &s, field_scale, normal_scale, &sum);
        record->n_counting++;
        record->field += (double)s.field;
        record->normal += (double)s.normal;
    }
    if (record->n_counting) SIMD(field_end)(&g, &sum, record);
}

SPLAT_FIELD_RUN(SIMD(splat_field_run))
{
    for (uint32_t group = begin; group < end; group++) SIMD(field_group)(groups, group, &records[group - begin]);
}
