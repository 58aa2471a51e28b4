/* The long-axis split (Improved-GS; docs/method.md 10.3): a Gaussian becomes two halves along its longest axis. Every
 * backend uses this code. */
#ifndef SPLAT_OPS_LONG_SPLIT_H
#define SPLAT_OPS_LONG_SPLIT_H

#include "ops/densify/opacity_reset.h"

#define SPLAT_LONG_OFFSET 1.35f        /* distance of a half's mean from the old mean, in scales of the axis */
#define SPLAT_LONG_SCALE (-0.597837001f) /* ln 0.55: factor of the axis' scale */
#define SPLAT_LONG_OTHERS (-0.113168701f) /* ln 0.893: factor of the other two scales */
#define SPLAT_LONG_OPACITY 0.6f        /* factor of the filtered opacity */
#define SPLAT_LONG_MOST 0.99f

/* The common values of both halves, and the distance of their means from that of the source: one at +offset, one at
 * -offset. */
typedef struct splat_long_halves {
    float offset[3], log_scales[3], logit;
} splat_long_halves;

/* log_scales[3], rotation[4] (raw, w first), logit and filter of the source. The filtered opacity o~ = o c3(s) of a
 * half is 0.6 of the source's, through c3 of the new scales. */
SPLAT_MATH_INLINE splat_long_halves splat_long_split(const float *log_scales, const float *rotation, float logit,
                                                     float filter_3d)
{
    splat_long_halves h;
    float norm = sqrtf(rotation[0] * rotation[0] + rotation[1] * rotation[1] + rotation[2] * rotation[2] +
                       rotation[3] * rotation[3]);
    norm = norm > 1e-12f ? norm : 1e-12f;
    splat_rotation r = splat_rotation_make(rotation[0] / norm, rotation[1] / norm, rotation[2] / norm,
                                           rotation[3] / norm);
    int axis = log_scales[1] > log_scales[0] ? 1 : 0;
    axis = log_scales[2] > log_scales[axis] ? 2 : axis;
    float reach = SPLAT_LONG_OFFSET * expf(log_scales[axis]), before = splat_sigmoid(logit), after = 1.0f;
    h.offset[0] = reach * (axis == 0 ? r.r00 : axis == 1 ? r.r01 : r.r02);
    h.offset[1] = reach * (axis == 0 ? r.r10 : axis == 1 ? r.r11 : r.r12);
    h.offset[2] = reach * (axis == 0 ? r.r20 : axis == 1 ? r.r21 : r.r22);
    for (int k = 0; k < 3; k++) {
        h.log_scales[k] = log_scales[k] + (k == axis ? SPLAT_LONG_SCALE : SPLAT_LONG_OTHERS);
        before *= splat_filter_ratio(log_scales[k], filter_3d);
        after *= splat_filter_ratio(h.log_scales[k], filter_3d);
    }
    float raw = SPLAT_LONG_OPACITY * before / after;
    raw = raw < SPLAT_LONG_MOST ? raw : SPLAT_LONG_MOST; /* a NaN becomes the most, and its row goes for its scales */
    raw = raw > 1e-12f ? raw : 1e-12f;                   /* its logit is finite; the row goes as transparent */
    h.logit = logf(raw / (1.0f - raw));
    return h;
}

#endif
