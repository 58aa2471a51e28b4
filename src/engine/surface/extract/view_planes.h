/* Pixels with texture on planes of the scene, as the photos show them. */
#ifndef SPLAT_SURFACE_EXTRACT_VIEW_PLANES_H
#define SPLAT_SURFACE_EXTRACT_VIEW_PLANES_H

#include "stereo/photo_matcher.h"
#include "surface/extract/view_maps.h"
#include "surface/planes/planes.h"

/* Pixels of view `number` that are SILENT or AGREED get the depth and normal of a plane near them, and become FITTED,
 * where the photos of the view and its neighbours agree better on the plane than on the splat's depth, the more so the
 * farther the plane is. planes: [n]. *n_taken grows by these pixels. The bytes do not depend on threads. Errors:
 * MEMORY, DEVICE. */
splat_status splat_view_planes_take(splat_photo_matcher *photos, splat_view_maps *maps, size_t number,
                                    const splat_plane *planes, size_t n, int threads, uint64_t *n_taken,
                                    splat_error *error);

#endif
