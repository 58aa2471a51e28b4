/* Levels of places of the world in the small photos of many views, many places at once. */
#ifndef SPLAT_SURFACE_PLANE_LEVELS_H
#define SPLAT_SURFACE_PLANE_LEVELS_H

#include "surface/planes/plane_parts.h"

#define PLANE_LEVELS_PLACES 128 /* at most */

/* Places, and the levels that views have there. */
typedef struct plane_levels {
    uint32_t n;                                           /* places */
    float position[3][PLANE_LEVELS_PLACES];               /* x, y and z */
    uint32_t counts[PLANE_LEVELS_PLACES];                 /* levels of each place, at most PLANE_SHADE_VIEWS */
    float values[PLANE_SHADE_VIEWS][PLANE_LEVELS_PLACES]; /* in the order of the views, then INFINITY */
} plane_levels;

/* False where something is known to stand before a place. image: of splat_camera_project. */
bool plane_levels_is_clear(const plane_view *view, const float image[3]);
/* A channel of the small photo at (x, y) of the map's picture, in levels of 255. */
float plane_levels_at(const plane_view *view, size_t channel, float x, float y);
/* Appends a place with one level. */
void plane_levels_add_place(plane_levels *levels, const float position[3], float own);
/* Appends the view's level to each place that its picture contains. is_hiding: and that is clear in it. A place with
 * PLANE_SHADE_VIEWS levels takes no more. */
void plane_levels_add_view(plane_levels *levels, const splat_view_map *map, const plane_view *view, bool is_hiding);
/* Sorts the levels of each place, from small to large: Batcher's odd-even merge sort, of all places at once. */
void plane_levels_sort(plane_levels *levels);

#endif
