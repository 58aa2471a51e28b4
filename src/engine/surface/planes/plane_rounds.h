/* Cylinders and balls of the scene, where photos are plain: all views together tell where one is, as none can alone. */
#ifndef SPLAT_SURFACE_PLANE_ROUNDS_H
#define SPLAT_SURFACE_PLANE_ROUNDS_H

#include "surface/planes/plane_round.h"

/* Finds round surfaces in what all views chose (plane_choose.h) where they have no plane. planes: [n_planes], whose
 * normals may be axes; are_kept: plane_kept_mark; noise: plane_gains_noise. Does not depend on threads. Errors:
 * MEMORY. */
splat_status plane_rounds_find(const plane_shade *shade, const plane_global *planes, const bool *are_kept,
                               size_t n_planes, float noise, uint64_t seed, int threads, plane_rounds *rounds,
                               splat_error *error);

#endif
