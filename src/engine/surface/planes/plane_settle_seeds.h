/* Seeds on the planes that they touch. */
#ifndef SPLAT_SURFACE_PLANE_SETTLE_SEEDS_H
#define SPLAT_SURFACE_PLANE_SETTLE_SEEDS_H

#include "surface/planes/plane_shade.h"

/* are_kept[n_planes]: planes that as many pixels show as half of those that had them before the photos chose. The
 * others are lids: the rim of a dome is a circle, which lies in a plane, too. Does not depend on threads. */
void plane_kept_mark(const plane_shade *shade, size_t n_planes, int threads, bool *are_kept);
/* Moves the seeds of a view onto the planes that the photo shows across their edges, where these are kept and within
 * 4 % of the splat's depth: the foot of a wall lies on the floor. Edges without a seed make one where their own side
 * shows no plane. shade: of all views; view `number` changes. Errors: MEMORY. */
splat_status plane_settle_seeds(const plane_shade *shade, plane_view *view, const plane_global *planes,
                                const bool *are_kept, size_t number, splat_error *error);

#endif
