/* density_prune on the CPU: a reason for each Gaussian, the exact cap, then one stable compaction of every array. */
#include "math/gaussian.h"
#include "ops/densify/densify_common.h"

enum { KEPT = 0, SPLIT_SOURCE, TRANSPARENT, LARGE, OVER_CAP, N_REASONS };

static uint8_t reason_of(const struct splat_density_prune_args *args, const splat_density_arrays *arrays, size_t i)
{
    const splat_tensors *p = &args->gaussians->p;
    if (i < args->n_actions && args->actions[i] == SPLAT_DENSITY_SPLIT) return SPLIT_SOURCE;
    if (splat_sigmoid(p->opacities[i]) < args->min_opacity) return TRANSPARENT;
    if (args->max_scale > 0 && splat_density_max_scale(p->scales + 3 * i) > args->max_scale) return LARGE;
    return splat_density_row_is_finite(arrays, i) ? KEPT : TRANSPARENT;
}

/* Marks the n_over kept Gaussians of lowest logit OVER_CAP; of equal ones those of higher index. */
static splat_status mark_over_cap(splat_backend *backend, const float *opacities, uint8_t *reasons, uint32_t n,
                                  uint32_t n_over, splat_error *error)
{
    void *scratch;
    SPLAT_TRY(splat_scratch_take(backend, (size_t)n * sizeof(uint32_t), &scratch, error));
    uint32_t *keys = scratch;
#pragma omp parallel for num_threads(backend->threads)
    for (int64_t i = 0; i < (int64_t)n; i++) /* those removed already sort last */
        keys[i] = reasons[i] == KEPT ? splat_float_key(opacities[i]) : UINT32_MAX;
    splat_order_statistic last = splat_order_statistic_of(backend, keys, n, n_over - 1);
    uint32_t n_equal_over = n_over - last.n_below;
    for (uint32_t i = n; i-- > 0;) {
        if (keys[i] < last.key) {
            reasons[i] = OVER_CAP;
        } else if (keys[i] == last.key && n_equal_over > 0) {
            reasons[i] = OVER_CAP;
            n_equal_over--;
        }
    }
    return SPLAT_OK;
}

/* Moves the kept rows of one array to its front, a run of neighbours at a time. */
static void compact(uint32_t *data, size_t words, const uint8_t *reasons, uint32_t n)
{
    size_t to = 0;
    for (uint32_t i = 0; i < n;) {
        uint32_t begin = i;
        while (i < n && reasons[i] == KEPT) i++;
        size_t n_run = i - begin;
        if (n_run && to != begin) memmove(data + to * words, data + begin * words, n_run * words * sizeof *data);
        to += n_run;
        while (i < n && reasons[i] != KEPT) i++;
    }
}

static void count_reasons(splat_backend *backend, const uint8_t *reasons, uint32_t n, uint32_t counts[N_REASONS])
{
    uint32_t sums[N_REASONS] = {0};
#pragma omp parallel for num_threads(backend->threads) reduction(+ : sums[ : N_REASONS])
    for (int64_t i = 0; i < (int64_t)n; i++) sums[reasons[i]]++;
    memcpy(counts, sums, sizeof sums);
}

splat_status splat_density_prune_cpu(splat_backend *backend, const struct splat_density_prune_args *args,
                                     splat_error *error)
{
    uint32_t n = args->gaussians->n, counts[N_REASONS];
    splat_density_pruned result = {0};
    *args->result = result;
    if (args->n_actions > n)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "%u actions for %u Gaussians", args->n_actions, n);
    if (n == 0) return SPLAT_OK;
    const splat_density_arrays arrays = splat_density_arrays_list(args->gaussians, args->moments, args->rest);
    void *scratch;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, n, &scratch, error));
    uint8_t *reasons = scratch;
#pragma omp parallel for num_threads(backend->threads)
    for (int64_t i = 0; i < (int64_t)n; i++) reasons[i] = reason_of(args, &arrays, (size_t)i);
    count_reasons(backend, reasons, n, counts);
    if (args->target_count && counts[KEPT] > args->target_count) {
        counts[OVER_CAP] = counts[KEPT] - args->target_count;
        counts[KEPT] = args->target_count;
        SPLAT_TRY(mark_over_cap(backend, args->gaussians->p.opacities, reasons, n, counts[OVER_CAP], error));
    }
    /* A compaction in place is serial in an array; the arrays are independent. */
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic)
    for (int a = 0; a < arrays.n; a++) compact(arrays.data[a], arrays.words[a], reasons, n);
    result.n_kept = counts[KEPT];
    result.n_split_sources = counts[SPLIT_SOURCE];
    result.n_transparent = counts[TRANSPARENT];
    result.n_large = counts[LARGE];
    result.n_over_cap = counts[OVER_CAP];
    *args->result = result;
    return SPLAT_OK;
}
