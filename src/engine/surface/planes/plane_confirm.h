/* Planes that the photos confirm. */
#ifndef SPLAT_SURFACE_PLANE_CONFIRM_H
#define SPLAT_SURFACE_PLANE_CONFIRM_H

#include "surface/planes/plane_parts.h"

/* Removes planes of two views whose rims the other photos do not show: of the places of the rims in these, less than a
 * tenth have an edge. The other planes move up, and hypotheses know their new numbers; labels keep the old ones.
 * *n: planes. Errors: MEMORY. */
splat_status plane_confirm(const splat_view_maps *maps, plane_view *views, plane_global *planes, size_t *n, int threads,
                           splat_error *error);

#endif
