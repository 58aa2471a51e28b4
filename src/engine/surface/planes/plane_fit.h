/* Planes through places by least squares, and the planes of one segment's seeds by sequential RANSAC. */
#ifndef SPLAT_SURFACE_PLANE_FIT_H
#define SPLAT_SURFACE_PLANE_FIT_H

#include "surface/planes/plane_parts.h"

void plane_moments_add(plane_moments *m, const float position[3], double weight);
/* False without at least three places' weight. */
bool plane_fit_make(const plane_moments *m, plane_fit *fit);
/* Turns a plane about its centroid by x[0] and x[1] radians, towards its axes, and shifts it by x[2]; the axes stay in
 * it. */
void plane_fit_move(plane_fit *fit, const double x[3]);
/* The planes of each segment's seeds. */
splat_status plane_hypotheses_make(const splat_view_maps *maps, plane_view *view, uint32_t number, uint64_t seed,
                                   splat_error *error);

/* Seeds that planes are drawn from, one after the other. */
typedef struct plane_ransac {
    const splat_view_maps *maps;
    const plane_seed *seeds;
    const uint32_t *from;   /* view of each seed; NULL: all are of `view` */
    uint32_t *left, n_left; /* seeds without a plane */
    uint64_t seed;          /* seed of the random numbers, with these two: */
    uint32_t view, segment, trials;
} plane_ransac;

/* The next plane with at least an eighth of n_all seeds, which are taken from those left; false when there is none. */
bool plane_ransac_next(plane_ransac *r, uint32_t round, uint32_t n_all, plane_hypothesis *h);
/* True if the seeds determine the plane in all directions. */
bool plane_hypothesis_spreads(const plane_hypothesis *h);

/* Tukey's weight of a residual that is q times the largest one. */
static inline double plane_tukey(double q)
{
    return q * q < 1 ? (1 - q * q) * (1 - q * q) : 0;
}

#endif
