/* Planes that stand square to a scene, as most of what people build does. */
#ifndef SPLAT_SURFACE_PLANE_SQUARE_H
#define SPLAT_SURFACE_PLANE_SQUARE_H

#include "surface/planes/plane_parts.h"

#define PLANE_PIXELS_STRIDE 11 /* of pixels that are counted */

/* Labelled pixels of each plane in all views, about: of every so many-th pixel. counts: [n] */
void plane_pixels_count(const splat_view_maps *maps, const plane_view *views, size_t n, uint64_t *counts);
/* are_square[n]: planes that are parallel or at right angles to both of two planes, 60 degrees or more apart: those two
 * for which most views show such planes. False if there are no such two. */
bool plane_square_mark(const plane_global *planes, size_t n, bool *are_square);

#endif
