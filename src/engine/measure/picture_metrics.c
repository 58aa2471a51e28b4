/* Computes figures from the op's sums, and LPIPS; the same with corrected colours. */
#include "measure/picture_metrics.h"

#include "backend/backend.h"
#include "math/camera.h"
#include "math/photo.h"
#include "measure/lpips/lpips.h"
#include "ops/loss/loss.h"
#include "ops/metrics/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* *sum: what the layers add up to. */
static splat_status measure_lpips(splat_context *context, const splat_measured_picture *p, splat_lpips **lpips,
                                  splat_metrics *metrics, double *sum, splat_error *error)
{
    double taps[SPLAT_LPIPS_MAX_TAPS];
    splat_error refused;
    if (!*lpips) return SPLAT_OK;
    splat_status status = splat_lpips_run(*lpips, p->camera->width, p->camera->height, p->image, p->photo,
                                          p->mask, taps, &refused);
    if (status == SPLAT_ERROR_ARGUMENT || (status == SPLAT_ERROR_MEMORY && context->backend->memory.limit)) {
        splat_log(context, SPLAT_LOG_NOTICE, "LPIPS is not measured: %s", refused.message);
        splat_lpips_release(*lpips);
        *lpips = NULL;
        return SPLAT_OK;
    }
    if (status != SPLAT_OK) {
        if (error) *error = refused;
        return status;
    }
    for (int i = 0; i < (*lpips)->n_taps; i++) *sum += taps[i];
    metrics->lpips_net = splat_lpips_label(*lpips);
    return SPLAT_OK;
}

/* The figures of the pixels of a mask, or of all. */
static splat_status measure(splat_context *context, const splat_measured_picture *p, const uint8_t *mask, double share,
                            splat_metrics *metrics, splat_error *error)
{
    splat_metrics_result result;
    struct splat_metrics_args args = {.width = p->camera->width,
                                      .height = p->camera->height,
                                      .image = p->image,
                                      .photo_u8 = p->photo,
                                      .mask = mask,
                                      .quantize = p->quantize,
                                      .result = &result};
    SPLAT_TRY(splat_op_metrics(context->backend, &args, error));
    const double *mse = result.mse;
    double ssim = share < 1 ? 1 - (1 - result.ssim) / share : result.ssim;
    *metrics = (splat_metrics){.l1 = result.l1 / share,
                               .psnr = splat_psnr((mse[0] + mse[1] + mse[2]) / 3 / share),
                               .psnr_per_channel = (splat_psnr(mse[0] / share) + splat_psnr(mse[1] / share) +
                                                    splat_psnr(mse[2] / share)) / 3,
                               .ssim = mask ? result.ssim / share : ssim,
                               .n_views = 1,
                               .kept = 1};
    return SPLAT_OK;
}

static void set_whole(splat_metrics *metrics, const splat_metrics *whole)
{
    metrics->l1_whole = whole->l1;
    metrics->psnr_whole = whole->psnr;
    metrics->psnr_per_channel_whole = whole->psnr_per_channel;
    metrics->ssim_whole = whole->ssim;
}

/* ---------------------------------------------------------------- corrected colours */

#define LEAST_VARIANCE 1e-8
#define LEAST_SLOPE 1e-8

/* Sums of pairs of values: the photo's y and the render's x. */
typedef struct line_sums {
    double x, y, xy, yy, n;
} line_sums;

/* photo: the channel's first byte of [n][3], `most` its largest level that counts. mask: [n], of the pixels that count,
 * or NULL. */
static line_sums sum_pairs(const float *render, const uint8_t *photo, const uint8_t *mask, size_t n, uint8_t most)
{
    line_sums s = {0};
    for (size_t i = 0; i < n; i++) {
        if ((mask && mask[i] < SPLAT_LOSS_KEPT) || photo[3 * i] > most) continue;
        double x = (double)render[i], y = photo[3 * i] / 255.0;
        s.x += x;
        s.y += y;
        s.xy += x * y;
        s.yy += y * y;
        s.n++;
    }
    return s;
}

/* Undoes on the render the line that takes a channel of the photo to that of the render, by least squares. A saturated
 * photo says only that there is more light, so its pixels do not count, unless all are saturated. */
static void correct_channel(float *render, const uint8_t *photo, const uint8_t *mask, size_t n)
{
    line_sums s = sum_pairs(render, photo, mask, n, SPLAT_PHOTO_SATURATED - 1);
    if (!(s.n > 0)) s = sum_pairs(render, photo, mask, n, 255);
    double mean_x = s.x / s.n, mean_y = s.y / s.n;
    double variance = s.yy / s.n - mean_y * mean_y, covariance = s.xy / s.n - mean_x * mean_y;
    double slope = covariance / (variance > LEAST_VARIANCE ? variance : LEAST_VARIANCE);
    double offset = mean_x - slope * mean_y;
    if (fabs(slope) < LEAST_SLOPE) slope = 1;
    for (size_t i = 0; i < n; i++) render[i] = (float)fmin(fmax(((double)render[i] - offset) / slope, 0), 1);
}

/* On the host: the picture as it was rendered and as it was measured, its photo and its mask. */
typedef struct host_pictures {
    float *corrected, *kept;
    uint8_t *photo, *mask;
} host_pictures;

/* Measures with corrected colours. `corrected` is the picture before clamping, because values above white have a colour
 * under another exposure. Restores the picture on the device. */
