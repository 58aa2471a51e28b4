/* knn: exact nearest neighbours of points among themselves. */
#ifndef SPLAT_OPS_KNN_H
#define SPLAT_OPS_KNN_H

#include "base/point_tree.h"
#include "ops/types.h"

/* For each point its k nearest other points (the point itself is left out by index; duplicates count with distance 0),
 * nearest first; equal distances are ordered by index. Distances are computed in float32 as dx*dx + dy*dy + dz*dz.
 * Points must be finite and n > k (ARGUMENT otherwise). 1 <= k <= 32. */
struct splat_knn_args {
    uint32_t n;
    const float *points;  /* [n][3] */
    uint32_t k;
    float *distances2;    /* [n][k] squared distances, NULL allowed */
    uint32_t *indices;    /* [n][k], NULL allowed */
};

/* Scratch for n points. The CPU: a tree of them; a device: keys of 8 bytes and orders, twice, the nodes of a tree, and
 * CUB's. */
static inline size_t splat_knn_scratch_bytes(bool on_device, size_t n)
{
    return on_device ? 72 * n : splat_point_tree_bytes((uint32_t)n);
}

#endif
