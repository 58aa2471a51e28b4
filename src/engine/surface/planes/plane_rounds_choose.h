/* The choice of cells between what they have and round surfaces. */
#ifndef SPLAT_SURFACE_PLANE_ROUNDS_CHOOSE_H
#define SPLAT_SURFACE_PLANE_ROUNDS_CHOOSE_H

#include "surface/planes/plane_round.h"

/* Cells of the segments of a view take a round surface that the photos support no less than what they have. The view
 * borrows rounds. noise: plane_gains_noise. Errors: MEMORY. */
splat_status plane_rounds_choose(const plane_shade *shade, const plane_rounds *rounds, float noise, uint32_t number,
                                 splat_error *error);

#endif
