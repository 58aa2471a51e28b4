/* Pixels with texture on planes of the scene. */
#ifndef SPLAT_SURFACE_PLANE_TEXTURED_H
#define SPLAT_SURFACE_PLANE_TEXTURED_H

#include "surface/planes/plane_parts.h"

/* Pixels of a view that are not plain, have the splat's depth (SPLAT_PIXEL_SILENT), and lie on a plane as far as pixels
 * can show get its depth and normal, and become SPLAT_PIXEL_FITTED. planes: [n]. Returns how many in *n_taken. Errors:
 * MEMORY. */
splat_status plane_textured_set(splat_view_map *map, const plane_view *view, const plane_global *planes, size_t n,
                                uint64_t *n_taken, splat_error *error);

#endif
