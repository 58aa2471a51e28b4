/* conv and pool on the CPU. A task is 256 pixels of an image, whatever the number of threads. */
#include "backend/backend.h"
#include "ops/conv/conv_simd.h"

#include <omp.h>

size_t splat_conv_cpu_scratch_bytes(int threads)
{
    return (size_t)threads * SPLAT_CONV_SCRATCH * sizeof(float);
}

splat_status splat_conv_cpu(splat_backend *backend, const struct splat_conv_args *args, splat_error *error)
{
    SPLAT_TRY(splat_conv_check(args, error));
    SPLAT_TRY(splat_block_ensure(backend, args->scratch, "conv patches", SPLAT_OWNER_EVALUATION,
                                 splat_conv_cpu_scratch_bytes(backend->threads), error));
    SPLAT_CONV_KERNEL((*kernel)) = SPLAT_OF_LEVEL(backend->simd, splat_conv);
    float *scratch = args->scratch->data;
    size_t n_pixels = (size_t)(args->output.row_end - args->output.row_begin) * (size_t)args->output.width;
    int64_t n_tasks = (int64_t)((n_pixels + SPLAT_CONV_TASK - 1) / SPLAT_CONV_TASK), n = args->n_images * n_tasks;
    int threads = n < backend->threads ? (int)n : backend->threads; /* waking a thread costs more than a small band */
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t task = 0; task < n; task++) {
        size_t first = (size_t)(task % n_tasks) * SPLAT_CONV_TASK, end = first + SPLAT_CONV_TASK;
        kernel(args, (int32_t)(task / n_tasks), first, end < n_pixels ? end : n_pixels,
               scratch + (size_t)omp_get_thread_num() * SPLAT_CONV_SCRATCH);
    }
    return SPLAT_OK;
}

#define SMALL 32768 /* values that one thread makes sooner than others wake up */

/* A row of the output: the largest over the window's rows first, then over its columns. */
static void pool_row(const struct splat_pool_args *args, const float *plane, int32_t y, float *out)
{
    const splat_maps *in = &args->input;
    int32_t y_end = y * args->stride + args->window;
    if (y_end > args->input_height) y_end = args->input_height;
    for (int32_t x = 0; x < args->output.width; x++) {
        int32_t x_begin = x * args->stride, x_end = x_begin + args->window;
        if (x_end > in->width) x_end = in->width;
        const float *row = plane + (size_t)(y * args->stride - in->row_begin) * (size_t)in->width;
        float largest = row[x_begin];
        for (int32_t iy = y * args->stride; iy < y_end; iy++, row += in->width)
            for (int32_t ix = x_begin; ix < x_end; ix++) largest = row[ix] > largest ? row[ix] : largest;
        out[x] = largest;
    }
}

splat_status splat_pool_cpu(splat_backend *backend, const struct splat_pool_args *args, splat_error *error)
{
    SPLAT_TRY(splat_pool_check(args, error));
    const splat_maps *out = &args->output;
    int64_t n_channels = out->channels, n_values = n_channels * out->width * (out->row_end - out->row_begin);
#pragma omp parallel for num_threads(backend->threads) schedule(static) if (n_values > SMALL)
    for (int64_t task = 0; task < args->n_images * n_channels; task++) {
        size_t image = (size_t)(task / n_channels), channel = (size_t)(task % n_channels);
        const float *plane = args->input.data + image * args->input.image_stride + channel * args->input.channel_stride;
        float *target = out->data + image * out->image_stride + channel * out->channel_stride;
        for (int32_t y = out->row_begin; y < out->row_end; y++, target += out->width) pool_row(args, plane, y, target);
    }
    return SPLAT_OK;
}
