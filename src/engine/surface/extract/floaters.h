/* Gaussians that stand in the free space before the surface that views agree on. */
#ifndef SPLAT_SURFACE_EXTRACT_FLOATERS_H
#define SPLAT_SURFACE_EXTRACT_FLOATERS_H

#include "surface/extract/view_maps.h"

/* keep[i] = 0 for the places that at least three views look through, and more than look at them: a view looks through a
 * place where it lies before 0.9 times the depth of all four pixels around it, and at it up to 1.1 times the depth of
 * the nearest, which must be surface that its neighbours agree on (view_agreement.h); what lies behind that is hidden
 * and counts for nothing, as do other pixels. positions: [n][3], world. *n_floaters: zeros in keep. Does not depend on
 * threads. Errors: MEMORY. */
splat_status splat_find_floaters(const splat_view_maps *maps, const float *positions, size_t n, int threads,
                                 uint8_t *keep, size_t *n_floaters, splat_error *error);

#endif
