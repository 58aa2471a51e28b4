/* means_noise on the CPU. */
#include "backend/backend.h"
#include "ops/noise/noise_math.h"

splat_status splat_means_noise_cpu(splat_backend *backend, const struct splat_means_noise_args *args,
                                   splat_error *error)
{
    (void)error;
#pragma omp parallel for num_threads(backend->threads)
    for (int64_t i = 0; i < (int64_t)args->gaussians->n; i++) splat_noise_move(args, (size_t)i);
    return SPLAT_OK;
}
