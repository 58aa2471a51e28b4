/* Round surfaces through pairs of places. */
#ifndef SPLAT_SURFACE_PLANE_ROUND_PAIRS_H
#define SPLAT_SURFACE_PLANE_ROUND_PAIRS_H

#include "surface/planes/plane_round_places.h"

#define PLANE_ROUND_DRAWS 3072 /* pairs for a surface */

typedef struct plane_round_pair {
    plane_round round;
    uint32_t score, number; /* places of a sample on the surface; number of the draw */
} plane_round_pair;

/* Fills pairs[PLANE_ROUND_DRAWS] for surface number `model`, the best first; returns how many have a surface. */
uint32_t plane_round_pairs_draw(const plane_round_places *places, uint32_t model, plane_round_pair *pairs);
/* True if the surface of a better pair is nearly the same. */
bool plane_round_pair_is_known(const plane_round_pair *pairs, uint32_t number);

#endif
