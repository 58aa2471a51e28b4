/* Views that see the same places. */
#ifndef SPLAT_STEREO_VIEW_NEIGHBORS_H
#define SPLAT_STEREO_VIEW_NEIGHBORS_H

#include "base/error.h"
#include "ops/match/match.h"
#include "stereo/view_places.h"

#include <stddef.h>
#include <stdint.h>

#define SPLAT_VIEW_NEIGHBORS SPLAT_MATCH_NEIGHBORS /* views that a view is compared with, at most */

typedef struct splat_view_neighbors {
    uint32_t n, views[SPLAT_VIEW_NEIGHBORS]; /* numbers of views, the best first */
} splat_view_neighbors;

/* neighbors: [n], of every view. A neighbour sees the places that the view sees, from the side: of 256 of its pixels
 * with depth, spread over the picture, each that falls into the other's picture and is not hidden there by more than a
 * tenth of the distance has the marks
 *     (angle / 2 deg)^2 below 2 deg, 1 up to 12 deg, 12 deg / angle up to 45 deg, 0 beyond,
 * where angle is that between the two rays. Neighbours are chosen one after the other, each the view with the largest
 * sum of need times marks; then the need of a place, 1 at first, falls by half of the marks. So parts of the picture
 * that few views see have their neighbours, too. Sums below a fiftieth of the pixels looked at end the choice. Does not
 * depend on threads. Errors: MEMORY. */
splat_status splat_view_neighbors_find(const splat_depth_view *views, size_t n, int threads,
                                       splat_view_neighbors *neighbors, splat_error *error);

#endif
