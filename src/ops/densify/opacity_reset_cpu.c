/* opacity_reset on the CPU. */
#include "backend/backend.h"
#include "ops/densify/densify.h"

#include <math.h>
#include <string.h>

/* s / sqrt(s^2 + f^2) without squares of s: neither tiny nor huge scales underflow. */
static float filter_ratio(float log_scale, float filter_3d)
{
    if (!(filter_3d > 0.0f)) return 1.0f; /* no filter */
    float q = filter_3d / expf(log_scale);
    return 1.0f / sqrtf(1.0f + q * q);
}

static float reset_logit(float logit, const float log_scales[3], float filter_3d, float max_opacity)
{
    float opacity = 1.0f / (1.0f + expf(-logit));
    float c3 = filter_ratio(log_scales[0], filter_3d) * filter_ratio(log_scales[1], filter_3d) *
               filter_ratio(log_scales[2], filter_3d);
    if (!(opacity * c3 > max_opacity)) return logit; /* below the cap already: logit(o~/c3) is what it was */
    float raw = max_opacity / c3; /* below 1 but for rounding, as it is below the opacity */
    if (!(raw < 1.0f)) return logit;
    float lowered = logf(raw / (1.0f - raw));
    return lowered < logit ? lowered : logit;
}

splat_status splat_opacity_reset_cpu(splat_backend *backend, const struct splat_opacity_reset_args *args,
                                     splat_error *error)
{
    const splat_gaussians *gaussians = args->gaussians;
    if (!(args->max_opacity > 0.0f && args->max_opacity < 1.0f))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "opacities can be reset to a value between 0 and 1, not %g",
                          (double)args->max_opacity);
#pragma omp parallel for num_threads(backend->threads)
    for (int64_t i = 0; i < (int64_t)gaussians->n; i++) {
        float *logit = &gaussians->p.opacities[i];
        *logit = reset_logit(*logit, gaussians->p.scales + 3 * i, gaussians->filter_3d[i], args->max_opacity);
    }
    if (args->m && gaussians->n) memset(args->m, 0, gaussians->n * sizeof *args->m);
    if (args->v && gaussians->n) memset(args->v, 0, gaussians->n * sizeof *args->v);
    return SPLAT_OK;
}
