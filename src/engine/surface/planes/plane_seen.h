/* The views that look at a place, or through it, by the surfaces that all views have chosen. */
#ifndef SPLAT_SURFACE_PLANE_SEEN_H
#define SPLAT_SURFACE_PLANE_SEEN_H

#include "surface/planes/plane_shade.h"

/* Returns the plane that a pixel of a segment shows. -1: a smooth or round surface, or the splat's, which is *slant;
 * slant->q is 0 if the pixel shows nothing. */
int plane_shown(const plane_shade *shade, uint32_t view, size_t pixel, plane_slant *slant);

/* Depths of all views on a grid. */
typedef struct plane_seen {
    const splat_view_maps *maps;
    float **depths; /* [maps->n] of every STRIDE-th pixel both ways; 0: nothing is known */
} plane_seen;

/* Takes the depths of what the views have chosen. Does not depend on threads. Errors: MEMORY. The caller frees them;
 * not after an error. */
splat_status plane_seen_take(const plane_shade *shade, const plane_global *planes, int threads, plane_seen *seen,
                             splat_error *error);
void plane_seen_free(plane_seen *seen);
/* Returns how much the other views speak against a place of view `own`: (T + p) / (A + T + p). Of the views that are
 * asked A look at the place and T look through it, and p is 5 % of all of them. 1 if none looks at it. */
float plane_seen_against(const plane_seen *seen, uint32_t own, const float position[3]);

#endif
