/* lpips_input, lpips_distance: the two ends of LPIPS (Zhang et al., "The Unreasonable Effectiveness of Deep Features as
 * a Perceptual Metric", CVPR 2018); between them are conv and pool. A band of rows at a time, image 0 is the render and
 * image 1 the photo. */
#ifndef SPLAT_OPS_LPIPS_H
#define SPLAT_OPS_LPIPS_H

#include "ops/conv/conv.h"
#include "ops/loss/loss.h"

/* Pictures to network input: (x - shift_c) / scale_c with x in [0, 1], or 2 x - 1 when `normalize`. */
struct splat_lpips_input_args {
    int32_t width, height;
    const float *image;      /* [3][height][width] in [0, 1] */
    const uint8_t *photo_u8; /* [height][width][3] */
    const uint8_t *mask;     /* [height][width], or NULL; where below SPLAT_LOSS_KEPT the render is the photo */
    bool normalize;
    splat_maps output;       /* two images of 3 channels, `width` wide: the rows to make */
};

/* *sum += over the pixels of rows [row_begin, row_end): sum over c of weights[c] (a_c / |a| - b_c / |b|)^2, where a and
 * b are the features of the two images and |x| = sqrt(sum of squares) + 1e-10. The order of the sum is fixed. */
struct splat_lpips_distance_args {
    splat_maps features; /* two images */
    int32_t row_begin, row_end;
    const float *weights; /* [channels] */
    splat_block *scratch;
    double *sum;          /* on the device */
};

#define SPLAT_LPIPS_SHIFT {-0.030f, -0.088f, -0.188f}
#define SPLAT_LPIPS_SCALE {0.458f, 0.448f, 0.450f}
#define SPLAT_LPIPS_EPSILON 1e-10f

splat_status splat_lpips_input_check(const struct splat_lpips_input_args *args, splat_error *error);
splat_status splat_lpips_distance_check(const struct splat_lpips_distance_args *args, splat_error *error);

#endif
