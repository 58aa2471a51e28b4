/* The entropy of one opacity; the same on every backend. */
#ifndef SPLAT_OPS_OPACITY_ENTROPY_MATH_H
#define SPLAT_OPS_OPACITY_ENTROPY_MATH_H

#include "math/inline.h"
#include "ops/opacity_entropy/opacity_entropy.h"

/* The value, and its derivative by the logit. 1 - o is a sigmoid of its own: next to 1, o has no digits of it. */
SPLAT_MATH_INLINE float splat_opacity_entropy_of(float logit, float *slope)
{
    const float epsilon = SPLAT_ENTROPY_EPSILON;
    float o = 1.0f / (1.0f + expf(-logit)), rest = 1.0f / (1.0f + expf(logit));
    float log_o = logf(o + epsilon), log_rest = logf(rest + epsilon);
    *slope = (log_rest - log_o + rest / (rest + epsilon) - o / (o + epsilon)) * o * rest;
    return -o * log_o - rest * log_rest;
}

#endif
