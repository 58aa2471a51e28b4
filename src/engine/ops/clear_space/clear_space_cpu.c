/* clear_space on the CPU: parallel over Gaussians. */
#include "ops/clear_space/clear_space.h"

#include "backend/backend.h"
#include "base/checked.h"
#include "ops/clear_space/clear_space_math.h"

static bool is_before_any(const splat_clear_camera *cameras, uint32_t n, const float *mean)
{
    for (uint32_t k = 0; k < n; k++)
        if (splat_clear_is_before(&cameras[k], mean)) return true;
    return false;
}

splat_status splat_clear_space_cpu(splat_backend *backend, const struct splat_clear_space_args *args,
                                   splat_error *error)
{
    const uint32_t n_cameras = args->n_cameras;
    const float *means = args->gaussians->p.means;
    float *logits = args->gaussians->p.opacities;
    splat_clear_camera *cameras;
    size_t bytes;
    if (!splat_size_mul(n_cameras ? n_cameras : 1, sizeof *cameras, &bytes))
        return splat_fail(error, SPLAT_ERROR_MEMORY, "%u cameras are more than memory can hold", n_cameras);
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, bytes, (void **)&cameras, error));
    for (uint32_t k = 0; k < n_cameras; k++)
        cameras[k] = splat_clear_camera_of(&args->cameras[k], args->near_depths[k]);
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (int64_t i = 0; i < (int64_t)args->gaussians->n; i++)
        if (logits[i] > SPLAT_CLEARED_LOGIT && is_before_any(cameras, n_cameras, means + 3 * i))
            logits[i] = SPLAT_CLEARED_LOGIT;
    return SPLAT_OK;
}