static splat_status measure_corrected(splat_context *context, const splat_measured_picture *p, const host_pictures *h,
                                      splat_lpips **lpips, splat_metrics *metrics, splat_error *error)
{
    splat_backend *b = context->backend;
    const size_t n = splat_camera_pixels(p->camera), bytes = 3 * n * sizeof *h->kept;
    splat_metrics corrected;
    SPLAT_TRY(splat_backend_download(b, h->kept, p->image, bytes, error));
    SPLAT_TRY(splat_backend_download(b, h->photo, p->photo, 3 * n, error));
    if (p->mask) SPLAT_TRY(splat_backend_download(b, h->mask, p->mask, n, error));
    for (size_t c = 0; c < 3; c++)
        correct_channel(h->corrected + c * n, h->photo + c, p->mask ? h->mask : NULL, n);
    SPLAT_TRY(splat_backend_upload(b, p->image, h->corrected, bytes, error));
    SPLAT_TRY(measure(context, p, p->mask, p->mask ? p->kept : 1, &corrected, error));
    metrics->is_corrected = true;
    metrics->cc_psnr = corrected.psnr;
    metrics->cc_ssim = corrected.ssim;
    SPLAT_TRY(measure_lpips(context, p, lpips, metrics, &metrics->cc_lpips, error));
    return splat_backend_upload(b, p->image, h->kept, bytes, error);
}

/* The figures of the picture as it is. */
static splat_status measure_plain(splat_context *context, const splat_measured_picture *p, splat_lpips **lpips,
                                  splat_metrics *metrics, splat_error *error)
{
    splat_metrics whole;
    SPLAT_TRY(measure(context, p, NULL, p->share, &whole, error));
    *metrics = whole;
    if (p->mask) {
        SPLAT_TRY(measure(context, p, p->mask, p->kept, metrics, error));
        metrics->n_masked = 1;
        metrics->kept = p->kept;
    }
    set_whole(metrics, &whole);
    return measure_lpips(context, p, lpips, metrics, &metrics->lpips, error);
}

/* These, and those with corrected colours. */
static splat_status measure_both(splat_context *context, const splat_measured_picture *p, splat_lpips **lpips,
                                 splat_metrics *metrics, splat_error *error)
{
    const size_t n = splat_camera_pixels(p->camera);
    float *pictures = malloc(6 * n * sizeof *pictures + 4 * n);
    if (!pictures)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a picture of %dx%d", p->camera->width,
                          p->camera->height);
    uint8_t *photo = (uint8_t *)(pictures + 6 * n);
    const host_pictures host = {pictures, pictures + 3 * n, photo, photo + 3 * n};
    splat_status status = splat_backend_download(context->backend, host.corrected, p->image,
                                                 3 * n * sizeof *pictures, error);
    if (status == SPLAT_OK) status = measure_plain(context, p, lpips, metrics, error);
    if (status == SPLAT_OK) status = measure_corrected(context, p, &host, lpips, metrics, error);
    if (status == SPLAT_OK) status = splat_backend_synchronize(context->backend, error); /* it reads `pictures` */
    free(pictures);
    return status;
}

splat_status splat_picture_measure(splat_context *context, const splat_measured_picture *p, splat_lpips **lpips,
                                   splat_metrics *metrics, splat_error *error)
{
    return p->color_correct ? measure_both(context, p, lpips, metrics, error)
                            : measure_plain(context, p, lpips, metrics, error);
}

void splat_metrics_add(splat_metrics *sum, const splat_metrics *one)
{
    sum->l1 += one->l1;
    sum->psnr += one->psnr;
    sum->psnr_per_channel += one->psnr_per_channel;
    sum->ssim += one->ssim;
    sum->lpips += one->lpips;
    sum->render_ms += one->render_ms;
    sum->cc_psnr += one->cc_psnr;
    sum->cc_ssim += one->cc_ssim;
    sum->cc_lpips += one->cc_lpips;
    sum->is_corrected = one->is_corrected;
    sum->is_exposed = one->is_exposed;
    sum->exposed_psnr += one->exposed_psnr;
    sum->exposed_ssim += one->exposed_ssim;
    sum->is_exif_exposed = one->is_exif_exposed;
    sum->exif_psnr += one->exif_psnr;
    sum->exif_ssim += one->exif_ssim;
    sum->n_near_views += one->n_near_views;
    sum->near_light += one->near_light;
    sum->all_light += one->all_light;
    sum->lpips_net = one->lpips_net;
    sum->n_views++;
    sum->n_masked += one->n_masked;
    sum->kept += one->kept;
    sum->l1_whole += one->l1_whole;
    sum->psnr_whole += one->psnr_whole;
    sum->psnr_per_channel_whole += one->psnr_per_channel_whole;
    sum->ssim_whole += one->ssim_whole;
}

void splat_metrics_divide(splat_metrics *sum)
{
    double n = sum->n_views ? (double)sum->n_views : 1;
    sum->l1 /= n;
    sum->psnr /= n;
    sum->psnr_per_channel /= n;
    sum->ssim /= n;
    sum->lpips /= n;
    sum->render_ms /= n;
    sum->kept /= n;
    sum->l1_whole /= n;
    sum->psnr_whole /= n;
    sum->psnr_per_channel_whole /= n;
    sum->ssim_whole /= n;
    sum->cc_psnr /= n;
    sum->cc_ssim /= n;
    sum->cc_lpips /= n;
    sum->exposed_psnr /= n;
    sum->exposed_ssim /= n;
    sum->exif_psnr /= n;
    sum->exif_ssim /= n;
}
