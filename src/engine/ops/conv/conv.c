/* Code shared by both backends: the order of the weights, and the check of shapes. */
#include "ops/conv/conv.h"

void splat_conv_pack(const float *weights, int32_t n_out, int32_t n_in, int32_t kernel, float *packed)
{
    size_t n_taps = (size_t)kernel * (size_t)kernel, n_channels = (size_t)n_in;
    for (size_t o = 0; o < (size_t)n_out; o++)
        for (size_t c = 0; c < n_channels; c++)
            for (size_t tap = 0; tap < n_taps; tap++)
                packed[((o / 8 * n_taps + tap) * n_channels + c) * 8 + o % 8] =
                    weights[(o * n_channels + c) * n_taps + tap];
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* True if the input has the rows from `first` to before `end`, except those outside the map. */
static bool holds(const splat_maps *input, int32_t input_height, int32_t first, int32_t end)
{
    return input->row_begin <= (first > 0 ? first : 0) && input->row_end >= smaller(end, input_height) &&
           input->row_begin >= 0 && input->row_end <= input_height;
}

splat_status splat_conv_check(const struct splat_conv_args *args, splat_error *error)
{
    const splat_maps *in = &args->input, *out = &args->output;
    if (out->channels < 8 || out->channels % 8 || (in->channels != 3 && (in->channels < 8 || in->channels % 8)))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "a convolution of %d to %d channels: 3 or a multiple of 8 go in, a multiple of 8 comes out",
                          in->channels, out->channels);
    if (args->kernel < 1 || args->stride < 1 || args->pad < 0 || args->pad >= args->kernel || in->width < 1 ||
        out->width < 1 || out->width != (in->width + 2 * args->pad - args->kernel) / args->stride + 1 ||
        in->width + 2 * args->pad < args->kernel || out->row_begin < 0 || out->row_begin >= out->row_end)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "a convolution of kernel %d, stride %d, padding %d cannot make rows %d to %d, %d wide, from "
                          "a map %d wide", args->kernel, args->stride, args->pad, out->row_begin, out->row_end,
                          out->width, in->width);
    if (!holds(in, args->input_height, out->row_begin * args->stride - args->pad,
               (out->row_end - 1) * args->stride - args->pad + args->kernel))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a convolution's input lacks rows: it holds %d to %d of %d",
                          in->row_begin, in->row_end, args->input_height);
    return SPLAT_OK;
}

splat_status splat_pool_check(const struct splat_pool_args *args, splat_error *error)
{
    const splat_maps *in = &args->input, *out = &args->output;
    if (args->window < 1 || args->stride < 1 || in->channels < 1 || in->channels != out->channels || in->width < 1 ||
        out->width < 1 || (out->width - 1) * args->stride >= in->width || out->row_begin < 0 ||
        out->row_begin >= out->row_end || (out->row_end - 1) * args->stride >= args->input_height)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "pooling by %d, stride %d, cannot make rows %d to %d, %d wide, from a map %dx%d",
                          args->window, args->stride, out->row_begin, out->row_end, out->width, in->width,
                          args->input_height);
    if (!holds(in, args->input_height, out->row_begin * args->stride, (out->row_end - 1) * args->stride + args->window))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "pooling's input lacks rows: it holds %d to %d of %d",
                          in->row_begin, in->row_end, args->input_height);
    return SPLAT_OK;
}
