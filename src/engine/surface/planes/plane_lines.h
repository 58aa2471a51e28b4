/* Lines in which planes of the scene end, as seeds of the segments beyond. */
#ifndef SPLAT_SURFACE_PLANE_LINES_H
#define SPLAT_SURFACE_PLANE_LINES_H

#include "surface/planes/plane_parts.h"

/* Makes seeds of the line at which a plane of the scene ends at a segment without a plane, if other views also see the
 * plane end there. Changes only view `number`, and there only seeds. */
splat_status plane_lines_make(const splat_view_maps *maps, plane_view *views, size_t number,
                              const plane_global *planes, splat_error *error);
/* Planes have changed from `before`: lines are of those that are the same. A line whose plane is gone is doubted. */
void plane_lines_rename(plane_view *view, const plane_global *before, const plane_global *planes, size_t n_planes);

#endif
