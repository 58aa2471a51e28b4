/* density_draw on the CPU. */
#include "backend/backend.h"
#include "ops/densify/draw_key.h"

splat_status splat_density_draw_cpu(splat_backend *backend, const struct splat_density_draw_args *args,
                                    splat_error *error)
{
    uint32_t n_candidates = 0, n_drawn = 0;
    SPLAT_TRY(splat_density_draw_check(args, error));
#pragma omp parallel for num_threads(backend->threads) reduction(+ : n_candidates, n_drawn)
    for (int64_t i = 0; i < (int64_t)args->n; i++) {
        const float mean = splat_density_mean(args->statistics->grad_abs[i], args->statistics->count[i]);
        const bool candidate = mean >= args->threshold;
        const bool drawn = candidate && splat_draw_key(args, (uint32_t)i, mean) <= args->limit;
        args->actions[i] = drawn ? SPLAT_DENSITY_LONG : SPLAT_DENSITY_KEEP;
        n_candidates += candidate;
        n_drawn += drawn;
    }
    *args->result = (splat_density_drawn){n_candidates, n_drawn};
    return SPLAT_OK;
}
