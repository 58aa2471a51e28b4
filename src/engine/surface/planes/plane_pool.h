/* Planes of segments whose own seeds are too few. */
#ifndef SPLAT_SURFACE_PLANE_POOL_H
#define SPLAT_SURFACE_PLANE_POOL_H

#include "surface/planes/plane_parts.h"

/* Balls around the seeds of a view. */
splat_status plane_pool_bound(plane_view *view, splat_error *error);
/* Gives hypotheses to the segments without a plane, from the seeds of all views that fall into them, instead of those
 * that they have. In a scene of few views these stay: a pool may miss a wall that a segment's own seeds show. All views
 * have balls. Of them only view `number` changes, and of that only hypotheses. */
splat_status plane_pool_make(const splat_view_maps *maps, plane_view *views, size_t number, uint64_t seed,
                             splat_error *error);

#endif
