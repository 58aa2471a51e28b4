/* One pixel and one texel of a polish. Shared by C and CUDA. */
#ifndef SPLAT_OPS_POLISH_MATH_H
#define SPLAT_OPS_POLISH_MATH_H

#include "math/inline.h"
#include "ops/polish/polish.h"

/* The four texels of a place and their weights. */
SPLAT_MATH_INLINE void splat_polish_taps(const splat_polish_place *place, size_t at[4], float weight[4])
{
    for (int k = 0; k < 4; k++) {
        at[k] = (size_t)place->left[k / 2] + (size_t)(k % 2);
        weight[k] = (k % 2 ? place->right : 1.0f - place->right) * (k / 2 ? place->down : 1.0f - place->down);
    }
}

SPLAT_MATH_INLINE void splat_polish_draw_one(const struct splat_polish_draw_args *args, size_t pixel)
{
    const splat_polish_place *place = args->places + pixel;
    size_t at[4];
    float weight[4];
    if (place->left[0] == SPLAT_POLISH_NO_TEXEL) {
        for (size_t c = 0; c < 3; c++)
            args->image[c * args->n_pixels + pixel] = args->target[c * args->n_pixels + pixel];
        return;
    }
    splat_polish_taps(place, at, weight);
    for (size_t c = 0; c < 3; c++) {
        float sum = 0.0f;
        for (int k = 0; k < 4; k++) sum += weight[k] * args->texels[3 * at[k] + c];
        args->image[c * args->n_pixels + pixel] = sum;
    }
}

/* A pixel's share of a texel's gradient, as a whole number; what is not finite is nothing. */
SPLAT_MATH_INLINE int32_t splat_polish_share(float gradient, float weight, size_t n_pixels)
{
    float share = gradient * 3.0f * (float)n_pixels * weight;
    if (!(share == share)) return 0;
    return (int32_t)rintf(SPLAT_POLISH_UNIT * splat_clamp(share, -SPLAT_POLISH_LARGEST, SPLAT_POLISH_LARGEST));
}

SPLAT_MATH_INLINE void splat_polish_step_one(const struct splat_polish_step_args *args, size_t texel)
{
    int32_t *sums = args->sums + 3 * texel;
    if (!sums[0] && !sums[1] && !sums[2]) return;
    if (args->counts[texel] < 255) args->counts[texel]++;
    float k = (float)args->counts[texel];
    float correction1 = 1.0f - powf(SPLAT_POLISH_BETA1, k), correction2 = 1.0f - powf(SPLAT_POLISH_BETA2, k);
    for (int c = 0; c < 3; c++) {
        float g = (float)sums[c] * (1.0f / SPLAT_POLISH_UNIT);
        float *m = args->moments + 6 * texel + c, *v = m + 3, *x = args->texels + 3 * texel + c;
        *m = SPLAT_POLISH_BETA1 * *m + (1.0f - SPLAT_POLISH_BETA1) * g;
        *v = SPLAT_POLISH_BETA2 * *v + (1.0f - SPLAT_POLISH_BETA2) * g * g;
        float root = sqrtf(*v / correction2) + SPLAT_POLISH_EPS;
        *x = splat_clamp(*x - args->rate * (*m / correction1) / root, 0.0f, 1.0f);
        sums[c] = 0;
    }
}

#endif
