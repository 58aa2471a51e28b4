/* Planes that cut round surfaces, as an end wall cuts its vault. */
#ifndef SPLAT_SURFACE_PLANE_ARCHES_H
#define SPLAT_SURFACE_PLANE_ARCHES_H

#include "surface/planes/plane_round.h"

/* Finds planes across the axes of cylinders by edges of photos between a cylinder, which the views show there, and
 * something else: places of such edges lie on the cylinder, and those of an end wall have one place along its axis.
 * planes: [PLANE_MAX_PLANES], *n_planes of them. A plane that is like a new one takes the tilt and offset of the new
 * one if it is not tied, more views see the edges, and these reach over half of the plane; other new ones are
 * appended. *n_found: how
 * many of both. Does not depend on threads. Errors: MEMORY. */
splat_status plane_arches_find(const splat_view_maps *maps, const plane_view *views, const plane_rounds *rounds,
                               int threads, plane_global *planes, size_t *n_planes, size_t *n_found,
                               splat_error *error);

#endif
