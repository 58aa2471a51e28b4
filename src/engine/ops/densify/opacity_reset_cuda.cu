/* opacity_reset on CUDA. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/densify/opacity_reset.h"
}

#define RESET_THREADS 256

__global__ void __launch_bounds__(RESET_THREADS)
    opacity_reset_kernel(uint32_t n, float *logits, const float *log_scales, const float *filter_3d, float max_opacity,
                         float *m, float *v, uint32_t *quantized)
{
    uint32_t i = blockIdx.x * RESET_THREADS + threadIdx.x;
    if (i >= n) return;
    logits[i] = splat_reset_logit(logits[i], log_scales + 3 * (size_t)i, filter_3d[i], max_opacity);
    if (m) m[i] = 0.0f;
    if (v) v[i] = 0.0f;
    if (quantized) quantized[i] = 0;
}

extern "C" splat_status splat_opacity_reset_cuda(splat_backend *backend, const struct splat_opacity_reset_args *args,
                                                 splat_error *error)
{
    const splat_gaussians *g = args->gaussians;
    SPLAT_TRY(splat_opacity_reset_check(args, error));
    if (g->n == 0) return SPLAT_OK;
    splat_moments moments = {};
    if (args->moments) moments = *args->moments;
    opacity_reset_kernel<<<splat_cuda_blocks(g->n, RESET_THREADS), RESET_THREADS, 0, splat_cuda_of(backend)->stream>>>(
        g->n, g->p.opacities, g->p.scales, g->filter_3d, args->max_opacity, moments.m.opacities,
        moments.v.opacities, moments.quantized[SPLAT_TENSOR_opacities]);
    CUDA_LAUNCHED("opacity_reset");
    return SPLAT_OK;
}
