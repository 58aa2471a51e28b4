/* Cylinders that touch two walls which face each other, as vaults and apses do. */
#ifndef SPLAT_SURFACE_PLANE_ROUND_TOUCH_H
#define SPLAT_SURFACE_PLANE_ROUND_TOUCH_H

#include "surface/planes/plane_round_places.h"

#define PLANE_ROUND_TOUCHING 192 /* most cylinders: arches in a row have more votes than an apse */
/* Part of the radius, from a rim to the plane through the axis across the walls: nearer ones lie on the walls as well,
 * and say little of the place along these. */
#define PLANE_ROUND_SLANT 0.2
#define PLANE_ROUND_SURE 5.0 /* standard deviations: votes above the mean, or rims above those a little away */

/* Cylinders along an axis of the scene whose radius is half of the gap between two walls. One number is not known,
 * where the axis lies along the walls. The cells that rims of all views lie in vote for it (Hough 1962): each of them
 * lies on two of these cylinders. The surest are first. Returns how many; -1: memory is exhausted. */
int plane_rounds_between_walls(const plane_round_places *places, plane_round found[PLANE_ROUND_TOUCHING]);

#endif
