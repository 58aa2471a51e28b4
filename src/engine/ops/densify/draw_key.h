/* The key by which density_draw draws a Gaussian, and which arguments it refuses: the same on every backend. */
#ifndef SPLAT_OPS_DRAW_KEY_H
#define SPLAT_OPS_DRAW_KEY_H

#include "base/rng.h"
#include "math/inline.h"
#include "ops/densify/densify.h"

/* grad_abs/count; 0 when count is 0 or the value is NaN. */
SPLAT_MATH_INLINE float splat_draw_mean(const splat_statistics *statistics, size_t i)
{
    const float count = statistics->count[i], mean = statistics->grad_abs[i] / count;
    return count > 0.0f && mean == mean ? mean : 0.0f;
}

SPLAT_MATH_INLINE float splat_draw_key(const struct splat_density_draw_args *args, uint32_t i, float mean)
{
    const uint64_t row = args->first + (uint64_t)i * args->stride;
    const splat_random4 r = splat_random(args->seed, SPLAT_STREAM_DRAW, args->step, row);
    const float u = ((float)(r.x[0] >> 8) + 0.5f) * (1.0f / 16777216.0f); /* neither 0 nor 1 */
    return -logf(u) / mean;
}

static inline splat_status splat_density_draw_check(const struct splat_density_draw_args *args, splat_error *error)
{
    if (!(args->threshold > 0.0f))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a draw by gradients needs a threshold above 0, not %g",
                          (double)args->threshold);
    return SPLAT_OK;
}

#endif
