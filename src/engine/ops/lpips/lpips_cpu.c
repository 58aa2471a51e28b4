/* lpips_input and lpips_distance on the CPU, and their checks, which CUDA shares. */
#include "ops/lpips/lpips.h"

#include "backend/backend.h"

#include <math.h>

#define SMALL 32768 /* values that one thread handles sooner than others wake up */

splat_status splat_lpips_input_check(const struct splat_lpips_input_args *args, splat_error *error)
{
    const splat_maps *out = &args->output;
    if (args->width < 1 || out->channels != 3 || out->width != args->width || out->row_begin < 0 ||
        out->row_begin >= out->row_end || out->row_end > args->height)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "rows %d to %d are not in a picture of %dx%d", out->row_begin,
                          out->row_end, args->width, args->height);
    return SPLAT_OK;
}

splat_status splat_lpips_distance_check(const struct splat_lpips_distance_args *args, splat_error *error)
{
    const splat_maps *in = &args->features;
    if (in->width < 1 || in->channels < 1 || args->row_begin < in->row_begin || args->row_begin >= args->row_end ||
        args->row_end > in->row_end)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "rows %d to %d of features are asked for, there are %d to %d",
                          args->row_begin, args->row_end, in->row_begin, in->row_end);
    return SPLAT_OK;
}

splat_status splat_lpips_input_cpu(splat_backend *backend, const struct splat_lpips_input_args *args,
                                   splat_error *error)
{
    SPLAT_TRY(splat_lpips_input_check(args, error));
    static const float shifts[3] = SPLAT_LPIPS_SHIFT, scales[3] = SPLAT_LPIPS_SCALE;
    const splat_maps *out = &args->output;
    size_t width = (size_t)args->width, plane = width * (size_t)args->height;
    int64_t n_rows = out->row_end - out->row_begin;
#pragma omp parallel for num_threads(backend->threads) schedule(static) if (n_rows * args->width > SMALL)
    for (int64_t task = 0; task < 3 * n_rows; task++) {
        size_t c = (size_t)(task / n_rows), row = (size_t)(task % n_rows), y = row + (size_t)out->row_begin;
        const float *image = args->image + c * plane + y * width;
        const uint8_t *photo = args->photo_u8 + 3 * y * width + c;
        float *a = out->data + c * out->channel_stride + row * width, *b = a + out->image_stride;
        for (size_t x = 0; x < width; x++) {
            float render = image[x], truth = (float)photo[3 * x] / 255.0f;
            if (args->mask && args->mask[y * width + x] < SPLAT_LOSS_KEPT) render = truth;
            if (args->normalize) {
                render = 2.0f * render - 1.0f;
                truth = 2.0f * truth - 1.0f;
            }
            a[x] = (render - shifts[c]) / scales[c];
            b[x] = (truth - shifts[c]) / scales[c];
        }
    }
    return SPLAT_OK;
}

enum { CHUNK = 64 }; /* pixels of a row at once */

/* Up to CHUNK pixels: channels in the outer loop, so that the inner one runs along the row. */
static double distance_of_chunk(const splat_maps *maps, const float *a, const float *b, const float *weights, size_t n)
{
    float norm_a[CHUNK] = {0}, norm_b[CHUNK] = {0}, sums[CHUNK] = {0};
    size_t n_channels = (size_t)maps->channels;
    for (size_t c = 0; c < n_channels; c++)
        for (size_t i = 0; i < n; i++) {
            float x = a[c * maps->channel_stride + i], y = b[c * maps->channel_stride + i];
            norm_a[i] += x * x;
            norm_b[i] += y * y;
        }
    for (size_t i = 0; i < n; i++) {
        norm_a[i] = 1.0f / (sqrtf(norm_a[i]) + SPLAT_LPIPS_EPSILON);
        norm_b[i] = 1.0f / (sqrtf(norm_b[i]) + SPLAT_LPIPS_EPSILON);
    }
    for (size_t c = 0; c < n_channels; c++)
        for (size_t i = 0; i < n; i++) {
            size_t at = c * maps->channel_stride + i;
            float difference = a[at] * norm_a[i] - b[at] * norm_b[i];
            sums[i] += weights[c] * difference * difference;
        }
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += sums[i];
    return sum;
}

splat_status splat_lpips_distance_cpu(splat_backend *backend, const struct splat_lpips_distance_args *args,
                                      splat_error *error)
{
    SPLAT_TRY(splat_lpips_distance_check(args, error));
    const splat_maps *maps = &args->features;
    size_t width = (size_t)maps->width, n_rows = (size_t)(args->row_end - args->row_begin);
    SPLAT_TRY(splat_block_ensure(backend, args->scratch, "lpips sums", SPLAT_OWNER_EVALUATION,
                                 n_rows * sizeof(double), error));
    double *rows = args->scratch->data;
    size_t n_values = n_rows * width * (size_t)maps->channels;
#pragma omp parallel for num_threads(backend->threads) schedule(static) if (n_values > SMALL)
    for (int64_t row = 0; row < (int64_t)n_rows; row++) {
        const float *a = maps->data + (size_t)(args->row_begin - maps->row_begin + row) * width;
        rows[row] = 0;
        for (size_t x = 0; x < width; x += CHUNK)
            rows[row] += distance_of_chunk(maps, a + x, a + maps->image_stride + x, args->weights,
                                           width - x < CHUNK ? width - x : CHUNK);
    }
    for (size_t row = 0; row < n_rows; row++) *args->sum += rows[row];
    return SPLAT_OK;
}
