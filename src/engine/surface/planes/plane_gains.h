/* How bright each photo is against the others, and how much photos differ on a surface that is right. */
#ifndef SPLAT_SURFACE_PLANE_GAINS_H
#define SPLAT_SURFACE_PLANE_GAINS_H

#include "surface/planes/plane_shade.h"

/* Makes the photos of all views equally bright (plane_shade_even), as places on planes, on what the photos chose and on
 * the splat say. *are_equal: they were so already, and nothing changes, as an estimate from few textures is less exact
 * than that. Does not depend on threads. */
splat_status plane_gains_apply(const plane_shade *shade, const plane_global *planes, int threads, plane_view *views,
                               bool *are_equal, splat_error *error);
/* The residual that a twentieth of the places on planes have at most, in levels. */
splat_status plane_gains_noise(const plane_shade *shade, const plane_global *planes, int threads, float *noise,
                               splat_error *error);

#endif
