/* Edges of photos at which two planes of the scene meet. */
#ifndef SPLAT_SURFACE_PLANE_SHARED_EDGES_H
#define SPLAT_SURFACE_PLANE_SHARED_EDGES_H

#include "surface/planes/plane_fit.h"
#include "surface/planes/plane_parts.h"

#define PLANE_EDGE_CUT 2.5    /* pixels from the line of its planes, where an edge's weight (plane_tukey) ends */
#define PLANE_SURE_EDGES 0.64 /* mean weight of the edges of two planes that meet; outlines of what stands in front have
                                 less, and a third of the edges of a wall may be those of the vault above it */

/* An edge of planes a < b, in the picture of a camera, pixels. */
typedef struct plane_shared_edge {
    const splat_camera *camera; /* borrowed */
    float x, y;
    uint16_t a, b;
} plane_shared_edge;

/* The line in which two planes meet, as the camera of an edge sees it. */
typedef struct plane_shared_line {
    double at[3], ray[3]; /* the camera's place, and the way through the edge */
    double s[2];          /* distances of the camera from planes a and b, */
    double along[2];      /* and how fast the ray goes along their normals */
    double scale;
    double residual;      /* distance of the edge from the line in the picture, pixels */
} plane_shared_line;

/* The line of two planes seen from c lies in the plane through c with the normal m = s_b n_a - s_a n_b. a, b: the
 * planes of the edge, which need not lie where they were found. */
plane_shared_line plane_shared_edge_line(const plane_shared_edge *edge, const plane_fit *a, const plane_fit *b);

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
