/* Exact nearest neighbours among points of host memory: a balanced k-d tree (Friedman, Bentley, Finkel 1977) with tight
 * boxes.
 *
 * The tree is complete: the leaves of level L hold 8 to 16 points, and node j of level l owns the sorted points
 * [n j / 2^l, n (j + 1) / 2^l), so nothing but boxes is stored and the depth cannot exceed 28, whatever the points are.
 * Splits order points by (coordinate, index), a total order: duplicates are divided like other points.
 *
 * A box's distance, computed with the operations of a point's distance, is never above the computed distance of a point
 * inside (rounding is monotone), so pruning is exact in float32. Ties go to the lowest index; each node knows its
 * lowest index and is skipped on a tie when that is too high. This is what keeps n identical points at O(n log n):
 * without it every leaf could hold a better tie. */
#ifndef SPLAT_BASE_POINT_TREE_H
#define SPLAT_BASE_POINT_TREE_H

#include "base/error.h"
#include "base/point_select.h"

enum { SPLAT_POINT_TREE_MAX_K = 32 };
#define SPLAT_NO_POINT UINT32_MAX

typedef struct splat_tree_node {
    float low[3], high[3];
    uint32_t min_index;
} splat_tree_node;

typedef struct splat_point_tree {
    uint32_t n, n_levels;     /* leaves are on level n_levels */
    splat_tree_point *points; /* [n] in leaf order: near in space is near in memory, a good order for queries */
    splat_tree_node *nodes;   /* node j of level l is nodes[2^l + j] */
} splat_point_tree;

/* Bytes of a tree: about 20 a point. Nothing else is allocated. */
size_t splat_point_tree_bytes(uint32_t n);
/* Builds a tree over a copy of points[n][3], in memory of the caller (splat_point_tree_bytes, aligned to 4), which
 * must outlive the tree. threads >= 1; the tree does not depend on them. Errors: ARGUMENT (a coordinate that is not
 * finite). */
splat_status splat_point_tree_build(splat_point_tree *tree, const float *points, uint32_t n, void *memory, int threads,
                                    splat_error *error);
/* The same in memory of its own; 0 <= n < 2^32 - 1. On failure there is nothing to free. Errors: ARGUMENT, MEMORY. */
splat_status splat_point_tree_make(splat_point_tree *tree, const float *points, size_t n, int threads,
                                   splat_error *error);
/* Frees a tree from splat_point_tree_make, or a zeroed one. */
void splat_point_tree_free(splat_point_tree *tree);

/* The k nearest points to a place, nearest first, equal distances by index; the point with the index `skip`
 * (SPLAT_NO_POINT: none) is left out. Distances are squared, computed in float32 as dx*dx + dy*dy + dz*dz. Where there
 * are fewer than k, the rest is INFINITY and SPLAT_NO_POINT; a place that is not finite has none. 1 <= k <= 32. Any
 * number of threads may ask at once. */
void splat_point_tree_nearest(const splat_point_tree *tree, const float place[3], uint32_t k, uint32_t skip,
                              float *distances2, uint32_t *indices);
/* True if a point lies within a distance of a place: its square, computed as above, is at most distance2. Faster than
 * the nearest point, because the first one found is enough. */
bool splat_point_tree_has_within(const splat_point_tree *tree, const float place[3], float distance2);
/* splat_point_tree_nearest for places[n][3] into rows of k; either output may be NULL. Quickest when neighbours in the
 * list are neighbours in space. Errors: ARGUMENT (k, threads). */
splat_status splat_point_tree_query(const splat_point_tree *tree, const float *places, size_t n, uint32_t k,
                                    int threads, float *distances2, uint32_t *indices, splat_error *error);

#endif
