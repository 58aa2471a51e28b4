/* Mean distances to the nearest points, and what is far above their mean. */
#include "base/point_outliers.h"

#include "base/point_tree.h"

#include <math.h>
#include <stdlib.h>

/* Points that are all equally far from their neighbours have a deviation of 0 and lie on the threshold: rounding must
 * not drop them. */
#define ROUNDING 1e-6

void splat_point_outlier_options_init(splat_point_outlier_options *options)
{
    *options = (splat_point_outlier_options){.n_neighbors = 20, .std_ratio = 20, .threads = 1};
}

static splat_status check(const splat_point_outlier_options *options, splat_error *error)
{
    if (options->n_neighbors < 2 || options->n_neighbors > SPLAT_POINT_TREE_MAX_K)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "outliers are found by 2 to %d neighbours, not %u",
                          SPLAT_POINT_TREE_MAX_K, options->n_neighbors);
    if (!(options->std_ratio >= 0) || !isfinite(options->std_ratio))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the deviations that make an outlier must be at least 0, not %g",
                          options->std_ratio);
    if (options->threads < 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "looking for outliers needs a thread, not %d", options->threads);
    return SPLAT_OK;
}

static void measure(const splat_point_tree *tree, const splat_point_outlier_options *options, float *distances)
{
    uint32_t k = options->n_neighbors < tree->n ? options->n_neighbors : tree->n;
#pragma omp parallel for num_threads(options->threads) schedule(dynamic, 256)
    for (int64_t i = 0; i < (int64_t)tree->n; i++) { /* in leaf order: neighbouring queries visit the same nodes */
        float distances2[SPLAT_POINT_TREE_MAX_K];
        uint32_t indices[SPLAT_POINT_TREE_MAX_K];
        double sum = 0;
        splat_point_tree_nearest(tree, tree->points[i].place, k, SPLAT_NO_POINT, distances2, indices);
        for (uint32_t m = 0; m < k; m++) sum += sqrt((double)distances2[m]);
        uint32_t index = tree->points[i].index;
        distances[index] = (float)(sum / k / (options->sizes ? (double)options->sizes[index] : 1));
    }
}

/* One thread, in the order of the points: the sums have one order, and 10 million take 20 ms. */
static void summarize(const float *distances, size_t n, double std_ratio, splat_point_outlier_counts *counts)
{
    size_t n_valid = 0;
    double sum = 0, squares = 0;
    *counts = (splat_point_outlier_counts){0};
    for (size_t i = 0; i < n; i++) {
        if (!(distances[i] > 0)) continue;
        sum += (double)distances[i];
        n_valid++;
    }
    if (n_valid) counts->mean = sum / (double)n_valid;
    for (size_t i = 0; i < n; i++) {
        double d = (double)distances[i] - counts->mean;
        if (distances[i] > 0) squares += d * d;
    }
    if (n_valid > 1) counts->deviation = sqrt(squares / (double)(n_valid - 1));
    counts->threshold = counts->mean + std_ratio * counts->deviation;
    counts->n_duplicates = n - n_valid;
}

size_t splat_point_outlier_bytes(uint32_t n)
{
    return splat_point_tree_bytes(n) + n * sizeof(float);
}

splat_status splat_point_outliers(const float *positions, size_t n, const splat_point_outlier_options *options,
                                  uint8_t *keep, splat_point_outlier_counts *counts, splat_error *error)
{
    splat_point_outlier_counts found;
    splat_point_tree tree;
    SPLAT_TRY(check(options, error));
    SPLAT_TRY(splat_point_tree_make(&tree, positions, n, options->threads, error));
    float *distances = malloc(n * sizeof *distances + 1);
    if (distances) measure(&tree, options, distances);
    splat_point_tree_free(&tree);
    if (!distances) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to find outliers among %zu points", n);
    summarize(distances, n, options->std_ratio, &found);
    double limit = found.threshold * (1 + ROUNDING);
    for (size_t i = 0; i < n; i++) {
        keep[i] = distances[i] > 0 ? (double)distances[i] <= limit : options->keep_duplicates;
        found.n_kept += keep[i];
    }
    found.n_far = n - found.n_kept - (options->keep_duplicates ? 0 : found.n_duplicates);
    free(distances);
    if (counts) *counts = found;
    return SPLAT_OK;
}
