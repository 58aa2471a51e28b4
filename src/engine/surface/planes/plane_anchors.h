/* Places of the splat that keep planes where they are while edges move them. */
#ifndef SPLAT_SURFACE_PLANE_ANCHORS_H
#define SPLAT_SURFACE_PLANE_ANCHORS_H

#include "surface/planes/plane_parts.h"

typedef struct plane_anchor {
    float position[3], depth; /* depth: in the view that shows it */
    uint32_t plane;
} plane_anchor;

typedef struct plane_anchors {
    plane_anchor *anchors; /* [n], plane by plane */
    size_t n;
    size_t *first;         /* [planes + 1] of a plane's among them */
    double *groups;        /* [planes] of a plane's anchors, that share their error: they lie near each other */
    size_t *counts;        /* [planes] places that were found, before every second, third ... was taken */
} plane_anchors;

#define PLANE_ANCHOR_REACH 0.01 /* of the depth: places farther from a plane say nothing of it */

/* Collects the seeds of each plane's segments, and pixels with texture that lie on it: they know their depth better
 * than plain ones do. planes: [n]. At most 2,048 a plane. Does not depend on threads. The caller frees *anchors, also
 * on failure. Errors: MEMORY. */
splat_status plane_anchors_make(const splat_view_maps *maps, const plane_view *views, const plane_global *planes,
                                size_t n, int threads, plane_anchors *anchors, splat_error *error);
void plane_anchors_free(plane_anchors *anchors);

#endif
