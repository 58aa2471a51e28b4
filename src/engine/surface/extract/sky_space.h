/* The space between cameras and trusted sky is free: no point and no Gaussian stands there. */
#ifndef SPLAT_SURFACE_EXTRACT_SKY_SPACE_H
#define SPLAT_SURFACE_EXTRACT_SKY_SPACE_H

#include "scene/scene.h"
#include "scene/sky.h"
#include "surface/extract/surface_points.h"
#include "surface/extract/view_maps.h"

/* Writes keep[n]: 0 for positions[n][3] that stand before trusted sky (scene/sky.h) in two training views or more, and
 * in a quarter or more of those whose pictures contain them, else 1. *n_found: the zeros. The result does not depend on
 * threads. Errors: MEMORY. */
splat_status splat_sky_find_before(const splat_scene *scene, const splat_sky *sky, const float *positions, size_t n,
                                   uint8_t *keep, size_t *n_found, splat_error *error);
/* Removes such points; a notice says how many. Without sky it does nothing. Errors: MEMORY, those of decoding. */
splat_status splat_sky_remove_points(splat_scene *scene, splat_surface_points *points, splat_error *error);

/* Makes the trusted sky of training view `number` free space in its map: no depth, and no opacity. Errors: MEMORY. */
splat_status splat_sky_clear_map(const splat_sky *sky, size_t number, splat_view_map *map, splat_error *error);

#endif
