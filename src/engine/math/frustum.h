/* A camera's field of view. Balls outside of it stand for whole groups of places that the camera cannot see. */
#ifndef SPLAT_MATH_FRUSTUM_H
#define SPLAT_MATH_FRUSTUM_H

#include "splatsmith/core.h"

#include <math.h>
#include <stdbool.h>

/* The sides of a camera's picture, as planes through its centre. */
typedef struct splat_frustum {
    const splat_camera *camera;
    float sides[4][3]; /* in its frame, inwards, unit */
} splat_frustum;

static inline splat_frustum splat_frustum_of(const splat_camera *c)
{
    float right = (float)c->width - c->cx, below = (float)c->height - c->cy;
    splat_frustum f = {c, {{c->fx, 0, c->cx}, {-c->fx, 0, right}, {0, c->fy, c->cy}, {0, -c->fy, below}}};
    for (int s = 0; s < 4; s++) {
        float *n = f.sides[s], length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (int k = 0; k < 3; k++) n[k] /= length;
    }
    return f;
}

/* The ball around a box: its centre and its radius. */
static inline void splat_ball_around(const float low[3], const float high[3], float ball[4])
{
    float square = 0;
    for (int k = 0; k < 3; k++) {
        ball[k] = 0.5f * (low[k] + high[k]);
        square += 0.25f * (high[k] - low[k]) * (high[k] - low[k]);
    }
    ball[3] = sqrtf(square);
}

/* True if the camera may see a part of a ball (its centre in the world, and its radius). Rounding makes the ball
 * larger, never smaller. */
static inline bool splat_frustum_may_see(const splat_frustum *f, const float ball[4])
{
    const float *r = f->camera->rotation, *center = f->camera->center;
    float local[3], size = ball[3];
    for (int i = 0; i < 3; i++) {
        local[i] = 0;
        for (int k = 0; k < 3; k++) local[i] += r[3 * i + k] * (ball[k] - center[k]);
        size += fabsf(local[i]);
    }
    float radius = ball[3] + 1e-3f * size;
    for (int s = 0; s < 4; s++) {
        const float *n = f->sides[s];
        if (n[0] * local[0] + n[1] * local[1] + n[2] * local[2] < -radius) return false;
    }
    return local[2] > -radius;
}

#endif
