/* conv, pool: the layers of an image network, over bands of rows, so that no map need be in memory as a whole.
 *
 * A map is [channels][height][width] an image; splat_maps is a range of its rows, for a few images. An op computes the
 * rows of its output; its input must hold every row that these need, except those outside [0, input_height): a
 * convolution reads zeros there, a pooling window ends there. Arithmetic is float32 (no TF32), the sum of an output in
 * the order of its weights. */
#ifndef SPLAT_OPS_CONV_H
#define SPLAT_OPS_CONV_H

#include "ops/types.h"

/* Rows [row_begin, row_end) of maps. Rows and channels of an image are contiguous within themselves; row r of channel c
 * of image i begins at data + i image_stride + c channel_stride + (r - row_begin) width. */
typedef struct splat_maps {
    float *data;
    int32_t channels, width;
    int32_t row_begin, row_end;
    size_t channel_stride, image_stride; /* floats */
} splat_maps;

/* Output = max(0, convolution + bias). */
struct splat_conv_args {
    int32_t n_images;
    splat_maps input;     /* 3 channels, or a multiple of 8 */
    splat_maps output;    /* a multiple of 8 channels; width = (input.width + 2 pad - kernel) / stride + 1 */
    int32_t input_height; /* rows of the whole input map */
    int32_t kernel, stride, pad;
    const float *weights; /* packed by splat_conv_pack, on the device */
    const float *bias;    /* [output.channels] */
    splat_block *scratch;
};

/* [out][in][kernel][kernel] to the order that both backends read: [out / 8][kernel][kernel][in][8]. The sum of an
 * output runs over ky, kx, then the input's channels. */
void splat_conv_pack(const float *weights, int32_t n_out, int32_t n_in, int32_t kernel, float *packed);

/* Bytes that the CPU version takes of `scratch` for its threads; the CUDA version takes none. */
size_t splat_conv_cpu_scratch_bytes(int threads);

/* The largest of a window of window x window pixels; the part of it outside the map does not count (this is how the
 * last window of a ceil-mode layer is cut). */
struct splat_pool_args {
    int32_t n_images;
    splat_maps input, output; /* the same channels */
    int32_t input_height;
    int32_t window, stride;
};

/* ARGUMENT with one sentence when the shapes do not fit; both backends call them first. */
splat_status splat_conv_check(const struct splat_conv_args *args, splat_error *error);
splat_status splat_pool_check(const struct splat_pool_args *args, splat_error *error);

#endif
