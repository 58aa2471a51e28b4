/* opacity_reset on the CPU. */
#include "backend/backend.h"
#include "ops/densify/opacity_reset.h"

#include <string.h>

static void zero_moments(const splat_moments *moments, size_t n)
{
    if (moments->storage == SPLAT_OPTIMIZER_QUANTIZED) {
        memset(moments->quantized[SPLAT_TENSOR_opacities], 0, n * sizeof(uint32_t));
    } else {
        memset(moments->m.opacities, 0, n * sizeof(float));
        memset(moments->v.opacities, 0, n * sizeof(float));
    }
}

splat_status splat_opacity_reset_cpu(splat_backend *backend, const struct splat_opacity_reset_args *args,
                                     splat_error *error)
{
    const splat_gaussians *gaussians = args->gaussians;
    SPLAT_TRY(splat_opacity_reset_check(args, error));
#pragma omp parallel for num_threads(backend->threads)
    for (int64_t i = 0; i < (int64_t)gaussians->n; i++) {
        float *logit = &gaussians->p.opacities[i];
        *logit = splat_reset_logit(*logit, gaussians->p.scales + 3 * i, gaussians->filter_3d[i], args->max_opacity);
    }
    if (args->moments && gaussians->n) zero_moments(args->moments, gaussians->n);
    return SPLAT_OK;
}
