/* Histograms with given limits. Shared by C and CUDA. */
#ifndef SPLAT_MATH_BUCKETS_H
#define SPLAT_MATH_BUCKETS_H

#include "math/inline.h"

/* The bucket i with edges[i] <= value < edges[i + 1], of n_edges ascending ones; n_edges when there is none. */
SPLAT_MATH_INLINE uint32_t splat_bucket_of(const double *edges, uint32_t n_edges, double value)
{
    if (!(value >= edges[0] && value < edges[n_edges - 1])) return n_edges; /* NaN too */
    uint32_t low = 0, high = n_edges - 1; /* edges[low] <= value < edges[high] */
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (value >= edges[middle])
            low = middle;
        else
            high = middle;
    }
    return low;
}

#endif
