/* raster, clear_gradients, raster_backward: front-to-back alpha blending of the tile lists, and its gradient. */
#ifndef SPLAT_OPS_RASTER_H
#define SPLAT_OPS_RASTER_H

#include "ops/frame.h"
#include "ops/raster/patches.h"

#define SPLAT_ALPHA_MAX 0.99f          /* alpha = min(0.99, alpha0 e^power); the clamp is ignored in the derivative */
#define SPLAT_ALPHA_MIN (1.0f / 255.0f) /* samples below are skipped */
#define SPLAT_TRANSMITTANCE_MIN 1e-4f  /* the pixel ends before the instance that would fall below */

/* Depth that is blended together with the colours if a part of it is known (ops/depth_prior), with w = alpha T and z
 * the depth of a centre. Planes are [height][width] in device memory; NULL: not computed. */
typedef struct splat_raster_depth {
    splat_patches patches;        /* pixels to write; elsewhere results are undefined, and gradients must be 0 */
    float *along, *inverse;       /* written by raster: S = sum w z, Q = sum w / z; not divided by the opacity */
    const float *grad_along, *grad_inverse; /* dL/dS, dL/dQ, for raster_backward */
    float *grad_depth;            /* [n_visible] dL/dz, added to by raster_backward as grad2d is */
} splat_raster_depth;

/* raster: writes image, transmittance, last and, when the frame has it, blended, at the pixels of the band's rows of
 * tiles. The picture is the same with and without it.
 * delta = (u, v) - (i + jitter_x, j + jitter_y); power = -1/2 (A dx^2 + C dy^2) - B dx dy, skipped when > 0;
 * colour += rgb alpha T; T *= 1 - alpha; image = colour + T background. */
struct splat_raster_args {
    splat_frame *frame;
    const splat_raster_depth *depth; /* or NULL */
};

/* clear_gradients: grad2d of every visible Gaussian is zero. On a device, where all Gaussians have rows (depth 0: not
 * visible), those of the others stay undefined. */
struct splat_clear_gradients_args {
    splat_frame *frame;
};

/* raster_backward: adds the band's part to grad2d of every visible Gaussian (splat_view_backward has cleared
 * it), from dL/dimage (float[3][height][width]); walks each tile's list from the back (docs/method.md 7). The sum over
 * the pixels and tiles of a band is made in a fixed order on the CPU: the result does not depend on the number of
 * threads; with other bands it differs by the rounding of float sums. Gaussians that blended nothing get nothing. Its
 * scratch, if it needs any, is taken after grad2d without a reset.
 * grad_alpha: dL/d(1 - transmittance), float[height][width], or NULL.
 * depth: as raster had it, with gradients, or NULL. What they ask of the places and opacities of Gaussians is in
 * grad2d, in mean_abs too, which is of a pixel's whole gradient.
 * without_mean_abs: nothing is added to mean_abs, which no one reads when statistics are not wanted. */
struct splat_raster_backward_args {
    splat_frame *frame;
    const float *grad_image;
    bool without_mean_abs;
    const float *grad_alpha;
    const splat_raster_depth *depth;
};

#endif
