/* metrics on CUDA: the render is clamped (and quantised) in place, then the loss's sums tell the rest. */
#include "ops/loss/loss_cuda.cuh"

extern "C" {
#include "ops/metrics/metrics.h"
}

#define METRICS_THREADS 256

/* NaN stays, so that the metrics show it. Quantised as a PNG of the picture would hold it, rounding as the CPU does. */
__global__ void __launch_bounds__(METRICS_THREADS) unit_kernel(float *image, size_t n, bool quantize)
{
    size_t i = (size_t)blockIdx.x * METRICS_THREADS + threadIdx.x;
    if (i >= n) return;
    float x = image[i];
    x = x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x;
    image[i] = quantize ? floorf(__fadd_rn(__fmul_rn(255.0f, x), 0.5f)) / 255.0f : x;
}

extern "C" splat_status splat_metrics_cuda(splat_backend *backend, const struct splat_metrics_args *args,
                                           splat_error *error)
{
    if (args->width < 1 || args->height < 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the metrics need a picture of at least one pixel, not %dx%d",
                          args->width, args->height);
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    size_t n = (size_t)args->width * (size_t)args->height;
    unit_kernel<<<splat_cuda_blocks(3 * n, METRICS_THREADS), METRICS_THREADS, 0, cuda->stream>>>(args->image, 3 * n,
                                                                                                args->quantize);
    CUDA_LAUNCHED("metrics");

    splat_loss_cuda_job job = {args->width, args->height, args->image, args->photo_u8, NULL, args->mask, NULL, 0,
                               NULL};
    splat_loss_sums sums[3];
    SPLAT_TRY(splat_loss_cuda_run(cuda, &job, sums, error));
    args->result->l1 = (sums[0].l1 + sums[1].l1 + sums[2].l1) / (3 * (double)n);
    args->result->ssim = (sums[0].ssim + sums[1].ssim + sums[2].ssim) / (3 * (double)n);
    for (int c = 0; c < 3; c++) args->result->mse[c] = sums[c].squared / (double)n;
    return SPLAT_OK;
}
