/* The depth of the Poisson octree that points deserve (docs/method.md, "Poisson reconstruction"; the idea is
 * Guedon and Lepetit, Gaussian Frosting, ECCV 2024, section 4.1, whose spacing is that of Gaussians). */
#include "surface/extract/extract_parts.h"

#include "base/point_tree.h"
#include "base/select.h"
#include "mesh/poisson/poisson.h"

#include <math.h>
#include <stdlib.h>

#define ASKED 65536u /* points at most whose neighbours are looked for */
#define QUANTILE 0.1 /* of the distances: where points are dense, detail is */

/* The quantile of the distances from a point to its nearest other one that is elsewhere; 0 without one. */
static splat_status find_spacing(const float *positions, size_t n, int threads, double *spacing, splat_error *error)
{
    splat_point_tree tree;
    size_t step = n / ASKED + 1, n_asked = (n + step - 1) / step, n_apart = 0;
    float *distances2 = malloc((n_asked + 1) * sizeof *distances2);
    *spacing = 0;
    if (!distances2) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the spacing of %zu points", n);
    splat_status status = splat_point_tree_make(&tree, positions, n, threads, error);
    if (status == SPLAT_OK) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (size_t i = 0; i < n_asked; i++) {
            uint32_t index;
            splat_point_tree_nearest(&tree, positions + 3 * i * step, 1, (uint32_t)(i * step), &distances2[i], &index);
        }
        splat_point_tree_free(&tree);
        for (size_t i = 0; i < n_asked; i++)
            if (distances2[i] > 0 && distances2[i] < INFINITY) distances2[n_apart++] = distances2[i];
        size_t rank = (size_t)(QUANTILE * (double)n_apart);
        if (n_apart) *spacing = sqrt((double)splat_select_float(distances2, n_apart, rank));
    }
    free(distances2);
    return status;
}

splat_status splat_extract_depth(const float *positions, size_t n, int most, int threads, int *depth,
                                 splat_error *error)
{
    double spacing, side = 0;
    *depth = most;
    SPLAT_TRY(find_spacing(positions, n, threads, &spacing, error));
    for (size_t k = 0; k < 3; k++) {
        float low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < n; i++) {
            low = fminf(low, positions[3 * i + k]);
            high = fmaxf(high, positions[3 * i + k]);
        }
        side = fmax(side, (double)high - (double)low);
    }
    splat_poisson_options octree;
    splat_poisson_options_default(&octree);
    if (!(spacing > 0)) return SPLAT_OK;
    double levels = floor(log2(octree.scale * side / spacing));
    if (levels < most) *depth = levels < SPLAT_POISSON_MIN_DEPTH ? SPLAT_POISSON_MIN_DEPTH : (int)levels;
    return SPLAT_OK;
}
