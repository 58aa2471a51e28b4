/* Edges of photos at which two planes of the scene meet. */
#ifndef SPLAT_SURFACE_PLANE_SHARED_EDGES_H
#define SPLAT_SURFACE_PLANE_SHARED_EDGES_H

#include "surface/planes/plane_parts.h"

/* An edge of planes a < b, in the picture of a camera, pixels. */
typedef struct plane_shared_edge {
    const splat_camera *camera; /* borrowed */
    float x, y;
    uint16_t a, b;
} plane_shared_edge;

/* The plane on which a pixel without a plain segment lies, by the splat's depth (0.5 %) and normal (20 degrees), or -1.
 * Only planes that the camera faces, and only in their rectangle. planes: [n]. *position: the pixel's place. */
int plane_of_texture(const splat_view_map *map, const plane_view *view, const plane_global *planes, size_t n,
                     size_t pixel, float position[3]);

/* Finds the edges between plain segments of two planes, and the edges between a plain segment and texture on another
 * plane (the foot of a wall on a lawn). Both planes lie within 4 % of the depth there, 15 degrees or more apart, and
 * three views or more see them meet. View by view. planes: [n]. The caller frees *edges. False: memory is exhausted. */
bool plane_shared_edges_find(const splat_view_maps *maps, const plane_view *views, const plane_global *planes, size_t n,
                             plane_shared_edge **edges, size_t *n_edges);

#endif
