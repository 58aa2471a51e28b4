/* Planes of single segments become planes of the scene. */
#ifndef SPLAT_SURFACE_PLANE_MERGE_H
#define SPLAT_SURFACE_PLANE_MERGE_H

#include "surface/planes/plane_parts.h"

/* Fills planes[PLANE_MAX_PLANES]; *n of them. */
splat_status plane_merge(const splat_view_maps *maps, plane_view *views, plane_global *planes, size_t *n,
                         splat_error *error);

#endif
