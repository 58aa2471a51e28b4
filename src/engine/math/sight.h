/* Pixels of a view as places of the world and back, and normals in few bits. Shared by C and CUDA. */
#ifndef SPLAT_MATH_SIGHT_H
#define SPLAT_MATH_SIGHT_H

#include "math/inline.h"
#include "splatsmith/core.h"

#include <stdbool.h>

/* Octahedral: the unit vector divided by the sum of its absolute values, the lower half folded over the corners, 16
 * bits each. Off by at most 0.004 degrees. (0, 0, 0) and what is not finite: no normal, which is decoded as 0. */
SPLAT_MATH_INLINE void splat_normal_encode(const float n[3], int16_t code[2])
{
    float sum = fabsf(n[0]) + fabsf(n[1]) + fabsf(n[2]);
    if (!(sum > 0 && sum < INFINITY)) {
        code[0] = code[1] = INT16_MIN;
        return;
    }
    float x = n[0] / sum, y = n[1] / sum;
    if (n[2] < 0) {
        float folded = (1 - fabsf(y)) * (x < 0 ? -1.0f : 1.0f);
        y = (1 - fabsf(x)) * (y < 0 ? -1.0f : 1.0f);
        x = folded;
    }
    code[0] = (int16_t)lrintf(x * 32767);
    code[1] = (int16_t)lrintf(y * 32767);
}

SPLAT_MATH_INLINE void splat_normal_decode(const int16_t code[2], float n[3])
{
    if (code[0] == INT16_MIN) {
        n[0] = n[1] = n[2] = 0;
        return;
    }
    float x = (float)code[0] / 32767, y = (float)code[1] / 32767, z = 1 - fabsf(x) - fabsf(y);
    if (z < 0) {
        float folded = (1 - fabsf(y)) * (x < 0 ? -1.0f : 1.0f);
        y = (1 - fabsf(x)) * (y < 0 ? -1.0f : 1.0f);
        x = folded;
    }
    float inverse = 1 / sqrtf(x * x + y * y + z * z);
    n[0] = x * inverse;
    n[1] = y * inverse;
    n[2] = z * inverse;
}

/* The place in the world at (x, y) of the picture, in pixels with the centre of the first at 1/2, and depth z. */
SPLAT_MATH_INLINE void splat_camera_unproject(const splat_camera *c, float x, float y, float z, float world[3])
{
    const float local[3] = {(x - c->cx) / c->fx * z, (y - c->cy) / c->fy * z, z};
    for (int k = 0; k < 3; k++)
        world[k] = c->center[k] + (c->rotation[k] * local[0] + c->rotation[3 + k] * local[1] +
                                   c->rotation[6 + k] * local[2]);
}

/* Projects a place of the world: image[0], image[1] as above, and image[2] its depth. False if it lies behind the
 * camera or outside of the picture. */
SPLAT_MATH_INLINE bool splat_camera_project(const splat_camera *c, const float world[3], float image[3])
{
    const float d[3] = {world[0] - c->center[0], world[1] - c->center[1], world[2] - c->center[2]};
    const float *r = c->rotation;
    float x = r[0] * d[0] + r[1] * d[1] + r[2] * d[2], y = r[3] * d[0] + r[4] * d[1] + r[5] * d[2];
    float z = r[6] * d[0] + r[7] * d[1] + r[8] * d[2];
    if (!(z > 1e-6f)) return false;
    image[0] = x / z * c->fx + c->cx;
    image[1] = y / z * c->fy + c->cy;
    image[2] = z;
    return image[0] >= 0 && image[1] >= 0 && image[0] < (float)c->width && image[1] < (float)c->height;
}

#endif
