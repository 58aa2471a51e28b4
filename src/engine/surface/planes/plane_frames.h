/* Planes at right angles, of which people build much. */
#ifndef SPLAT_SURFACE_PLANE_FRAMES_H
#define SPLAT_SURFACE_PLANE_FRAMES_H

#include "surface/planes/plane_parts.h"

/* A plane that may belong to a frame. information: normal equations of two tilts about the plane's axes, radians, and a
 * shift, by all that tells them. */
typedef struct plane_member {
    plane_fit fit, first; /* now, and by its seeds alone */
    double information[3][3];
    bool is_known;        /* false: it belongs to none */
    double variance;      /* of the tilt that is known worst; plane_frames_find fills it */
} plane_member;

/* Finds frames, three directions at right angles, and the planes across them: the plane that is known best begins one,
 * and those follow, in this order, whose normals are at right angles or parallel to it as far as both are known. One
 * that is known well and leans starts another frame instead of pulling the first. frames[n]: numbers from 1 on; 0: none
 * known. */
void plane_frames_find(plane_member *members, size_t n, int *frames);

#endif
