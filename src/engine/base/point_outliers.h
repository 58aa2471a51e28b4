/* Statistical removal of outliers: points that are much lonelier than the others. */
#ifndef SPLAT_BASE_POINT_OUTLIERS_H
#define SPLAT_BASE_POINT_OUTLIERS_H

#include "base/error.h"

typedef struct splat_point_outlier_options {
    uint32_t n_neighbors; /* 20; 2 to 32, the point itself among them */
    double std_ratio;     /* 20; at least 0. 20 takes stragglers only, 2 thins noise out */
    int threads;          /* 1; the result does not depend on it */
    bool keep_duplicates; /* points in one place with all their neighbours stay; false */
    const float *sizes;   /* [n] above 0: each distance counts in these units, the spacing that the point should have;
                             NULL: 1 */
} splat_point_outlier_options;

typedef struct splat_point_outlier_counts {
    size_t n_kept, n_far;       /* n_far: farther from their neighbours than the threshold */
    size_t n_duplicates;        /* in one place with all their neighbours: not in the figures below, and
                                   dropped unless keep_duplicates */
    double mean, deviation;     /* of d_i, in the unit of distances; the deviation with n - 1 */
    double threshold;           /* mean + std_ratio deviation */
} splat_point_outlier_counts;

void splat_point_outlier_options_init(splat_point_outlier_options *options);
/* keep[n]: 1 where 0 < d_i <= threshold (with keep_duplicates d_i = 0, too), else 0. d_i is the mean distance from
 * point i of positions[n][3] to its n_neighbors nearest points, itself (distance 0) among them, over sizes[i].
 * n < 2^32 - 1. Works on
 * about 24 bytes a point (splat_point_outlier_bytes). counts may be NULL. Errors: ARGUMENT (also a coordinate that is
 * not finite), MEMORY. */
splat_status splat_point_outliers(const float *positions, size_t n, const splat_point_outlier_options *options,
                                  uint8_t *keep, splat_point_outlier_counts *counts, splat_error *error);
size_t splat_point_outlier_bytes(uint32_t n);

#endif
