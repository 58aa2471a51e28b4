/* The photos of training views, at the size of their maps. */
#ifndef SPLAT_SURFACE_EXTRACT_VIEW_PHOTOS_H
#define SPLAT_SURFACE_EXTRACT_VIEW_PHOTOS_H

#include "surface/extract/view_maps.h"

/* rgb: [height][width][3] of map `number`. May be called from several threads. Errors: MEMORY, those of reading. */
splat_status splat_view_photo(splat_scene *scene, const splat_view_maps *maps, size_t number, uint8_t *rgb,
                              splat_error *error);

#endif
