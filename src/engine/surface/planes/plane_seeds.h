/* Rims of plain segments, and the seeds and edges on them. */
#ifndef SPLAT_SURFACE_PLANE_SEEDS_H
#define SPLAT_SURFACE_PLANE_SEEDS_H

#include "surface/planes/plane_parts.h"

/* Calls the function for about PLANE_SEGMENT_SEEDS pixels of every segment's rim, row by row; direction: out of the
 * segment. */
typedef void (*plane_rim_function)(void *user, int x, int y, const float direction[2]);
splat_status plane_rims_visit(const splat_camera *camera, const plane_view *view, plane_rim_function function,
                              void *user, splat_error *error);
/* The seeds of all segments, in their order, and the edges between segments. */
splat_status plane_seeds_make(const splat_view_map *map, plane_work *work, uint16_t edge, plane_view *view,
                              splat_error *error);
/* Sorts the seeds by segments; these know their own then. */
void plane_seeds_sort(plane_view *view);

#endif
