/* metrics on the CPU: L1, PSNR and SSIM of two pictures, quantized when asked for. */
#include "ops/metrics/metrics.h"

#include "backend/backend.h"
#include "ops/loss/loss_cpu.h"

#include <math.h>

double splat_psnr(double mse)
{
    return mse == 0 ? 100 : -10 * log10(mse);
}

/* To [0, 1]; NaN stays, so that the metrics show it. */
static float clamp_unit(float x)
{
    return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x;
}

/* As a PNG of the picture would hold it. */
static float quantize_unit(float x)
{
    return floorf(255.0f * x + 0.5f) / 255.0f;
}

splat_status splat_metrics_cpu(splat_backend *backend, const struct splat_metrics_args *args, splat_error *error)
{
    if (args->width < 1 || args->height < 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the metrics need a picture of at least one pixel, not %dx%d",
                          args->width, args->height);
    size_t n = (size_t)args->width * (size_t)args->height;
    float *image = args->image;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (size_t i = 0; i < 3 * n; i++)
        image[i] = args->quantize ? quantize_unit(clamp_unit(image[i])) : clamp_unit(image[i]);

    splat_loss_job job = {.width = args->width, .height = args->height, .image = image, .photo_u8 = args->photo_u8,
                          .mask = args->mask};
    splat_loss_sums sums[3];
    SPLAT_TRY(splat_loss_run(backend, &job, sums, error));
    args->result->l1 = (sums[0].l1 + sums[1].l1 + sums[2].l1) / (3 * (double)n);
    args->result->ssim = (sums[0].ssim + sums[1].ssim + sums[2].ssim) / (3 * (double)n);
    for (int c = 0; c < 3; c++) args->result->mse[c] = sums[c].squared / (double)n;
    return SPLAT_OK;
}
