/* The key by which density_draw draws a Gaussian, and which arguments it refuses: the same on every backend. */
#ifndef SPLAT_OPS_DRAW_KEY_H
#define SPLAT_OPS_DRAW_KEY_H

#include "base/rng.h"
#include "ops/densify/densify_mean.h"

SPLAT_MATH_INLINE float splat_draw_key(const struct splat_density_draw_args *args, uint32_t i, float mean)
{
    const uint64_t row = args->first + (uint64_t)i * args->stride;
    const splat_random4 r = splat_random(args->seed, SPLAT_STREAM_DRAW, args->step, row);
    return -logf(splat_uniform_open(r.x[0])) / mean;
}

static inline splat_status splat_density_draw_check(const struct splat_density_draw_args *args, splat_error *error)
{
    if (!(args->threshold > 0.0f))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a draw by gradients needs a threshold above 0, not %g",
                          (double)args->threshold);
    return SPLAT_OK;
}

#endif
