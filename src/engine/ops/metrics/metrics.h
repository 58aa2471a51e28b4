/* metrics: L1, PSNR sums and SSIM of a clamped (and, if asked, 8-bit) render against a photo. docs/method.md 12. */
#ifndef SPLAT_OPS_METRICS_H
#define SPLAT_OPS_METRICS_H

#include "ops/types.h"

typedef struct splat_metrics_result {
    double l1;      /* mean over 3HW */
    double mse[3];  /* by channel, mean over HW */
    double ssim;
} splat_metrics_result;

struct splat_metrics_args {
    int32_t width, height;
    float *image;            /* [3][height][width]; clamped to [0,1] in place; quantised: floor(255 x + 1/2) / 255 */
    const uint8_t *photo_u8; /* [height][width][3] */
    const uint8_t *mask;     /* [height][width], or NULL: all pixels count; as that of the loss: a pixel that does not
                                counts 0 in every sum, and the means stay those over HW */
    bool quantize;
    splat_metrics_result *result; /* host memory */
};

/* PSNR in dB of a mean squared error for a peak of 1; 0 error gives 100. */
double splat_psnr(double mse);

#endif
