/* summary on the CPU: fixed parts, joined in their order. */
#include "backend/backend.h"
#include "ops/summary/summary_common.h"

static void add_population(const splat_gaussians *g, uint64_t begin, uint64_t end, summary_partial *p)
{
    for (uint64_t i = begin; i < end; i++) {
        summary_add_value(p, 0, summary_opacity(g, i));
        for (int k = 0; k < 3; k++) summary_add_value(p, 1, expf(g->p.scales[3 * i + k]));
    }
}

static void add_samples(const struct splat_summary_args *args, uint32_t begin, uint32_t end, summary_partial *p)
{
    const splat_gaussians *g = args->gaussians;
    uint32_t n_samples = summary_samples(args), n_buckets = args->n_edges - 1;
    uint32_t n_rest = splat_sh_rest_floats(g->sh_degree);
    double values[SPLAT_SUMMARY_N];
    for (uint32_t k = begin; k < end; k++) {
        if (args->spreads) summary_add_tensors(g, summary_index(g, k, n_samples), n_rest, p);
        summary_sample(g, k, n_samples, values);
        for (int what = 0; what < SPLAT_SUMMARY_N; what++) {
            uint32_t bucket = splat_bucket_of(args->edges, args->n_edges, values[what]);
            if (bucket >= n_buckets) continue;
            uint32_t *count = &args->counts[(uint32_t)what * n_buckets + bucket];
#pragma omp atomic
            ++*count;
            summary_add_sample(p, what, values[what]);
        }
    }
}

splat_status splat_summary_cpu(splat_backend *backend, const struct splat_summary_args *args, splat_error *error)
{
    SPLAT_TRY(summary_check(args, error));
    uint64_t n = args->gaussians->n, n_samples = summary_samples(args);
    SPLAT_TRY(splat_block_ensure(backend, args->scratch, "summary", SPLAT_OWNER_OTHER,
                                 SUMMARY_PARTS * sizeof(summary_partial), error));
    summary_partial *parts = args->scratch->data;
    memset(parts, 0, SUMMARY_PARTS * sizeof *parts);
    memset(args->counts, 0, SPLAT_SUMMARY_N * (size_t)(args->n_edges - 1) * sizeof *args->counts);
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint64_t i = 0; i < SUMMARY_PARTS; i++) {
        add_population(args->gaussians, i * n / SUMMARY_PARTS, (i + 1) * n / SUMMARY_PARTS, &parts[i]);
        add_samples(args, (uint32_t)(i * n_samples / SUMMARY_PARTS), (uint32_t)((i + 1) * n_samples / SUMMARY_PARTS),
                    &parts[i]);
    }
    *args->result = summary_result((uint32_t)n, parts, SUMMARY_PARTS);
    return SPLAT_OK;
}
