/* One picture against its photo, and means of such measurements. */
#ifndef SPLAT_MEASURE_PICTURE_METRICS_H
#define SPLAT_MEASURE_PICTURE_METRICS_H

#include "base/context.h"
#include "ops/types.h"
#include "splatsmith/model.h"

/* The input of a measurement, both on the device: image [3][height][width], clamped (and quantised) in place; photo
 * uint8_t[height][width][3]. */
typedef struct splat_measured_picture {
    const splat_camera *camera;
    float *image;
    const uint8_t *photo;
    bool quantize;
    const uint8_t *mask; /* device memory, [height][width], 255 or 0; NULL: all pixels count */
    double kept;         /* with a mask: the share of kept pixels, above 0 */
    double share; /* share of pixels that l1, psnr and ssim count; the others are equal. 1: all */
    bool color_correct; /* measure with corrected colours, too, of the same pixels; with a share of 1 */
} splat_measured_picture;

/* Fills *metrics (n_views 1, render_ms 0). *lpips NULL: LPIPS is not measured; where the picture is too small for the
 * network, or a memory limit leaves no room, a notice says so and *lpips becomes NULL: no reason to end a training. */
splat_status splat_picture_measure(splat_context *context, const splat_measured_picture *picture, splat_lpips **lpips,
                                   splat_metrics *metrics, splat_error *error);

/* sum starts as zeros; divide makes means of it. */
void splat_metrics_add(splat_metrics *sum, const splat_metrics *one);
void splat_metrics_divide(splat_metrics *sum);

#endif
