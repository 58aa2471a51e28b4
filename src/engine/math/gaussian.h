/* The meaning of a Gaussian's raw parameters: its opacity, and the rotation of its axes (docs/method.md 2). Shared by C
 * and CUDA. */
#ifndef SPLAT_MATH_GAUSSIAN_H
#define SPLAT_MATH_GAUSSIAN_H

#include "math/inline.h"

/* The opacity of a logit. */
SPLAT_MATH_INLINE float splat_sigmoid(float logit)
{
    return 1.0f / (1.0f + expf(-logit));
}

/* R(q): column k is the direction of the axis of scale k. Nine names, not an array: an array that is indexed moves out
 * of registers, and keeps loops over lanes from being vectorised. */
typedef struct splat_rotation {
    float r00, r01, r02, r10, r11, r12, r20, r21, r22;
} splat_rotation;

/* The rotation of a unit quaternion. */
SPLAT_MATH_INLINE splat_rotation splat_rotation_make(float w, float x, float y, float z)
{
    splat_rotation r;
    r.r00 = 1.0f - 2.0f * (y * y + z * z);
    r.r01 = 2.0f * (x * y - w * z);
    r.r02 = 2.0f * (x * z + w * y);
    r.r10 = 2.0f * (x * y + w * z);
    r.r11 = 1.0f - 2.0f * (x * x + z * z);
    r.r12 = 2.0f * (y * z - w * x);
    r.r20 = 2.0f * (x * z - w * y);
    r.r21 = 2.0f * (y * z + w * x);
    r.r22 = 1.0f - 2.0f * (x * x + y * y);
    return r;
}

#endif
