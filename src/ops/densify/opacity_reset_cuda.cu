/* opacity_reset on CUDA. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/densify/densify.h"
}

#define RESET_THREADS 256

/* s / sqrt(s^2 + f^2) without squares of s: neither tiny nor huge scales underflow. */
__device__ __forceinline__ float filter_ratio(float log_scale, float filter_3d)
{
    if (!(filter_3d > 0.0f)) return 1.0f; /* no filter */
    float q = filter_3d / expf(log_scale);
    return 1.0f / sqrtf(1.0f + q * q);
}

__device__ __forceinline__ float reset_logit(float logit, const float *log_scales, float filter_3d, float max_opacity)
{
    float opacity = 1.0f / (1.0f + expf(-logit));
    float c3 = filter_ratio(log_scales[0], filter_3d) * filter_ratio(log_scales[1], filter_3d) *
               filter_ratio(log_scales[2], filter_3d);
    if (!(opacity * c3 > max_opacity)) return logit; /* below the cap already: logit(o~/c3) is what it was */
    float raw = max_opacity / c3;                    /* below 1 but for rounding, as it is below the opacity */
    if (!(raw < 1.0f)) return logit;
    float lowered = logf(raw / (1.0f - raw));
    return lowered < logit ? lowered : logit;
}

__global__ void __launch_bounds__(RESET_THREADS)
    opacity_reset_kernel(uint32_t n, float *logits, const float *log_scales, const float *filter_3d, float max_opacity,
                         float *m, float *v)
{
    uint32_t i = blockIdx.x * RESET_THREADS + threadIdx.x;
    if (i >= n) return;
    logits[i] = reset_logit(logits[i], log_scales + 3 * (size_t)i, filter_3d[i], max_opacity);
    if (m) m[i] = 0.0f;
    if (v) v[i] = 0.0f;
}

extern "C" splat_status splat_opacity_reset_cuda(splat_backend *backend, const struct splat_opacity_reset_args *args,
                                                 splat_error *error)
{
    const splat_gaussians *g = args->gaussians;
    if (!(args->max_opacity > 0.0f && args->max_opacity < 1.0f))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "opacities can be reset to a value between 0 and 1, not %g",
                          (double)args->max_opacity);
    if (g->n == 0) return SPLAT_OK;
    opacity_reset_kernel<<<splat_cuda_blocks(g->n, RESET_THREADS), RESET_THREADS, 0, splat_cuda_of(backend)->stream>>>(
        g->n, g->p.opacities, g->p.scales, g->filter_3d, args->max_opacity, args->m, args->v);
    CUDA_LAUNCHED("opacity_reset");
    return SPLAT_OK;
}
