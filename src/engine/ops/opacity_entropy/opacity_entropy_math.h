/* The entropy of one opacity; the same on every backend. */
#ifndef SPLAT_OPS_OPACITY_ENTROPY_MATH_H
#define SPLAT_OPS_OPACITY_ENTROPY_MATH_H

#include "math/gaussian.h"
#include "ops/opacity_entropy/opacity_entropy.h"

/* ln(p + 1e-10), where rest = 1 - p is known better than p near 1. */
SPLAT_MATH_INLINE float splat_opacity_entropy_log(float p, float rest)
{
    return p > 0.5f ? log1pf(SPLAT_ENTROPY_EPSILON - rest) : logf(p + SPLAT_ENTROPY_EPSILON);
}

/* The value, and its derivative by the logit, from which the pivot was taken. 1 - o is a sigmoid of its own: next
 * to 1, o has no digits of it. */
SPLAT_MATH_INLINE float splat_opacity_entropy_of(float logit, float *slope)
{
    const float epsilon = SPLAT_ENTROPY_EPSILON;
    float o = splat_sigmoid(logit), rest = splat_sigmoid(-logit);
    float log_o = splat_opacity_entropy_log(o, rest), log_rest = splat_opacity_entropy_log(rest, o);
    *slope = (log_rest - log_o + rest / (rest + epsilon) - o / (o + epsilon)) * o * rest;
    return -o * log_o - rest * log_rest;
}

#endif
