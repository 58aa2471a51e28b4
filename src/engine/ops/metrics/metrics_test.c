/* The metrics against sums by their definitions, in double. */
#include "ops/test_ops.h"

#include "base/rng.h"
#include "ops/metrics/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Clamp, quantise, L1, MSE, and SSIM by the 11x11 window at every pixel. */
static splat_metrics_result slow_metrics(int width, int height, const float *image, const uint8_t *photo,
                                         const uint8_t *mask, bool quantize)
{
    size_t plane = (size_t)width * (size_t)height;
    double *x = malloc(6 * plane * sizeof *x), *y = x + 3 * plane, weights[11], norm = 0;
    splat_metrics_result result = {0};
    for (size_t i = 0; i < 3 * plane; i++) {
        x[i] = fmin(fmax((double)image[i], 0), 1);
        if (quantize) x[i] = floor(255 * x[i] + 0.5) / 255;
        y[i] = photo[i % plane * 3 + i / plane] / 255.0;
        if (mask && mask[i % plane] < 128) x[i] = y[i];
        result.l1 += fabs(x[i] - y[i]) / (double)(3 * plane);
        result.mse[i / plane] += (x[i] - y[i]) * (x[i] - y[i]) / (double)plane;
    }
    for (int k = 0; k < 11; k++) norm += weights[k] = exp(-(k - 5) * (k - 5) / 4.5);
    for (int row = 0; row < 3 * height; row++)
        for (int column = 0; column < width; column++) {
            int channel = row / height;
            if (mask && mask[(size_t)(row % height) * (size_t)width + (size_t)column] < 128) continue;
            double m1 = 0, m2 = 0, s11 = 0, s22 = 0, s12 = 0;
            for (int j = row - 5; j <= row + 5; j++)
                for (int i = column - 5; i <= column + 5; i++) {
                    if (j < channel * height || j >= (channel + 1) * height || i < 0 || i >= width) continue;
                    double w = weights[i - column + 5] * weights[j - row + 5] / (norm * norm);
                    double a = x[(size_t)j * width + i], b = y[(size_t)j * width + i];
                    m1 += w * a, m2 += w * b, s11 += w * a * a, s22 += w * b * b, s12 += w * a * b;
                }
            result.ssim += (2 * m1 * m2 + 1e-4) * (2 * (s12 - m1 * m2) + 9e-4) /
                           ((m1 * m1 + m2 * m2 + 1e-4) * (s11 - m1 * m1 + s22 - m2 * m2 + 9e-4)) / (double)(3 * plane);
        }
    free(x);
    return result;
}

