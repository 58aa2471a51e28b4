/* Planes that become others, or none. */
#ifndef SPLAT_SURFACE_PLANE_RENAME_H
#define SPLAT_SURFACE_PLANE_RENAME_H

#include "surface/planes/plane_parts.h"

#define PLANE_NOWHERE UINT16_MAX

/* Gives the pixels of each plane to the plane that it becomes; those of PLANE_NOWHERE have none then. Planes that
 * become themselves stay and move up; labels and hypotheses know their new numbers. planes: [*n]. becomes: [*n], no
 * circle. False: memory is exhausted. */
bool plane_rename(const splat_view_maps *maps, plane_view *views, plane_global *planes, size_t *n,
                  const uint16_t *becomes);

#endif
