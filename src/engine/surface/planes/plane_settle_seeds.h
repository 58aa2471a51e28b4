/* Seeds on the planes that they touch. */
#ifndef SPLAT_SURFACE_PLANE_SETTLE_SEEDS_H
#define SPLAT_SURFACE_PLANE_SETTLE_SEEDS_H

#include "surface/planes/plane_shade.h"

/* Moves the seeds of a view onto the planes that the photo shows across their edges, where these are within 4 % of the
 * splat's depth: the foot of a wall lies on the floor. Edges without a seed make one where their own side shows no
 * plane. shade: of all views; view `number` changes. Errors: MEMORY. */
splat_status plane_settle_seeds(const plane_shade *shade, plane_view *view, const plane_global *planes, size_t number,
                                splat_error *error);

#endif
