/* texture_gather and texture_blend on the CPU: threads share the texels. */
#include "ops/texture/texture.h"

#include "backend/backend.h"
#include "ops/texture/texture_math.h"

splat_status splat_texture_gather_cpu(splat_backend *backend, const struct splat_texture_gather_args *args,
                                      splat_error *error)
{
    SPLAT_TRY(splat_texture_gather_check(args, error));
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic, 4096)
    for (size_t i = 0; i < args->points.n; i++) splat_texture_gather_one(args, i);
    return SPLAT_OK;
}

splat_status splat_texture_blend_cpu(splat_backend *backend, const struct splat_texture_blend_args *args,
                                     splat_error *error)
{
    (void)error;
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic, 4096)
    for (size_t i = 0; i < args->points.n; i++) splat_texture_blend_one(args, i);
    return SPLAT_OK;
}
