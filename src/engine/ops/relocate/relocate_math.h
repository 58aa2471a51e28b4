/* One Gaussian becomes n equal ones (Kheradmand et al., eq. 9), and the weight with which it is drawn: the same on
 * every backend. All in double: a draw must not depend on whose expf it was. */
#ifndef SPLAT_OPS_RELOCATE_MATH_H
#define SPLAT_OPS_RELOCATE_MATH_H

#include "math/inline.h"

#include <stdbool.h>

#define SPLAT_RELOCATE_BROKEN 0x80000000u        /* weight of a dead Gaussian with a parameter that is not finite */
#define SPLAT_RELOCATE_UNITS 4194304.0           /* weight of opacity 1: sums of 2^32 fit in 64 bits */
#define SPLAT_RELOCATE_LEAST_ROTATION 1e-8       /* |q|^2 */
#define SPLAT_RELOCATE_MOST (1.0 - 1.0 / 8388608) /* largest opacity: 1 - 2^-23 */
#define SPLAT_RELOCATE_MOST_RAW (1.0 - 1.0 / 1048576)
#define SPLAT_RELOCATE_LEAST_SHRINK 0.25         /* smallest factor of a scale */

/* The rounds' share of a weight that counts in sums. */
SPLAT_MATH_INLINE uint64_t splat_relocate_share(uint32_t weight)
{
    return weight & ~SPLAT_RELOCATE_BROKEN;
}

/* o~ of raw parameters. */
SPLAT_MATH_INLINE double splat_rendered_opacity(float logit, const float *log_scales, float filter_3d)
{
    double opacity = 1.0 / (1.0 + exp(-(double)logit)), f2 = (double)filter_3d * (double)filter_3d;
    for (int k = 0; k < 3; k++) {
        double s = exp((double)log_scales[k]);
        opacity *= s / sqrt(s * s + f2);
    }
    return opacity;
}

/* floor(2^22 o~), 0 for the dead. Of finite parameters; NaN gives 0. */
SPLAT_MATH_INLINE uint32_t splat_relocate_weight(float logit, const float *log_scales, const float *rotation,
                                                 float filter_3d, float dead_opacity)
{
    double norm2 = 0.0, opacity = splat_rendered_opacity(logit, log_scales, filter_3d);
    for (int k = 0; k < 4; k++) norm2 += (double)rotation[k] * (double)rotation[k];
    if (!(norm2 >= SPLAT_RELOCATE_LEAST_ROTATION) || !(opacity > (double)dead_opacity)) return 0;
    return (uint32_t)(opacity * SPLAT_RELOCATE_UNITS);
}

/* D(p, n) = sum_{j=1..n} C(n, j) (-1)^(j-1) p^j / sqrt(j) = (2/sqrt(pi)) int_0^inf 1 - (1 - p exp(-x^2))^n dx: the
 * integral along a line through n Gaussians of opacity p, over that of one of opacity 1. The integrand is even and
 * entire: the trapezoidal rule with steps of 1/4 is right to 5e-9 for any n, where the sum loses every digit. */
SPLAT_MATH_INLINE double splat_relocate_line(double p, double n)
{
    double sum = -0.5 * expm1(n * log1p(-p));
    for (int k = 1; k <= 22; k++) sum -= expm1(n * log1p(-p * exp(-0.0625 * k * k)));
    return 0.28209479177387814 * sum; /* 2 h / sqrt(pi) */
}

typedef struct splat_relocated {
    float logit, log_scales[3];
} splat_relocated;

SPLAT_MATH_INLINE float splat_logit_of(double opacity)
{
    return (float)(log(opacity) - log1p(-opacity));
}

/* Opacity and scales of each of the n Gaussians that a living one becomes. What is rendered is divided, o~' = 1 -
 * (1 - o~)^(1/n), s~' = s~ o~/D(o~', n), and then taken back through the 3D filter. Where no raw scale would be left
 * for that, the scales stay and the opacity alone is divided: exact at the centre, a little wide. */
SPLAT_MATH_INLINE splat_relocated splat_relocate_one(float logit, const float *log_scales, float filter_3d, uint32_t n,
                                                     float least_opacity)
{
    const double f2 = (double)filter_3d * (double)filter_3d, least = (double)least_opacity;
    const double raw = 1.0 / (1.0 + exp(-(double)logit));
    const double rendered = splat_rendered_opacity(logit, log_scales, filter_3d);
    double divided = -expm1(log1p(-rendered) / n), scales[3], c3 = 1.0;
    divided = divided > least ? divided : least;
    divided = divided < SPLAT_RELOCATE_MOST ? divided : SPLAT_RELOCATE_MOST;
    const double shrink = rendered / splat_relocate_line(divided, n);
    splat_relocated result = {logit, {log_scales[0], log_scales[1], log_scales[2]}};
    bool fits = true;
    for (int k = 0; k < 3; k++) {
        double s = exp((double)log_scales[k]), least_scale = SPLAT_RELOCATE_LEAST_SHRINK * s;
        double square = shrink * shrink * (s * s + f2) - f2;
        fits = fits && square >= least_scale * least_scale;
        scales[k] = sqrt(fits ? square : s * s);
        c3 *= scales[k] / sqrt(scales[k] * scales[k] + f2);
    }
    fits = fits && divided / c3 <= SPLAT_RELOCATE_MOST_RAW;
    if (fits) {
        result.logit = splat_logit_of(divided / c3);
        for (int k = 0; k < 3; k++) result.log_scales[k] = (float)log(scales[k]);
    } else {
        float lowered = splat_logit_of(raw * (divided / rendered));
        result.logit = lowered < logit ? lowered : logit; /* an opacity that rounds to 1 has no logit */
    }
    return result;
}

#endif
