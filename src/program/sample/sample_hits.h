/* Intersections of rays with slabs and boxes around the local origin, for all ray-traced scenes. */
#ifndef SPLAT_SCENE_SAMPLE_HITS_H
#define SPLAT_SCENE_SAMPLE_HITS_H

#include "sample/sample_vec.h"

static const double no_hit = 1e30;
static const double nearest = 1e-6; /* closer hits are the surface the ray starts from */

/* Cuts [t0, t1] down to the part between the planes x = -half and x = half. */
static inline void cut_slab(double p, double d, double half, double *t0, double *t1)
{
    double inverse = 1.0 / d, a = (-half - p) * inverse, b = (half - p) * inverse; /* d = 0: infinities are right */
    *t0 = fmax(*t0, fmin(a, b));
    *t1 = fmin(*t1, fmax(a, b));
}

/* The place on the ray p + t d where it meets a box with these half edges, or no_hit. */
static inline double hit_box(splat_vec3 half, splat_vec3 p, splat_vec3 d)
{
    double t0 = -no_hit, t1 = no_hit;
    cut_slab(p.x, d.x, half.x, &t0, &t1);
    cut_slab(p.y, d.y, half.y, &t0, &t1);
    cut_slab(p.z, d.z, half.z, &t0, &t1);
    if (t0 >= t1 || t1 <= nearest) return no_hit;
    return t0 > nearest ? t0 : t1;
}

#endif
