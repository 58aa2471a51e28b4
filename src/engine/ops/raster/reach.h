/* The part of the picture that a Gaussian can blend: the ellipse alpha >= 1/255. Shared by bin (which tiles) and raster
 * (which rows), so that the two cannot disagree. */
#ifndef SPLAT_OPS_REACH_H
#define SPLAT_OPS_REACH_H

#include "math/inline.h"
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

/* Down a column -power is a parabola, so from row to row e^power changes by a factor that itself changes by e^-C: of
 * SPLAT_STEP_ROWS rows the first is an exponential, and the others are products (raster_simd.c). Where a row has a
 * power above -5.55 (alpha >= 1/255), the row n away has one above -(n sqrt(C) + 3.34)^2 / 2, and the factor there an
 * exponent of at most sqrt(C) (n sqrt(C) + 3.34). Not all Gaussians are stepped through:
 * - those powers must be above -SPLAT_STEP_MOST_FALL, where e^power and all factors are normal numbers;
 * - the exponents of factors are rounded, and up to seven factors are multiplied: their sum is at most
 *   SPLAT_STEP_MOST_EXPONENTS, which keeps e^power right to 1e-5;
 * - AC is at most SPLAT_STEP_MOST_SLANT (AC - B^2): terms that cancel are rounded as everywhere else. */
#define SPLAT_STEP_ROWS 8
#define SPLAT_STEP_MOST_FALL 80.0f
#define SPLAT_STEP_MOST_ROOT 12.6f /* sqrt(2 SPLAT_STEP_MOST_FALL), rounded down */
#define SPLAT_STEP_MOST_EXPONENTS 110.0f
#define SPLAT_STEP_MOST_SLANT 16.0f

/* 1 or 0. half_height: of the ellipse; INFINITY where it is unknown. */
static inline float splat_reach_is_stepped(float a, float b, float c, float half_height)
{
    const float height = 2.0f * half_height + 0.1f, root = sqrtf(c);
    const float reached = splat_choose(height < SPLAT_TILE - 1, height, SPLAT_TILE - 1);
    const float steps = splat_choose(height < SPLAT_STEP_ROWS - 1, height, SPLAT_STEP_ROWS - 1);
    float stepped = splat_choose(half_height < INFINITY, 1.0f, 0.0f);
    stepped = splat_choose(root * steps + 3.34f <= SPLAT_STEP_MOST_ROOT, stepped, 0.0f);
    stepped = splat_choose(steps * root * (root * reached + 3.34f) <= SPLAT_STEP_MOST_EXPONENTS, stepped, 0.0f);
    return splat_choose(a * c <= SPLAT_STEP_MOST_SLANT * (a * c - b * b), stepped, 0.0f);
}

static inline splat_reach splat_reach_of(const float conic[4])
{
    splat_reach r = splat_reach_at(conic[0], conic[1], conic[2], -logf(255.0f * conic[3]) - SPLAT_REACH_SLACK);
    if (!(r.power_min <= 0)) r.form = -1.0;
    return r;
}

#endif
