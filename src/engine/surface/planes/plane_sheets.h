/* Planes that lie between two edges, and are nowhere. */
#ifndef SPLAT_SURFACE_PLANE_SHEETS_H
#define SPLAT_SURFACE_PLANE_SHEETS_H

#include "surface/planes/plane_parts.h"

/* Removes sheets. Their pixels take the larger plane that they hide, or none. The other planes move up; labels and
 * hypotheses know their new numbers. *n: planes. Errors: MEMORY. */
splat_status plane_sheets_remove(const splat_view_maps *maps, plane_view *views, plane_global *planes, size_t *n,
                                 uint64_t seed, int threads, splat_error *error);

#endif
