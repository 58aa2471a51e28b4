/* A smooth surface over a plain segment: inverse depth on a grid of nodes, as near to data as its bends are small. A
 * plane bends nowhere: its inverse depth is affine in the picture. */
#ifndef SPLAT_SURFACE_PLANE_SMOOTH_H
#define SPLAT_SURFACE_PLANE_SMOOTH_H

#include "surface/planes/plane_shade.h"

/* A known inverse depth at a place of the picture; sigma: its error as a part of it. */
typedef struct plane_known {
    float x, y, q, sigma;
} plane_known;

/* Nodes at pixels (left + i step, top + j step). */
typedef struct plane_smooth {
    int left, top, step;
    uint32_t width, height; /* nodes */
    float *q;               /* [height][width] inverse depth; 0: not of the segment */
} plane_smooth;

/* Nodes around the pixels of a segment of a view, between left, top and right, bottom (inclusive). */
splat_status plane_smooth_make(const splat_camera *camera, const plane_view *view, uint32_t segment, const int box[4],
                               plane_smooth *s, splat_error *error);
void plane_smooth_free(plane_smooth *s);
/* Fits the nodes to n known places, from what they are (zeros: from the plane through the known places). False where
 * they say too little. */
splat_status plane_smooth_fit(plane_smooth *s, const plane_known *known, size_t n, bool *is_fitted,
                              splat_error *error);
/* Value and slope at a place. False outside of the nodes. */
bool plane_smooth_at(const plane_smooth *s, float x, float y, plane_slant *slant);

#endif
