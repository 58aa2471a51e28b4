/* The costs of planes at a site, compiled once a SIMD level. */
#ifndef SPLAT_OPS_MATCH_SIMD_H
#define SPLAT_OPS_MATCH_SIMD_H

#include "ops/match/match_math.h"

/* planes: [3][MATCH_LANES] of the site at (x, y), of which the first n count, 8 or MATCH_LANES; sees: neighbours. */
#define SPLAT_MATCH_KERNEL(name)                                                                                       \
    void name(const splat_match_job *job, const splat_match_patch *patch, int x, int y, uint32_t sees, int n,          \
              float planes[3][MATCH_LANES], float costs[MATCH_LANES])

SPLAT_MATCH_KERNEL(splat_match_costs_c);
SPLAT_MATCH_KERNEL(splat_match_costs_avx2);
SPLAT_MATCH_KERNEL(splat_match_costs_avx512);

#endif
