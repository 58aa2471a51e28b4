/* polish_draw and polish_step: a texture improved by gradients. polish_draw samples the texture for every pixel of a
 * view; polish_step brings dL/dpicture back to the texels and steps them by Adam (Kingma and Ba, 2015). */
#ifndef SPLAT_OPS_POLISH_H
#define SPLAT_OPS_POLISH_H

#include "ops/types.h"

#define SPLAT_POLISH_NO_TEXEL UINT32_MAX
#define SPLAT_POLISH_BETA1 0.9f
#define SPLAT_POLISH_BETA2 0.99f
#define SPLAT_POLISH_EPS 1e-8f
#define SPLAT_POLISH_UNIT 65536.0f /* gradients add up in whole numbers of 1 / UNIT, so that their order is free */
#define SPLAT_POLISH_LARGEST 8192.0f /* a pixel's share of a gradient is cut off there */

/* A pixel's place on the texture, whose pages lie one after the other: the bilinear sample of the texels left[0] and
 * left[0] + 1 of a row, left[1] and left[1] + 1 of the row below; NO_TEXEL: the pixel shows no face. */
typedef struct splat_polish_place {
    uint32_t left[2];
    float right, down; /* 0 to 1: parts of the second texel, and of the second row */
} splat_polish_place;

/* image: [3][n_pixels], the texture, or target where there is no face: no loss comes from there. */
struct splat_polish_draw_args {
    size_t n_pixels;
    const splat_polish_place *places; /* [n_pixels] */
    const float *texels;              /* [n_texels][3] */
    const float *target;              /* [3][n_pixels] */
    float *image;
};

/* A texel's gradient is the sum over pixels of grad_image n_pixels 3 weight. Texels without one stay as they are, with
 * their moments; the others are stepped with bias corrections of their own counts, and clamped to [0, 1]. The result
 * does not depend on the order of threads. */
struct splat_polish_step_args {
    size_t n_pixels, n_texels;
    const splat_polish_place *places;
    const float *grad_image;          /* [3][n_pixels] of a mean over 3 n_pixels */
    float rate;
    float *texels;                    /* [n_texels][3] */
    float *moments;                   /* [n_texels][6]: m, v; zero at first */
    int32_t *sums;                    /* [n_texels][3]: zero before and after */
    uint8_t *counts;                  /* [n_texels] steps of each, at most 255; zero at first */
};

#endif
