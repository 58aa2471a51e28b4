/* Code shared by both versions of summary: fixed parts of the work, their partial results, the value of a sample, and
 * the sums in the order of the parts. C and CUDA. */
#ifndef SPLAT_OPS_SUMMARY_COMMON_H
#define SPLAT_OPS_SUMMARY_COMMON_H

#include "math/buckets.h"
#include "math/gaussian.h"
#include "math/quantize.h"
#include "ops/summary/summary.h"

/* Each part is one thread of the host, or one block of a device. */
#define SUMMARY_PARTS 256

typedef struct summary_partial {
    float min[2], max[2]; /* opacity, scale */
    double sum[2];
    uint64_t n[2];
    uint32_t n_low, n_high, n_active;
    splat_summary_moments moments[SPLAT_SUMMARY_N];
    uint32_t n_in_buckets[SPLAT_SUMMARY_N];
    double tensor_sum[SPLAT_N_TENSORS], tensor_squares[SPLAT_N_TENSORS];
    uint64_t tensor_n[SPLAT_N_TENSORS];
} summary_partial;

SPLAT_MATH_INLINE float summary_opacity(const splat_gaussians *g, uint64_t i)
{
    return splat_sigmoid(g->p.opacities[i]);
}

SPLAT_MATH_INLINE double summary_length(const float *x, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++) sum += (double)x[k] * (double)x[k];
    return sqrt(sum);
}

/* The Gaussian that sample k of n_samples is. */
SPLAT_MATH_INLINE uint64_t summary_index(const splat_gaussians *g, uint32_t k, uint32_t n_samples)
{
    return (uint64_t)k * g->n / n_samples;
}

SPLAT_MATH_INLINE void summary_sample(const splat_gaussians *g, uint32_t k, uint32_t n_samples,
                                      double values[SPLAT_SUMMARY_N])
{
    uint64_t i = summary_index(g, k, n_samples);
    values[SPLAT_SUMMARY_OPACITY] = (double)summary_opacity(g, i);
    values[SPLAT_SUMMARY_SCALE] = (double)expf(g->p.scales[3 * i + k % 3]);
    values[SPLAT_SUMMARY_ROTATION] = summary_length(g->p.rotations + 4 * i, 4);
    values[SPLAT_SUMMARY_POSITION] = summary_length(g->p.means + 3 * i, 3);
}

/* Adds one value to what = 0 (opacity) or 1 (scale). Not finite: left out. */
SPLAT_MATH_INLINE void summary_add_value(summary_partial *p, int what, float value)
{
    if (!(value - value == 0.0f)) return;
    p->min[what] = p->n[what] && p->min[what] < value ? p->min[what] : value;
    p->max[what] = p->n[what] && p->max[what] > value ? p->max[what] : value;
    p->sum[what] += (double)value;
    p->n[what]++;
    if (what == 0) {
        p->n_low += value < SPLAT_SUMMARY_LOW_OPACITY;
        p->n_high += value > SPLAT_SUMMARY_HIGH_OPACITY;
        p->n_active += value > SPLAT_SUMMARY_ACTIVE_OPACITY;
    }
}

SPLAT_MATH_INLINE void summary_add_spread(summary_partial *p, int tensor, float value)
{
    if (!(value - value == 0.0f)) return; /* not finite */
    p->tensor_sum[tensor] += (double)value;
    p->tensor_squares[tensor] += (double)value * (double)value;
    p->tensor_n[tensor]++;
}

/* Every tensor of Gaussian i, whose sh_rest has n_rest floats. */
SPLAT_MATH_INLINE void summary_add_tensors(const splat_gaussians *g, uint64_t i, uint32_t n_rest, summary_partial *p)
{
    const float *q = g->p.rotations + 4 * i;
    float length = sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    summary_add_spread(p, SPLAT_TENSOR_opacities, summary_opacity(g, i));
    for (int k = 0; k < 3; k++) {
        summary_add_spread(p, SPLAT_TENSOR_means, g->p.means[3 * i + k]);
        summary_add_spread(p, SPLAT_TENSOR_scales, expf(g->p.scales[3 * i + k]));
        summary_add_spread(p, SPLAT_TENSOR_sh_dc, g->p.sh_dc[3 * i + k]);
    }
    for (int k = 0; k < 4; k++) summary_add_spread(p, SPLAT_TENSOR_rotations, q[k] / length);
    for (uint32_t k = 0; k < n_rest; k++)
        summary_add_spread(p, SPLAT_TENSOR_sh_rest,
                           g->sh_rest_half ? splat_half_decode(g->sh_rest_half[i * splat_half_row(n_rest) + k])
                                           : g->p.sh_rest[i * n_rest + k]);
}

