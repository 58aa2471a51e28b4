/* Planes of texture: a floor of boards, a lawn. No plain segment shows them, but walls meet them. */
#ifndef SPLAT_SURFACE_PLANE_TEXTURED_H
#define SPLAT_SURFACE_PLANE_TEXTURED_H

#include "surface/planes/plane_parts.h"

#include "base/error.h"

/* Appends the largest planes that pixels without a plain segment lie on to those of the scene, as far as these do not
 * lie there: planes[*n], at most PLANE_MAX_PLANES. Does not depend on threads. Errors: MEMORY. */
splat_status plane_textured_add(const splat_view_maps *maps, const plane_view *views, uint64_t seed, int threads,
                                plane_global *planes, size_t *n, splat_error *error);

#endif
