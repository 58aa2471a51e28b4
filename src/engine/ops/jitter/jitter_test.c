/* Jitter: the offsets by their definition, the photo resampled on golden pictures and against a double bilinear. */
#include "ops/test_ops.h"

#include "base/rng.h"
#include "ops/jitter/jitter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Host results; sampled is NULL when the photo is not wanted. */
static int run_jitter(splat_backend *backend, int width, int height, uint64_t seed, uint32_t step, const uint8_t *photo,
                      float *offsets, float *sampled)
{
    int failures = 0;
    size_t n = (size_t)width * (size_t)height;
    splat_block blocks[3] = {{0}};
    struct splat_jitter_args args = {.width = width, .height = height, .seed = seed, .step = step};
    args.offsets = test_upload(backend, &blocks[0], NULL, 2 * n * sizeof(float));
    if (photo) args.photo_u8 = test_upload(backend, &blocks[1], photo, 3 * n);
    if (sampled) args.photo_f32 = test_upload(backend, &blocks[2], NULL, 3 * n * sizeof(float));
    splat_error error = {0};
    TEST_CHECK(failures, splat_op_jitter(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    splat_backend_synchronize(backend, NULL);
    test_download(backend, offsets, args.offsets, 2 * n * sizeof(float));
    if (sampled) test_download(backend, sampled, args.photo_f32, 3 * n * sizeof(float));
    for (int i = 0; i < 3; i++) splat_block_free(backend, &blocks[i]);
    return failures;
}

static int test_offsets(splat_backend *backend)
{
    enum { WIDTH = 61, HEIGHT = 47, N = WIDTH * HEIGHT };
    static float offsets[2 * N], again[2 * N];
    const uint64_t seed = 0x123456789abcdefULL;
    int failures = run_jitter(backend, WIDTH, HEIGHT, seed, 77, NULL, offsets, NULL);
    size_t n_wrong = 0;
    double sum = 0, product = 0;
    float low = 0, high = 0;
    for (size_t i = 0; i < N; i++) {
        splat_random4 r = splat_random(seed, SPLAT_STREAM_RAY_JITTER, 77, i);
        n_wrong += offsets[i] != splat_uniform(r.x[0]) - 0.5f;
        n_wrong += offsets[N + i] != splat_uniform(r.x[1]) - 0.5f;
        sum += (double)offsets[i] + (double)offsets[N + i];
        product += (double)offsets[i] * (double)offsets[N + i];
        low = fminf(low, fminf(offsets[i], offsets[N + i]));
        high = fmaxf(high, fmaxf(offsets[i], offsets[N + i]));
    }
    TEST_CHECK(failures, n_wrong == 0, "%zu offsets are not splat_random's", n_wrong);
    TEST_CHECK(failures, low >= -0.5f && high < 0.5f, "range %g .. %g", (double)low, (double)high);
    TEST_CHECK(failures, low < -0.49f && high > 0.49f, "range %g .. %g is not filled", (double)low, (double)high);
    /* Five standard errors: 0.29 / sqrt(2N) = 0.0038 for the mean, (1/12) / sqrt(N) = 0.0016 for the product. */
    TEST_CHECK(failures, fabs(sum / (2 * N)) < 0.019, "mean %g", sum / (2 * N));
    TEST_CHECK(failures, fabs(product / N) < 0.008, "x and y are correlated: %g", product / N);

    failures += run_jitter(backend, WIDTH, HEIGHT, seed, 77, NULL, again, NULL);
    TEST_CHECK(failures, memcmp(offsets, again, sizeof offsets) == 0, "a second run differs");
    failures += run_jitter(backend, WIDTH, HEIGHT, seed, 78, NULL, again, NULL);
    TEST_CHECK(failures, memcmp(offsets, again, sizeof offsets) != 0, "steps 77 and 78 are the same");
    failures += run_jitter(backend, WIDTH, HEIGHT, seed + 1, 77, NULL, again, NULL);
    TEST_CHECK(failures, memcmp(offsets, again, sizeof offsets) != 0, "two seeds are the same");
    return failures;
}

static double bilinear(int width, int height, const uint8_t *photo, int channel, double x, double y)
{
    x = fmin(fmax(x, 0), width - 1);
    y = fmin(fmax(y, 0), height - 1);
    double sum = 0; /* the tent of every pixel */
    for (int j = 0; j < height; j++)
        for (int i = 0; i < width; i++)
            sum += fmax(0, 1 - fabs(x - i)) * fmax(0, 1 - fabs(y - j)) * photo[3 * (j * width + i) + channel] / 255.0;
    return sum;
}

static int test_bilinear(splat_backend *backend, int width, int height)
{
    int failures = 0;
    size_t n = (size_t)width * (size_t)height;
    float *offsets = malloc(2 * n * sizeof(float)), *sampled = malloc(3 * n * sizeof(float));
    uint8_t *photo = malloc(3 * n);
    for (size_t i = 0; i < 3 * n; i++) photo[i] = (uint8_t)(splat_random(9, SPLAT_STREAM_TEST, 0, i).x[0] >> 24);
    failures += run_jitter(backend, width, height, 3, 1, photo, offsets, sampled);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            size_t i = (size_t)y * width + x;
            for (int c = 0; c < 3; c++) {
                double expected = bilinear(width, height, photo, c, x + (double)offsets[i], y + (double)offsets[n + i]);
                double value = (double)sampled[(size_t)c * n + i];
                /* Four float roundings of values up to 1. */
                TEST_CHECK(failures, fabs(value - expected) < 4e-7, "%dx%d (%d, %d) channel %d: %.9g, not %.9g", width,
                           height, x, y, c, value, expected);
            }
        }
    free(offsets);
    free(sampled);
    free(photo);
    return failures;
}

/* Answers known without a bilinear: a ramp gives the clamped coordinate, a flat photo itself. */
static int test_golden(splat_backend *backend)
{
    enum { WIDTH = 25, HEIGHT = 9, N = WIDTH * HEIGHT };
    static float offsets[2 * N], sampled[3 * N];
    static uint8_t photo[3 * N];
    for (int i = 0; i < N; i++) {
        photo[3 * i] = (uint8_t)(10 * (i % WIDTH));
        photo[3 * i + 1] = (uint8_t)(20 * (i / WIDTH));
        photo[3 * i + 2] = 255;
    }
    int failures = run_jitter(backend, WIDTH, HEIGHT, 11, 5, photo, offsets, sampled);
    int n_clamped = 0;
    for (int i = 0; i < N; i++) {
        float x = (float)(i % WIDTH) + offsets[i], y = (float)(i / WIDTH) + offsets[N + i];
        n_clamped += x < 0.0f || x > WIDTH - 1 || y < 0.0f || y > HEIGHT - 1;
        x = fminf(fmaxf(x, 0.0f), WIDTH - 1);
        y = fminf(fmaxf(y, 0.0f), HEIGHT - 1);
        /* A few float roundings; x + offset here loses 1e-6 of a pixel, 4e-8 of the value. */
        TEST_CHECK(failures, fabsf(sampled[i] - 10.0f * x / 255.0f) < 4e-7f, "x ramp at pixel %d", i);
        TEST_CHECK(failures, fabsf(sampled[N + i] - 20.0f * y / 255.0f) < 4e-7f, "y ramp at pixel %d", i);
        TEST_CHECK(failures, sampled[2 * N + i] == 1.0f, "white at pixel %d", i);
    }
    TEST_CHECK(failures, n_clamped > 10, "only %d samples beyond the border", n_clamped);
    return failures;
}

static int test_threads(splat_backend *backend)
{
    enum { WIDTH = 40, HEIGHT = 31, N = WIDTH * HEIGHT };
    static float offsets[2][2 * N], sampled[2][3 * N];
    static uint8_t photo[3 * N];
    if (strcmp(splat_backend_name(backend), "cpu") != 0) return 0;
    for (int i = 0; i < 3 * N; i++) photo[i] = (uint8_t)(i * 7);
    int failures = run_jitter(backend, WIDTH, HEIGHT, 1, 2, photo, offsets[0], sampled[0]);
    splat_backend *other;
    if (splat_backend_cpu_create(5, "c", &other, NULL) != SPLAT_OK) return failures + 1;
    failures += run_jitter(other, WIDTH, HEIGHT, 1, 2, photo, offsets[1], sampled[1]);
    TEST_CHECK(failures, memcmp(offsets[0], offsets[1], sizeof offsets[0]) == 0, "offsets of five threads differ");
    TEST_CHECK(failures, memcmp(sampled[0], sampled[1], sizeof sampled[0]) == 0, "samples of five threads differ");
    splat_backend_destroy(other);
    return failures;
}

static int test_refusals(splat_backend *backend)
{
    int failures = 0;
    float floats[3];
    splat_error error = {0};
    struct splat_jitter_args args = {.width = 1, .height = 0, .offsets = floats};
    TEST_CHECK(failures,
               splat_op_jitter(backend, &args, &error) == SPLAT_ERROR_ARGUMENT && error.message[0],
               "an empty picture");
    args = (struct splat_jitter_args){.width = 1, .height = 1, .offsets = floats, .photo_f32 = floats};
    error = (splat_error){0};
    TEST_CHECK(failures,
               splat_op_jitter(backend, &args, &error) == SPLAT_ERROR_ARGUMENT && error.message[0],
               "no photo to resample");
    return failures;
}

int test_op_jitter(splat_backend *backend)
{
    int failures = test_offsets(backend);
    failures += test_bilinear(backend, 17, 13);
    failures += test_bilinear(backend, 1, 6);
    failures += test_bilinear(backend, 1, 1);
    failures += test_golden(backend);
    failures += test_threads(backend);
    failures += test_refusals(backend);
    return failures;
}