SPLAT_MATH_INLINE void summary_add_sample(summary_partial *p, int what, double value)
{
    splat_summary_moments *m = &p->moments[what];
    m->min = p->n_in_buckets[what] && m->min < value ? m->min : value;
    m->max = p->n_in_buckets[what] && m->max > value ? m->max : value;
    m->sum += value;
    m->sum_squares += value * value;
    p->n_in_buckets[what]++;
}

/* `other` after `p`, whose sums are of what comes before. */
SPLAT_MATH_INLINE void summary_join(summary_partial *p, const summary_partial *other)
{
    for (int i = 0; i < 2; i++) {
        if (!other->n[i]) continue;
        p->min[i] = p->n[i] && p->min[i] < other->min[i] ? p->min[i] : other->min[i];
        p->max[i] = p->n[i] && p->max[i] > other->max[i] ? p->max[i] : other->max[i];
        p->sum[i] += other->sum[i];
        p->n[i] += other->n[i];
    }
    p->n_low += other->n_low;
    p->n_high += other->n_high;
    p->n_active += other->n_active;
    for (int i = 0; i < SPLAT_SUMMARY_N; i++) {
        splat_summary_moments *m = &p->moments[i];
        const splat_summary_moments *o = &other->moments[i];
        if (!other->n_in_buckets[i]) continue;
        m->min = p->n_in_buckets[i] && m->min < o->min ? m->min : o->min;
        m->max = p->n_in_buckets[i] && m->max > o->max ? m->max : o->max;
        m->sum += o->sum;
        m->sum_squares += o->sum_squares;
        p->n_in_buckets[i] += other->n_in_buckets[i];
    }
    for (int t = 0; t < SPLAT_N_TENSORS; t++) {
        p->tensor_sum[t] += other->tensor_sum[t];
        p->tensor_squares[t] += other->tensor_squares[t];
        p->tensor_n[t] += other->tensor_n[t];
    }
}

static inline uint32_t summary_samples(const struct splat_summary_args *args)
{
    uint32_t n = args->gaussians->n;
    return n < args->max_samples ? n : args->max_samples;
}

static inline splat_status summary_check(const struct splat_summary_args *args, splat_error *error)
{
    if (args->n_edges < 2 || args->n_edges > SPLAT_SUMMARY_MAX_EDGES)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a histogram has 2 to %d edges, not %u",
                          SPLAT_SUMMARY_MAX_EDGES, args->n_edges);
    for (uint32_t i = 1; i < args->n_edges; i++)
        if (!(args->edges[i] > args->edges[i - 1]))
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the edges of a histogram ascend, but edge %u does not", i);
    return SPLAT_OK;
}

static inline splat_summary_spread summary_spread_of(double sum, double squares, uint64_t n)
{
    splat_summary_spread spread = {0, 0, n};
    if (n > 0) spread.mean = sum / (double)n;
    double rest = squares - sum * spread.mean; /* rounding may leave it below zero */
    if (n > 1 && rest > 0) spread.standard_deviation = sqrt(rest / (double)(n - 1));
    return spread;
}

/* The result of a population: a sum over the parts in their order. */
static inline splat_summary summary_result(uint32_t n_gaussians, const summary_partial *parts, int n_parts)
{
    summary_partial total;
    memset(&total, 0, sizeof total);
    for (int i = 0; i < n_parts; i++) summary_join(&total, &parts[i]);
    splat_summary result;
    splat_summary_range *ranges[2] = {&result.opacity, &result.scale};
    memset(&result, 0, sizeof result);
    result.n_gaussians = n_gaussians;
    for (int i = 0; i < 2; i++) {
        ranges[i]->n = total.n[i];
        ranges[i]->min = total.min[i];
        ranges[i]->max = total.max[i];
        ranges[i]->mean = total.n[i] ? total.sum[i] / (double)total.n[i] : 0;
    }
    result.n_low_opacity = total.n_low;
    result.n_high_opacity = total.n_high;
    result.n_active = total.n_active;
    memcpy(result.moments, total.moments, sizeof result.moments);
    for (int t = 0; t < SPLAT_N_TENSORS; t++)
        result.tensors[t] = summary_spread_of(total.tensor_sum[t], total.tensor_squares[t], total.tensor_n[t]);
    return result;
}

#endif
