/* The costs of planes at a site, a lane a plane. Compiled once a SIMD level. */
#include "ops/match/match_simd.h"
#include "ops/simd.h"

/* n is a constant of the caller. */
SPLAT_FORCE_INLINE void costs_of(const splat_match_job *job, const splat_match_patch *patch, int x, int y,
                                 uint32_t sees, int n, float planes[3][MATCH_LANES], float costs[MATCH_LANES])
{
    const float *q = planes[0], *across = planes[1], *down = planes[2];
    float best[SPLAT_MATCH_BEST][MATCH_LANES];
    int n_seen = 0;
    for (int k = 0; k < SPLAT_MATCH_BEST; k++)
        for (int i = 0; i < n; i++) best[k][i] = 2.0f;
    for (uint32_t k = 0; k < job->n; k++) {
        if (!(sees & 1u << k)) continue;
        const splat_match_other other = job->others[k];
        float b[MATCH_LANES] = {0}, bb[MATCH_LANES] = {0}, ab[MATCH_LANES] = {0}, base[3];
        n_seen++;
        for (int o = 0; o < patch->n; o++) {
            int dx, dy;
            splat_match_offset(patch, o, &dx, &dy);
            splat_match_base(&other, x + dx, y + dy, base);
            const float weight = patch->weights[o], deviation = patch->deviations[o], mean = patch->mean;
            const float right = (float)dx, below = (float)dy;
            for (int i = 0; i < n; i++) {
                splat_match_sums sums = {b[i], bb[i], ab[i]};
                splat_match_add(&other, base, q[i] + across[i] * right + down[i] * below, weight, deviation, mean,
                                &sums);
                b[i] = sums.b;
                bb[i] = sums.bb;
                ab[i] = sums.ab;
            }
        }
        splat_match_base(&other, x, y, base);
        for (int i = 0; i < n; i++) {
            float image[3], cost;
            splat_match_sums sums = {b[i], bb[i], ab[i]};
            int is_inside = splat_match_project(&other, base, q[i], image);
            cost = splat_match_score(&sums, patch->variance, is_inside);
            for (int l = 0; l < SPLAT_MATCH_BEST; l++) {
                float low = splat_choose(cost < best[l][i], cost, best[l][i]);
                cost = splat_choose(cost < best[l][i], best[l][i], cost);
                best[l][i] = low;
            }
        }
    }
    const int n_counted = n_seen < job->most ? n_seen : job->most;
    for (int i = 0; i < n; i++) {
        float sum = best[0][i];
        for (int k = 1; k < n_counted; k++) sum += best[k][i];
        costs[i] = sum / (float)n_counted;
    }
}

SPLAT_MATCH_KERNEL(SIMD(splat_match_costs))
{
    if (n == MATCH_LANES)
        costs_of(job, patch, x, y, sees, MATCH_LANES, planes, costs);
    else
        costs_of(job, patch, x, y, sees, 8, planes, costs);
}
