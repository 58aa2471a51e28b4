/* The plain parts of a photo, and the buffers of the work on it. */
#ifndef SPLAT_SURFACE_PLANE_SEGMENTS_H
#define SPLAT_SURFACE_PLANE_SEGMENTS_H

#include "scene/sky_masks.h"
#include "surface/planes/plane_parts.h"

void plane_view_free(plane_view *view);

splat_status plane_work_make(plane_work *work, size_t n_pixels, splat_error *error);
void plane_work_free(plane_work *work);

/* work->smooth and work->gradient from work->rgb; labels and segments (without seeds) of what is plain and no sky.
 * *edge: the least gradient of an edge. sky: NULL or without pixels: the photo shows none. */
splat_status plane_segments_make(const splat_camera *camera, const splat_sky_mask *sky, plane_work *work,
                                 plane_view *view, uint16_t *edge, splat_error *error);

#endif
