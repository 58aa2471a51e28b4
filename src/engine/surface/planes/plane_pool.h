/* Planes of segments whose own seeds are too few. */
#ifndef SPLAT_SURFACE_PLANE_POOL_H
#define SPLAT_SURFACE_PLANE_POOL_H

#include "surface/planes/plane_parts.h"

/* Balls around the seeds of a view. */
splat_status plane_pool_bound(plane_view *view, splat_error *error);
/* Planes of the segments without one, from the seeds of all views that fall into them, next to those from their own
 * seeds and instead of those of an earlier call. All views have balls. Of them only view `number` changes, and of that
 * only hypotheses. */
splat_status plane_pool_make(const splat_view_maps *maps, plane_view *views, size_t number, uint64_t seed,
                             splat_error *error);

#endif
