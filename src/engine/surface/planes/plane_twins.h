/* Planes that are one surface with another. */
#ifndef SPLAT_SURFACE_PLANE_TWINS_H
#define SPLAT_SURFACE_PLANE_TWINS_H

#include "surface/planes/plane_parts.h"

#include "base/error.h"

/* Gives the pixels of each twin to the plane that it is one surface with. The other planes move up; labels and
 * hypotheses know their new numbers. planes: [n_all], where edges put them; the last ones, of texture, have no pixels
 * and only meet the others. *n: planes that have pixels. Errors: MEMORY. */
splat_status plane_twins_join(const splat_view_maps *maps, plane_view *views, plane_global *planes, size_t n_all,
                              size_t *n, splat_error *error);

#endif
