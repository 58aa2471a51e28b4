/* The exposure of one pixel and the step of one number; the same on every backend. */
#ifndef SPLAT_OPS_EXPOSURE_MATH_H
#define SPLAT_OPS_EXPOSURE_MATH_H

#include "math/inline.h"
#include "math/photo.h"
#include "ops/exposure/exposure.h"
#include "ops/adam/adam.h"

#include <math.h>

/* Means over a row of pixels of their squared distances from center, and of the powers 2 and 3 of these. */
static inline void splat_exposure_moments_of_row(int n, double center, double moments[3])
{
    moments[0] = moments[1] = moments[2] = 0;
    for (int i = 0; i < n; i++) {
        double d2 = (i + 0.5 - center) * (i + 0.5 - center);
        moments[0] += d2 / n;
        moments[1] += d2 * d2 / n;
        moments[2] += d2 * d2 * d2 / n;
    }
}

/* R_1 to R_3, on the host: the powers of dx^2 + dy^2, multiplied out. */
static inline void splat_exposure_moments(int width, int height, float cx, float cy, float moments[3])
{
    double x[3], y[3], side = width > height ? width : height, inverse = 1 / (side * side);
    splat_exposure_moments_of_row(width, (double)cx, x);
    splat_exposure_moments_of_row(height, (double)cy, y);
    moments[0] = (float)((x[0] + y[0]) * inverse);
    moments[1] = (float)((x[1] + 2 * x[0] * y[0] + y[1]) * inverse * inverse);
    moments[2] = (float)((x[2] + 3 * (x[1] * y[0] + x[0] * y[1]) + y[2]) * inverse * inverse * inverse);
}

/* gain is divided by m; weight: of the photo for the picture; pull: d ln m / d a_j. */
typedef struct splat_exposure_gains {
    float gain[3], weight, a1, a2, a3, pull[3];
} splat_exposure_gains;

SPLAT_MATH_INLINE splat_exposure_gains splat_exposure_gains_of(const float *photo, const float *camera,
                                                               const float *moments)
{
    float mean = 1.0f + camera[0] * moments[0] + camera[1] * moments[1] + camera[2] * moments[2];
    float inverse = 1.0f / (mean > SPLAT_EXPOSURE_LEAST_MEAN ? mean : SPLAT_EXPOSURE_LEAST_MEAN);
    float moving = mean > SPLAT_EXPOSURE_LEAST_MEAN ? inverse : 0.0f;
    splat_exposure_gains g = {{exp2f(photo[0] + photo[1]) * inverse, exp2f(photo[0] - (photo[1] + photo[2])) * inverse,
                               exp2f(photo[0] + photo[2]) * inverse},
                              exp2f(-photo[0]),
                              camera[0], camera[1], camera[2],
                              {moments[0] * moving, moments[1] * moving, moments[2] * moving}};
    return g;
}

/* r^2 of a pixel's centre; inverse_side2 is 1 / max(width, height)^2. */
SPLAT_MATH_INLINE float splat_exposure_radius2(int x, int y, float cx, float cy, float inverse_side2)
{
    float dx = (float)x + 0.5f - cx, dy = (float)y + 0.5f - cy;
    return (dx * dx + dy * dy) * inverse_side2;
}

/* v before it is clamped. */
SPLAT_MATH_INLINE float splat_exposure_falloff(const splat_exposure_gains *g, float r2)
{
    return 1.0f + r2 * (g->a1 + r2 * (g->a2 + r2 * g->a3));
}

SPLAT_MATH_INLINE float splat_exposure_clamped(float falloff)
{
    return falloff < 0.0f ? 0.0f : falloff > 1.0f ? 1.0f : falloff;
}

SPLAT_MATH_INLINE int splat_exposure_is_beyond(float photo, float z)
{
    return photo >= SPLAT_PHOTO_SATURATED / 255.0f && z > photo;
}

/* ---------------------------------------------------------------- the step */

/* d rho / dt of the smooth L1 of a mean. */
SPLAT_MATH_INLINE double splat_exposure_pull(double mean, double width)
{
    double slope = mean / width;
    return slope < -1 ? -1 : slope > 1 ? 1 : slope;
}

/* dL/d(e, a, b) of what the photo says, of the sums of its pixels. */
SPLAT_MATH_INLINE double splat_exposure_photo_gradient(const double *sums, int k)
{
    const double ln2 = 0.69314718055994530942;
    return ln2 * (k == 0 ? sums[0] + sums[1] + sums[2] : k == 1 ? sums[0] - sums[1] : sums[2] - sums[1]);
}

/* The regulariser's of number k of a photo's row; means: of e, a, b over the photos. */
SPLAT_MATH_INLINE double splat_exposure_gauge_gradient(const double *means, uint32_t n_photos, int k, float value)
{
    if (k == 0) return splat_exposure_pull(means[0], SPLAT_EXPOSURE_E_WIDTH) / n_photos;
    return (splat_exposure_pull(means[k], SPLAT_EXPOSURE_BALANCE_WIDTH) +
            2 * SPLAT_EXPOSURE_BALANCE_WEIGHT * (double)value) / n_photos;
}

SPLAT_MATH_INLINE double splat_exposure_camera_gradient(float value)
{
    return value > 0.0f ? SPLAT_EXPOSURE_VIGNETTING_WEIGHT : 0.0;
}

/* The gradient of number i of all rows, and Adam's step of it. */
SPLAT_MATH_INLINE void splat_exposure_step_number(const struct splat_exposure_step_args *args, uint32_t i,
                                                  const double *sums, const double *means)
{
    const uint32_t row = i / SPLAT_EXPOSURE_ROW;
    const int k = (int)(i % SPLAT_EXPOSURE_ROW);
    const int is_photo = row < args->n_photos;
    float value = args->values[i];
    double gradient = is_photo ? splat_exposure_gauge_gradient(means, args->n_photos, k, value)
                               : splat_exposure_camera_gradient(value);
    if (is_photo && row == args->photo) gradient += splat_exposure_photo_gradient(sums, k);
    if (!is_photo && row - args->n_photos == args->camera) gradient += sums[3 + k];
    float g = (float)gradient;
    float m = args->m[i] = SPLAT_ADAM_BETA1 * args->m[i] + (1.0f - SPLAT_ADAM_BETA1) * g;
    float v = args->v[i] = SPLAT_ADAM_BETA2 * args->v[i] + (1.0f - SPLAT_ADAM_BETA2) * g * g;
    float root = sqrtf(v / args->correction2) + SPLAT_EXPOSURE_ADAM_EPSILON;
    args->values[i] = value - args->lr * (m / args->correction1) / root;
}

#endif
