/* Planes of known pixels that unknown ones around them lie on. */
#ifndef SPLAT_SURFACE_PLANE_SPREAD_H
#define SPLAT_SURFACE_PLANE_SPREAD_H

#include "surface/extract/view_maps.h"

/* Finds the planes that known pixels (FITTED, AGREED, MATCHED) of two views or more share. SILENT pixels with texture
 * next to those take the plane if their depth lies within 2.5 % of it, or if they lost it (alpha is 255 then), and so
 * on outwards; they become FITTED, *n_pixels of them. The bytes do not depend on threads. Errors: MEMORY; then some
 * views may have changed. */
splat_status plane_spread(splat_view_maps *maps, uint64_t seed, int threads, uint64_t *n_pixels,
                          splat_error *error);

#endif
