/* The choice of cells between what they have and the known surfaces of the scene, planes and round ones. */
#ifndef SPLAT_SURFACE_PLANE_KNOWN_H
#define SPLAT_SURFACE_PLANE_KNOWN_H

#include "surface/planes/plane_round.h"
#include "surface/planes/plane_seen.h"

/* Cells of the segments of a view take known surfaces of the scene, all cells of a segment together: a plain segment
 * has no edge inside, so its depth has no step, and photos and rims tell the rest. The view borrows rounds. planes:
 * [n_planes]; noise: plane_gains_noise. Errors: MEMORY. */
splat_status plane_known_choose(const plane_shade *shade, const plane_global *planes, size_t n_planes,
                                const plane_rounds *rounds, const plane_seen *seen, float noise, uint32_t number,
                                splat_error *error);

#endif
