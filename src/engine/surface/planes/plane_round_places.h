/* Places of all views on plain surfaces without a plane. */
#ifndef SPLAT_SURFACE_PLANE_ROUND_PLACES_H
#define SPLAT_SURFACE_PLANE_ROUND_PLACES_H

#include "surface/planes/plane_round.h"

/* A direction that cylinders may have: the normal of a plane of the scene, or the line in which two planes meet. */
typedef struct plane_round_axis {
    double direction[3]; /* of length 1 */
    double weight;       /* area of the planes, the smaller of two, times views that see it */
} plane_round_axis;

#define PLANE_ROUND_LEFT 255       /* more than PLANE_MAX_ROUNDS */
#define PLANE_ROUND_AXIS_PLANES 20 /* planes that tell directions, */
#define PLANE_ROUND_AXES 210       /* of one or two of these */

/* The places, and what the search for round surfaces needs of the scene. */
typedef struct plane_round_places {
    const plane_shade *shade;
    const plane_global *planes; /* [n_planes] */
    const bool *are_kept;       /* [n_planes] plane_kept_mark; the others explain no places */
    size_t n_planes;
    size_t walls[PLANE_ROUND_AXIS_PLANES]; /* [n_walls] numbers of the planes that tell directions */
    uint32_t n_walls;
    plane_round_axis axes[PLANE_ROUND_AXES]; /* [n_axes] of decreasing weight */
    uint32_t n_axes;
    plane_round_place *places;  /* [n] by views */
    uint8_t *taker;             /* [n] round surface that took the place, + 1; PLANE_ROUND_LEFT: left out; 0: free */
    plane_rounds *rounds;       /* found so far */
    uint32_t n, *first;         /* first: [views + 1] place of each view */
    uint32_t *first_segment;    /* [views + 1] segments of the views before each */
    size_t n_asked;             /* places of all views, those with a plane, too */
    float noise;                /* plane_gains_noise */
    uint64_t seed;
    int threads;
} plane_round_places;

/* Fills walls, axes, places, taker and first, and their numbers. False: memory is exhausted. The caller frees them
 * in either case. */
bool plane_round_places_take(plane_round_places *places);
void plane_round_places_free(plane_round_places *places);
/* The surface of a view at a pixel without a plane: a smooth or round one, or the splat's. False: there is a plane, or
 * nothing. */
bool plane_round_slant_now(const plane_shade *shade, uint32_t view, size_t pixel, plane_slant *slant);
/* +1: the place lies on the surface and is seen from outside; -1: from inside; 0: it does not lie on it. */
int plane_round_side(const plane_round *round, const plane_round_place *place);

#endif
