/* One pixel and one colour of a dome. Shared by C and CUDA. */
#ifndef SPLAT_OPS_DOME_MATH_H
#define SPLAT_OPS_DOME_MATH_H

#include "math/inline.h"
#include "ops/adam/adam.h"
#include "ops/dome/dome.h"

/* The four nodes around a direction: first, first + 1 and the two a row of nodes further; parts of the second column
 * and of the second row. */
typedef struct splat_dome_place {
    uint32_t first;
    float right, down;
} splat_dome_place;

SPLAT_MATH_INLINE splat_dome_place splat_dome_place_of(const float d[3])
{
    int axis = fabsf(d[1]) > fabsf(d[0]) ? 1 : 0;
    if (fabsf(d[2]) > fabsf(d[axis])) axis = 2;
    const float most = axis == 0 ? d[0] : axis == 1 ? d[1] : d[2];
    const float row = axis == 0 ? d[1] : axis == 1 ? d[2] : d[0];
    const float column = axis == 0 ? d[2] : axis == 1 ? d[0] : d[1];
    const float half = 0.5f * (float)(SPLAT_DOME_SIDE - 1), scale = half / fabsf(most);
    const float last = (float)(SPLAT_DOME_SIDE - 2);
    float down = splat_clamp(row * scale + half, 0.0f, 2.0f * half);
    float right = splat_clamp(column * scale + half, 0.0f, 2.0f * half);
    const float j = splat_clamp(floorf(down), 0.0f, last), i = splat_clamp(floorf(right), 0.0f, last);
    splat_dome_place place;
    const uint32_t face = (uint32_t)(2 * axis + (most < 0.0f));
    place.first = (face * SPLAT_DOME_SIDE + (uint32_t)j) * SPLAT_DOME_SIDE + (uint32_t)i;
    place.right = right - i;
    place.down = down - j;
    return place;
}

/* The direction of a place of the picture (0 is the middle of the first pixel). */
SPLAT_MATH_INLINE void splat_dome_direction(const splat_camera *c, const splat_dome *dome, float u, float v, float d[3])
{
    const float x = (u + 0.5f - c->cx) / c->fx, y = (v + 0.5f - c->cy) / c->fy;
    for (int k = 0; k < 3; k++) d[k] = x * c->rotation[k] + y * c->rotation[3 + k] + c->rotation[6 + k];
    if (!(dome->radius > 0.0f)) return;
    const float inverse = 1.0f / sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    float from[3], along = 0.0f, square = -dome->radius * dome->radius;
    for (int k = 0; k < 3; k++) {
        d[k] *= inverse;
        from[k] = c->center[k] - dome->center[k];
        along += from[k] * d[k];
        square += from[k] * from[k];
    }
    const float root = along * along - square, t = (root > 0.0f ? sqrtf(root) : 0.0f) - along;
    for (int k = 0; k < 3; k++) d[k] = from[k] + t * d[k];
}

/* The place of pixel (i, j) of a frame. */
SPLAT_MATH_INLINE splat_dome_place splat_dome_place_of_pixel(const splat_camera *camera, const splat_dome *dome,
                                                             const float *jitter, int i, int j)
{
    const size_t width = (size_t)camera->width, pixel = (size_t)j * width + (size_t)i;
    float u = (float)i, v = (float)j, d[3];
    if (jitter) {
        u += jitter[pixel];
        v += jitter[width * (size_t)camera->height + pixel];
    }
    splat_dome_direction(camera, dome, u, v, d);
    return splat_dome_place_of(d);
}

SPLAT_MATH_INLINE void splat_dome_weights(const splat_dome_place *place, float weight[4])
{
    for (int k = 0; k < 4; k++)
        weight[k] = (k % 2 ? place->right : 1.0f - place->right) * (k / 2 ? place->down : 1.0f - place->down);
}

/* Node k of a place. */
SPLAT_MATH_INLINE size_t splat_dome_node(uint32_t first, int k)
{
    return (size_t)first + (size_t)(k / 2) * SPLAT_DOME_SIDE + (size_t)(k % 2);
}

SPLAT_MATH_INLINE void splat_dome_color(const float *colors, const splat_dome_place *place, float color[3])
{
    float weight[4];
    splat_dome_weights(place, weight);
    for (int c = 0; c < 3; c++) {
        color[c] = 0.0f;
        for (int k = 0; k < 4; k++) color[c] += weight[k] * colors[3 * splat_dome_node(place->first, k) + (size_t)c];
    }
}

/* A pixel's share of a node's sum; scale: 3 N T. */
SPLAT_MATH_INLINE int64_t splat_dome_share(float gradient, float scale, float weight)
{
    const float share = gradient * scale * weight;
    if (!(share == share)) return 0;
    return (int64_t)llrintf(SPLAT_DOME_UNIT * splat_clamp(share, -SPLAT_DOME_LARGEST, SPLAT_DOME_LARGEST));
}

/* True where the photo shows sky. */
SPLAT_MATH_INLINE int splat_dome_is_sky(const uint32_t *sky, int sky_width, int sky_height, int width, int height,
                                        int i, int j)
{
    const size_t x = (2 * (size_t)i + 1) * (size_t)sky_width / (2 * (size_t)width);
    const size_t y = (2 * (size_t)j + 1) * (size_t)sky_height / (2 * (size_t)height);
    const size_t bit = y * (size_t)sky_width + x;
    return (int)(sky[bit / 32] >> bit % 32 & 1u);
}

/* 1 / (UNIT 3 N). */
static inline float splat_dome_step_scale(const struct splat_dome_step_args *args)
{
    return 1.0f / (SPLAT_DOME_UNIT * 3.0f * (float)args->n_pixels);
}

/* Number i of the colours. */
SPLAT_MATH_INLINE void splat_dome_step_number(const struct splat_dome_step_args *args, size_t i, float scale)
{
    const float g = (float)args->sums[i] * scale;
    const float m = SPLAT_ADAM_BETA1 * args->m[i] + (1.0f - SPLAT_ADAM_BETA1) * g;
    const float v = SPLAT_ADAM_BETA2 * args->v[i] + (1.0f - SPLAT_ADAM_BETA2) * g * g;
    args->m[i] = m;
    args->v[i] = v;
    args->colors[i] -= args->lr * (m / args->correction1) / (sqrtf(v / args->correction2) + SPLAT_DOME_ADAM_EPSILON);
}

#endif
