/* density_relocate on the CPU. */
#include "ops/relocate/relocate.h"

#include "base/rng.h"
#include "ops/densify/densify_common.h"
#include "ops/relocate/relocate_math.h"

/* Working memory of both rounds. */
typedef struct relocation {
    uint32_t *weights, *counts, *dead, *sources; /* [n], [n], [n_dead], a source a draw */
    uint64_t *sums;                              /* [n] inclusive */
    uint32_t n_dead;
} relocation;

/* Weights, their sums, and who is dead. */
static void weigh(splat_backend *backend, const struct splat_density_relocate_args *args,
                  const splat_density_arrays *arrays, relocation *r)
{
    const splat_gaussians *g = args->gaussians;
#pragma omp parallel for num_threads(backend->threads)
    for (int64_t i = 0; i < (int64_t)g->n; i++) {
        size_t at = (size_t)i;
        r->counts[i] = 0;
        r->weights[i] = splat_density_row_is_finite(arrays, at)
                            ? splat_relocate_weight(g->p.opacities[at], g->p.scales + 3 * at, g->p.rotations + 4 * at,
                                                    g->filter_3d[at], args->dead_opacity)
                            : SPLAT_RELOCATE_BROKEN;
    }
    uint64_t sum = 0;
    r->n_dead = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        r->sums[i] = sum += splat_relocate_share(r->weights[i]);
        if (splat_relocate_share(r->weights[i]) == 0) r->dead[r->n_dead++] = i;
    }
}

/* The first i with sums[i] > k. */
static uint32_t source_at(const uint64_t *sums, uint32_t n, uint64_t k)
{
    uint32_t low = 0, high = n - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sums[middle] > k)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void draw(splat_backend *backend, const struct splat_density_relocate_args *args, const relocation *r,
                 uint32_t n_draws, uint64_t first)
{
    const uint32_t n = args->gaussians->n;
#pragma omp parallel for num_threads(backend->threads)
    for (int64_t j = 0; j < (int64_t)n_draws; j++) {
        splat_random4 random = splat_random(args->seed, SPLAT_STREAM_RELOCATE, args->step, first + (uint64_t)j);
        uint64_t bits = random.x[0] | (uint64_t)random.x[1] << 32;
        uint32_t source = source_at(r->sums, n, (uint64_t)((unsigned __int128)bits * r->sums[n - 1] >> 64));
        r->sources[j] = source;
#pragma omp atomic
        r->counts[source]++;
    }
}

static void zero_moments(const splat_density_arrays *arrays, size_t row)
{
    for (int a = arrays->n_copied; a < arrays->n; a++)
        memset(arrays->data[a] + row * arrays->words[a], 0, arrays->words[a] * sizeof(uint32_t));
}

/* Divides: drawn Gaussians share their opacity with the new ones, and begin again, as do those that were not finite. */
static void divide(splat_backend *backend, const struct splat_density_relocate_args *args,
                   const splat_density_arrays *arrays, const relocation *r)
{
    const splat_gaussians *g = args->gaussians;
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic, 1024)
    for (int64_t i = 0; i < (int64_t)g->n; i++) {
        if (r->counts[i]) {
            float *logit = g->p.opacities + i, *scales = g->p.scales + 3 * i;
            splat_relocated one =
                splat_relocate_one(*logit, scales, g->filter_3d[i], r->counts[i] + 1, args->dead_opacity);
            *logit = one.logit;
            memcpy(scales, one.log_scales, sizeof one.log_scales);
        }
        if (r->counts[i] || r->weights[i] == SPLAT_RELOCATE_BROKEN) zero_moments(arrays, (size_t)i);
    }
}

static void copy_parameters(const splat_density_arrays *arrays, size_t from, size_t to)
{
    for (int a = 0; a < arrays->n_copied; a++) {
        size_t words = arrays->words[a];
        memcpy(arrays->data[a] + to * words, arrays->data[a] + from * words, words * sizeof(uint32_t));
    }
}

static splat_status reserve(splat_backend *backend, uint32_t n, uint32_t n_new, relocation *r, splat_error *error)
{
    const size_t rows = n, draws = n > n_new ? n : n_new;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, rows * sizeof *r->sums, (void **)&r->sums, error));
    SPLAT_TRY(splat_scratch_take(backend, rows * sizeof *r->weights, (void **)&r->weights, error));
    SPLAT_TRY(splat_scratch_take(backend, rows * sizeof *r->counts, (void **)&r->counts, error));
    SPLAT_TRY(splat_scratch_take(backend, rows * sizeof *r->dead, (void **)&r->dead, error));
    return splat_scratch_take(backend, draws * sizeof *r->sources, (void **)&r->sources, error);
}

splat_status splat_density_relocate_cpu(splat_backend *backend, const struct splat_density_relocate_args *args,
                                        splat_error *error)
{
    const uint32_t n = args->gaussians->n;
    const splat_density_arrays arrays = splat_density_arrays_list(args->gaussians, args->moments, NULL);
    relocation r;
    *args->result = (splat_density_relocated){0};
    SPLAT_TRY(splat_density_relocate_check(args, error));
    if (n == 0) return SPLAT_OK;
    SPLAT_TRY(reserve(backend, n, args->n_new, &r, error));
    weigh(backend, args, &arrays, &r);
    const uint32_t n_dead = r.n_dead;
    args->result->n_dead = n_dead;
    if (n_dead && r.sums[n - 1]) {
        draw(backend, args, &r, n_dead, 0);
        divide(backend, args, &arrays, &r);
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic, 1024)
        for (int64_t j = 0; j < (int64_t)n_dead; j++) copy_parameters(&arrays, r.sources[j], r.dead[j]);
        args->result->n_relocated = n_dead;
        if (args->n_new) weigh(backend, args, &arrays, &r);
    }
    if (args->n_new == 0 || r.sums[n - 1] == 0) return SPLAT_OK;
    draw(backend, args, &r, args->n_new, n_dead);
    divide(backend, args, &arrays, &r);
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic, 1024)
    for (int64_t j = 0; j < (int64_t)args->n_new; j++) {
        copy_parameters(&arrays, r.sources[j], (size_t)n + (size_t)j);
        zero_moments(&arrays, (size_t)n + (size_t)j);
    }
    args->result->n_added = args->n_new;
    return SPLAT_OK;
}