static int run_metrics(splat_backend *backend, int width, int height, float *image, const uint8_t *photo,
                       const uint8_t *mask, bool quantize, splat_metrics_result *result)
{
    int failures = 0;
    size_t n = 3 * (size_t)width * (size_t)height;
    splat_block blocks[3] = {{0}};
    struct splat_metrics_args args = {
        .width = width, .height = height, .quantize = quantize, .result = result};
    memset(result, 0xff, sizeof *result);
    args.image = test_upload(backend, &blocks[0], image, n * sizeof *image);
    args.photo_u8 = test_upload(backend, &blocks[1], photo, n);
    if (mask) args.mask = test_upload(backend, &blocks[2], mask, n / 3);
    splat_error error = {0};
    TEST_CHECK(failures, splat_op_metrics(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    splat_backend_synchronize(backend, NULL);
    test_download(backend, image, args.image, n * sizeof *image);
    splat_block_free(backend, &blocks[0]);
    splat_block_free(backend, &blocks[1]);
    splat_block_free(backend, &blocks[2]);
    return failures;
}

static int test_against_slow(splat_backend *backend, int width, int height, bool masked, bool quantize)
{
    int failures = 0;
    size_t n = 3 * (size_t)width * (size_t)height;
    float *image = malloc(n * sizeof *image);
    uint8_t *photo = malloc(n), *mask = masked ? malloc(n / 3) : NULL;
    for (size_t i = 0; mask && i < n / 3; i++) mask[i] = i % 17 < 6 ? 127 : 128;
    for (size_t i = 0; i < n; i++) photo[i] = (uint8_t)(splat_random(5, SPLAT_STREAM_TEST, 0, i).x[0] >> 24);
    for (size_t i = 0; i < n; i++) {
        splat_random4 r = splat_random(5, SPLAT_STREAM_TEST, 1, i);
        /* Blue is near the photo, red and green are noise that leaves [0, 1]. The 0.3 keeps 255 x away from the
         * rounding point 1/2, where float and double may differ. */
        int level = (int)((r.x[1] >> 20) % 400) - 60;
        if (i / (n / 3) == 2) level = photo[i % (n / 3) * 3 + 2] + level / 10;
        image[i] = ((float)level + 0.3f) / 255.0f;
    }
    splat_metrics_result expected = slow_metrics(width, height, image, photo, mask, quantize), result;
    failures += run_metrics(backend, width, height, image, photo, mask, quantize, &result);
    /* Pixels carry float rounding (6e-8 of 1), the sums are in double. */
    TEST_CHECK(failures, fabs(result.l1 - expected.l1) < 1e-6 * expected.l1, "l1 %.9g, not %.9g", result.l1,
               expected.l1);
    for (int c = 0; c < 3; c++)
        TEST_CHECK(failures, fabs(result.mse[c] - expected.mse[c]) < 1e-6 * expected.mse[c], "mse[%d] %.9g, not %.9g",
                   c, result.mse[c], expected.mse[c]);
    /* SSIM of noise is near 0 while its terms are near 1: absolute. */
    TEST_CHECK(failures, fabs(result.ssim - expected.ssim) < 1e-6, "%dx%d ssim %.9g, not %.9g", width, height,
               result.ssim, expected.ssim);
    size_t n_outside = 0, n_between = 0;
    for (size_t i = 0; i < n; i++) {
        n_outside += !(image[i] >= 0.0f && image[i] <= 1.0f);
        n_between += image[i] != (float)(int)(255.0f * image[i] + 0.5f) / 255.0f;
    }
    TEST_CHECK(failures, n_outside == 0, "%zu pixels are not clamped", n_outside);
    TEST_CHECK(failures, quantize ? n_between == 0 : n_between > 0, "%zu pixels between two bytes", n_between);
    free(image);
    free(photo);
    free(mask);
    return failures;
}

/* A render that rounds to the photo is perfect after quantisation, and not before. */
static int test_perfect(splat_backend *backend)
{
    enum { WIDTH = 16, HEIGHT = 16, N = 3 * WIDTH * HEIGHT };
    int failures = 0;
    float image[N];
    uint8_t photo[N];
    splat_metrics_result result;
    for (int quantize = 0; quantize < 2; quantize++) {
        for (int i = 0; i < N; i++) {
            int pixel = i % (WIDTH * HEIGHT), channel = i / (WIDTH * HEIGHT);
            photo[3 * pixel + channel] = (uint8_t)pixel; /* every byte there is */
            image[i] = ((float)pixel + (i % 2 ? 0.4f : -0.4f)) / 255.0f;
        }
        failures += run_metrics(backend, WIDTH, HEIGHT, image, photo, NULL, quantize, &result);
        bool perfect = result.l1 == 0 && result.ssim == 1 && result.mse[0] + result.mse[1] + result.mse[2] == 0;
        TEST_CHECK(failures, perfect == (quantize == 1), "quantize %d: l1 %g ssim %.17g", quantize, result.l1,
                   result.ssim);
    }
    return failures;
}

static int test_golden(splat_backend *backend)
{
    /* One pixel: the window's middle weight squared, g, is all there is: mu = g x, variance = g x^2 - mu^2. */
    int failures = 0;
    float image[3] = {2.0f, 0.4f, -1.0f};
    const uint8_t photo[3] = {0, 255, 0};
    const double a[3] = {1, 0.4, 0}, b[3] = {0, 1, 0};
    double g = 0.26601172486179434 * 0.26601172486179434, ssim = 0;
    for (int c = 0; c < 3; c++) {
        double m1 = g * a[c], m2 = g * b[c];
        ssim += (2 * m1 * m2 + 1e-4) * (2 * (g * a[c] * b[c] - m1 * m2) + 9e-4) /
                ((m1 * m1 + m2 * m2 + 1e-4) * (g * a[c] * a[c] - m1 * m1 + g * b[c] * b[c] - m2 * m2 + 9e-4)) / 3;
    }
    splat_metrics_result result;
    failures += run_metrics(backend, 1, 1, image, photo, NULL, false, &result);
    TEST_CHECK(failures, fabs(result.ssim - ssim) < 1e-6 * ssim, "ssim %.9g, not %.9g", result.ssim, ssim);
    /* 0.4f is 1.5e-8 from 0.4. */
    TEST_CHECK(failures, fabs(result.l1 - 1.6 / 3) < 1e-7, "l1 %.9g", result.l1);
    TEST_CHECK(failures, result.mse[0] == 1 && fabs(result.mse[1] - 0.36) < 1e-7 && result.mse[2] == 0, "mse %g %g %g",
               result.mse[0], result.mse[1], result.mse[2]);

    TEST_CHECK(failures, splat_psnr(0) == 100, "%g", splat_psnr(0));
    TEST_CHECK(failures, splat_psnr(1) == 0, "%g", splat_psnr(1));
    TEST_CHECK(failures, fabs(splat_psnr(1e-3) - 30) < 1e-12, "%.17g", splat_psnr(1e-3));
    TEST_CHECK(failures, isnan(splat_psnr(NAN)), "%g", splat_psnr(NAN));
    return failures;
}

static int test_refusals(splat_backend *backend)
{
    int failures = 0;
    splat_error error = {0};
    struct splat_metrics_args args = {.width = 0, .height = 4};
    TEST_CHECK(failures,
               splat_op_metrics(backend, &args, &error) == SPLAT_ERROR_ARGUMENT && error.message[0],
               "an empty picture");
    return failures;
}

int test_op_metrics(splat_backend *backend)
{
    int failures = 0;
    for (int quantize = 0; quantize < 2; quantize++) {
        failures += test_against_slow(backend, 33, 17, false, quantize);
        failures += test_against_slow(backend, 50, 70, false, quantize);
        failures += test_against_slow(backend, 50, 70, true, quantize);
    }
    failures += test_perfect(backend);
    failures += test_golden(backend);
    failures += test_refusals(backend);
    return failures;
}
