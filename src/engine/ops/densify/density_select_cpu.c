/* density_select on the CPU. */
#include "ops/densify/densify_common.h"
#include "ops/densify/densify_mean.h"

/* The 1 - n_above/n quantile: linear between the order statistics around (n - 1)(n - n_above)/n, in integers, so that
 * no rounding moves it across an order statistic. */
static float quantile_above(splat_backend *backend, const uint32_t *keys, uint32_t n, uint32_t n_above)
{
    uint64_t position = (uint64_t)(n - 1) * (n - n_above);
    uint32_t rank = (uint32_t)(position / n);
    double weight = (double)(position % n) / (double)n;
    splat_order_statistic low = splat_order_statistic_of(backend, keys, n, rank);
    double a = splat_key_float(low.key), b = a;
    if (weight > 0 && rank + 1 >= low.n_below + low.n_equal) b = splat_key_float(low.next);
    return weight > 0 && b > a ? (float)(a + weight * (b - a)) : (float)a;
}

splat_status splat_density_select_cpu(splat_backend *backend, const struct splat_density_select_args *args,
                                      splat_error *error)
{
    uint32_t n = args->gaussians->n;
    const splat_statistics *statistics = args->statistics;
    splat_density_selection result = {0};
    *args->result = result;
    if (n == 0) return SPLAT_OK;
    void *scratch;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, (size_t)n * sizeof(uint32_t), &scratch, error));
    uint32_t *keys = scratch, n_above = 0, n_clone = 0, n_split = 0;
#pragma omp parallel for num_threads(backend->threads) reduction(+ : n_above)
    for (int64_t i = 0; i < (int64_t)n; i++) {
        keys[i] = splat_float_key(splat_density_mean(statistics->grad_abs[i], statistics->count[i]));
        n_above += splat_density_mean(statistics->grad[i], statistics->count[i]) >= args->grad_threshold;
    }
    result.fraction = (float)((double)n_above / (double)n);
    result.abs_threshold = quantile_above(backend, keys, n, n_above);

    float clone_scale = args->percent_dense * args->extent;
#pragma omp parallel for num_threads(backend->threads) reduction(+ : n_clone, n_split)
    for (int64_t i = 0; i < (int64_t)n; i++) {
        bool selected = statistics->count[i] > 0 &&
                        (splat_density_mean(statistics->grad[i], statistics->count[i]) >= args->grad_threshold ||
                         splat_key_float(keys[i]) >= result.abs_threshold);
        bool small = splat_density_max_scale(args->gaussians->p.scales + 3 * i) <= clone_scale;
        args->actions[i] = !selected ? SPLAT_DENSITY_KEEP : small ? SPLAT_DENSITY_CLONE : SPLAT_DENSITY_SPLIT;
        n_clone += selected && small;
        n_split += selected && !small;
    }
    result.n_clone = n_clone;
    result.n_split = n_split;
    *args->result = result;
    return SPLAT_OK;
}
