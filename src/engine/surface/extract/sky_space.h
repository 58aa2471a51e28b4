/* The sky in the maps of views. */
#ifndef SPLAT_SURFACE_EXTRACT_SKY_SPACE_H
#define SPLAT_SURFACE_EXTRACT_SKY_SPACE_H

#include "scene/sky.h"
#include "surface/extract/view_maps.h"

/* Makes the trusted sky of training view `number` free space in its map: no depth, and no opacity. Errors: MEMORY. */
splat_status splat_sky_clear_map(const splat_sky *sky, size_t number, splat_view_map *map, splat_error *error);

#endif
