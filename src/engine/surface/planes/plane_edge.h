/* The place of an edge of a photo, to a part of a pixel. */
#ifndef SPLAT_SURFACE_PLANE_EDGE_H
#define SPLAT_SURFACE_PLANE_EDGE_H

#include "surface/planes/plane_parts.h"

/* The pixel t steps along, or -1. */
long plane_rim_step(const splat_camera *camera, int x, int y, const float direction[2], int t);
/* Finds the edge on the way from the centre of pixel (x, y) along a direction of length 1, up to `end` pixels away, by
 * work->gradient and work->smooth. found: its place in the picture, pixels. False: the picture ends before the edge
 * does, or all pixels are equal. */
bool plane_edge_place(const splat_camera *camera, const plane_work *work, int x, int y, const float direction[2],
                      int end, float found[2]);

#endif
