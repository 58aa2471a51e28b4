/* One pixel and one colour of a dome. Shared by C and CUDA. */
#ifndef SPLAT_OPS_DOME_MATH_H
#define SPLAT_OPS_DOME_MATH_H

#include "ops/adam/adam.h"
#include "ops/dome/dome.h"

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
    const float epsilon = SPLAT_DOME_STEP_LIGHT * SPLAT_DOME_UNIT * scale;
    args->colors[i] -= args->lr * (m / args->correction1) / (sqrtf(v / args->correction2) + epsilon);
}

#endif
