/* level_points on the CPU: pixels in parallel. */
#include "backend/backend.h"
#include "ops/level_points/level_points_common.h"
#include "ops/level_points/level_points_math.h"

splat_status splat_level_points_cpu(splat_backend *backend, const struct splat_level_points_args *args,
                                    splat_error *error)
{
    SPLAT_TRY(splat_level_points_check(args, error));
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic, 64)
    for (uint32_t i = 0; i < args->n; i++) splat_level_points_of(args, args->camera, i);
    return SPLAT_OK;
}
