/* The part of the picture that a Gaussian can blend: the ellipse alpha >= 1/255. Shared by bin (which tiles) and raster
 * (which rows), so that the two cannot disagree. */
#ifndef SPLAT_OPS_REACH_H
#define SPLAT_OPS_REACH_H

#include "ops/raster/raster.h"

#include <math.h>

typedef struct splat_reach {
    float power_min; /* a blended sample has at least this power; > 0: no sample is blended */
    double form;     /* blended samples lie in A dx^2 + 2 B dx dy + C dy^2 <= form; INFINITY: unknown */
    double inverse;  /* 1 / (AC - B^2), positive when form is finite */
} splat_reach;

/* alpha0 e^power >= 1/255 means power >= -ln(255 alpha0). The slack is far above the rounding of log (splat_log too),
 * exp and the product. */
#define SPLAT_REACH_SLACK 5e-5f

/* raster evaluates power in float. Its terms may cancel: at a sample with form Q = -2 power they are at most 2 Q R with
 * R = AC / (AC - B^2), so six roundings of 2^-24 move Q by x Q with x < 1.5e-6 R. The ellipse is widened by 2 x, which
 * is above 1 / (1 - x) - 1 up to x = 1/2; beyond (needles with an aspect over about 1000, aslant) nothing is known. */
static inline splat_reach splat_reach_at(double a, double b, double c, float power_min)
{
    double determinant = a * c - b * b, uncertain = 3e-6 * a * c, inverse = 1.0 / determinant;
    double form = -2.0 * power_min * (1.0 + uncertain * inverse);
    int known = (a > 0) & (c > 0) & (uncertain < determinant);
    return (splat_reach){.power_min = power_min, .form = known ? form : INFINITY, .inverse = inverse};
}

static inline splat_reach splat_reach_of(const float conic[4])
{
    splat_reach r = splat_reach_at(conic[0], conic[1], conic[2], -logf(255.0f * conic[3]) - SPLAT_REACH_SLACK);
    if (!(r.power_min <= 0)) r.form = -1.0;
    return r;
}

#endif
