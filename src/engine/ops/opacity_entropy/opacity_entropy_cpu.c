/* opacity_entropy on the CPU: fixed blocks of the visible, their sums added in order. */
#include "backend/backend.h"
#include "ops/opacity_entropy/opacity_entropy_math.h"

#define BLOCK 1024

splat_status splat_opacity_entropy_cpu(splat_backend *backend, const struct splat_opacity_entropy_args *args,
                                       splat_error *error)
{
    const uint32_t n = args->frame->n_visible, n_blocks = (n + BLOCK - 1) / BLOCK, *ids = args->frame->ids;
    const float *logits = args->gaussians->p.opacities;
    float scale = n ? (float)((double)args->weight / n) : 0.0f;
    void *data;
    *args->result = 0;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    if (n == 0) return SPLAT_OK;
    SPLAT_TRY(splat_scratch_take(backend, n_blocks * sizeof(double), &data, error));
    double *sums = data;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t b = 0; b < n_blocks; b++) {
        double sum = 0;
        for (uint32_t v = b * BLOCK; v < n && v < (b + 1) * BLOCK; v++) {
            float slope;
            sum += (double)splat_opacity_entropy_of(logits[ids[v]] - args->pivot, &slope);
            args->grad_opacities[ids[v]] += scale * slope;
        }
        sums[b] = sum;
    }
    for (uint32_t b = 0; b < n_blocks; b++) *args->result += sums[b];
    *args->result /= n;
    return SPLAT_OK;
}
