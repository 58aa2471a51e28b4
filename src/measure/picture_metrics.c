/* The op's sums as figures, and LPIPS beside them. */
#include "measure/picture_metrics.h"

#include "backend/backend.h"
#include "math/camera.h"
#include "measure/lpips/lpips.h"
#include "ops/metrics/metrics.h"

static splat_status measure_lpips(splat_context *context, const splat_measured_picture *p, splat_lpips **lpips,
                                  splat_metrics *metrics, splat_error *error)
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
    for (int i = 0; i < (*lpips)->n_taps; i++) metrics->lpips += taps[i];
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

splat_status splat_picture_measure(splat_context *context, const splat_measured_picture *p, splat_lpips **lpips,
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
    return measure_lpips(context, p, lpips, metrics, error);
}

void splat_metrics_add(splat_metrics *sum, const splat_metrics *one)
{
    sum->l1 += one->l1;
    sum->psnr += one->psnr;
    sum->psnr_per_channel += one->psnr_per_channel;
    sum->ssim += one->ssim;
    sum->lpips += one->lpips;
    sum->render_ms += one->render_ms;
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
}
