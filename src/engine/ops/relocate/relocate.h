/* density_relocate: Gaussians that are not seen move to where others are, and new ones appear there (3DGS as Markov
 * Chain Monte Carlo, Kheradmand et al., NeurIPS 2024, eq. 9; docs/method.md 10.1). */
#ifndef SPLAT_OPS_RELOCATE_H
#define SPLAT_OPS_RELOCATE_H

#include "ops/types.h"

typedef struct splat_density_relocated {
    uint32_t n_dead, n_relocated; /* dead Gaussians, and those moved: all, or none if no Gaussian is alive */
    uint32_t n_added;             /* n_new, or 0 if no Gaussian is alive */
} splat_density_relocated;

/* density_relocate: in two rounds, each of which draws sources with replacement.
 *
 * o~ = o prod(s/s~) is the opacity that is rendered, s~^2 = s^2 + f^2. Dead is a Gaussian with o~ <= dead_opacity, with
 * a parameter that is not finite, or with |q|^2 < 1e-8. A living one has the weight w = floor(2^22 o~), a dead one 0;
 * S_i are the inclusive sums. Draw j: with r = splat_random(seed, SPLAT_STREAM_RELOCATE, step, j) and r64 = r0 +
 * 2^32 r1, the source is the first i with S_i > floor(r64 S_(n-1) / 2^64). The first round has a draw for each dead
 * Gaussian, j = 0, 1, ... in the order of their indices; the second n_new, j counting on, with the weights after the
 * first.
 *
 * A source drawn n - 1 times in a round becomes n equal Gaussians that render together as it did: relocate_math.h. It
 * keeps all but its scales and opacity; its moments become 0. A dead one takes parameters and filter of its source as
 * they then are, and keeps its own moments (0 where a parameter was not finite). The new ones are appended in the order
 * of the draws, with moments 0.
 *
 * Rows are moved as words: any storage. The caller has made room for n_new rows in every array, and gaussians->n is
 * still the old count. moments may be NULL. 0 <= dead_opacity < 1 (ARGUMENT otherwise). */
struct splat_density_relocate_args {
    const splat_gaussians *gaussians;
    const splat_moments *moments;
    uint32_t n_new;
    float dead_opacity;
    uint64_t seed;
    uint32_t step;
    splat_density_relocated *result; /* host memory */
};

static inline splat_status splat_density_relocate_check(const struct splat_density_relocate_args *args,
                                                        splat_error *error)
{
    if (!(args->dead_opacity >= 0.0f && args->dead_opacity < 1.0f))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "Gaussians are dead at an opacity from 0 to below 1, not %g",
                          (double)args->dead_opacity);
    if ((uint64_t)args->gaussians->n + args->n_new > UINT32_MAX)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "density control would make %llu Gaussians; a model holds %u",
                          (unsigned long long)args->gaussians->n + args->n_new, UINT32_MAX);
    return SPLAT_OK;
}

/* Scratch of a model that becomes n Gaussians: weights, their sums, draws of each, the dead and the sources; CUB's. */
static inline size_t splat_density_relocate_scratch_bytes(bool on_device, size_t n)
{
    return 24 * n + ((size_t)1 << (on_device ? 20 : 14));
}

#endif
