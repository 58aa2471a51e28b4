/* Fits a round surface to places, to rims of their segments, and to the shading of the photos. */
#ifndef SPLAT_SURFACE_PLANE_ROUND_FIT_H
#define SPLAT_SURFACE_PLANE_ROUND_FIT_H

#include "surface/planes/plane_round_places.h"

#define PLANE_ROUND_RIM_ERROR 0.004 /* of the depth, of a place of a rim */

typedef struct plane_round_fitter {
    const plane_round_places *s;
    uint32_t *inliers, n;     /* places on the surface */
    const plane_seed **seeds; /* [n_rims] places of rims */
    uint32_t n_rims;
    uint32_t *visits, visit;  /* [segments of all views] the last visit of each, to be visited once */
    plane_site *sites;        /* [n_sites] places that photos are compared at */
    bool *is_far;             /* [n_sites] the farther sheet */
    uint32_t n_sites;
    float *residuals;         /* [n_sites] of plane_round_cost_of_shading */
    double length;            /* mean depth */
    double error;             /* of rims, as a part of their depth */
    plane_round round;
    bool is_sharp;            /* the shading tells its radius; plane_round_is_supported */
    bool is_settled;          /* seeds are those that planes tell, and say where a cylinder between walls is */
} plane_round_fitter;

/* Costs are means of x^2 / (1 + x^2), so what is far off hardly pulls. This one is that of the places. */
double plane_round_cost_of_places(const plane_round_fitter *f, const plane_round *round);
/* The cost of the rims. */
double plane_round_cost_of_rims(const plane_round_fitter *f, const plane_round *round);
/* The cost of rims, which are right as photos have edges there, and a little of places. */
double plane_round_cost_of_shape(const plane_round_fitter *f, const plane_round *round);
/* The cost of residuals at the sites, and of rims. Fills residuals. */
double plane_round_cost_of_shading(const plane_round_fitter *f, const plane_round *round);
/* True if a place of a rim lies on the surface. */
bool plane_round_has_rim(const plane_round_fitter *f, uint32_t number);
/* The part of the rims that lies on it. */
double plane_round_rims(const plane_round_fitter *f);

/* Moves f->round, whose axis stays, to where most rims are at f->error, by random sample consensus of three or four of
 * them (Fischler and Bolles 1981): no descent finds them past others. */
void plane_round_vote(plane_round_fitter *f);

typedef double (*plane_round_cost)(const plane_round_fitter *f, const plane_round *round);

/* Moves f->round to a lower cost by the simplex of Nelder and Mead, whose first step is a part of f->length, and of a
 * radian. Returns the cost. */
double plane_round_descend(plane_round_fitter *f, plane_round_cost cost, double first_step, int steps);

#endif
