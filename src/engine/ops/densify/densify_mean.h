/* The mean of a statistic over the views that saw a Gaussian: the same on every backend. */
#ifndef SPLAT_OPS_DENSIFY_MEAN_H
#define SPLAT_OPS_DENSIFY_MEAN_H

#include "math/inline.h"
#include "ops/densify/densify.h"

/* sum/count; 0 if count is 0 or the quotient is NaN. */
SPLAT_MATH_INLINE float splat_density_mean(float sum, float count)
{
    const float mean = sum / count;
    return count > 0.0f && mean == mean ? mean : 0.0f;
}

#endif
