/* density_select, density_draw, density_grow, density_prune, opacity_reset: the population of Gaussians
 * (docs/method.md 10). */
#ifndef SPLAT_OPS_DENSIFY_H
#define SPLAT_OPS_DENSIFY_H

#include "ops/rest/rest.h"

enum { SPLAT_DENSITY_KEEP = 0, SPLAT_DENSITY_CLONE = 1, SPLAT_DENSITY_SPLIT = 2, SPLAT_DENSITY_LONG = 3 };

typedef struct splat_density_selection {
    uint32_t n_clone, n_split;
    uint32_t n_long;     /* LONG ones among n_clone */
    float abs_threshold; /* Q, the quantile-matched threshold of the absolute gradient */
    float fraction;      /* the share of Gaussians with mean gradient >= threshold */
} splat_density_selection;

/* density_select: an action for each Gaussian.
 * g = grad/count, a = grad_abs/count (0 when count is 0 or the value is NaN). fraction = n_above/n, where n_above have
 * g >= threshold. Q = the (1 - fraction) quantile of a over all Gaussians: linear between the order statistics around
 * the position (n - 1)(n - n_above)/n (exact, by selection; fraction 0 gives the largest a). Selected: g >= threshold
 * or a >= Q, but never one with count 0. Clone when max exp(scale) <= percent_dense extent, otherwise split. */
struct splat_density_select_args {
    const splat_gaussians *gaussians;
    const splat_statistics *statistics;
    float grad_threshold, percent_dense, extent;
    uint8_t *actions; /* [n] */
    splat_density_selection *result; /* host memory */
};

typedef struct splat_density_drawn {
    uint32_t n_candidates, n_drawn;
} splat_density_drawn;

/* density_draw: draws Gaussians without replacement, with probabilities proportional to a = grad_abs/count (Efraimidis
 * and Spirakis, "Weighted random sampling with a reservoir", 2006). A candidate has count > 0 and a >= threshold > 0;
 * its key is -ln(u)/a, with u in (0, 1) from the 24 high bits of r0 of splat_random(seed, SPLAT_STREAM_DRAW, step,
 * first + i stride). Drawn (action LONG, otherwise KEEP) are the candidates with key <= limit: the limit that draws K
 * of them makes K successive draws. INFINITY draws all candidates. */
struct splat_density_draw_args {
    uint32_t n;
    const splat_statistics *statistics;
    float threshold, limit;
    uint64_t seed;
    uint32_t step, first, stride;
    uint8_t *actions;            /* [n] */
    splat_density_drawn *result; /* host memory */
};

/* density_grow: writes n_clone copies at [n, n + n_clone), in the order of their sources, then two samples of each
 * split Gaussian at [n + n_clone, n + n_clone + 2 n_split), the two of one source next to each other:
 * mean = mu + R(q)(s * xi), xi ~ N(0, I); scale = ln(s / 1.6); all else copied, filter_3d too. Moments of new Gaussians
 * are 0; moments may be NULL when there are none. Rows are moved as words: any storage. The caller has made room in
 * every array (parameters, moments, filter_3d; rest->cache, if any) and gaussians->n is still the old count.
 * A LONG source counts as a clone and is split in two along its longest axis, without random numbers (long_split.h):
 * the copy becomes one half, the source the other, with moments of 0.
 * n_clone and n_split must be those of the actions (ARGUMENT otherwise, and nothing is written).
 * xi of sample j (0, 1) of Gaussian i: with r = splat_random(seed, SPLAT_STREAM_SPLIT_SAMPLES, step, 2 i + j),
 * splat_normal2(r0, r1) gives xi_x, xi_y and splat_normal2(r2, r3) gives xi_z (first of the pair). */
struct splat_density_grow_args {
    const splat_gaussians *gaussians;
    const splat_moments *moments; /* NULL allowed */
    const uint8_t *actions;     /* [n] */
    uint32_t n_clone, n_split;
    uint32_t n_long; /* LONG ones among n_clone; 0: none */
    uint64_t seed;
    uint32_t step;
    const splat_rest_state *rest; /* without steps that are put off; NULL allowed */
};

typedef struct splat_density_pruned {
    uint32_t n_kept;
    uint32_t n_split_sources, n_transparent, n_large, n_over_cap; /* removed, by the first reason */
} splat_density_pruned;

/* density_prune: removes, in order of reason, split sources (action SPLIT among the first n_actions), Gaussians with
 * sigmoid(opacity) < min_opacity, those with max exp(scale) > max_scale (<= 0: no test), those with a parameter that
 * is not finite (counted as transparent), and, when more than target_count (0: no cap) are left, those of lowest
 * logit, exactly down to target_count (equal logits: higher index goes first). The rest moves together in order,
 * with parameters, moments (NULL: none) and filter_3d; the caller sets the new n and shrinks the arrays. Rows of
 * sh_rest and its moments that rest->cache has stay there. */
struct splat_density_prune_args {
    const splat_gaussians *gaussians; /* n counts the grown ones */
    const splat_moments *moments; /* NULL allowed */
    const uint8_t *actions;  /* [n_actions] of density_select, NULL when n_actions is 0 */
    uint32_t n_actions;
    float min_opacity, max_scale;
    uint32_t target_count;
    splat_density_pruned *result; /* host memory */
    bool reorder; /* true: the backend may order the survivors along a space-filling curve; the CPU keeps their order */
    void *spare;  /* free device memory for the work: more is faster; undefined content; NULL: none */
    size_t spare_bytes;
    const splat_block *spare_block; /* its block, if the op's own allocations may free it; NULL: none */
    const splat_rest_state *rest; /* without steps that are put off; NULL allowed */
};

/* opacity_reset: o~' = min(o~, max_opacity) on the filtered opacity o~ = o c3, c3 = prod(s/s~); new logit =
 * logit(o~'/c3) (docs/method.md 10); it never rises, and stays as it is, bit for bit, when o~ <= max_opacity. Both
 * opacity moments become 0 when given. 0 < max_opacity < 1 (ARGUMENT otherwise). */
struct splat_opacity_reset_args {
    const splat_gaussians *gaussians;
    float max_opacity; /* 0.01 */
    const splat_moments *moments; /* moments of the opacities; NULL allowed */
};

/* Scratch of growing to n Gaussians and pruning them. A device: keys and indices, twice, the columns on the move, and
 * CUB's; the CPU: a reason and a key each, and sums of chunks. */
static inline size_t splat_density_scratch_bytes(bool on_device, size_t n)
{
    return on_device ? 48 * n + ((size_t)1 << 20) : 8 * n + ((size_t)1 << 14);
}

#endif
