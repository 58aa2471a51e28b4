/* Planes moved to where photos agree on them. Edges place a plane to a fraction of a pixel, if they are its own: the
 * back edges of a cupboard that stands 5 cm before a wall put the wall at the cupboard. The shading of a wall is less
 * sharp, but all of the wall has it, and all views see it. So where many views say that a plane is elsewhere, they are
 * right, unless the splat's own places on the plane contradict them, as mirrors and gloss show surfaces too far off. */
#ifndef SPLAT_SURFACE_PLANE_AGREE_H
#define SPLAT_SURFACE_PLANE_AGREE_H

#include "surface/planes/plane_shade.h"

/* Moves each plane, by less than 5 % of its mean depth, to where the residuals of its pixels (plane_shade_residual) are
 * least, and then turns it, if the views agree on it: the mean gain of a view is 3.75 of its standard errors or more,
 * and most residuals are small then. planes: [n]; labels of the views tell their pixels. noise: of the photos on a
 * surface that is right, in levels. Does not depend on threads. Errors: MEMORY; then some planes may have moved. */
splat_status plane_agree(const plane_shade *shade, plane_global *planes, size_t n, float noise, int threads,
                         splat_error *error);

#endif
