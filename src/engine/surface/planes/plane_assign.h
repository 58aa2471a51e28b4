/* Which planes a segment can show, and which pixel shows which. */
#ifndef SPLAT_SURFACE_PLANE_ASSIGN_H
#define SPLAT_SURFACE_PLANE_ASSIGN_H

#include "surface/planes/plane_parts.h"

/* The candidates of every segment of a view. */
void plane_candidates(const splat_camera *camera, plane_view *view, const plane_global *planes, size_t n_planes);
/* Labels the pixels of segments with planes. */
void plane_assign(const splat_view_map *map, plane_view *view, const plane_global *planes, plane_work *work);

#endif
