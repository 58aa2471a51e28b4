/* conv and pool against their references: kernels, strides, paddings and widths that leave every kind of remainder, and
 * maps made in bands. */
#include "ops/test_ops.h"

#include "base/rng.h"
#include "ops/conv/conv.h"
#include "ops/ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_IMAGES 2

typedef struct shape { int in, out, kernel, stride, pad, width, height; } shape;

static float *random_floats(size_t n, uint32_t step)
{
    float *values = malloc(n * sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = 2 * splat_uniform(splat_random(7, SPLAT_STREAM_TEST, step, i).x[0]) - 1;
    return values;
}

/* Whole maps, with strides a little larger than need be. */
static splat_maps whole_maps(float *data, int channels, int width, int height)
{
    size_t channel_stride = (size_t)width * (size_t)height + 5;
    return (splat_maps){data, channels, width, 0, height, channel_stride, (size_t)channels * channel_stride + 3};
}

static size_t floats_of(const splat_maps *maps)
{
    return N_IMAGES * maps->image_stride;
}

/* Rows [begin, end) of maps that hold more. */
static splat_maps rows_of(splat_maps maps, int begin, int end)
{
    maps.data += (size_t)(begin - maps.row_begin) * (size_t)maps.width;
    maps.row_begin = begin;
    maps.row_end = end;
    return maps;
}

static int clamp(int x, int high)
{
    return x < 0 ? 0 : x > high ? high : x;
}

/* A dense copy of one image. */
static void take_image(const float *data, const splat_maps *maps, int image, float *dense)
{
    size_t plane = (size_t)maps->width * (size_t)(maps->row_end - maps->row_begin);
    const float *from = data + (size_t)image * maps->image_stride;
    for (size_t c = 0; c < (size_t)maps->channels; c++)
        memcpy(dense + c * plane, from + c * maps->channel_stride, plane * sizeof *dense);
}

/* The values between the channels that are no longer 0. */
static size_t count_touched(const float *data, const splat_maps *maps)
{
    size_t n_touched = 0, plane = (size_t)maps->width * (size_t)(maps->row_end - maps->row_begin);
    for (size_t i = 0; i < floats_of(maps); i++)
        n_touched += i % maps->image_stride % maps->channel_stride >= plane && data[i] != 0;
    return n_touched;
}

/* band_rows 0: all rows at once. */
static int test_conv(splat_backend *backend, shape s, int band_rows)
{
    int failures = 0;
    int width = (s.width + 2 * s.pad - s.kernel) / s.stride + 1;
    int height = (s.height + 2 * s.pad - s.kernel) / s.stride + 1;
    splat_maps in = whole_maps(NULL, s.in, s.width, s.height), out = whole_maps(NULL, s.out, width, height);
    size_t n_weights = (size_t)s.out * (size_t)s.in * (size_t)(s.kernel * s.kernel);
    float *input = random_floats(floats_of(&in), 0), *weights = random_floats(n_weights, 1);
    float *bias = random_floats((size_t)s.out, 2), *packed = malloc(n_weights * sizeof *packed);
    float *result = malloc(floats_of(&out) * sizeof *result);
    splat_conv_pack(weights, s.out, s.in, s.kernel, packed);

    splat_block blocks[4] = {{0}}, scratch = {0};
    splat_error error = {0};
    in.data = test_upload(backend, &blocks[0], input, floats_of(&in) * sizeof(float));
    out.data = test_upload(backend, &blocks[1], NULL, floats_of(&out) * sizeof(float));
    struct splat_conv_args args = {.n_images = N_IMAGES, .input_height = s.height, .kernel = s.kernel,
                                   .stride = s.stride, .pad = s.pad, .scratch = &scratch};
    args.weights = test_upload(backend, &blocks[2], packed, n_weights * sizeof *packed);
    args.bias = test_upload(backend, &blocks[3], bias, (size_t)s.out * sizeof *bias);
    for (int y = 0, n = band_rows ? band_rows : height; y < height; y += n) {
        int end = clamp(y + n, height);
        args.output = rows_of(out, y, end);
        args.input = rows_of(in, clamp(y * s.stride - s.pad, s.height),
                             clamp((end - 1) * s.stride - s.pad + s.kernel, s.height));
        TEST_CHECK(failures, splat_op_conv(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    }
    splat_backend_synchronize(backend, NULL);
    test_download(backend, result, out.data, floats_of(&out) * sizeof *result);
    TEST_CHECK(failures, count_touched(result, &out) == 0, "values between the channels were written");

    size_t n_in = (size_t)s.in * (size_t)(s.width * s.height), n_out = (size_t)s.out * (size_t)(width * height);
    float *dense = malloc(n_in * sizeof *dense), *got = malloc(n_out * sizeof *got);
    float *expected = malloc(n_out * sizeof *expected);
    for (int image = 0; image < N_IMAGES; image++) {
        take_image(input, &in, image, dense);
        take_image(result, &out, image, got);
        ref_conv_f32(s.in, s.height, s.width, dense, s.out, s.kernel, s.stride, s.pad, weights, bias, expected);
        /* A sum of up to 4608 products in another order: relative error near sqrt(4608) 6e-8, squared. */
        double nmse = test_nmse(got, expected, n_out);
        TEST_CHECK(failures, nmse < 1e-11, "conv %d->%d kernel %d stride %d pad %d on %dx%d, bands of %d: nmse %g",
                   s.in, s.out, s.kernel, s.stride, s.pad, s.width, s.height, band_rows, nmse);
    }
    for (int i = 0; i < 4; i++) splat_block_free(backend, &blocks[i]);
    splat_block_free(backend, &scratch);
    free(input), free(weights), free(bias), free(packed), free(result), free(dense), free(got), free(expected);
    return failures;
}

/* A value that is not a number must show in the output, not become 0. */
static int test_nan(splat_backend *backend)
{
    int failures = 0;
    float input[3] = {0.5f, NAN, 0.5f}, weights[24], packed[24], bias[8] = {0}, result[8];
    for (int i = 0; i < 24; i++) weights[i] = 1;
    splat_conv_pack(weights, 8, 3, 1, packed);
    splat_block blocks[4] = {{0}}, scratch = {0};
    splat_error error = {0};
    struct splat_conv_args args = {
        .n_images = 1, .input_height = 1, .kernel = 1, .stride = 1, .scratch = &scratch,
        .input = {test_upload(backend, &blocks[0], input, sizeof input), 3, 1, 0, 1, 1, 3},
        .output = {test_upload(backend, &blocks[1], NULL, sizeof result), 8, 1, 0, 1, 1, 8},
        .weights = test_upload(backend, &blocks[2], packed, sizeof packed),
        .bias = test_upload(backend, &blocks[3], bias, sizeof bias)};
    TEST_CHECK(failures, splat_op_conv(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    test_download(backend, result, args.output.data, sizeof result);
    TEST_CHECK(failures, isnan(result[0]) && isnan(result[7]), "%g %g", result[0], result[7]);
    for (int i = 0; i < 4; i++) splat_block_free(backend, &blocks[i]);
    splat_block_free(backend, &scratch);
    return failures;
}

static int test_conv_refusals(splat_backend *backend)
{
    int failures = 0;
    splat_block scratch = {0};
    const struct splat_conv_args good = {.n_images = 1, .input = {NULL, 8, 4, 0, 4, 16, 128},
                                         .output = {NULL, 8, 4, 0, 4, 16, 128}, .input_height = 4, .kernel = 3,
                                         .stride = 1, .pad = 1, .scratch = &scratch};
    struct splat_conv_args bad[6];
    for (int i = 0; i < 6; i++) bad[i] = good;
    bad[0].input.channels = 7;
    bad[1].output.channels = 12;
    bad[2].output.width = 5;
    bad[3].input.row_begin = 1; /* row 0 needs row 0 */
    bad[4].input_height = 5;    /* row 3 needs row 4 */
    bad[5].output.row_end = 0;
    for (int i = 0; i < 6; i++) {
        splat_error error = {0};
        TEST_CHECK(failures, splat_op_conv(backend, &bad[i], &error) == SPLAT_ERROR_ARGUMENT, "case %d",
                   i);
        TEST_CHECK(failures, strlen(error.message) > 20, "case %d", i);
    }
    return failures;
}

int test_op_conv(splat_backend *backend)
{
    static const shape shapes[] = {
        {3, 64, 11, 4, 2, 67, 45}, {3, 64, 3, 2, 0, 64, 31}, {3, 8, 3, 1, 1, 1, 1},      {8, 16, 1, 1, 0, 5, 3},
        {64, 192, 5, 1, 2, 15, 9}, {16, 72, 3, 1, 1, 33, 7}, {48, 192, 1, 1, 0, 100, 6}, {512, 136, 3, 1, 1, 6, 5},
        {8, 64, 3, 1, 1, 300, 4},  {24, 8, 3, 1, 1, 2, 40},
    };
    int failures = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        failures += test_conv(backend, shapes[i], 0);
        failures += test_conv(backend, shapes[i], 3);
    }
    failures += test_nan(backend);
    failures += test_conv_refusals(backend);
    return failures;
}

/* Exact: a pool only compares. ceil_mode: a last window that is cut. */
static int test_pool(splat_backend *backend, int window, int width, int height, bool ceil_mode, int band_rows)
{
    enum { CHANNELS = 5, STRIDE = 2 };
    int failures = 0, extra = ceil_mode ? STRIDE - 1 : 0;
    int out_width = (width - window + extra) / STRIDE + 1, out_height = (height - window + extra) / STRIDE + 1;
    splat_maps in = whole_maps(NULL, CHANNELS, width, height), out = whole_maps(NULL, CHANNELS, out_width, out_height);
    float *input = random_floats(floats_of(&in), 3), *result = malloc(floats_of(&out) * sizeof *result);
    splat_block blocks[2] = {{0}};
    splat_error error = {0};
    in.data = test_upload(backend, &blocks[0], input, floats_of(&in) * sizeof *input);
    out.data = test_upload(backend, &blocks[1], NULL, floats_of(&out) * sizeof *result);
    for (int y = 0, n = band_rows ? band_rows : out_height; y < out_height; y += n) {
        int end = clamp(y + n, out_height);
        struct splat_pool_args args = {N_IMAGES, rows_of(in, y * STRIDE, clamp((end - 1) * STRIDE + window, height)),
                                       rows_of(out, y, end), height, window, STRIDE};
        TEST_CHECK(failures, splat_op_pool(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    }
    test_download(backend, result, out.data, floats_of(&out) * sizeof *result);
    TEST_CHECK(failures, count_touched(result, &out) == 0, "values between the channels were written");
    size_t n_out = (size_t)CHANNELS * (size_t)(out_width * out_height);
    float *dense = malloc((size_t)CHANNELS * (size_t)(width * height) * sizeof *dense);
    float *got = malloc(n_out * sizeof *got), *expected = malloc(n_out * sizeof *expected);
    for (int image = 0; image < N_IMAGES; image++) {
        take_image(input, &in, image, dense);
        take_image(result, &out, image, got);
        ref_pool_f32(CHANNELS, height, width, dense, window, STRIDE, out_height, out_width, expected);
        TEST_CHECK(failures, memcmp(got, expected, n_out * sizeof *got) == 0, "pool %d on %dx%d, ceil %d, bands of %d",
                   window, width, height, ceil_mode, band_rows);
    }
    splat_block_free(backend, &blocks[0]);
    splat_block_free(backend, &blocks[1]);
    free(input), free(result), free(dense), free(got), free(expected);
    return failures;
}

int test_op_pool(splat_backend *backend)
{
    int failures = 0;
    for (int bands = 0; bands <= 2; bands += 2) {
        failures += test_pool(backend, 2, 17, 9, false, bands);
        failures += test_pool(backend, 3, 15, 15, false, bands);
        failures += test_pool(backend, 3, 16, 14, false, bands);
        failures += test_pool(backend, 3, 16, 14, true, bands);
        failures += test_pool(backend, 3, 301, 7, true, bands);
    }
    splat_error error = {0};
    struct splat_pool_args bad = {1, {NULL, 8, 4, 0, 4, 16, 128}, {NULL, 8, 2, 0, 3, 6, 48}, 4, 2, 2};
    TEST_CHECK(failures, splat_op_pool(backend, &bad, &error) == SPLAT_ERROR_ARGUMENT, "a row too many");
    return failures;
}
