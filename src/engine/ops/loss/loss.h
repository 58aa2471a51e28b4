/* loss: (1 - lambda) L1 + lambda (1 - SSIM), with its gradient.
 * SSIM (Wang et al. 2004): per channel, 11x11 Gaussian window of sigma 1.5, zero padding (borders not renormalised),
 * C1 = 0.01^2, C2 = 0.03^2, mean over pixels and channels. docs/method.md 8. */
#ifndef SPLAT_OPS_LOSS_H
#define SPLAT_OPS_LOSS_H

#include "ops/frame.h"

#define SPLAT_SSIM_RADIUS 5
/* The 1D window, normalised to sum 1: exp(-k^2 / 4.5), k = -5..5. */
#define SPLAT_SSIM_WINDOW                                                                                              \
    {0.00102838008447911f, 0.00759875813523919f, 0.03600077212843083f, 0.10936068950970002f, 0.21300553771125369f,     \
     0.26601172486179436f, 0.21300553771125369f, 0.10936068950970002f, 0.03600077212843083f, 0.00759875813523919f,     \
     0.00102838008447911f}
#define SPLAT_SSIM_C1 1e-4f
#define SPLAT_SSIM_C2 9e-4f

typedef struct splat_loss_result {
    double l1;   /* mean |image - photo| over 3HW */
    double ssim; /* mean over 3HW */
    double loss; /* (1 - lambda) l1 + lambda (kept - ssim) */
} splat_loss_result;

#define SPLAT_LOSS_KEPT 128 /* the least byte of a mask that keeps its pixel */

/* Exactly one of photo_u8 and photo_f32 is given. grad_image may be NULL (values only). The sums are made in double in
 * a fixed order. lambda 0 skips SSIM in the gradient but result.ssim is still computed.
 *
 * With a mask: a pixel that is not kept takes the photo's colour in the picture, and then neither it nor its SSIM
 * counts (docs/method.md 8.2). Its gradient is 0. Everything is divided by HW all the same, so that what a kept pixel
 * gives does not depend on the others. A mask that keeps all gives the bits of none. */
struct splat_loss_args {
    int32_t width, height;
    const float *image;       /* [3][height][width], not clamped */
    const uint8_t *photo_u8;  /* [height][width][3], 255 is 1.0 */
    const float *photo_f32;   /* [3][height][width] */
    const uint8_t *mask;      /* [height][width], or NULL: all pixels are kept */
    double kept;              /* with a mask: the share of kept pixels, for result.loss */
    float lambda_dssim;
    float *grad_image;        /* [3][height][width] */
    splat_loss_result *result; /* host memory; NULL on an asynchronous backend: nothing waits, see take_result */
    const splat_frame *frame; /* asynchronous backends: the view that the values belong to; a loss that is not finite
                                 keeps its later ops from changing anything. NULL: a picture alone */
};

/* Sum of the mask over the number of pixels. */
static inline double splat_loss_kept(const struct splat_loss_args *args)
{
    return args->mask ? args->kept : 1;
}

/* Arguments that every backend refuses: no pixel, no photo or two, lambda outside [0, 1]. */
static inline splat_status splat_loss_check(const struct splat_loss_args *args, splat_error *error)
{
    if (args->width < 1 || args->height < 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the loss needs a picture of at least one pixel, not %dx%d",
                          args->width, args->height);
    if (!args->photo_u8 == !args->photo_f32)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the loss needs the photo either in 8 bits or in float, not %s",
                          args->photo_u8 ? "both" : "neither");
    double lambda = (double)args->lambda_dssim;
    if (!(lambda >= 0 && lambda <= 1))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "lambda_dssim must be between 0 and 1, not %g", lambda);
    return SPLAT_OK;
}

/* Sums over pixels of a channel. */
typedef struct splat_loss_sums {
    double l1, squared, ssim;
} splat_loss_sums;

/* The values of op loss from sums[3], by channel. */
static inline splat_loss_result splat_loss_result_of(const struct splat_loss_args *args, const splat_loss_sums *sums)
{
    const double lambda = (double)args->lambda_dssim, n = 3.0 * (double)args->width * (double)args->height;
    splat_loss_result result;
    result.l1 = (sums[0].l1 + sums[1].l1 + sums[2].l1) / n;
    result.ssim = (sums[0].ssim + sums[1].ssim + sums[2].ssim) / n;
    result.loss = (1 - lambda) * result.l1 + lambda * (splat_loss_kept(args) - result.ssim);
    return result;
}

#endif
