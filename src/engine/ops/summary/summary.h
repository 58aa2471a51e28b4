/* summary: what the curves tell of a model: opacity and scale over all Gaussians, and histograms over a sample. Nothing
 * of the model's size is copied; it waits for the device, so it is not for every step. */
#ifndef SPLAT_OPS_SUMMARY_H
#define SPLAT_OPS_SUMMARY_H

#include "ops/types.h"

#define SPLAT_SUMMARY_MAX_EDGES 4096
#define SPLAT_SUMMARY_LOW_OPACITY 0.1f
#define SPLAT_SUMMARY_HIGH_OPACITY 0.9f
#define SPLAT_SUMMARY_ACTIVE_OPACITY 0.01f

enum {
    SPLAT_SUMMARY_OPACITY = 0, /* sigmoid(opacity), without the 3D filter */
    SPLAT_SUMMARY_SCALE,       /* exp(scale), without the 3D filter: axis k mod 3 of sample k */
    SPLAT_SUMMARY_ROTATION,    /* length of the quaternion as stored */
    SPLAT_SUMMARY_POSITION,    /* length of the mean: distance from the origin */
    SPLAT_SUMMARY_N
};

/* The range of all finite values: n opacities, 3n scales. All zero without any. */
typedef struct splat_summary_range {
    float min, max;
    double mean;
    uint64_t n;
} splat_summary_range;

/* Moments of the values in the buckets. */
typedef struct splat_summary_moments {
    double min, max, sum, sum_squares;
} splat_summary_moments;

/* The spread of the finite values of a tensor, all channels together: opacities and scales as they act (sigmoid,
 * exp), rotations as unit quaternions, the others as stored. n - 1 in the standard deviation; zero for less than
 * two values. */
typedef struct splat_summary_spread {
    double mean, standard_deviation;
    uint64_t n;
} splat_summary_spread;

typedef struct splat_summary {
    uint32_t n_gaussians;
    splat_summary_range opacity, scale;
    uint32_t n_low_opacity, n_high_opacity, n_active; /* opacity < 0.1, > 0.9, > 0.01 */
    splat_summary_moments moments[SPLAT_SUMMARY_N];
    splat_summary_spread tensors[SPLAT_N_TENSORS];    /* spreads of the sample; zero without `spreads` */
} splat_summary;

struct splat_summary_args {
    const splat_gaussians *gaussians;
    const double *edges;   /* [n_edges] host, ascending; bucket i holds edges[i] <= value < edges[i + 1] */
    uint32_t n_edges;      /* 2 to SPLAT_SUMMARY_MAX_EDGES */
    uint32_t max_samples;  /* m = min(n, max_samples) Gaussians are sampled: index floor(k n / m) for k in [0, m) */
    bool spreads;          /* every tensor of the sample is read, too */
    splat_block *scratch;
    splat_summary *result; /* host */
    uint32_t *counts;      /* host [SPLAT_SUMMARY_N][n_edges - 1]; values beyond the edges and NaN are in no bucket */
};

#endif
