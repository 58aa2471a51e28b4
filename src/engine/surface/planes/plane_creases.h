/* Planes that are refined together, so that their common lines fall onto edges of the photos. */
#ifndef SPLAT_SURFACE_PLANE_CREASES_H
#define SPLAT_SURFACE_PLANE_CREASES_H

#include "surface/planes/plane_parts.h"

/* Turns and shifts all planes so that the lines in which they meet fall onto the edges of all views. The planes' order
 * and labels stay. Errors: MEMORY. */
splat_status plane_creases_refine(const splat_view_maps *maps, const plane_view *views, plane_global *planes, size_t n,
                                  int threads, splat_error *error);

#endif
