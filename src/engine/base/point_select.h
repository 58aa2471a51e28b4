/* Medians of points along an axis, for trees of them. */
#ifndef SPLAT_BASE_POINT_SELECT_H
#define SPLAT_BASE_POINT_SELECT_H

#include <stdint.h>

typedef struct splat_tree_point {
    float place[3];
    uint32_t index; /* index of the caller's point */
} splat_tree_point;

/* Sorts points [begin, end) so far that the one of rank `middle` (an index into all) along the axis, ties by index,
 * stands at its place with the lower ones before it. The order on both sides is the same for any number of threads. */
void splat_points_select(splat_tree_point *points, uint32_t begin, uint32_t end, uint32_t middle, int axis,
                         int threads);

#endif
