/* The step of opacity_reset on one logit, and the arguments that it refuses: the same on every backend. */
#ifndef SPLAT_OPS_OPACITY_RESET_H
#define SPLAT_OPS_OPACITY_RESET_H

#include "math/gaussian.h"
#include "ops/densify/densify.h"

/* s / sqrt(s^2 + f^2) without squares of s: neither tiny nor huge scales underflow. */
SPLAT_MATH_INLINE float splat_filter_ratio(float log_scale, float filter_3d)
{
    if (!(filter_3d > 0.0f)) return 1.0f; /* no filter */
    float q = filter_3d / expf(log_scale);
    return 1.0f / sqrtf(1.0f + q * q);
}

SPLAT_MATH_INLINE float splat_reset_logit(float logit, const float *log_scales, float filter_3d, float max_opacity)
{
    float opacity = splat_sigmoid(logit);
    float c3 = splat_filter_ratio(log_scales[0], filter_3d) * splat_filter_ratio(log_scales[1], filter_3d) *
               splat_filter_ratio(log_scales[2], filter_3d);
    if (!(opacity * c3 > max_opacity)) return logit; /* below the cap already: unchanged */
    float raw = max_opacity / c3; /* below the opacity, so below 1 but for rounding */
    if (!(raw < 1.0f)) return logit;
    float lowered = logf(raw / (1.0f - raw));
    return lowered < logit ? lowered : logit;
}

static inline splat_status splat_opacity_reset_check(const struct splat_opacity_reset_args *args, splat_error *error)
{
    if (!(args->max_opacity > 0.0f && args->max_opacity < 1.0f))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "opacities can be reset to a value between 0 and 1, not %g",
                          (double)args->max_opacity);
    return SPLAT_OK;
}

#endif
